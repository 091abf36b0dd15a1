//! An object that moves from one runtime to another, or whose runtime gets another name, stays the same object.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams};
use reeve_crds::{Runtime, RuntimeComponent, State};
use reeve_tests::{eventually, until};
use serde_json::json;

use super::fixture::{Fixture, annotated, config, deployment};

impl Fixture {
    async fn uid_of(&self, name: &str) -> String {
        self.there::<ConfigMap>().get(name).await.unwrap().uid().unwrap()
    }

    /// Waits until this runtime has the object.
    async fn belongs_to(&self, name: &str, runtime: &str) -> ConfigMap {
        until(&self.there::<ConfigMap>(), name, &format!("{runtime} has it"), |object| {
            object.labels().get("reeve.dev/runtime").is_some_and(|label| label == runtime)
        })
        .await
    }
}

#[tokio::test]
async fn two_runtimes_that_swap_objects_in_one_commit_get_them_as_they_are() {
    let fixture = Fixture::new("swap").await;
    let other = format!("{}-b", fixture.runtime);
    fixture.runtime(&other, "");
    let objects = |first: &str, second: &str| {
        let this = &fixture.runtime;
        let (first, second) = (config(first, "git"), config(second, "git"));
        format!("{{% if Runtime.name == {this:?} %}}{first}{{% else %}}{second}{{% endif %}}")
    };
    fixture.component("web", "1.0.0", &objects("one", "two"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.applied_to(&other, &first).await;
    let uids = (fixture.uid_of("one").await, fixture.uid_of("two").await);

    fixture.component("web", "1.1.0", &objects("two", "one"));
    let second = fixture.push();
    fixture.applied(&second).await;
    fixture.applied_to(&other, &second).await;
    fixture.belongs_to("one", &other).await;
    fixture.belongs_to("two", &fixture.runtime).await;
    assert_eq!((fixture.uid_of("one").await, fixture.uid_of("two").await), uids, "they are other objects now");
    assert_eq!(fixture.inventory(&fixture.runtime).await, ["ConfigMap/two"]);
}

#[tokio::test]
async fn a_component_that_moves_to_a_new_runtime_keeps_its_objects() {
    let fixture = Fixture::new("move").await;
    let to = |runtime: &str| format!("{{% if Runtime.name == {runtime:?} %}}{}{{% endif %}}", config("one", "git"));
    fixture.component("stays", "1.0.0", &config("{{ Runtime.name }}", "git"));
    fixture.component("web", "1.0.0", &to(&fixture.runtime));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let uid = fixture.uid_of("one").await;
    // Many of them, so that the one that gets it is told last.
    let others: Vec<String> = (0..20).map(|number| format!("{}-{number:02}", fixture.runtime)).collect();
    for name in &others {
        fixture.runtime(name, "");
    }
    let last = &others[19];
    fixture.component("web", "1.1.0", &to(last));
    let second = fixture.push();
    fixture.applied_to(last, &second).await;
    fixture.applied(&second).await;
    fixture.belongs_to("one", last).await;
    assert_eq!(fixture.uid_of("one").await, uid, "it is another object now");
}

#[tokio::test]
async fn a_runtime_that_gets_another_name_keeps_its_objects() {
    let fixture = Fixture::new("rename").await;
    let policy = "policy: { deletionPolicy: Delete }\n";
    fixture.runtime(&fixture.runtime, policy);
    fixture.component("web", "1.0.0", &(config("one", "git") + &config("two", "git")));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let uids = (fixture.uid_of("one").await, fixture.uid_of("two").await);

    let renamed = format!("{}-renamed", fixture.runtime);
    fixture.repository.remove(&format!("runtimes/{}.yaml", fixture.runtime)).unwrap();
    fixture.runtime(&renamed, policy);
    let second = fixture.push();
    fixture.applied_to(&renamed, &second).await;
    fixture.gone(&fixture.api::<Runtime>(), &fixture.runtime).await;
    fixture.belongs_to("one", &renamed).await;
    assert_eq!((fixture.uid_of("one").await, fixture.uid_of("two").await), uids, "they are other objects now");
    assert_eq!(fixture.inventory(&renamed).await, ["ConfigMap/one", "ConfigMap/two"]);
}

#[tokio::test]
async fn what_is_suspended_gives_nothing_away() {
    let fixture = Fixture::new("suspended-move").await;
    let other = format!("{}-b", fixture.runtime);
    fixture.runtime(&other, "policy: { maxBackoff: 2s }\n");
    let to = |runtime: &str| format!("{{% if Runtime.name == {runtime:?} %}}{}{{% endif %}}", config("one", "git"));
    fixture.component("web", "1.0.0", &to(&fixture.runtime));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.suspend::<Runtime>(&fixture.runtime, true).await;

    fixture.component("web", "1.1.0", &to(&other));
    fixture.push();
    fixture.component_of(&other, "web", State::Warning, "Conflict").await;
    fixture.belongs_to("one", &fixture.runtime).await;
    let uid = fixture.uid_of("one").await;

    fixture.suspend::<Runtime>(&fixture.runtime, false).await;
    fixture.component_of(&other, "web", State::Ready, "Succeeded").await;
    fixture.belongs_to("one", &other).await;
    assert_eq!(fixture.uid_of("one").await, uid, "it is another object now");
}

#[tokio::test]
async fn whoever_deletes_the_object_of_a_suspended_component_resumes_it() {
    let fixture = Fixture::new("forgotten").await;
    fixture.component("web", "1.0.0", &config("one", "git"));
    fixture.component("base", "1.0.0", &config("two", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let name = format!("{}.web", fixture.runtime);
    fixture.suspend::<RuntimeComponent>(&name, true).await;
    fixture.component_is("web", State::Suspended, "Suspended").await;
    fixture.drop_component("web");
    let second = fixture.push();
    until(&fixture.api::<Runtime>(), &fixture.runtime, "the commit is worked towards", |runtime| {
        let desired = runtime.status.as_ref().and_then(|status| status.desired.as_ref());
        desired.is_some_and(|desired| desired.commit.as_deref() == Some(second.as_str()))
    })
    .await;
    assert_eq!(fixture.says("one").await.as_deref(), Some("git"), "it is suspended, and stays");

    fixture.api::<RuntimeComponent>().delete(&name, &DeleteParams::default()).await.unwrap();
    fixture.gone(&fixture.there::<ConfigMap>(), "one").await;
    fixture.applied(&second).await;
}

#[tokio::test]
async fn an_object_that_is_made_once_stays_what_it_is_when_its_runtime_gets_another_name() {
    let fixture = Fixture::new("made-once").await;
    let policy = "policy: { deletionPolicy: Delete }\n";
    fixture.runtime(&fixture.runtime, policy);
    let applied = |when: &str| annotated("two", "git", "reeve.dev/apply", when);
    fixture.component(
        "web",
        "1.0.0",
        &(annotated("one", "git", "reeve.dev/apply", "IfMissing") + &config("three", "x")),
    );
    fixture.component("other", "1.0.0", &applied("Always"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let changed = json!({ "data": { "say": "application" } });
    fixture.there::<ConfigMap>().patch("one", &PatchParams::default(), &Patch::Merge(changed)).await.unwrap();
    let uids = (fixture.uid_of("one").await, fixture.uid_of("two").await);

    let renamed = format!("{}-renamed", fixture.runtime);
    fixture.repository.remove(&format!("runtimes/{}.yaml", fixture.runtime)).unwrap();
    fixture.runtime(&renamed, policy);
    fixture.component("other", "1.1.0", &applied("Never"));
    let second = fixture.push();
    fixture.applied_to(&renamed, &second).await;
    fixture.gone(&fixture.api::<Runtime>(), &fixture.runtime).await;
    assert_eq!((fixture.uid_of("one").await, fixture.uid_of("two").await), uids, "they are other objects now");
    assert_eq!(fixture.says("one").await.as_deref(), Some("application"), "it is made once");

    // Who leaves an object to others notices when it goes.
    fixture.there::<ConfigMap>().delete("one", &DeleteParams::default()).await.unwrap();
    eventually("it is made again", || async {
        fixture.says("one").await.filter(|say| say == "git").ok_or("it is not")
    })
    .await;
}

#[tokio::test]
async fn an_object_that_moves_stays_while_the_component_that_is_to_have_it_waits_for_another() {
    let fixture = Fixture::new("waits").await;
    let other = format!("{}-b", fixture.runtime);
    fixture.runtime(&other, "");
    let to = |runtime: &str, object: &str| format!("{{% if Runtime.name == {runtime:?} %}}{object}{{% endif %}}");
    fixture.component("web", "1.0.0", &to(&fixture.runtime, &config("one", "git")));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let uid = fixture.uid_of("one").await;

    fixture.component("slow", "1.0.0", &to(&other, &deployment("slow", 1)));
    fixture.component_with("web", "1.1.0", "{ dependsOn: [slow] }", &to(&other, &config("one", "git")));
    fixture.push();
    let waiting = fixture.component_is("web", State::Error, "TimedOut").await;
    let failure = waiting.status.unwrap().failure.unwrap();
    assert!(
        failure.message.contains(&format!("moves to runtime {}/{other}", fixture.namespace)),
        "{}",
        failure.message
    );
    assert_eq!(fixture.uid_of("one").await, uid, "it is another object now");

    fixture.component("slow", "1.1.0", &to(&other, &deployment("slow", 0)));
    let last = fixture.push();
    fixture.applied_to(&other, &last).await;
    fixture.belongs_to("one", &other).await;
    fixture.applied(&last).await;
    assert_eq!(fixture.uid_of("one").await, uid, "it is another object now");
}
