//! What Git leaves to others, and what becomes of it when it no longer does.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Patch, PatchParams};
use reeve_tests::until;
use serde_json::json;

use super::scene::{Scene, config, deployment};

const RULE: &str = "apiVersion: reeve.dev/v1alpha1\nkind: ScalingRule\nmetadata: { name: web }\nspec:\n  services: [{ name: web }]\n---\n";

fn service(app: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{ name: web }}\nspec:\n  selector: {{ app: {app} }}\n  ports: [{{ port: 80 }}]\n---\n"
    )
}

impl Scene {
    async fn scale(&self, replicas: &str) {
        let replicas = format!("--replicas={replicas}");
        self.cluster.kubectl(&["scale", "deployment", "web", &replicas, "-n", &self.target]).await;
    }

    async fn has_replicas(&self, replicas: i32) {
        until(&self.there::<Deployment>(), "web", &format!("{replicas} replicas"), |deployment| {
            deployment.spec.as_ref().and_then(|spec| spec.replicas) == Some(replicas)
        })
        .await;
    }

    async fn selects(&self, app: &str) {
        until(&self.there::<Service>(), "web", &format!("it selects {app}"), |service| {
            let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
            selector.and_then(|selector| selector.get("app")).is_some_and(|value| value == app)
        })
        .await;
    }

    fn leaves_replicas(&self, leaves: bool) {
        let ignore = "policy: { drift: { ignore: [{ kind: Deployment, paths: [/spec/replicas] }] } }\n";
        self.runtime(&self.runtime, if leaves { ignore } else { "" });
    }
}

#[tokio::test]
async fn what_a_rule_left_to_others_is_taken_back_when_the_rule_leaves_git() {
    let scene = Scene::new("rule").await;
    scene.component("web", "1.0.0", &(deployment("web", 0) + &service("web")));
    // The rule is in a component of its own, and names no target: what its Service leads to is meant.
    scene.component("rule", "1.0.0", RULE);
    // No node runs pods here, and no resolver reads rules.
    for (chart, kind) in [("rule", "reeve.dev/v1alpha1, kind: ScalingRule"), ("web", "apps/v1, kind: Deployment")] {
        let rule = format!("kind: Health\nrules:\n  - {{ apiVersion: {kind}, current: 'true' }}\n");
        scene.write(&format!("charts/{chart}/1.0.0/health.yaml"), &rule);
    }
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    scene.scale("3").await;
    let capture = json!({ "spec": { "selector": { "app": "captured" } } });
    let resolver = PatchParams { field_manager: Some("resolver".to_owned()), ..PatchParams::default() };
    scene.there::<Service>().patch("web", &resolver, &Patch::Merge(&capture)).await.unwrap();
    // Whoever looks again leaves both as they are.
    scene.component("other", "1.0.0", &config("other", "x"));
    let second = scene.push();
    scene.applied(&second).await;
    scene.has_replicas(3).await;
    scene.selects("captured").await;

    scene.drop_component("rule");
    scene.push();
    scene.has_replicas(0).await;
    scene.selects("web").await;
}

#[tokio::test]
async fn what_the_policy_left_to_others_is_taken_back_when_it_no_longer_does() {
    let scene = Scene::new("ignored").await;
    scene.leaves_replicas(true);
    scene.component("web", "1.0.0", &deployment("web", 0));
    let first = scene.push();
    scene.follow().await;
    let reeve = scene.reeve();
    scene.applied(&first).await;
    scene.scale("3").await;
    scene.leaves_replicas(false);
    scene.push();
    scene.has_replicas(0).await;

    // Also by a process that was not there before.
    scene.leaves_replicas(true);
    scene.component("more", "1.0.0", &config("more", "x"));
    let third = scene.push();
    scene.applied(&third).await;
    scene.scale("3").await;
    reeve.terminate().await;
    scene.leaves_replicas(false);
    scene.push();
    let _reeve = scene.reeve();
    scene.has_replicas(0).await;
}

#[tokio::test]
async fn gits_own_change_of_a_field_that_is_left_to_others_counts_until_another_decides_it() {
    let scene = Scene::new("own-change").await;
    scene.leaves_replicas(true);
    scene.component("web", "1.0.0", &deployment("web", 0));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    scene.component("web", "1.1.0", &deployment("web", 2));
    scene.push();
    scene.has_replicas(2).await;
    scene.scale("0").await;
    scene.component("web", "1.2.0", &(deployment("web", 4) + &config("done", "yes")));
    let third = scene.push();
    scene.applied(&third).await;
    scene.comes_to_say("done", "yes").await;
    scene.has_replicas(0).await;
}
