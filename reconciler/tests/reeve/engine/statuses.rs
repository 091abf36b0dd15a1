//! A status says what Reeve says, whoever writes it.

use kube::Resource;
use kube::api::{Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use reeve_crds::{GitSource, Runtime, RuntimeComponent};
use reeve_tests::until;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::fixture::{Fixture, config};

fn state(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap()["status"]["state"].clone()
}

impl Fixture {
    /// Writes a status as somebody else.
    async fn overwrite<K>(&self, name: &str, lie: &str)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + std::fmt::Debug,
    {
        let patch = json!({ "status": { "state": lie } });
        let params = PatchParams { field_manager: Some("meddler".to_owned()), ..PatchParams::default() };
        self.api::<K>().patch_status(name, &params, &Patch::Merge(&patch)).await.unwrap();
    }

    async fn is_put_right<K>(&self, name: &str, truth: &str)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + std::fmt::Debug,
        K: Serialize + Send + 'static,
    {
        until(&self.api::<K>(), name, &format!("{name} is {truth}"), |object: &K| state(object) == truth).await;
    }
}

#[tokio::test]
async fn a_status_that_somebody_else_writes_is_put_right() {
    let fixture = Fixture::new("statuses").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let component = format!("{}.web", fixture.runtime);
    fixture.overwrite::<RuntimeComponent>(&component, "Error").await;
    fixture.overwrite::<Runtime>(&fixture.runtime, "Error").await;
    fixture.overwrite::<GitSource>("fleet", "Error").await;
    fixture.is_put_right::<RuntimeComponent>(&component, "Ready").await;
    fixture.is_put_right::<Runtime>(&fixture.runtime, "Ready").await;
    fixture.is_put_right::<GitSource>("fleet", "Ready").await;
}
