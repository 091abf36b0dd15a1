//! A start that finds everything in order writes nothing.

use reeve_crds::GitSource;
use reeve_tests::{eventually, until};

use super::scene::{Scene, config, deployment};

#[tokio::test]
async fn a_restart_changes_nothing() {
    let scene = Scene::new("restart").await;
    scene.component(
        "base",
        "1.0.0",
        &format!("apiVersion: v1\nkind: Namespace\nmetadata: {{ name: {}-made }}\n", scene.namespace),
    );
    scene.component_with("web", "1.0.0", "{ dependsOn: [base] }", &(config("settings", "one") + &deployment("web", 0)));
    let first = scene.push();
    scene.follow().await;
    let reeve = scene.reeve();
    scene.applied(&first).await;
    // A commit that concerns nobody is no reason to write either, neither now nor after a start.
    scene.write("README.md", "words");
    let second = scene.push();
    let is_ready = |source: &GitSource| {
        let status = source.status.clone().unwrap_or_default();
        status.commit.is_some_and(|commit| commit.id == second.as_str())
            && status.runtimes.is_some_and(|runtimes| runtimes.summary == "1/1")
    };
    until(&scene.api::<GitSource>(), "fleet", "the commit is known and the runtime counted", is_ready).await;
    reeve.terminate().await;
    let before = scene.versions().await;
    assert_eq!(before.len(), 6, "{before:?}");

    let reeve = scene.reeve();
    eventually("the commit is in force again", || {
        let log = reeve.log();
        async move { if log.contains("accepted") { Ok(()) } else { Err(log) } }
    })
    .await;
    // What is put right after the start shows that the start is over.
    scene.meddle("settings", "hand").await;
    scene.comes_to_say("settings", "one").await;
    let mut after = scene.versions().await;
    let component = format!("RuntimeComponent/{}.web", scene.runtime);
    // The repair shows on these, and while it is under way on the source too.
    for name in [
        "ConfigMap/settings",
        "GitSource/fleet",
        &component,
        &format!("Runtime/{}", scene.runtime),
        &format!("Inventory/{}.0", scene.runtime),
    ] {
        after.insert(name.to_owned(), before[name].clone());
    }
    assert_eq!(after, before);
    reeve.kill();
}

#[tokio::test]
async fn a_restart_sends_no_write() {
    let scene = Scene::new("restart-quiet").await;
    scene.component("web", "1.0.0", &(config("settings", "one") + &deployment("web", 0)));
    let first = scene.push();
    scene.follow().await;
    let reeve = scene.reeve();
    scene.applied(&first).await;
    let is_counted = |source: &GitSource| {
        source
            .status
            .as_ref()
            .and_then(|status| status.runtimes.as_ref())
            .is_some_and(|runtimes| runtimes.summary == "1/1")
    };
    until(&scene.api::<GitSource>(), "fleet", "the runtime is counted", is_counted).await;
    reeve.terminate().await;
    let before = scene.versions().await;
    let writes = || {
        scene.cluster.audit().matching(|event| {
            let ours = event.namespace == scene.namespace || event.namespace == scene.target;
            let controllers =
                event.user.starts_with("system:kube-") || event.user.starts_with("system:serviceaccount:kube-system:");
            ours && event.is_write() && event.resource != "events" && !controllers
        })
    };
    let sent = writes().len();
    let reeve = scene.reeve();
    let looked = || {
        scene
            .cluster
            .audit()
            .matching(|event| {
                // Whoever follows all pages reads them too, but only a worker those of its runtime.
                let of_runtime = event.uri.contains("fieldSelector");
                event.namespace == scene.namespace && event.resource == "inventories" && of_runtime
            })
            .len()
    };
    let listed = looked();
    eventually("it is at work", || async {
        if looked() > listed && reeve.log().contains("accepted") { Ok(()) } else { Err("not yet") }
    })
    .await;
    // It ends in order only when everything that it meant to write is written.
    reeve.terminate().await;
    assert_eq!(writes().len(), sent, "{:#?}", &writes()[sent..]);
    assert_eq!(scene.versions().await, before);
}
