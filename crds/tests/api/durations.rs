//! Durations mean the same to the API server and to Reeve.

use kube::api::{DynamicObject, PostParams};
use reeve_crds::Duration;
use reeve_tests::Cluster;
use serde_json::json;

use super::case::merged;
use super::git_source;

#[tokio::test]
async fn what_the_api_server_admits_reeve_reads_and_nothing_else() {
    let cluster = Cluster::shared().await;
    cluster.crds().await;
    let ns = cluster.namespace("durations").await;
    let subject = git_source::subject();
    let api = subject.api(cluster.client(), &ns);
    let written = ["1s", "1m30s", "1.5h", "90000ms", "2000000us", "0.5m", "1h1h", "1m1h"].into_iter().chain([
        "",
        "1",
        "soon",
        "1d",
        "-5s",
        "+5s",
        "1.s",
        ".5m",
        "1m 30s",
        "1µs",
        "1e3s",
        "9999999999999999h",
        "1S",
    ]);
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    for text in written {
        let spec = merged(subject.spec.clone(), &json!({ "interval": text }));
        let object: DynamicObject = serde_json::from_value(subject.object("probe", &spec)).unwrap();
        let admitted = api.create(&dry_run, &object).await.is_ok();
        assert_eq!(admitted, text.parse::<Duration>().is_ok(), "{text:?}");
    }
}
