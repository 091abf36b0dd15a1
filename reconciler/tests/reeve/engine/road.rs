//! The main road: install, upgrade, roll back, prune.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use reeve_crds::{GitSource, Inventory, Runtime, RuntimeComponent, State};
use reeve_tests::{eventually, until};

use super::scene::{Scene, config, deployment};

#[tokio::test]
async fn a_push_installs_another_upgrades_and_a_revert_rolls_back() {
    let scene = Scene::new("road").await;
    scene.component("web", "1.0.0", &(config("settings", "one") + &deployment("web", 0)));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    let runtime = scene.applied(&first).await;
    assert_eq!(scene.says("settings").await.unwrap(), "one");
    assert!(scene.there::<Deployment>().get_opt("web").await.unwrap().is_some());
    let status = runtime.status.unwrap();
    assert_eq!(status.objects, Some(2));
    assert_eq!(status.history.len(), 1);

    scene.component("web", "1.1.0", &(config("settings", "two") + &deployment("web", 0)));
    let second = scene.push();
    scene.applied(&second).await;
    assert_eq!(scene.says("settings").await.unwrap(), "two");

    scene.repository.git(&["revert", "--no-edit", "HEAD"]).unwrap();
    scene.repository.push().unwrap();
    let third = scene.repository.head().unwrap();
    scene.applied(&third).await;
    assert_eq!(scene.says("settings").await.unwrap(), "one");
    let remembers = |component: &RuntimeComponent| {
        let history = component.status.iter().flat_map(|status| &status.history);
        history.filter_map(|entry| entry.version.as_deref()).eq(["1.0.0", "1.1.0", "1.0.0"])
    };
    let name = format!("{}.web", scene.runtime);
    until(&scene.api::<RuntimeComponent>(), &name, "the component remembers", remembers).await;
    let is_told = |source: &GitSource| {
        let status = source.status.clone().unwrap_or_default();
        status.commit.is_some_and(|commit| commit.id == third.as_str())
            && status.runtimes.is_some_and(|runtimes| runtimes.summary == "1/1")
            && status.state == Some(State::Ready)
    };
    until(&scene.api::<GitSource>(), "fleet", "the source is ready", is_told).await;
}

#[tokio::test]
async fn what_left_a_chart_or_the_fleet_is_taken_away() {
    let scene = Scene::new("prune").await;
    scene.component("web", "1.0.0", &(config("keeps", "x") + &config("goes", "x")));
    scene.component("other", "1.0.0", &config("other", "x"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    scene.component("web", "1.1.0", &config("keeps", "x"));
    let second = scene.push();
    scene.applied(&second).await;
    scene.gone(&scene.there::<ConfigMap>(), "goes").await;
    assert_eq!(scene.says("keeps").await.unwrap(), "x");
    scene.drop_component("other");
    let third = scene.push();
    scene.applied(&third).await;
    scene.gone(&scene.there::<ConfigMap>(), "other").await;
    scene.gone(&scene.api::<RuntimeComponent>(), &format!("{}.other", scene.runtime)).await;
    eventually("the inventory has what is left", || async {
        let inventory = scene.inventory(&scene.runtime).await;
        if inventory == ["ConfigMap/keeps"] { Ok(()) } else { Err(format!("{inventory:?}")) }
    })
    .await;
}

#[tokio::test]
async fn an_object_that_moves_to_another_component_is_never_deleted() {
    let scene = Scene::new("move").await;
    scene.component("old", "1.0.0", &config("moves", "x"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    let uid = scene.there::<ConfigMap>().get("moves").await.unwrap().metadata.uid;
    scene.drop_component("old");
    scene.component("slow", "1.0.0", &deployment("slow", 0));
    scene.component_with("new", "1.0.0", "{ dependsOn: [slow] }", &config("moves", "x"));
    let second = scene.push();
    scene.applied(&second).await;
    scene.gone(&scene.api::<RuntimeComponent>(), &format!("{}.old", scene.runtime)).await;
    let moved = scene.there::<ConfigMap>().get("moves").await.unwrap();
    assert_eq!(moved.metadata.uid, uid);
    assert_eq!(moved.metadata.labels.unwrap()["reeve.dev/component"], "new");
}

#[tokio::test]
async fn a_runtime_whose_file_goes_leaves_its_objects() {
    let scene = Scene::new("orphan").await;
    scene.component("web", "1.0.0", &config("settings", "x"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    scene.repository.remove(&format!("runtimes/{}.yaml", scene.runtime)).unwrap();
    scene.runtime(&format!("{}-other", scene.runtime), "channel: none\n");
    scene.write("channels/none.yaml", "kind: Channel\ncomponents: { web: 1.0.0 }\n");
    scene.drop_component("web");
    scene.push();
    scene.gone(&scene.api::<Runtime>(), &scene.runtime).await;
    scene.gone(&scene.api::<Inventory>(), &format!("{}.0", scene.runtime)).await;
    assert_eq!(scene.says("settings").await.unwrap(), "x");
}

#[tokio::test]
async fn a_runtime_whose_file_goes_takes_its_objects_along_if_its_policy_says_so() {
    let scene = Scene::new("delete").await;
    scene.runtime(&scene.runtime, "policy: { deletionPolicy: Delete }\n");
    let doomed = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: { name: claim }\nspec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }\n";
    scene.component("web", "1.0.0", &(config("settings", "x") + doomed));
    scene.write(
        "charts/web/1.0.0/health.yaml",
        "kind: Health\nrules:\n  - { apiVersion: v1, kind: PersistentVolumeClaim, current: 'true' }\n",
    );
    let first = scene.push();
    scene.follow().await;
    let reeve = scene.reeve();
    scene.applied(&first).await;
    reeve.kill();
    scene.repository.remove(&format!("runtimes/{}.yaml", scene.runtime)).unwrap();
    scene.push();
    let _reeve = scene.reeve();
    scene.gone(&scene.api::<Runtime>(), &scene.runtime).await;
    assert_eq!(scene.says("settings").await, None);
    let claim = scene.dynamic("v1", "PersistentVolumeClaim", Some(&scene.target)).get_opt("claim").await.unwrap();
    assert!(claim.is_some(), "claims are precious");
}

#[tokio::test]
async fn a_runtime_that_is_deleted_by_hand_comes_back_and_its_objects_are_not_touched() {
    let scene = Scene::new("by-hand").await;
    scene.component("web", "1.0.0", &config("settings", "x"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    let before = scene.applied(&first).await.metadata.uid;
    let version = scene.there::<ConfigMap>().get("settings").await.unwrap().metadata.resource_version;
    scene.api::<Runtime>().delete(&scene.runtime, &kube::api::DeleteParams::default()).await.unwrap();
    eventually("another Runtime is ready", || async {
        let runtime = scene.api::<Runtime>().get_opt(&scene.runtime).await.unwrap();
        let other = runtime.as_ref().is_some_and(|runtime| {
            runtime.metadata.uid != before
                && runtime.status.as_ref().is_some_and(|status| status.state == Some(State::Ready))
        });
        if other { Ok(()) } else { Err(format!("{runtime:?}")) }
    })
    .await;
    assert_eq!(scene.there::<ConfigMap>().get("settings").await.unwrap().metadata.resource_version, version);
}

#[tokio::test]
async fn a_component_s_object_that_is_deleted_by_hand_comes_back() {
    let scene = Scene::new("component").await;
    scene.component("web", "1.0.0", &config("settings", "x"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    let component = scene.component_is("web", State::Ready, "Succeeded").await;
    let name = format!("{}.web", scene.runtime);
    scene.api::<RuntimeComponent>().delete(&name, &kube::api::DeleteParams::default()).await.unwrap();
    let is_another = |found: &RuntimeComponent| {
        found.metadata.uid != component.metadata.uid
            && found.status.as_ref().is_some_and(|status| status.state == Some(State::Ready))
    };
    until(&scene.api::<RuntimeComponent>(), &name, "it is made anew", is_another).await;
}

#[tokio::test]
async fn a_source_that_is_deleted_leaves_its_runtimes_and_takes_them_up_again() {
    let scene = Scene::new("sourceless").await;
    scene.component("web", "1.0.0", &config("settings", "one"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    scene.api::<GitSource>().delete("fleet", &kube::api::DeleteParams::default()).await.unwrap();
    let is_left =
        |runtime: &Runtime| runtime.status.as_ref().is_some_and(|status| status.state == Some(State::Suspended));
    until(&scene.api::<Runtime>(), &scene.runtime, "nobody works on it", is_left).await;
    assert_eq!(scene.says("settings").await.unwrap(), "one");
    scene.component("web", "1.1.0", &config("settings", "two"));
    let second = scene.push();
    scene.follow().await;
    scene.applied(&second).await;
    assert_eq!(scene.says("settings").await.unwrap(), "two");
}

#[tokio::test]
async fn components_that_begin_together_share_what_is_written_ahead() {
    let scene = Scene::new("together").await;
    // One after the other they would each need a write.
    scene.runtime(&scene.runtime, "policy: { concurrency: 1 }\n");
    for number in 0..30 {
        let name = format!("c{number}");
        scene.component(&name, "1.0.0", &config(&name, "x"));
    }
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    let page = scene.api::<Inventory>().get(&format!("{}.0", scene.runtime)).await.unwrap();
    assert_eq!(page.spec.entries.len(), 30);
    let writes = page.metadata.generation.unwrap();
    assert!(writes <= 10, "{writes} writes for 30 components");
}
