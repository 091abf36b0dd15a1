//! `reeve events`.

use k8s_openapi::api::core::v1::Event;
use serde_json::{Value, json};

use crate::cli_cluster::fixture::{CliFixture, state};
use crate::cli_cluster::watching::Watching;

impl CliFixture {
    async fn event(&self, name: &str, about: Value, at: &str, reason: &str) {
        let mut about = about;
        about["namespace"] = json!(self.namespace);
        let event = json!({
            "metadata": { "name": name }, "involvedObject": about, "reason": reason, "type": "Normal",
            "message": format!("{reason} happened"), "firstTimestamp": at, "lastTimestamp": at, "count": 1,
        });
        self.make::<Event>(event).await;
    }
}

fn runtime(name: &str) -> Value {
    json!({ "apiVersion": "reeve.dev/v1alpha1", "kind": "Runtime", "name": name })
}

#[tokio::test]
async fn events_of_our_kinds_are_told_with_the_newest_last() {
    let fixture = CliFixture::new("events").await;
    fixture.runtime("eu-1", "fleet", state("Ready", "Succeeded", "")).await;
    fixture.runtime("eu-2", "fleet", state("Ready", "Succeeded", "")).await;
    fixture.event("b", runtime("eu-1"), "2026-01-02T00:00:00Z", "Applied").await;
    fixture.event("a", runtime("eu-2"), "2026-01-03T00:00:00Z", "Drifted").await;
    let source = json!({ "apiVersion": "reeve.dev/v1alpha1", "kind": "GitSource", "name": "fleet" });
    fixture.event("c", source, "2026-01-01T00:00:00Z", "Fetched").await;
    let stranger = json!({ "apiVersion": "example.com/v1", "kind": "Runtime", "name": "eu-1" });
    fixture.event("d", stranger, "2026-01-04T00:00:00Z", "Strange").await;
    let told = fixture.reeve(&["events"]).await.with(0);
    let words: Vec<Vec<&str>> = told.out.lines().map(|line| line.split_whitespace().skip(1).collect()).collect();
    let wanted: &[&[&str]] = &[
        &["TYPE", "REASON", "OBJECT", "MESSAGE"],
        &["Normal", "Fetched", "source/fleet", "Fetched", "happened"],
        &["Normal", "Applied", "runtime/eu-1", "Applied", "happened"],
        &["Normal", "Drifted", "runtime/eu-2", "Drifted", "happened"],
    ];
    assert_eq!(words, wanted);
    let told = fixture.reeve(&["events", "runtime", "eu-1", "-o", "json"]).await.with(0).json();
    assert_eq!(told.as_array().unwrap().len(), 1);
    assert_eq!(told[0]["reason"], "Applied");
    let told = fixture.reeve(&["events", "runtime", "eu-1", "-o", "yaml"]).await.with(0).out;
    let read: Value = serde_yaml::from_str(&told).unwrap();
    assert_eq!(read[0]["lastTimestamp"], "2026-01-02T00:00:00Z");
    fixture.reeve(&["events", "runtime", "eu-3"]).await.with(2);
}

#[tokio::test]
async fn a_watch_tells_what_happens_next() {
    let fixture = CliFixture::new("events-watch").await;
    fixture.event("a", runtime("eu-1"), "2026-01-02T00:00:00Z", "Applied").await;
    let mut watching = Watching::start(&fixture, &["events", "--watch"]);
    assert!(watching.line().await.starts_with("AGE"));
    assert!(watching.line().await.contains("Applied"));
    fixture.event("b", runtime("eu-1"), "2026-01-02T00:00:01Z", "Drifted").await;
    assert!(watching.line().await.contains("Drifted"), "only what is new comes");
}
