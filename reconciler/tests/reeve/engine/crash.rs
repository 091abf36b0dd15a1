//! Killed at any write, it ends where it would have ended: the cluster is as Git says, nothing is left over, and nothing
//! is written twice.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::ListParams;
use reeve_tests::eventually;

use super::fixture::{Fixture, config};
use super::proxy::{Proxy, Rule};

/// What is under way when the process is killed.
#[derive(Clone, Copy, Debug)]
enum Change {
    Install,
    Upgrade,
    Prune,
}

/// Version and content hash by name, of all objects that the runtime's label claims.
async fn objects(fixture: &Fixture) -> BTreeMap<String, (String, String)> {
    let ours = ListParams::default().labels(&format!("reeve.dev/runtime={}", fixture.runtime));
    let found = fixture.there::<ConfigMap>().list(&ours).await.unwrap();
    let facts = found.into_iter().map(|object| {
        let content = object.annotations().get("reeve.dev/content").cloned().unwrap_or_default();
        (object.name_any(), (object.resource_version().unwrap_or_default(), content))
    });
    facts.collect()
}

/// The wanted names after the change, once it is prepared and pushed.
async fn prepare(fixture: &Fixture, change: Change) -> (reeve_tests::CommitId, Vec<&'static str>) {
    fixture.component("base", "1.0.0", &(config("a", "one") + &config("b", "one")));
    fixture.component_with("web", "1.0.0", "{ dependsOn: [base] }", &(config("c", "one") + &config("d", "one")));
    let first = fixture.push();
    fixture.follow().await;
    if let Change::Install = change {
        return (first, vec!["a", "b", "c", "d"]);
    }
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    reeve.terminate().await;
    let left = if let Change::Upgrade = change {
        fixture.component("base", "1.1.0", &(config("a", "two") + &config("b", "one")));
        fixture.component_with("web", "1.1.0", "{ dependsOn: [base] }", &(config("c", "two") + &config("e", "two")));
        vec!["a", "b", "c", "e"]
    } else {
        fixture.component("base", "1.1.0", &config("b", "one"));
        fixture.drop_component("web");
        vec!["b"]
    };
    (fixture.push(), left)
}

/// Kills the process at its k-th write and looks where the next one ends. False if there are fewer writes.
async fn crash(change: Change, at: usize, answered: bool) -> bool {
    let fixture = Fixture::new("crash").await;
    let (commit, names) = prepare(&fixture, change).await;
    let proxy = Proxy::start(&fixture.cluster, Rule::Hold { at, answered }).await;
    let reeve = fixture.reeve_through(&proxy.kubeconfig(fixture.data.path()), &[]);
    let killed = tokio::select! {
        () = proxy.reached() => true,
        _ = fixture.applied(&commit) => false,
    };
    reeve.kill();
    let before = objects(&fixture).await;
    let reeve = fixture.reeve();
    eventually("the commit is in force", || {
        let log = reeve.log();
        async move { if log.contains("accepted") { Ok(()) } else { Err(log) } }
    })
    .await;
    fixture.applied(&commit).await;
    let wanted: Vec<String> = names.iter().map(|name| format!("ConfigMap/{name}")).collect();
    eventually("the inventory has what Git has", || async {
        let inventory = fixture.inventory(&fixture.runtime).await;
        if inventory == wanted { Ok(()) } else { Err(format!("{inventory:?}")) }
    })
    .await;
    reeve.terminate().await;
    let after = objects(&fixture).await;
    let what = format!("{change:?} killed at write {at}, answered: {answered}");
    assert_eq!(after.keys().collect::<Vec<_>>(), names, "{what}");
    for (name, (version, content)) in &before {
        if let Some((later, final_content)) = after.get(name).filter(|(_, final_content)| final_content == content) {
            assert_eq!(later, version, "{what}: {name} was {final_content} already");
        }
    }
    killed
}

#[tokio::test]
async fn an_install_that_is_killed_is_finished_by_the_next_process() {
    assert!(crash(Change::Install, 3, true).await);
    assert!(crash(Change::Install, 5, false).await);
}

#[tokio::test]
async fn an_upgrade_that_is_killed_is_finished_by_the_next_process() {
    assert!(crash(Change::Upgrade, 2, true).await);
    assert!(crash(Change::Upgrade, 4, true).await);
}

#[tokio::test]
async fn a_prune_that_is_killed_is_finished_by_the_next_process() {
    assert!(crash(Change::Prune, 2, true).await);
    assert!(crash(Change::Prune, 3, false).await);
}

/// Every write of a change may be the last one.
async fn sweep(change: Change, answered: bool) {
    let mut at = 1;
    while crash(change, at, answered).await {
        at += 1;
    }
    eprintln!("{change:?}, answered: {answered}: killed at each of {} writes", at - 1);
    assert!(at > 3, "{change:?} has only {at} writes");
}

#[tokio::test]
#[ignore = "many processes: make soak"]
async fn every_write_of_an_install_may_be_the_last() {
    tokio::join!(sweep(Change::Install, false), sweep(Change::Install, true));
}

#[tokio::test]
#[ignore = "many processes: make soak"]
async fn every_write_of_an_upgrade_may_be_the_last() {
    tokio::join!(sweep(Change::Upgrade, false), sweep(Change::Upgrade, true));
}

#[tokio::test]
#[ignore = "many processes: make soak"]
async fn every_write_of_a_prune_may_be_the_last() {
    tokio::join!(sweep(Change::Prune, false), sweep(Change::Prune, true));
}
