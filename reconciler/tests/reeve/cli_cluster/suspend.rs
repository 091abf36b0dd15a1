//! `reeve suspend` and `reeve resume`.

use kube::ResourceExt as _;
use reeve_crds::{GitSource, Runtime, RuntimeComponent};

use crate::cli_cluster::fixture::{CliFixture, state};

#[tokio::test]
async fn people_stop_and_start_what_reeve_does() {
    let fixture = CliFixture::new("suspend").await;
    fixture.source("fleet", state("Ready", "Succeeded", "")).await;
    fixture.runtime("eu-1", "fleet", state("Ready", "Succeeded", "")).await;
    fixture.component("eu-1", "web", state("Ready", "Succeeded", "")).await;
    let told = fixture.reeve(&["suspend", "source", "fleet"]).await.with(0);
    assert_eq!(told.out, "source/fleet suspended\n");
    assert!(fixture.api::<GitSource>().get("fleet").await.unwrap().spec.suspend);
    fixture.reeve(&["suspend", "runtime", "eu-1"]).await.with(0);
    let runtime = fixture.api::<Runtime>().get("eu-1").await.unwrap();
    assert_eq!(runtime.spec.suspend, Some(true));
    let owner = runtime.managed_fields().iter().find(|entry| entry.manager.as_deref() == Some("reeve-cli")).unwrap();
    assert!(serde_json::to_string(&owner.fields_v1).unwrap().contains("f:suspend"));
    fixture.reeve(&["suspend", "component", "eu-1-web"]).await.with(0);
    assert_eq!(fixture.api::<RuntimeComponent>().get("eu-1-web").await.unwrap().spec.suspend, Some(true));
    let before = fixture.api::<Runtime>().get("eu-1").await.unwrap().resource_version();
    let told = fixture.reeve(&["suspend", "runtime", "eu-1"]).await.with(0);
    assert_eq!(told.out, "runtime/eu-1 is suspended already\n");
    assert_eq!(fixture.api::<Runtime>().get("eu-1").await.unwrap().resource_version(), before, "nothing was written");
    fixture.reeve(&["resume", "runtime", "eu-1"]).await.with(0);
    assert_eq!(fixture.api::<Runtime>().get("eu-1").await.unwrap().spec.suspend, Some(false));
}

#[tokio::test]
async fn nothing_is_changed_if_one_of_the_names_is_wrong() {
    let fixture = CliFixture::new("suspend-names").await;
    fixture.runtime("eu-1", "fleet", state("Ready", "Succeeded", "")).await;
    let told = fixture.reeve(&["suspend", "runtime", "eu-1", "eu-2"]).await.with(2);
    assert!(told.err.contains("there is no runtime `eu-2`"), "{}", told.err);
    assert_eq!(fixture.api::<Runtime>().get("eu-1").await.unwrap().spec.suspend, None);
    fixture.reeve(&["suspend", "runtime"]).await.with(2);
}
