//! What Git leaves to others, and what becomes of it when it no longer does.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use reeve_crds::State;
use reeve_crds::scaling_rule::CAPTURE_KEY;
use reeve_tests::until;
use serde_json::json;

use super::fixture::{Fixture, config, deployment};

const RULE: &str = "apiVersion: reeve.dev/v1alpha1\nkind: ScalingRule\nmetadata: { name: web }\nspec:\n  services: [{ name: web }]\n---\n";

fn service(app: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{ name: web }}\nspec:\n  selector: {{ app: {app} }}\n  ports: [{{ port: 80 }}]\n---\n"
    )
}

/// Objects of this kind are always healthy.
fn healthy(kind: &str) -> String {
    format!("kind: Health\nrules:\n  - {{ apiVersion: {kind}, current: 'true' }}\n")
}

impl Fixture {
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

    /// The Service selects this, and is captured or not.
    async fn selects(&self, app: &str, captured: bool) {
        until(&self.there::<Service>(), "web", &format!("it selects {app}, captured: {captured}"), |service| {
            let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
            selector.is_some_and(|selector| {
                selector.get("app").is_some_and(|value| value == app) && selector.contains_key(CAPTURE_KEY) == captured
            })
        })
        .await;
    }

    /// Captures the Service as the resolver does.
    async fn capture(&self) {
        let capture = json!({ "spec": { "selector": { CAPTURE_KEY: "web" } } });
        let resolver = PatchParams { field_manager: Some("reeve-resolver".to_owned()), ..PatchParams::default() };
        self.there::<Service>().patch("web", &resolver, &Patch::Merge(&capture)).await.unwrap();
    }

    fn leaves_replicas(&self, leaves: bool) {
        let ignore = "policy: { drift: { ignore: [{ kind: Deployment, paths: [/spec/replicas] }] } }\n";
        self.runtime(&self.runtime, if leaves { ignore } else { "" });
    }
}

#[tokio::test]
async fn what_a_rule_left_to_others_is_taken_back_when_the_rule_leaves_git() {
    let fixture = Fixture::new("rule").await;
    fixture.component("web", "1.0.0", &(deployment("web", 0) + &service("web")));
    // The rule is in a component of its own, and names no target: what its Service leads to is meant.
    fixture.component("rule", "1.0.0", RULE);
    // No node runs pods here, and no resolver reads rules.
    for (chart, kind) in [("rule", "reeve.dev/v1alpha1, kind: ScalingRule"), ("web", "apps/v1, kind: Deployment")] {
        fixture.write(&format!("charts/{chart}/1.0.0/health.yaml"), &healthy(kind));
    }
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.scale("3").await;
    fixture.capture().await;
    // Whoever looks again leaves both as they are.
    fixture.component("other", "1.0.0", &config("other", "x"));
    let second = fixture.push();
    fixture.applied(&second).await;
    fixture.has_replicas(3).await;
    fixture.selects("web", true).await;

    // Git's own change counts, and the capture stays.
    fixture.write("charts/web/1.1.0/health.yaml", &healthy("apps/v1, kind: Deployment"));
    fixture.component("web", "1.1.0", &(deployment("web", 0) + &service("shop")));
    let third = fixture.push();
    fixture.applied(&third).await;
    fixture.selects("shop", true).await;
    // The Service leads to other pods now, and so the rule no longer takes these replicas.
    fixture.has_replicas(0).await;
    let web = fixture.component_is("web", State::Ready, "Succeeded").await;
    assert_eq!(web.status.and_then(|status| status.drift), None, "it is no drift");

    fixture.drop_component("rule");
    fixture.push();
    fixture.selects("shop", false).await;
}

/// A VirtualService whose first route leads to `web`, once a timeout is another.
fn routes(timeout: &str) -> String {
    format!(
        "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {{ name: site }}\nspec:\n  hosts: [shop.example.com]\n  http:\n  - name: main\n    timeout: {timeout}\n    route: [{{ destination: {{ host: web }} }}]\n---\n"
    )
}

#[tokio::test]
async fn gits_own_change_of_a_captured_route_counts_and_the_capture_stays() {
    let fixture = Fixture::new("routes").await;
    fixture.cluster.istio_crds().await;
    let rule = RULE.trim_end_matches("---\n").to_owned() + "  switch: { virtualService: { name: site } }\n---\n";
    fixture.component("web", "1.0.0", &(service("web") + &rule + &routes("1s")));
    fixture.write("charts/web/1.0.0/health.yaml", &healthy("reeve.dev/v1alpha1, kind: ScalingRule"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;

    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("networking.istio.io", "v1", "VirtualService"));
    let sites = Api::<DynamicObject>::namespaced_with(fixture.cluster.client(), &fixture.target, &kind);
    let lead = |host: &str| {
        let path = "/spec/http/0/route/0/destination/host";
        Patch::<DynamicObject>::Json(
            serde_json::from_value(json!([{ "op": "replace", "path": path, "value": host }])).unwrap(),
        )
    };
    let resolver = PatchParams { field_manager: Some("reeve-resolver".to_owned()), ..PatchParams::default() };
    sites.patch("site", &resolver, &lead("web-reeve-door")).await.unwrap();
    let says = |host: &'static str, timeout: &'static str| {
        let sites = sites.clone();
        async move {
            until(&sites, "site", &format!("it leads to {host} within {timeout}"), |site| {
                let route = &site.data["spec"]["http"][0];
                route["route"][0]["destination"]["host"] == host && route["timeout"] == timeout
            })
            .await;
        }
    };
    fixture.write("charts/web/1.1.0/health.yaml", &healthy("reeve.dev/v1alpha1, kind: ScalingRule"));
    fixture.component("web", "1.1.0", &(service("web") + &rule + &routes("2s")));
    let second = fixture.push();
    fixture.applied(&second).await;
    says("web-reeve-door", "2s").await;

    sites.patch("site", &resolver, &lead("web")).await.unwrap();
    fixture.component("other", "1.0.0", &config("other", "x"));
    let third = fixture.push();
    fixture.applied(&third).await;
    says("web", "2s").await;
    let web = fixture.component_is("web", State::Ready, "Succeeded").await;
    assert_eq!(web.status.and_then(|status| status.drift), None, "neither is drift");
}

#[tokio::test]
async fn what_the_policy_left_to_others_is_taken_back_when_it_no_longer_does() {
    let fixture = Fixture::new("ignored").await;
    fixture.leaves_replicas(true);
    fixture.component("web", "1.0.0", &deployment("web", 0));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.scale("3").await;
    fixture.leaves_replicas(false);
    fixture.push();
    fixture.has_replicas(0).await;

    // Also by a process that was not there before.
    fixture.leaves_replicas(true);
    fixture.component("more", "1.0.0", &config("more", "x"));
    let third = fixture.push();
    fixture.applied(&third).await;
    fixture.scale("3").await;
    reeve.terminate().await;
    fixture.leaves_replicas(false);
    fixture.push();
    let _reeve = fixture.reeve();
    fixture.has_replicas(0).await;
}

#[tokio::test]
async fn gits_own_change_of_a_field_that_is_left_to_others_counts_until_another_decides_it() {
    let fixture = Fixture::new("own-change").await;
    fixture.leaves_replicas(true);
    fixture.component("web", "1.0.0", &deployment("web", 0));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.component("web", "1.1.0", &deployment("web", 2));
    fixture.push();
    fixture.has_replicas(2).await;
    fixture.scale("0").await;
    fixture.component("web", "1.2.0", &(deployment("web", 4) + &config("done", "yes")));
    let third = fixture.push();
    fixture.applied(&third).await;
    fixture.comes_to_say("done", "yes").await;
    fixture.has_replicas(0).await;
}
