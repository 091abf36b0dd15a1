//! Nothing is done to what is suspended, and everything that was missed is done when it is resumed.

use kube::Resource;
use kube::api::{Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use reeve_crds::{GitSource, Runtime, RuntimeComponent, State};
use reeve_tests::until;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::fixture::{Fixture, config};

impl Fixture {
    pub(super) async fn suspend<K>(&self, name: &str, suspend: bool)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + std::fmt::Debug,
    {
        let patch = json!({ "spec": { "suspend": suspend } });
        self.api::<K>().patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    }

    pub(super) async fn runtime_is(&self, state: State) {
        let is_so = |runtime: &Runtime| runtime.status.as_ref().is_some_and(|status| status.state == Some(state));
        until(&self.api::<Runtime>(), &self.runtime, &format!("the runtime is {state:?}"), is_so).await;
    }
}

#[tokio::test]
async fn nothing_is_put_right_while_source_runtime_or_component_is_suspended() {
    let fixture = Fixture::new("suspend").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    fixture.component("other", "1.0.0", &config("other", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;

    fixture.suspend::<Runtime>(&fixture.runtime, true).await;
    fixture.runtime_is(State::Suspended).await;
    fixture.meddle("settings", "hand").await;
    // A later change of the same source shows that the earlier one was seen and left.
    fixture.component("other", "1.1.0", &config("other", "second"));
    let second = fixture.push();
    let is_known = |source: &GitSource| {
        source
            .status
            .as_ref()
            .and_then(|status| status.commit.as_ref())
            .is_some_and(|commit| commit.id == second.as_str())
    };
    until(&fixture.api::<GitSource>(), "fleet", "the commit is known", is_known).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "hand");
    assert_eq!(fixture.says("other").await.unwrap(), "git");
    fixture.suspend::<Runtime>(&fixture.runtime, false).await;
    fixture.applied(&second).await;
    fixture.comes_to_say("settings", "git").await;
    fixture.comes_to_say("other", "second").await;

    let component = format!("{}.web", fixture.runtime);
    fixture.suspend::<RuntimeComponent>(&component, true).await;
    fixture.component_is("web", State::Suspended, "Suspended").await;
    fixture.meddle("settings", "hand").await;
    fixture.meddle("other", "hand").await;
    fixture.comes_to_say("other", "second").await;
    assert_eq!(fixture.says("settings").await.unwrap(), "hand");
    fixture.suspend::<RuntimeComponent>(&component, false).await;
    fixture.comes_to_say("settings", "git").await;

    fixture.suspend::<GitSource>("fleet", true).await;
    fixture.runtime_is(State::Suspended).await;
    fixture.component("web", "1.2.0", &config("settings", "third"));
    let third = fixture.push();
    let is_suspended =
        |source: &GitSource| source.status.as_ref().is_some_and(|status| status.state == Some(State::Suspended));
    until(&fixture.api::<GitSource>(), "fleet", "the source is suspended", is_suspended).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "git");
    fixture.suspend::<GitSource>("fleet", false).await;
    fixture.applied(&third).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "third");
}

#[tokio::test]
async fn a_component_that_was_suspended_and_resumed_is_looked_at_as_it_is_now() {
    let fixture = Fixture::new("resumed").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let (api, component) = (fixture.api::<RuntimeComponent>(), format!("{}.web", fixture.runtime));
    let is = |state: State| {
        move |component: &RuntimeComponent| {
            component.status.as_ref().is_some_and(|status| {
                status.state == Some(state) && status.observed_generation == component.metadata.generation
            })
        }
    };
    for (suspend, state) in [(true, State::Suspended), (false, State::Ready)] {
        fixture.suspend::<RuntimeComponent>(&component, suspend).await;
        until(&api, &component, "the status is of the newest generation", is(state)).await;
    }
}

#[tokio::test]
async fn a_component_that_a_process_found_suspended_stays_resumed() {
    let fixture = Fixture::new("found").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    fixture.component("other", "1.0.0", &config("other", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    let component = format!("{}.web", fixture.runtime);
    fixture.suspend::<RuntimeComponent>(&component, true).await;
    fixture.component_is("web", State::Suspended, "Suspended").await;
    reeve.terminate().await;

    let _reeve = fixture.reeve();
    // What is put right shows that all was found.
    fixture.meddle("other", "hand").await;
    fixture.comes_to_say("other", "git").await;
    fixture.suspend::<RuntimeComponent>(&component, false).await;
    fixture.component_is("web", State::Ready, "Succeeded").await;
    fixture.component("web", "1.1.0", &config("settings", "second"));
    let second = fixture.push();
    fixture.applied(&second).await;
    let is_told = |component: &RuntimeComponent| component.spec.version == "1.1.0";
    let component = until(&fixture.api::<RuntimeComponent>(), &component, "the version is told", is_told).await;
    assert_ne!(component.spec.suspend, Some(true), "{:?}", component.metadata.managed_fields);
}

#[tokio::test]
async fn what_was_said_of_a_suspended_component_stands_after_a_restart() {
    let fixture = Fixture::new("suspend-said").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.suspend::<RuntimeComponent>(&format!("{}.web", fixture.runtime), true).await;
    fixture.component_is("web", State::Suspended, "Suspended").await;
    reeve.terminate().await;
    let _reeve = fixture.reeve();
    fixture.component("web", "1.1.0", &config("settings", "second"));
    fixture.push();
    let knows = |component: &RuntimeComponent| {
        let desired = component.status.as_ref().and_then(|status| status.desired.as_ref());
        desired.is_some_and(|desired| desired.version.as_deref() == Some("1.1.0"))
    };
    let web = format!("{}.web", fixture.runtime);
    let component = until(&fixture.api::<RuntimeComponent>(), &web, "it knows of the commit", knows).await;
    assert_eq!(component.status.unwrap().health.unwrap().summary, "1/1");
}
