//! What objects ask for themselves.

use k8s_openapi::api::core::v1::ConfigMap;
use reeve_tests::eventually;
use serde_json::json;

use super::scene::{Scene, annotated, config};

#[tokio::test]
async fn an_object_can_ask_to_be_made_once_or_never() {
    let scene = Scene::new("apply").await;
    scene.apply("v1", "ConfigMap", Some(&scene.target), "theirs", json!({ "data": { "say": "theirs" } })).await;
    let text = annotated("once", "git", "reeve.dev/apply", "IfMissing")
        + &annotated("theirs", "git", "reeve.dev/apply", "IfMissing")
        + &annotated("never", "git", "reeve.dev/apply", "Never")
        + &config("always", "git");
    scene.component("web", "1.0.0", &text);
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    assert_eq!(scene.says("once").await.unwrap(), "git");
    assert_eq!(scene.says("theirs").await.unwrap(), "theirs", "it was there");
    assert_eq!(scene.says("never").await, None);
    scene.meddle("once", "hand").await;
    scene.meddle("always", "hand").await;
    scene.comes_to_say("always", "git").await;
    assert_eq!(scene.says("once").await.unwrap(), "hand");
}

#[tokio::test]
async fn an_object_can_ask_to_stay_and_precious_ones_stay_unless_they_ask_to_go() {
    let scene = Scene::new("stay").await;
    let space = |name: &str, annotations: &str| {
        format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{ name: {}-{name}, annotations: {{ {annotations} }} }}\n---\n",
            scene.namespace
        )
    };
    let text = annotated("never", "x", "reeve.dev/prune", "Never")
        + &annotated("helm", "x", "helm.sh/resource-policy", "keep")
        + &config("goes", "x")
        + &space("stays", "")
        + &space("goes", "reeve.dev/prune: Always");
    scene.component("web", "1.0.0", &text);
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    scene.component("web", "1.1.0", &config("new", "x"));
    let second = scene.push();
    scene.applied(&second).await;
    scene.gone(&scene.there::<ConfigMap>(), "goes").await;
    let spaces = scene.dynamic("v1", "Namespace", None);
    scene.gone(&spaces, &format!("{}-goes", scene.namespace)).await;
    assert!(spaces.get_opt(&format!("{}-stays", scene.namespace)).await.unwrap().is_some());
    assert_eq!(scene.says("never").await.unwrap(), "x");
    assert_eq!(scene.says("helm").await.unwrap(), "x");
    eventually("what stays is forgotten", || async {
        let inventory = scene.inventory(&scene.runtime).await;
        if inventory == ["ConfigMap/new"] { Ok(()) } else { Err(format!("{inventory:?}")) }
    })
    .await;
}

#[tokio::test]
async fn a_field_that_others_may_change_is_neither_drift_nor_written_again() {
    let scene = Scene::new("ignore").await;
    scene.component(
        "web",
        "1.0.0",
        &(annotated("settings", "git", "reeve.dev/ignore", "/data/say") + &config("probe", "git")),
    );
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    scene.meddle("settings", "hand").await;
    scene.meddle("probe", "hand").await;
    scene.comes_to_say("probe", "git").await;
    assert_eq!(scene.says("settings").await.unwrap(), "hand");
    scene.component(
        "web",
        "1.1.0",
        &(annotated("settings", "other", "reeve.dev/ignore", "/data/say") + &config("probe", "two")),
    );
    let second = scene.push();
    scene.applied(&second).await;
    assert_eq!(scene.says("settings").await.unwrap(), "hand");
}

#[tokio::test]
async fn an_object_that_is_made_once_stays_if_git_says_so_later() {
    let scene = Scene::new("later").await;
    let once = annotated("once", "git", "reeve.dev/apply", "IfMissing");
    scene.component("web", "1.0.0", &(once.clone() + &config("goes", "x")));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    let kept = once.replace("reeve.dev/apply:", "reeve.dev/prune: Never, reeve.dev/apply:");
    assert_ne!(kept, once);
    scene.component("web", "1.1.0", &(kept + &config("goes", "x")));
    let second = scene.push();
    scene.applied(&second).await;
    scene.component("web", "1.2.0", &config("new", "x"));
    let third = scene.push();
    scene.applied(&third).await;
    scene.gone(&scene.there::<ConfigMap>(), "goes").await;
    assert_eq!(scene.says("once").await.unwrap(), "git");
}
