//! Components whose target is the control plane: as an account of their own, with the kinds that the operator allows.

use kube::api::DeleteParams;
use reeve_crds::State;

use super::fixture::{Fixture, config};
use super::reeve::Reeve;

const TARGET: &str = "{ target: ControlPlane }";

impl Fixture {
    /// With config maps allowed in the control plane, applied as this account.
    fn reeve_with_control_plane(&self, account: &str) -> Reeve {
        let account = format!("reeve-system/{account}");
        let args = ["--control-plane-account", &account, "--control-plane-kind", "/ConfigMap"];
        self.reeve_through(self.cluster.kubeconfig(), &args)
    }
}

#[tokio::test]
async fn a_component_of_the_control_plane_has_an_inventory_of_its_own_and_is_taken_away_again() {
    let fixture = Fixture::new("plane").await;
    let account = fixture.namespace.clone();
    fixture.account(&account).await;
    fixture.component_with("cluster", "1.0.0", TARGET, &config("machine", "one"));
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve_with_control_plane(&account);
    fixture.applied(&first).await;
    assert_eq!(fixture.says("machine").await.unwrap(), "one");
    let pages = fixture.dynamic("reeve.dev/v1alpha1", "Inventory", Some(&fixture.namespace));
    let page = pages.get(&format!("{}.control-plane.0", fixture.runtime)).await.unwrap();
    assert_eq!(page.data["spec"]["entries"][0]["name"], "machine");

    fixture.drop_component("cluster");
    let second = fixture.push();
    fixture.applied(&second).await;
    assert_eq!(fixture.says("machine").await, None);
    assert_eq!(fixture.says("settings").await.unwrap(), "one");
}

#[tokio::test]
async fn an_account_of_the_control_plane_without_rights_is_told_and_others_go_on() {
    let fixture = Fixture::new("plane-forbidden").await;
    let account = fixture.namespace.clone();
    fixture.account(&account).await;
    let bindings = fixture.dynamic("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", None);
    bindings.delete(&format!("test-{account}"), &DeleteParams::default()).await.unwrap();
    fixture.component_with("cluster", "1.0.0", TARGET, &config("machine", "one"));
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve_with_control_plane(&account);
    let failure = fixture.component_is("cluster", State::Warning, "Forbidden").await.status.unwrap().failure.unwrap();
    assert!(failure.message.contains(&account), "{}", failure.message);
    fixture.component_is("web", State::Ready, "Succeeded").await;
    assert_eq!(fixture.says("machine").await, None);
    fixture.account(&account).await;
    fixture.applied(&first).await;
    assert_eq!(fixture.says("machine").await.unwrap(), "one");
}

#[tokio::test]
async fn a_kind_that_the_operator_does_not_allow_is_refused_in_the_control_plane_alone() {
    let fixture = Fixture::new("plane-kinds").await;
    let account = fixture.namespace.clone();
    fixture.account(&account).await;
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: { name: hidden }\n---\n";
    fixture.component_with("cluster", "1.0.0", TARGET, &(config("machine", "one") + secret));
    fixture.component("web", "1.0.0", secret.replace("hidden", "open").as_str());
    fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve_with_control_plane(&account);
    let failure = fixture.component_is("cluster", State::Warning, "Refused").await.status.unwrap().failure.unwrap();
    assert!(failure.message.contains("the operator allows /ConfigMap"), "{}", failure.message);
    assert_eq!(failure.object.unwrap().name, "hidden");
    assert_eq!(fixture.says("machine").await, None, "nothing of it is applied");
    fixture.component_is("web", State::Ready, "Succeeded").await;
}
