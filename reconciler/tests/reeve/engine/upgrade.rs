//! What an earlier version left in a cluster is taken up by this one: nothing is made again, nothing rolls out.
//!
//! The earlier binary is built from Git's history, so this is a part of `make e2e`: `make e2e ONLY=upgrade`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::ListParams;
use reeve_crds::Runtime;
use reeve_tests::{ControlPlane, eventually, until};

use super::fixture::{Fixture, config, deployment};
use super::reeve::Reeve;

/// What must not change of an object that nobody changed: its uid, its generation, and its content.
async fn facts(fixture: &Fixture) -> BTreeMap<String, (String, Option<i64>, String)> {
    let mut facts = BTreeMap::new();
    for deployment in fixture.there::<Deployment>().list(&ListParams::default()).await.unwrap() {
        let template = serde_json::to_string(&deployment.spec).unwrap();
        facts.insert(
            format!("Deployment {}", deployment.name_any()),
            (deployment.uid().unwrap(), deployment.metadata.generation, template),
        );
    }
    for map in fixture.there::<ConfigMap>().list(&ListParams::default()).await.unwrap() {
        let data = serde_json::to_string(&map.data).unwrap();
        facts.insert(format!("ConfigMap {}", map.name_any()), (map.uid().unwrap(), map.metadata.generation, data));
    }
    facts
}

/// The managers of an object's fields.
async fn managers(fixture: &Fixture, name: &str) -> Vec<String> {
    let map = fixture.there::<ConfigMap>().get(name).await.unwrap();
    map.managed_fields().iter().filter_map(|entry| entry.manager.clone()).collect()
}

#[tokio::test]
#[ignore = "needs a binary of an earlier version: make e2e ONLY=upgrade"]
async fn what_an_earlier_version_applied_is_taken_up_without_a_rollout() {
    let earlier = PathBuf::from(std::env::var_os("EARLIER").expect("EARLIER names the earlier binary"));
    let definitions = earlier.with_extension("crds");
    let plane = ControlPlane::start().await.unwrap().controllers().await.unwrap();
    plane.kubectl(&["apply", "--server-side", "-f", definitions.to_str().unwrap()]).await;
    plane.kubectl(&["wait", "--for=condition=Established", "crd", "--all"]).await;
    let fixture = Fixture::on_prepared(&plane, "upgrade").await;
    fixture.component("base", "1.0.0", &(config("a", "one") + &config("b", "one")));
    fixture.component_with("web", "1.0.0", "{ dependsOn: [base] }", &(deployment("web", 0) + &config("c", "one")));
    let commit = fixture.push();
    fixture.follow().await;
    let args = ["--no-lease", "--watch-namespace", &fixture.namespace];
    let before = Reeve::run_program(&earlier, plane.kubeconfig(), fixture.data.path(), &args);
    fixture.applied(&commit).await;
    before.terminate().await;
    assert!(managers(&fixture, "a").await.contains(&"reeve".to_owned()), "it is the version with one manager for all");
    let left = facts(&fixture).await;

    plane.crds().await;
    let reeve = fixture.reeve();
    eventually("each object has the manager of its runtime, and the old one is gone", || async {
        let mut old = Vec::new();
        for name in ["a", "b", "c"] {
            let managers = managers(&fixture, name).await;
            let is_done = managers.iter().any(|manager| manager.starts_with("reeve:"))
                && !managers.iter().any(|manager| manager == "reeve");
            if !is_done {
                old.push((name, managers));
            }
        }
        if old.is_empty() { Ok(()) } else { Err(format!("{old:?}")) }
    })
    .await;
    fixture.applied(&commit).await;
    assert_eq!(facts(&fixture).await, left, "nothing was made again or rolled out");

    // Once that is done, nothing is written any more.
    reeve.terminate().await;
    let versions = fixture.versions().await;
    let _reeve = fixture.reeve();
    let is_looked_at = |runtime: &Runtime| {
        let applier = runtime.status.as_ref().and_then(|status| status.applier.as_ref());
        applier.is_some_and(|applier| applier.kubernetes_version.is_some())
    };
    until(&fixture.api::<Runtime>(), &fixture.runtime, "it is looked at", is_looked_at).await;
    fixture.component("base", "1.0.1", &(config("a", "one") + &config("b", "two")));
    let next = fixture.push();
    fixture.applied(&next).await;
    // Reeve's own kinds say what happened, and so change.
    let now = fixture.versions().await.into_iter();
    let changed = now.filter(|(name, version)| versions.get(name) != Some(version)).map(|(name, _)| name);
    let changed: Vec<String> =
        changed.filter(|name| !name.starts_with("GitSource") && !name.starts_with("Runtime")).collect();
    assert_eq!(changed, ["ConfigMap/b"], "only what the commit changed is written");
    eprintln!("upgrade: {} objects taken up, rollouts 0, made again 0", left.len());
}
