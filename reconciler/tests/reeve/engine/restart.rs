//! A start that finds everything in order writes nothing.

use reeve_crds::GitSource;
use reeve_tests::{eventually, until};

use super::fixture::{Fixture, config, deployment};

#[tokio::test]
async fn a_restart_changes_nothing() {
    let fixture = Fixture::new("restart").await;
    fixture.component(
        "base",
        "1.0.0",
        &format!("apiVersion: v1\nkind: Namespace\nmetadata: {{ name: {}-made }}\n", fixture.namespace),
    );
    fixture.component_with(
        "web",
        "1.0.0",
        "{ dependsOn: [base] }",
        &(config("settings", "one") + &deployment("web", 0)),
    );
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    // A commit that concerns nobody is no reason to write either, neither now nor after a start.
    fixture.write("README.md", "words");
    let second = fixture.push();
    let is_ready = |source: &GitSource| {
        let status = source.status.clone().unwrap_or_default();
        status.commit.is_some_and(|commit| commit.id == second.as_str())
            && status.runtimes.is_some_and(|runtimes| runtimes.summary == "1/1")
    };
    until(&fixture.api::<GitSource>(), "fleet", "the commit is known and the runtime counted", is_ready).await;
    reeve.terminate().await;
    let before = fixture.versions().await;
    assert_eq!(before.len(), 6, "{before:?}");

    let reeve = fixture.reeve();
    eventually("the commit is in force again", || {
        let log = reeve.log();
        async move { if log.contains("accepted") { Ok(()) } else { Err(log) } }
    })
    .await;
    // What is put right after the start shows that the start is over.
    fixture.meddle("settings", "hand").await;
    fixture.comes_to_say("settings", "one").await;
    let mut after = fixture.versions().await;
    let component = format!("RuntimeComponent/{}.web", fixture.runtime);
    // The repair shows on these, and while it is under way on the source too.
    for name in [
        "ConfigMap/settings",
        "GitSource/fleet",
        &component,
        &format!("Runtime/{}", fixture.runtime),
        &format!("Inventory/{}.0", fixture.runtime),
    ] {
        after.insert(name.to_owned(), before[name].clone());
    }
    assert_eq!(after, before);
    reeve.kill();
}

#[tokio::test]
async fn a_restart_sends_no_write() {
    let fixture = Fixture::new("restart-quiet").await;
    fixture.component("web", "1.0.0", &(config("settings", "one") + &deployment("web", 0)));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    let is_counted = |source: &GitSource| {
        source
            .status
            .as_ref()
            .and_then(|status| status.runtimes.as_ref())
            .is_some_and(|runtimes| runtimes.summary == "1/1")
    };
    until(&fixture.api::<GitSource>(), "fleet", "the runtime is counted", is_counted).await;
    reeve.terminate().await;
    let before = fixture.versions().await;
    let writes = || {
        fixture.cluster.audit().matching(|event| {
            let ours = event.namespace == fixture.namespace || event.namespace == fixture.target;
            let controllers =
                event.user.starts_with("system:kube-") || event.user.starts_with("system:serviceaccount:kube-system:");
            ours && event.is_write() && event.resource != "events" && !controllers
        })
    };
    let sent = writes().len();
    let looked = || {
        fixture
            .cluster
            .audit()
            .matching(|event| {
                // Whoever follows all pages reads them too, but only a worker those of its runtime.
                let of_runtime = event.uri.contains("fieldSelector");
                event.namespace == fixture.namespace && event.resource == "inventories" && of_runtime
            })
            .len()
    };
    let listed = looked();
    let reeve = fixture.reeve();
    eventually("it is at work", || async {
        if looked() > listed && reeve.log().contains("accepted") { Ok(()) } else { Err("not yet") }
    })
    .await;
    // It ends in order only when everything that it meant to write is written.
    reeve.terminate().await;
    assert_eq!(writes().len(), sent, "{:#?}", &writes()[sent..]);
    assert_eq!(fixture.versions().await, before);
}
