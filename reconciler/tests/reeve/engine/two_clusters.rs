//! A runtime that is kept in another cluster than its Runtime is in.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use reeve_crds::{Inventory, RuntimeComponent, State};
use reeve_reconciler_engine::runtime::End;
use reeve_tests::{ControlPlane, until};

use super::fixture::{Fixture, config};
use super::kept::Kept;

fn config_maps(fixture: &Fixture, namespace: &str) -> Api<ConfigMap> {
    Api::namespaced(fixture.client.clone(), namespace)
}

#[tokio::test]
async fn a_runtime_is_kept_in_another_cluster_than_its_runtime_is_in() {
    let plane = ControlPlane::start().await.unwrap();
    let away = Fixture::on(&plane, "away").await;
    let home = Fixture::new("home").await;
    home.component("web", "1.0.0", &config("settings", "git"));
    home.component_with("maker", "1.0.0", "{ target: ControlPlane }", &config("made", "git"));
    let kept = Kept::away(home, &away).await;
    kept.is_ready().await;

    // Each object, and what is known of it, is in its own cluster.
    let home = &kept.home;
    let there = |fixture: &Fixture| config_maps(fixture, &home.target);
    let pages = |fixture: &Fixture| Api::<Inventory>::namespaced(fixture.client.clone(), &home.namespace);
    for (here, other, object, page) in [
        (&away, home, "settings", format!("{}.0", home.runtime)),
        (home, &away, "made", format!("{}.control-plane.0", home.runtime)),
    ] {
        assert!(there(here).get_opt(object).await.unwrap().is_some(), "{object}");
        assert!(there(other).get_opt(object).await.unwrap().is_none(), "{object}");
        assert_eq!(pages(here).get(&page).await.unwrap().spec.entries.len(), 1, "{page}");
        assert!(pages(other).get_opt(&page).await.unwrap().is_none(), "{page}");
    }

    // What somebody takes away is put back, in the one cluster as in the other.
    for (here, object) in [(&away, "settings"), (home, "made")] {
        let before = there(here).get(object).await.unwrap().metadata.uid;
        there(here).delete(object, &DeleteParams::default()).await.unwrap();
        until(&there(here), object, "it is made anew", |made: &ConfigMap| made.metadata.uid != before).await;
    }

    // And all of it goes with the Runtime.
    let (home, end) = kept.delete().await;
    assert_eq!(end, End::Gone);
    for fixture in [&home, &away] {
        for object in ["settings", "made"] {
            assert!(config_maps(fixture, &home.target).get_opt(object).await.unwrap().is_none(), "{object}");
        }
        let pages = Api::<Inventory>::namespaced(fixture.client.clone(), &home.namespace);
        assert!(pages.list(&ListParams::default()).await.unwrap().items.is_empty());
    }
}

#[tokio::test]
async fn an_object_is_its_owners_whose_runtime_is_in_another_cluster() {
    let plane = ControlPlane::start().await.unwrap();
    let away = Fixture::on(&plane, "away").await;
    let (first, second) = (Fixture::new("first").await, Fixture::new("second").await);
    let shared =
        |say: &str| config("shared", say).replace("name: shared", &format!("name: shared, namespace: {}", away.target));
    first.component("web", "1.0.0", &shared("first"));
    second.component("web", "1.0.0", &shared("second"));
    let first = Kept::away(first, &away).await;
    first.is_ready().await;
    let object = || async { config_maps(&away, &away.target).get("shared").await.unwrap() };
    let before = object().await.metadata;

    let second = Kept::away(second, &away).await;
    let component = format!("{}.web", second.home.runtime);
    until(&second.home.api::<RuntimeComponent>(), &component, "it is refused", |component: &RuntimeComponent| {
        let conditions = component.status.iter().flat_map(|status| &status.conditions);
        conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.reason == "Conflict")
    })
    .await;
    assert_eq!(object().await.metadata.resource_version, before.resource_version);

    // Once its owner lets it go, the other one has it.
    first.delete().await;
    second.is_ready().await;
    assert_eq!(object().await.data.unwrap()["say"], "second");
}

#[tokio::test]
async fn an_object_is_its_owners_although_its_runtime_is_not_in_this_cluster() {
    let plane = ControlPlane::start().await.unwrap();
    let (away, local) = (Fixture::on(&plane, "away").await, Fixture::on(&plane, "local").await);
    let first = Fixture::new("first").await;
    let shared =
        |say: &str| config("shared", say).replace("name: shared", &format!("name: shared, namespace: {}", away.target));
    first.component("web", "1.0.0", &shared("first"));
    let first = Kept::away(first, &away).await;
    first.is_ready().await;
    let object = || async { config_maps(&away, &away.target).get("shared").await.unwrap() };
    let before = object().await.metadata;

    // All that this cluster has of the owner is its inventory.
    local.component("web", "1.0.0", &shared("local"));
    let commit = local.push();
    local.follow().await;
    let _reeve = local.reeve();
    local.component_is("web", State::Warning, "Conflict").await;
    assert_eq!(object().await.metadata.resource_version, before.resource_version);

    first.delete().await;
    local.applied(&commit).await;
    assert_eq!(object().await.data.unwrap()["say"], "local");
}
