//! How traffic is led in and out, and what is left behind.

use kube::ResourceExt;
use kube::api::DeleteParams;
use reeve_crds::scaling_rule::status::TrafficMode;
use reeve_tests::eventually;
use serde_json::json;

use crate::client::get;
use crate::place::{App, shared};

#[tokio::test]
async fn a_deleted_rule_leaves_the_service_awake_and_direct() {
    let app = App::new(
        shared().await,
        "delete",
        json!({
            "idleAfter": "1s", "minAwake": "0s", "handOver": { "policy": "Never" },
        }),
    )
    .await;
    app.reaches(TrafficMode::Asleep).await;
    app.rules().delete("web", &DeleteParams::default()).await.unwrap();
    eventually("the rule is gone", || async {
        match app.rules().get_opt("web").await {
            Ok(None) => Ok(()),
            Ok(Some(rule)) => Err(format!("{:?}", rule.status)),
            Err(error) => Err(error.to_string()),
        }
    })
    .await;
    assert_eq!(app.replicas().await, 1);
    let service = app.services().get("web").await.unwrap();
    assert!(service.annotations().is_empty());
    let selector = service.spec.unwrap().selector.unwrap();
    assert_eq!(selector.into_iter().collect::<Vec<_>>(), [("app".to_owned(), "web".to_owned())]);
    assert_eq!(get(app.address, "/index.html").await.unwrap().body, "hello\n");
}
