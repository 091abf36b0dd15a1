//! The lifecycle of a component: install, upgrade, roll back, prune.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use reeve_crds::{GitSource, Inventory, Runtime, RuntimeComponent, State};
use reeve_tests::{eventually, until};

use super::fixture::{Fixture, config, deployment};

#[tokio::test]
async fn a_push_installs_another_upgrades_and_a_revert_rolls_back() {
    let fixture = Fixture::new("road").await;
    fixture.component("web", "1.0.0", &(config("settings", "one") + &deployment("web", 0)));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    let runtime = fixture.applied(&first).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "one");
    assert!(fixture.there::<Deployment>().get_opt("web").await.unwrap().is_some());
    let status = runtime.status.unwrap();
    assert_eq!(status.objects, Some(2));
    assert_eq!(status.history.len(), 1);

    fixture.component("web", "1.1.0", &(config("settings", "two") + &deployment("web", 0)));
    let second = fixture.push();
    fixture.applied(&second).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "two");

    fixture.repository.git(&["revert", "--no-edit", "HEAD"]).unwrap();
    fixture.repository.push().unwrap();
    let third = fixture.repository.head().unwrap();
    fixture.applied(&third).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "one");
    let remembers = |component: &RuntimeComponent| {
        let history = component.status.iter().flat_map(|status| &status.history);
        history.filter_map(|entry| entry.version.as_deref()).eq(["1.0.0", "1.1.0", "1.0.0"])
    };
    let name = format!("{}.web", fixture.runtime);
    until(&fixture.api::<RuntimeComponent>(), &name, "the component remembers", remembers).await;
    let is_told = |source: &GitSource| {
        let status = source.status.clone().unwrap_or_default();
        status.commit.is_some_and(|commit| commit.id == third.as_str())
            && status.runtimes.is_some_and(|runtimes| runtimes.summary == "1/1")
            && status.state == Some(State::Ready)
    };
    until(&fixture.api::<GitSource>(), "fleet", "the source is ready", is_told).await;
}

#[tokio::test]
async fn what_left_a_chart_or_the_fleet_is_taken_away() {
    let fixture = Fixture::new("prune").await;
    fixture.component("web", "1.0.0", &(config("keeps", "x") + &config("goes", "x")));
    fixture.component("other", "1.0.0", &config("other", "x"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.component("web", "1.1.0", &config("keeps", "x"));
    let second = fixture.push();
    fixture.applied(&second).await;
    fixture.gone(&fixture.there::<ConfigMap>(), "goes").await;
    assert_eq!(fixture.says("keeps").await.unwrap(), "x");
    fixture.drop_component("other");
    let third = fixture.push();
    fixture.applied(&third).await;
    fixture.gone(&fixture.there::<ConfigMap>(), "other").await;
    fixture.gone(&fixture.api::<RuntimeComponent>(), &format!("{}.other", fixture.runtime)).await;
    eventually("the inventory has what is left", || async {
        let inventory = fixture.inventory(&fixture.runtime).await;
        if inventory == ["ConfigMap/keeps"] { Ok(()) } else { Err(format!("{inventory:?}")) }
    })
    .await;
}

#[tokio::test]
async fn an_object_that_moves_to_another_component_is_never_deleted() {
    let fixture = Fixture::new("move").await;
    fixture.component("old", "1.0.0", &config("moves", "x"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let uid = fixture.there::<ConfigMap>().get("moves").await.unwrap().metadata.uid;
    fixture.drop_component("old");
    fixture.component("slow", "1.0.0", &deployment("slow", 0));
    fixture.component_with("new", "1.0.0", "{ dependsOn: [slow] }", &config("moves", "x"));
    let second = fixture.push();
    fixture.applied(&second).await;
    fixture.gone(&fixture.api::<RuntimeComponent>(), &format!("{}.old", fixture.runtime)).await;
    let moved = fixture.there::<ConfigMap>().get("moves").await.unwrap();
    assert_eq!(moved.metadata.uid, uid);
    assert_eq!(moved.metadata.labels.unwrap()["reeve.dev/component"], "new");
}

#[tokio::test]
async fn a_runtime_whose_file_goes_leaves_its_objects() {
    let fixture = Fixture::new("orphan").await;
    fixture.component("web", "1.0.0", &config("settings", "x"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.repository.remove(&format!("runtimes/{}.yaml", fixture.runtime)).unwrap();
    fixture.runtime(&format!("{}-other", fixture.runtime), "channel: none\n");
    fixture.write("channels/none.yaml", "kind: Channel\ncomponents: { web: 1.0.0 }\n");
    fixture.drop_component("web");
    fixture.push();
    fixture.gone(&fixture.api::<Runtime>(), &fixture.runtime).await;
    fixture.gone(&fixture.api::<Inventory>(), &format!("{}.0", fixture.runtime)).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "x");
}

#[tokio::test]
async fn a_runtime_whose_file_goes_takes_its_objects_along_if_its_policy_says_so() {
    let fixture = Fixture::new("delete").await;
    fixture.runtime(&fixture.runtime, "policy: { deletionPolicy: Delete }\n");
    let doomed = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: { name: claim }\nspec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }\n";
    fixture.component("web", "1.0.0", &(config("settings", "x") + doomed));
    fixture.write(
        "charts/web/1.0.0/health.yaml",
        "kind: Health\nrules:\n  - { apiVersion: v1, kind: PersistentVolumeClaim, current: 'true' }\n",
    );
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    reeve.kill();
    fixture.repository.remove(&format!("runtimes/{}.yaml", fixture.runtime)).unwrap();
    fixture.push();
    let _reeve = fixture.reeve();
    fixture.gone(&fixture.api::<Runtime>(), &fixture.runtime).await;
    assert_eq!(fixture.says("settings").await, None);
    let claim = fixture.dynamic("v1", "PersistentVolumeClaim", Some(&fixture.target)).get_opt("claim").await.unwrap();
    assert!(claim.is_some(), "claims are precious");
}

#[tokio::test]
async fn a_runtime_that_is_deleted_by_hand_comes_back_and_its_objects_are_not_touched() {
    let fixture = Fixture::new("by-hand").await;
    fixture.component("web", "1.0.0", &config("settings", "x"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    let before = fixture.applied(&first).await.metadata.uid;
    let version = fixture.there::<ConfigMap>().get("settings").await.unwrap().metadata.resource_version;
    fixture.api::<Runtime>().delete(&fixture.runtime, &kube::api::DeleteParams::default()).await.unwrap();
    eventually("another Runtime is ready", || async {
        let runtime = fixture.api::<Runtime>().get_opt(&fixture.runtime).await.unwrap();
        let other = runtime.as_ref().is_some_and(|runtime| {
            runtime.metadata.uid != before
                && runtime.status.as_ref().is_some_and(|status| status.state == Some(State::Ready))
        });
        if other { Ok(()) } else { Err(format!("{runtime:?}")) }
    })
    .await;
    assert_eq!(fixture.there::<ConfigMap>().get("settings").await.unwrap().metadata.resource_version, version);
}

#[tokio::test]
async fn a_component_s_object_that_is_deleted_by_hand_comes_back() {
    let fixture = Fixture::new("component").await;
    fixture.component("web", "1.0.0", &config("settings", "x"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let component = fixture.component_is("web", State::Ready, "Succeeded").await;
    let name = format!("{}.web", fixture.runtime);
    fixture.api::<RuntimeComponent>().delete(&name, &kube::api::DeleteParams::default()).await.unwrap();
    let is_another = |found: &RuntimeComponent| {
        found.metadata.uid != component.metadata.uid
            && found.status.as_ref().is_some_and(|status| status.state == Some(State::Ready))
    };
    until(&fixture.api::<RuntimeComponent>(), &name, "it is made anew", is_another).await;
}

#[tokio::test]
async fn a_source_that_is_deleted_leaves_its_runtimes_and_takes_them_up_again() {
    let fixture = Fixture::new("sourceless").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.api::<GitSource>().delete("fleet", &kube::api::DeleteParams::default()).await.unwrap();
    let is_left =
        |runtime: &Runtime| runtime.status.as_ref().is_some_and(|status| status.state == Some(State::Suspended));
    until(&fixture.api::<Runtime>(), &fixture.runtime, "nobody works on it", is_left).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "one");
    fixture.component("web", "1.1.0", &config("settings", "two"));
    let second = fixture.push();
    fixture.follow().await;
    fixture.applied(&second).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "two");
}

#[tokio::test]
async fn components_that_begin_together_share_what_is_written_ahead() {
    let fixture = Fixture::new("together").await;
    // One after the other they would each need a write.
    fixture.runtime(&fixture.runtime, "policy: { concurrency: 1 }\n");
    for number in 0..30 {
        let name = format!("c{number}");
        fixture.component(&name, "1.0.0", &config(&name, "x"));
    }
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let page = fixture.api::<Inventory>().get(&format!("{}.0", fixture.runtime)).await.unwrap();
    assert_eq!(page.spec.entries.len(), 30);
    let writes = page.metadata.generation.unwrap();
    assert!(writes <= 10, "{writes} writes for 30 components");
}
