//! What objects ask for themselves.

use k8s_openapi::api::core::v1::ConfigMap;
use reeve_tests::eventually;
use serde_json::json;

use super::fixture::{Fixture, annotated, config};

#[tokio::test]
async fn an_object_can_ask_to_be_made_once_or_never() {
    let fixture = Fixture::new("apply").await;
    fixture.apply("v1", "ConfigMap", Some(&fixture.target), "theirs", json!({ "data": { "say": "theirs" } })).await;
    let text = annotated("once", "git", "reeve.dev/apply", "IfMissing")
        + &annotated("theirs", "git", "reeve.dev/apply", "IfMissing")
        + &annotated("never", "git", "reeve.dev/apply", "Never")
        + &config("always", "git");
    fixture.component("web", "1.0.0", &text);
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    assert_eq!(fixture.says("once").await.unwrap(), "git");
    assert_eq!(fixture.says("theirs").await.unwrap(), "theirs", "it was there");
    assert_eq!(fixture.says("never").await, None);
    fixture.meddle("once", "hand").await;
    fixture.meddle("always", "hand").await;
    fixture.comes_to_say("always", "git").await;
    assert_eq!(fixture.says("once").await.unwrap(), "hand");
}

#[tokio::test]
async fn an_object_can_ask_to_stay_and_precious_ones_stay_unless_they_ask_to_go() {
    let fixture = Fixture::new("stay").await;
    let space = |name: &str, annotations: &str| {
        format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{ name: {}-{name}, annotations: {{ {annotations} }} }}\n---\n",
            fixture.namespace
        )
    };
    let text = annotated("never", "x", "reeve.dev/prune", "Never")
        + &annotated("helm", "x", "helm.sh/resource-policy", "keep")
        + &config("goes", "x")
        + &space("stays", "")
        + &space("goes", "reeve.dev/prune: Always");
    fixture.component("web", "1.0.0", &text);
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.component("web", "1.1.0", &config("new", "x"));
    let second = fixture.push();
    fixture.applied(&second).await;
    fixture.gone(&fixture.there::<ConfigMap>(), "goes").await;
    let spaces = fixture.dynamic("v1", "Namespace", None);
    fixture.gone(&spaces, &format!("{}-goes", fixture.namespace)).await;
    assert!(spaces.get_opt(&format!("{}-stays", fixture.namespace)).await.unwrap().is_some());
    assert_eq!(fixture.says("never").await.unwrap(), "x");
    assert_eq!(fixture.says("helm").await.unwrap(), "x");
    eventually("what stays is forgotten", || async {
        let inventory = fixture.inventory(&fixture.runtime).await;
        if inventory == ["ConfigMap/new"] { Ok(()) } else { Err(format!("{inventory:?}")) }
    })
    .await;
}

#[tokio::test]
async fn a_field_that_others_may_change_is_neither_drift_nor_written_again() {
    let fixture = Fixture::new("ignore").await;
    fixture.component(
        "web",
        "1.0.0",
        &(annotated("settings", "git", "reeve.dev/ignore", "/data/say") + &config("probe", "git")),
    );
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.meddle("settings", "hand").await;
    fixture.meddle("probe", "hand").await;
    fixture.comes_to_say("probe", "git").await;
    assert_eq!(fixture.says("settings").await.unwrap(), "hand");
    fixture.component(
        "web",
        "1.1.0",
        &(annotated("settings", "other", "reeve.dev/ignore", "/data/say") + &config("probe", "two")),
    );
    let second = fixture.push();
    fixture.applied(&second).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "hand");
}

#[tokio::test]
async fn an_object_that_is_made_once_stays_if_git_says_so_later() {
    let fixture = Fixture::new("later").await;
    let once = annotated("once", "git", "reeve.dev/apply", "IfMissing");
    fixture.component("web", "1.0.0", &(once.clone() + &config("goes", "x")));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let kept = once.replace("reeve.dev/apply:", "reeve.dev/prune: Never, reeve.dev/apply:");
    assert_ne!(kept, once);
    fixture.component("web", "1.1.0", &(kept + &config("goes", "x")));
    let second = fixture.push();
    fixture.applied(&second).await;
    fixture.component("web", "1.2.0", &config("new", "x"));
    let third = fixture.push();
    fixture.applied(&third).await;
    fixture.gone(&fixture.there::<ConfigMap>(), "goes").await;
    assert_eq!(fixture.says("once").await.unwrap(), "git");
}
