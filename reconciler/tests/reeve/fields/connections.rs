//! What we make of an API server that is not there or does not answer.

use std::time::Duration;

use kube::Client;
use reeve_crds::Reason;
use reeve_reconciler_engine::api_error::ApiError;
use reeve_tests::Forwarder;
use serde_json::{Value, json};

use super::Place;

fn text() -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "text" }, "data": { "a": "b" } })
}

async fn api_error(place: &Place, config: kube::Config) -> ApiError {
    let client = Client::try_from(config).unwrap();
    let other = Place { client, namespace: place.namespace.clone(), cluster: place.cluster };
    ApiError::of(&other.apply(&text()).await.expect_err("it was accepted"))
}

#[tokio::test]
async fn an_api_server_that_is_not_there_is_unreachable() {
    let place = Place::new("connection").await;
    let mut config = place.cluster.config().unwrap();
    config.cluster_url = "https://127.0.0.1:1".parse().unwrap();

    let api_error = api_error(&place, config).await;

    assert_eq!((api_error.reason, api_error.transient, api_error.server_down), (Reason::Unreachable, true, true));
    assert!(api_error.message.contains("onnection refused"), "{}", api_error.message);
}

#[tokio::test]
async fn a_connection_that_is_cut_is_unreachable_too() {
    let place = Place::new("connection").await;
    let forwarder = Forwarder::to_cluster(place.cluster).await.unwrap();
    for fault in [Forwarder::cut, Forwarder::reset] {
        fault(&forwarder);

        let api_error = api_error(&place, forwarder.config(place.cluster).unwrap()).await;

        assert_eq!((api_error.reason, api_error.server_down), (Reason::Unreachable, true), "{api_error:?}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_in_time_is_a_timeout() {
    let place = Place::new("connection").await;
    let forwarder = Forwarder::to_cluster(place.cluster).await.unwrap();
    forwarder.black_hole();
    let mut config = forwarder.config(place.cluster).unwrap();
    config.connect_timeout = Some(Duration::from_millis(50));
    config.read_timeout = Some(Duration::from_millis(50));

    let api_error = api_error(&place, config).await;

    assert_eq!(
        (api_error.reason, api_error.transient, api_error.server_down),
        (Reason::Timeout, true, true),
        "{api_error:?}"
    );
}
