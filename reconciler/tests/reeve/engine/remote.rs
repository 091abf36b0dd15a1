//! Runtimes in other clusters, by kubeconfigs in Secrets.

use std::process::Command;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Resource as _};
use reeve_crds::{Inventory, Runtime, State};
use reeve_tests::{Cluster, ControlPlane, eventually, until};
use serde_json::{Value, json};

use super::fixture::{Fixture, config};

const DELETE: &str = "policy: { deletionPolicy: Delete }\n";

/// The kubeconfig of a cluster, with the content of its files in their place.
fn kubeconfig(cluster: &Cluster) -> Value {
    let text = std::fs::read_to_string(cluster.kubeconfig()).unwrap();
    let mut kubeconfig: Value = serde_json::from_str(&text).unwrap();
    for (part, of, field) in [
        ("clusters", "cluster", "certificate-authority"),
        ("users", "user", "client-certificate"),
        ("users", "user", "client-key"),
    ] {
        let of = kubeconfig[part][0][of].as_object_mut().unwrap();
        let file = of.remove(field).unwrap();
        let content = std::fs::read(file.as_str().unwrap()).unwrap();
        of.insert(format!("{field}-data"), json!(BASE64_STANDARD.encode(content)));
    }
    kubeconfig
}

async fn uid_of(cluster: &Cluster) -> String {
    let system = Api::<Namespace>::all(cluster.client()).get("kube-system").await.unwrap();
    system.meta().uid.clone().unwrap()
}

fn by(secret: &str) -> String {
    format!("target: {{ type: KubeConfig, kubeConfigSecretRef: {{ name: {secret} }} }}\n")
}

impl Fixture {
    /// A cluster beside the one of this fixture, prepared for its runtimes.
    async fn beside(&self, plane: &ControlPlane) -> Fixture {
        let away = Fixture::on(plane, "away").await;
        for namespace in [&self.namespace, &self.target] {
            away.apply("v1", "Namespace", None, namespace, json!({})).await;
        }
        away
    }

    async fn kubeconfig(&self, name: &str, kubeconfig: &Value) {
        let secret = json!({ "stringData": { "value": kubeconfig.to_string() } });
        self.apply("v1", "Secret", Some(&self.namespace), name, secret).await;
    }

    /// What a `ConfigMap` says that a runtime of `home` has here.
    async fn has(&self, home: &Fixture, name: &str) -> Option<String> {
        let there: Api<ConfigMap> = Api::namespaced(self.client.clone(), &home.target);
        there.get_opt(name).await.unwrap()?.data?.remove("say")
    }

    /// Waits until a runtime is in this state for this reason, and says whether its cluster is reached.
    async fn is(&self, runtime: &str, state: State, reason: &str) -> Runtime {
        let what = format!("{runtime} is {state:?}: {reason}");
        until(&self.api::<Runtime>(), runtime, &what, |runtime: &Runtime| {
            let Some(status) = &runtime.status else { return false };
            let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready");
            status.state == Some(state) && ready.is_some_and(|ready| ready.reason == reason)
        })
        .await
    }

    /// Waits until nobody knows how a runtime is.
    async fn is_unknown(&self, runtime: &str) {
        let is_unknown = |runtime: &Runtime| {
            let state = runtime.status.as_ref().and_then(|status| status.state);
            state == Some(State::Unknown) && reached(runtime) == Some("False")
        };
        until(&self.api::<Runtime>(), runtime, "its cluster is not reached", is_unknown).await;
    }

    async fn annotate(&self, runtime: &str, key: &str, value: &str) {
        let change = json!({ "metadata": { "annotations": { key: value } } });
        self.api::<Runtime>().patch(runtime, &PatchParams::default(), &Patch::Merge(&change)).await.unwrap();
    }
}

fn reached(runtime: &Runtime) -> Option<&str> {
    let conditions = &runtime.status.as_ref()?.conditions;
    conditions.iter().find(|condition| condition.type_ == "Reachable").map(|condition| &*condition.status)
}

#[tokio::test]
async fn a_runtime_is_kept_in_the_cluster_that_its_kubeconfig_leads_to_and_goes_with_its_file() {
    let plane = ControlPlane::start().await.unwrap();
    let home = Fixture::new("remote").await;
    let away = home.beside(&plane).await;
    home.runtime("far", &format!("{}{DELETE}", by("far")));
    home.component("web", "1.0.0", &config("{{ Runtime.name }}", "git"));
    let commit = home.push();
    home.follow().await;
    let reeve = home.reeve();

    // First there is no Secret, and then one that may not be used.
    let told = home.is("far", State::Warning, "SecretNotFound").await;
    assert_eq!(reached(&told), Some("False"));
    let mut refused = kubeconfig(&plane);
    refused["users"][0]["user"]["tokenFile"] = json!("/var/run/secrets/kubernetes.io/serviceaccount/token");
    home.kubeconfig("far", &refused).await;
    let told = home.is("far", State::Warning, "KubeconfigRefused").await;
    let ready = told.status.unwrap().conditions.into_iter().find(|condition| condition.type_ == "Ready").unwrap();
    let wanted =
        "the kubeconfig in Secret far, key `value`, is not used: it has `tokenFile`: put the token into `token`";
    assert_eq!(ready.message, wanted);
    home.kubeconfig("far", &kubeconfig(&plane)).await;

    let runtime = home.applied_to("far", &commit).await;
    assert_eq!(reached(&runtime), Some("True"));
    assert_eq!(runtime.status.unwrap().cluster.unwrap().uid, uid_of(&plane).await);
    assert_eq!(away.has(&home, "far").await.as_deref(), Some("git"));
    assert_eq!(home.says("far").await, None);
    assert_eq!(home.inventory("far").await, Vec::<String>::new());

    // Drift there is put right, also by a process that did not apply it.
    reeve.terminate().await;
    let _reeve = home.reeve();
    home.applied_to("far", &commit).await;
    let there: Api<ConfigMap> = Api::namespaced(away.client.clone(), &home.target);
    let hand = json!({ "data": { "say": "hand" } });
    there.patch("far", &PatchParams::default(), &Patch::Merge(&hand)).await.unwrap();
    let is_repaired = |map: &ConfigMap| map.data.as_ref().is_some_and(|data| data["say"] == "git");
    until(&there, "far", "it is put right", is_repaired).await;

    home.repository.remove("runtimes/far.yaml").unwrap();
    home.push();
    home.gone(&home.api::<Runtime>(), "far").await;
    assert_eq!(away.has(&home, "far").await, None);
    let pages = Api::<Inventory>::namespaced(away.client.clone(), &home.namespace);
    assert!(pages.list(&ListParams::default()).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn a_runtime_that_git_wants_in_another_cluster_leaves_the_one_that_it_was_in_as_its_policy_says() {
    let plane = ControlPlane::start().await.unwrap();
    for (policy, stays) in [(DELETE, None), ("", Some("git"))] {
        let home = Fixture::new("moves-away").await;
        let away = home.beside(&plane).await;
        home.kubeconfig("far", &kubeconfig(&plane)).await;
        home.runtime("far", policy);
        home.component("web", "1.0.0", &config("{{ Runtime.name }}", "git"));
        let here = home.push();
        home.follow().await;
        let _reeve = home.reeve();
        home.applied_to("far", &here).await;
        assert_eq!(home.says("far").await.as_deref(), Some("git"));

        home.runtime("far", &format!("{}{policy}", by("far")));
        home.push();
        eventually("it is there", || async {
            away.has(&home, "far").await.filter(|say| say == "git").ok_or("it is not")
        })
        .await;
        assert_eq!(home.says("far").await.as_deref(), stays, "{policy}");
        assert_eq!(home.inventory("far").await, Vec::<String>::new());
        let moved = home.is("far", State::Ready, "Succeeded").await;
        assert_eq!(moved.status.unwrap().cluster.unwrap().uid, uid_of(&plane).await);

        home.runtime("far", policy);
        home.component("web", "1.1.0", &config("{{ Runtime.name }}", "back"));
        let back = home.push();
        let runtime = home.applied_to("far", &back).await;
        assert_eq!(home.says("far").await.as_deref(), Some("back"), "{policy}");
        assert_eq!(away.has(&home, "far").await.as_deref(), stays, "{policy}");
        assert_eq!((reached(&runtime), runtime.status.as_ref().unwrap().cluster.as_ref()), (None, None));
    }
}

#[tokio::test]
async fn a_kubeconfig_of_the_cluster_of_the_runtime_moves_no_object() {
    let home = Fixture::new("same").await;
    home.kubeconfig("here", &kubeconfig(&home.cluster)).await;
    home.runtime("near", DELETE);
    home.component("web", "1.0.0", &config("{{ Runtime.name }}", "git"));
    let first = home.push();
    home.follow().await;
    let _reeve = home.reeve();
    home.applied_to("near", &first).await;
    let version = || async { home.there::<ConfigMap>().get("near").await.unwrap().metadata.resource_version };
    let before = version().await;

    for target in [by("here"), String::new()] {
        home.runtime("near", &format!("{target}{DELETE}"));
        home.push();
        let is_told = |runtime: &Runtime| {
            let status = runtime.status.clone().unwrap_or_default();
            status.cluster.is_some() != target.is_empty() && status.state == Some(State::Ready)
        };
        until(&home.api::<Runtime>(), "near", "it is told where it is", is_told).await;
        assert_eq!(version().await, before, "{target}");
    }
}

#[tokio::test]
async fn a_cluster_that_does_not_answer_is_unknown_and_comes_back() {
    let plane = ControlPlane::start().await.unwrap();
    let home = Fixture::new("silent").await;
    let away = home.beside(&plane).await;
    home.kubeconfig("far", &kubeconfig(&plane)).await;
    home.runtime("far", &by("far"));
    home.component("web", "1.0.0", &config("{{ Runtime.name }}", "one"));
    let first = home.push();
    home.follow().await;
    let _reeve = home.reeve();
    home.applied(&first).await;
    home.applied_to("far", &first).await;

    plane.apiserver().freeze().unwrap();
    home.is_unknown("far").await;
    // Nobody else waits for it.
    home.component("web", "1.1.0", &config("{{ Runtime.name }}", "two"));
    let second = home.push();
    home.applied(&second).await;

    plane.apiserver().thaw().unwrap();
    let back = home.applied_to("far", &second).await;
    assert_eq!(reached(&back), Some("True"));
    assert_eq!(away.has(&home, "far").await.as_deref(), Some("two"));
}

#[tokio::test]
async fn objects_of_a_cluster_that_is_gone_are_waited_for_until_somebody_says_that_it_is() {
    let (gone, next) = (ControlPlane::start().await.unwrap(), ControlPlane::start().await.unwrap());
    let home = Fixture::new("forgets").await;
    let (_, there) = (home.beside(&gone).await, home.beside(&next).await);
    home.kubeconfig("far", &kubeconfig(&gone)).await;
    home.runtime("far", &by("far"));
    home.component("web", "1.0.0", &config("{{ Runtime.name }}", "git"));
    let commit = home.push();
    home.follow().await;
    let _reeve = home.reeve();
    home.applied_to("far", &commit).await;
    let uid = uid_of(&gone).await;

    home.kubeconfig("far", &kubeconfig(&next)).await;
    let told = home.is("far", State::Warning, "ClusterChanged").await;
    let ready = told.status.unwrap().conditions.into_iter().find(|condition| condition.type_ == "Ready").unwrap();
    assert!(
        ready.message.ends_with(&format!("annotate this Runtime with reeve.dev/forget-cluster={uid}")),
        "{ready:?}"
    );
    assert_eq!(there.has(&home, "far").await, None);

    home.annotate("far", "reeve.dev/forget-cluster", &uid).await;
    home.applied_to("far", &commit).await;
    assert_eq!(there.has(&home, "far").await.as_deref(), Some("git"));

    // Nor does a Runtime go before it is known what became of its objects.
    drop(next);
    home.repository.remove("runtimes/far.yaml").unwrap();
    home.push();
    home.is_unknown("far").await;
    let secrets: Api<Secret> = home.api();
    secrets.delete("far", &DeleteParams::default()).await.unwrap();
    let told = home.is("far", State::Warning, "SecretNotFound").await;
    let uid = told.status.unwrap().cluster.unwrap().uid;
    home.annotate("far", "reeve.dev/forget-cluster", &uid).await;
    home.gone(&home.api::<Runtime>(), "far").await;
}

#[tokio::test]
async fn a_cluster_that_bootstrap_prepared_is_kept_with_the_rights_that_it_gave_and_no_other() {
    let plane = ControlPlane::start().await.unwrap().controllers().await.unwrap();
    let home = Fixture::new("bootstrapped").await;
    let bootstrap = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reeve"));
        command
            .args(["bootstrap", "-r", "far", "-n", &home.namespace, "--kubeconfig"])
            .arg(plane.kubeconfig())
            .args(args);
        command.output().unwrap()
    };
    let printed = bootstrap(&["-o", "name"]);
    let names = String::from_utf8(printed.stdout).unwrap();
    assert!(names.contains("ServiceAccount reeve-system/reeve-applier\n"), "{names}");

    let made = bootstrap(&["--applier", &format!("namespaces={}", home.target), "--apply"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let secret: Value = serde_yaml::from_slice(&made.stdout).unwrap();
    let name = secret["metadata"]["name"].as_str().unwrap().to_owned();
    home.apply("v1", "Secret", Some(&home.namespace), &name, json!({ "stringData": secret["stringData"] })).await;
    let tenant = by(&name).replace(" }\n", &format!(", namespaces: [{}] }}\n", home.target));
    home.runtime("far", &format!("{tenant}{DELETE}"));
    home.component("web", "1.0.0", &config("{{ Runtime.name }}", "git"));
    let commit = home.push();
    home.follow().await;
    let _reeve = home.reeve();
    home.applied_to("far", &commit).await;

    // It may be run again, and the account may do nothing else.
    assert!(bootstrap(&["--apply"]).status.success());
    let own = format!("system:serviceaccount:reeve-system:reeve-control-plane-of-{}", home.namespace);
    for (may, args) in [
        (true, ["get", "namespaces/kube-system", "-n", "default"]),
        (true, ["create", "inventories.reeve.dev", "-n", &home.namespace]),
        (true, ["impersonate", "serviceaccounts/reeve-applier", "-n", "reeve-system"]),
        (false, ["get", "namespaces/default", "-n", "default"]),
        (false, ["create", "inventories.reeve.dev", "-n", "default"]),
        (false, ["impersonate", "serviceaccounts/default", "-n", "reeve-system"]),
        (false, ["get", "secrets", "-n", "reeve-system"]),
        (false, ["create", "configmaps", "-n", &home.target]),
    ] {
        let mut asked = vec!["auth", "can-i", "--as", &own];
        asked.extend(args);
        assert_eq!(plane.try_kubectl(&asked).await.is_ok(), may, "{args:?}");
    }
}
