//! Components whose target is the control plane: as an account of their own, with the kinds that the operator allows.

use kube::api::DeleteParams;
use reeve_crds::State;

use super::reeve::Reeve;
use super::scene::{Scene, config};

const TARGET: &str = "{ target: ControlPlane }";

impl Scene {
    /// With config maps allowed in the control plane, applied as this account.
    fn reeve_with_control_plane(&self, account: &str) -> Reeve {
        let account = format!("reeve-system/{account}");
        let args = ["--control-plane-account", &account, "--control-plane-kind", "/ConfigMap"];
        self.reeve_through(self.cluster.kubeconfig(), &args)
    }
}

#[tokio::test]
async fn a_component_of_the_control_plane_has_an_inventory_of_its_own_and_is_taken_away_again() {
    let scene = Scene::new("plane").await;
    let account = scene.namespace.clone();
    scene.account(&account).await;
    scene.component_with("cluster", "1.0.0", TARGET, &config("machine", "one"));
    scene.component("web", "1.0.0", &config("settings", "one"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve_with_control_plane(&account);
    scene.applied(&first).await;
    assert_eq!(scene.says("machine").await.unwrap(), "one");
    let pages = scene.dynamic("reeve.dev/v1alpha1", "Inventory", Some(&scene.namespace));
    let page = pages.get(&format!("{}.control-plane.0", scene.runtime)).await.unwrap();
    assert_eq!(page.data["spec"]["entries"][0]["name"], "machine");

    scene.drop_component("cluster");
    let second = scene.push();
    scene.applied(&second).await;
    assert_eq!(scene.says("machine").await, None);
    assert_eq!(scene.says("settings").await.unwrap(), "one");
}

#[tokio::test]
async fn an_account_of_the_control_plane_without_rights_is_told_and_others_go_on() {
    let scene = Scene::new("plane-forbidden").await;
    let account = scene.namespace.clone();
    scene.account(&account).await;
    let bindings = scene.dynamic("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", None);
    bindings.delete(&format!("test-{account}"), &DeleteParams::default()).await.unwrap();
    scene.component_with("cluster", "1.0.0", TARGET, &config("machine", "one"));
    scene.component("web", "1.0.0", &config("settings", "one"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve_with_control_plane(&account);
    let failure = scene.component_is("cluster", State::Warning, "Forbidden").await.status.unwrap().failure.unwrap();
    assert!(failure.message.contains(&account), "{}", failure.message);
    scene.component_is("web", State::Ready, "Succeeded").await;
    assert_eq!(scene.says("machine").await, None);
    scene.account(&account).await;
    scene.applied(&first).await;
    assert_eq!(scene.says("machine").await.unwrap(), "one");
}

#[tokio::test]
async fn a_kind_that_the_operator_does_not_allow_is_refused_in_the_control_plane_alone() {
    let scene = Scene::new("plane-kinds").await;
    let account = scene.namespace.clone();
    scene.account(&account).await;
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: { name: hidden }\n---\n";
    scene.component_with("cluster", "1.0.0", TARGET, &(config("machine", "one") + secret));
    scene.component("web", "1.0.0", secret.replace("hidden", "open").as_str());
    scene.push();
    scene.follow().await;
    let _reeve = scene.reeve_with_control_plane(&account);
    let failure = scene.component_is("cluster", State::Warning, "Refused").await.status.unwrap().failure.unwrap();
    assert!(failure.message.contains("the operator allows /ConfigMap"), "{}", failure.message);
    assert_eq!(failure.object.unwrap().name, "hidden");
    assert_eq!(scene.says("machine").await, None, "nothing of it is applied");
    scene.component_is("web", State::Ready, "Succeeded").await;
}
