//! Nothing is done to what is suspended, and everything that was missed is done when it is resumed.

use kube::Resource;
use kube::api::{Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use reeve_crds::{GitSource, Runtime, RuntimeComponent, State};
use reeve_tests::until;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::scene::{Scene, config};

impl Scene {
    pub(super) async fn suspend<K>(&self, name: &str, suspend: bool)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + std::fmt::Debug,
    {
        let patch = json!({ "spec": { "suspend": suspend } });
        self.api::<K>().patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    }

    async fn runtime_is(&self, state: State) {
        let is_so = |runtime: &Runtime| runtime.status.as_ref().is_some_and(|status| status.state == Some(state));
        until(&self.api::<Runtime>(), &self.runtime, &format!("the runtime is {state:?}"), is_so).await;
    }
}

#[tokio::test]
async fn nothing_is_put_right_while_source_runtime_or_component_is_suspended() {
    let scene = Scene::new("suspend").await;
    scene.component("web", "1.0.0", &config("settings", "git"));
    scene.component("other", "1.0.0", &config("other", "git"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;

    scene.suspend::<Runtime>(&scene.runtime, true).await;
    scene.runtime_is(State::Suspended).await;
    scene.meddle("settings", "hand").await;
    // A later change of the same source shows that the earlier one was seen and left.
    scene.component("other", "1.1.0", &config("other", "second"));
    let second = scene.push();
    let is_known = |source: &GitSource| {
        source
            .status
            .as_ref()
            .and_then(|status| status.commit.as_ref())
            .is_some_and(|commit| commit.id == second.as_str())
    };
    until(&scene.api::<GitSource>(), "fleet", "the commit is known", is_known).await;
    assert_eq!(scene.says("settings").await.unwrap(), "hand");
    assert_eq!(scene.says("other").await.unwrap(), "git");
    scene.suspend::<Runtime>(&scene.runtime, false).await;
    scene.applied(&second).await;
    scene.comes_to_say("settings", "git").await;
    scene.comes_to_say("other", "second").await;

    let component = format!("{}.web", scene.runtime);
    scene.suspend::<RuntimeComponent>(&component, true).await;
    scene.component_is("web", State::Suspended, "Suspended").await;
    scene.meddle("settings", "hand").await;
    scene.meddle("other", "hand").await;
    scene.comes_to_say("other", "second").await;
    assert_eq!(scene.says("settings").await.unwrap(), "hand");
    scene.suspend::<RuntimeComponent>(&component, false).await;
    scene.comes_to_say("settings", "git").await;

    scene.suspend::<GitSource>("fleet", true).await;
    scene.runtime_is(State::Suspended).await;
    scene.component("web", "1.2.0", &config("settings", "third"));
    let third = scene.push();
    let is_suspended =
        |source: &GitSource| source.status.as_ref().is_some_and(|status| status.state == Some(State::Suspended));
    until(&scene.api::<GitSource>(), "fleet", "the source is suspended", is_suspended).await;
    assert_eq!(scene.says("settings").await.unwrap(), "git");
    scene.suspend::<GitSource>("fleet", false).await;
    scene.applied(&third).await;
    assert_eq!(scene.says("settings").await.unwrap(), "third");
}

#[tokio::test]
async fn a_component_that_was_suspended_and_resumed_is_looked_at_as_it_is_now() {
    let scene = Scene::new("resumed").await;
    scene.component("web", "1.0.0", &config("settings", "git"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    let (api, component) = (scene.api::<RuntimeComponent>(), format!("{}.web", scene.runtime));
    let is = |state: State| {
        move |component: &RuntimeComponent| {
            component.status.as_ref().is_some_and(|status| {
                status.state == Some(state) && status.observed_generation == component.metadata.generation
            })
        }
    };
    for (suspend, state) in [(true, State::Suspended), (false, State::Ready)] {
        scene.suspend::<RuntimeComponent>(&component, suspend).await;
        until(&api, &component, "the status is of the newest generation", is(state)).await;
    }
}

#[tokio::test]
async fn a_component_that_a_process_found_suspended_stays_resumed() {
    let scene = Scene::new("found").await;
    scene.component("web", "1.0.0", &config("settings", "git"));
    scene.component("other", "1.0.0", &config("other", "git"));
    let first = scene.push();
    scene.follow().await;
    let reeve = scene.reeve();
    scene.applied(&first).await;
    let component = format!("{}.web", scene.runtime);
    scene.suspend::<RuntimeComponent>(&component, true).await;
    scene.component_is("web", State::Suspended, "Suspended").await;
    reeve.terminate().await;

    let _reeve = scene.reeve();
    // What is put right shows that all was found.
    scene.meddle("other", "hand").await;
    scene.comes_to_say("other", "git").await;
    scene.suspend::<RuntimeComponent>(&component, false).await;
    scene.component_is("web", State::Ready, "Succeeded").await;
    scene.component("web", "1.1.0", &config("settings", "second"));
    let second = scene.push();
    scene.applied(&second).await;
    let is_told = |component: &RuntimeComponent| component.spec.version == "1.1.0";
    let component = until(&scene.api::<RuntimeComponent>(), &component, "the version is told", is_told).await;
    assert_ne!(component.spec.suspend, Some(true), "{:?}", component.metadata.managed_fields);
}
