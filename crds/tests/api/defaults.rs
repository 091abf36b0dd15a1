//! Defaults are the same whether the API server or Reeve fills them in.

use kube::api::{DynamicObject, PostParams};
use reeve_tests::Cluster;
use serde_json::{Value, json};

use super::subject;

#[tokio::test]
async fn a_short_spec_is_completed_alike_by_the_api_server_and_by_reeve() {
    let cluster = Cluster::shared().await;
    cluster.crds().await;
    let ns = cluster.namespace("defaults").await;
    for subject in subject::all() {
        let name = format!("{ns}-short");
        let least: Value = serde_json::from_str(&subject.least.to_string().replace("$NAME", &name)).unwrap();
        let object = subject.object(&name, &least);
        let read = (subject.round_trip)(object.clone()).unwrap();
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let made = subject.api(cluster.client(), &ns).create(&PostParams::default(), &object).await;
        let made = made.unwrap_or_else(|error| panic!("{}: {error}", subject.resource.kind));
        assert_eq!(made.data["spec"], read["spec"], "{}", subject.resource.kind);
    }
}

#[test]
fn nothing_unset_is_written_as_null() {
    for subject in subject::all() {
        let mut object = subject.object("short", &subject.least);
        object["status"] = json!({});
        let written = (subject.round_trip)(object).unwrap();
        let text = written.to_string();
        assert!(!text.contains("null"), "{}: {text}", subject.resource.kind);
    }
}
