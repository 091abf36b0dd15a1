//! A NodeHook that is pushed to Git changes what the next container gets.

use std::process::{Child, Command, Stdio};

use kube::Api;
use reeve_crds::{NodeHook, NodeHookStatus, State};
use reeve_tests::{GitRepository, beside, eventually, until};
use serde_json::json;

use crate::place::{FEED, Place};

const FLEET: &str = "kind: Fleet\ndefaults: { channel: regular, namespace: default }\ncomponents: { hooks: {} }\n";

/// A running `reeve run`.
pub(crate) struct Reeve(Child);

impl Drop for Reeve {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Has Reeve follow a repository, in the cluster of the node.
pub(crate) async fn follow(place: &Place, repository: &GitRepository) -> Reeve {
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "applier"},
        "subjects": [{"kind": "ServiceAccount", "name": "reeve-applier", "namespace": "reeve-system"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
    });
    let meta = |name: &str| json!({"name": name});
    place.apply(None, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": meta("reeve-system")})).await;
    place.apply(None, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": meta("fleet")})).await;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta("reeve-applier")});
    place.apply(Some("reeve-system"), account).await;
    place.apply(None, binding).await;
    let source = json!({
        "apiVersion": "reeve.dev/v1alpha1", "kind": "GitSource", "metadata": meta("fleet"),
        "spec": {"url": repository.file_url(), "interval": "1h", "ref": {"branch": "main"}},
    });
    place.apply(Some("fleet"), source).await;
    let data = place.node.supervisor().data();
    let log = std::fs::File::create(data.join("reeve.log")).unwrap();
    let reeve = Command::new(beside(FEED, "reeve"))
        .args(["run", "--no-lease", "--watch-namespace=fleet", "--admin-address=none", "--data-folder"])
        .arg(data.join("mirrors"))
        .env("KUBECONFIG", place.node.kubeconfig())
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap();
    Reeve(reeve)
}

/// A fleet of one runtime with one component: a NodeHook for every node.
fn publish(repository: &GitRepository, hook: &serde_json::Value) -> String {
    let files = [
        ("fleet.yaml", FLEET),
        ("channels/regular.yaml", "kind: Channel\ncomponents: { hooks: 1.0.0 }\n"),
        ("runtimes/here.yaml", "kind: Runtime\n"),
        ("charts/hooks/1.0.0/Chart.yaml", "apiVersion: v2\nname: hooks\nversion: 1.0.0\n"),
        ("charts/hooks/1.0.0/templates/hook.yaml.j2", &hook.to_string()),
    ];
    repository.publish(&files).unwrap().as_str().to_owned()
}

async fn named_by_the_hook_set(place: &Place, commit: &str) {
    eventually("the hook set names the commit", || async {
        let text = std::fs::read_to_string(place.hook_set()).unwrap();
        if text.contains(commit) { Ok(()) } else { Err(text) }
    })
    .await;
}

/// The proxy says of a pod from which commit it was changed.
fn assert_why(place: &Place, pod: &str, commit: &str) {
    let socket = place.node.supervisor().data().join("run/state.sock");
    let why = Command::new(beside(FEED, "reeve-cri")).args(["why", pod, "--state-socket"]).arg(socket).output();
    let why = String::from_utf8(why.unwrap().stdout).unwrap();
    assert!(why.contains(&format!(" from {commit}, PreCreateContainer")), "{why}");
}

#[tokio::test]
async fn a_node_hook_that_is_pushed_to_git_changes_the_cpu_shares_of_the_next_container() {
    let mut place = Place::start().await;
    let old = place.shares("before").await;
    place.plugin.answer(
        &json!({"PreCreateContainer": {"response": {"container_resources": {"cpu_shares": "2048", "oom_score_adj": "7"}}}}),
    );
    let hook = json!({
        "apiVersion": "reeve.dev/v1alpha1", "kind": "NodeHook", "metadata": {"name": "colocation"},
        "spec": {
            "nodeSelector": {"matchLabels": {"kubernetes.io/os": "linux"}},
            "plugins": [{
                "name": "shares",
                "endpoint": place.plugin.socket,
                "hooks": [{"type": "PreCreateContainer", "failurePolicy": "Fail"}],
                "write": ["CpuShares"],
            }],
        },
    });
    let repository = GitRepository::create().unwrap();
    let commit = publish(&repository, &hook);
    let _reeve = follow(&place, &repository).await;

    let hooks: Api<NodeHook> = Api::all(place.node.client());
    let rolled_out = until(&hooks, "colocation", "the hook is live on the node", |hook| {
        hook.status.as_ref().is_some_and(|status| status.state == Some(State::Ready) && status.revision.is_some())
    })
    .await;
    let status = rolled_out.status.unwrap();
    assert_eq!(status.nodes.unwrap().summary, "1/1");
    let revision = status.revision.unwrap();
    assert!(revision.contains(&commit[..7]), "{revision} is not of {commit}");

    let new = place.shares("after").await;
    println!("cpu shares {old} -> {new} by NodeHook colocation at {revision}, read in cgroupfs");
    assert_ne!(old, new);

    let statuses: Api<NodeHookStatus> = Api::all(place.node.client());
    let on_node = until(&statuses, place.node.name(), "the node tells the commit", |status| {
        let hooks = status.status.as_ref().map(|status| status.hooks.clone()).unwrap_or_default();
        hooks.iter().any(|hook| hook.name == "colocation" && hook.git.as_deref() == Some(&revision))
    })
    .await;
    assert_eq!(on_node.metadata.owner_references.unwrap()[0].kind, "Node");

    named_by_the_hook_set(&place, &revision).await;

    // Without feed and API server the last known set holds, also for a proxy that starts.
    place.kill_feed();
    place.restart_proxy();
    assert_eq!(place.shares("again").await, new);
    assert_why(&place, "default/again", &revision);

    // What leaves Git leaves the node.
    place.start_feed();
    repository.publish(&[("fleet.yaml", &FLEET.replace("hooks: {}", ""))]).unwrap();
    eventually("the hook set is empty", || async {
        let text = std::fs::read_to_string(place.hook_set()).unwrap();
        if text.contains("colocation") { Err(text) } else { Ok(()) }
    })
    .await;
    until(&statuses, place.node.name(), "the proxy has no hook", |status| {
        status.status.as_ref().is_some_and(|status| status.state == Some(State::Ready) && status.plugins.is_empty())
    })
    .await;
    assert_eq!(place.shares("later").await, old);
}
