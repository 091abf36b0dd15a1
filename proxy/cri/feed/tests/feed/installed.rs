//! The feed as its chart installs it: a pod on the node, with the rights of the chart and no more.

use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::Api;
use kube::api::PostParams;
use reeve_crds::{NodeHook, NodeHookStatus, State};
use reeve_tests::{GitRepository, Image, beside, eventually, until};
use serde_json::json;

use crate::from_git::follow;
use crate::place::{FEED, Place};

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../charts/reeve-cri");

/// A fleet whose one runtime has the chart, with the folders of this node.
fn publish(repository: &GitRepository, place: &Place) {
    let folder = repository.work_tree().join("charts/reeve-cri/0.1.0");
    std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
    let copied = std::process::Command::new("cp").args(["-r", CHART]).arg(&folder).status().unwrap();
    assert!(copied.success());
    let data = place.node.supervisor().data();
    let values = json!({
        "image": {"pullPolicy": "Never"},
        "paths": {"state": data.join("feed"), "run": data.join("run")},
        "extraArgs": ["--log=debug"],
        "dashboard": {"enabled": true},
    });
    let fleet = json!({
        "kind": "Fleet",
        "defaults": {"channel": "regular", "namespace": "kube-system"},
        "components": {"reeve-cri": {"values": values}},
    });
    let files = [
        ("fleet.yaml", fleet.to_string()),
        ("channels/regular.yaml", "kind: Channel\ncomponents: { reeve-cri: 0.1.0 }\n".to_owned()),
        ("runtimes/here.yaml", "kind: Runtime\n".to_owned()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    repository.publish(&files).unwrap();
}

#[tokio::test]
async fn the_chart_runs_a_feed_with_the_rights_that_it_needs_and_no_others() {
    let place = Place::without_feed().await;
    place.node.load(&Image::shipped(FEED.as_ref()).unwrap()).unwrap();
    let repository = GitRepository::create().unwrap();
    publish(&repository, &place);
    let _reeve = follow(&place, &repository).await;
    let nodes: Api<NodeHookStatus> = Api::all(place.node.client());
    let is_ready =
        |status: &NodeHookStatus| status.status.as_ref().is_some_and(|status| status.state == Some(State::Ready));
    until(&nodes, place.node.name(), "the feed reports", is_ready).await;

    let dashboard =
        place.node.kubectl(&["get", "configmap", "reeve-cri-dashboard", "-n", "kube-system", "-o", "jsonpath={.data}"]);
    assert!(dashboard.await.contains("Reeve node hooks"));

    // All that it does, it may: hook set, status, roll-up, condition, taint.
    let mut spec = json!({
        "nodeSelector": {"matchLabels": {"kubernetes.io/os": "linux"}},
        "plugins": [{
            "name": "shares", "endpoint": place.plugin.socket, "write": ["CpuShares"],
            "hooks": [{"type": "PreCreateContainer"}],
        }],
        "whileNotLive": "NoSchedule",
    });
    let hook = |spec: &serde_json::Value| json!({"apiVersion": "reeve.dev/v1alpha1", "kind": "NodeHook", "metadata": {"name": "colocation"}, "spec": spec});
    place.apply(None, hook(&spec)).await;
    let hooks: Api<NodeHook> = Api::all(place.node.client());
    let is_live = |hook: &NodeHook| hook.status.as_ref().is_some_and(|status| status.state == Some(State::Ready));
    until(&hooks, "colocation", "it is live", is_live).await;

    seen_by_reeve(&place).await;

    // A proxy that is gone keeps pods off the node, and its return lets them on.
    place.proxy.freeze().unwrap();
    let taints =
        || async { place.node.kubectl(&["get", "node", place.node.name(), "-o", "jsonpath={.spec.taints}"]).await };
    spec["order"] = json!(7);
    place.apply(None, hook(&spec)).await;
    eventually("the node is tainted", || async {
        let taints = taints().await;
        if taints.contains("reeve.dev/hooks-not-live") { Ok(()) } else { Err(taints) }
    })
    .await;
    place.proxy.thaw().unwrap();
    eventually("the taint is gone", || async {
        let taints = taints().await;
        if taints.contains("reeve.dev/hooks-not-live") { Err(taints) } else { Ok(()) }
    })
    .await;
    let condition = r#"jsonpath={.status.conditions[?(@.type=="HooksLive")].status}"#;
    eventually("the node says that its hooks are live", || async {
        let said = place.node.kubectl(&["get", "node", place.node.name(), "-o", condition]).await;
        if said == "True" { Ok(()) } else { Err(said) }
    })
    .await;
    denied(&place).await;
}

/// `reeve node` reads through the feed's pod what the proxy of the node says.
async fn seen_by_reeve(place: &Place) {
    place.plugin.answer(
        &json!({"PreCreateContainer": {"response": {"container_resources": {"cpu_shares": "2048", "oom_score_adj": "7"}}}}),
    );
    place.shares("asked").await;
    let reeve = |arguments: &[&str]| {
        let mut command = std::process::Command::new(beside(FEED, "reeve"));
        command.arg("node").args(arguments).arg("--kubeconfig").arg(place.node.kubeconfig());
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        // Columns are as wide as what is in them.
        (output.status.code(), text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (status, hooks) = reeve(&["hooks", place.node.name()]);
    println!("{hooks}");
    assert_eq!(status, Some(0), "{hooks}");
    assert!(hooks.contains("NodeHook colocation, generation 1, "), "{hooks}");
    assert!(hooks.contains(" shares colocation Enforce Closed "), "{hooks}");
    let (status, why) = reeve(&["why", "asked", "-n", "default", "--node", place.node.name()]);
    println!("{why}");
    assert_eq!(status, Some(0), "{why}");
    assert!(why.contains(" -> 2048 colocation/shares PreCreateContainer"), "{why}");
    assert!(why.contains("oom_score_adj: not changed, its mask does not allow it"), "{why}");
    let (status, error) = reeve(&["hooks", "nowhere"]);
    assert_eq!(status, Some(2), "{error}");
    assert!(error.contains("no feed runs on node nowhere"), "{error}");
}

/// What the account of the feed may not do, and a little of what it may, so that a wrong question is noticed.
async fn denied(place: &Place) {
    for (verb, group, resource, namespace, expected) in [
        ("watch", "reeve.dev", "nodehooks", "", true),
        ("update", "coordination.k8s.io", "leases", "kube-system", true),
        ("create", "reeve.dev", "nodehooks", "", false),
        ("patch", "reeve.dev", "nodehooks", "", false),
        ("delete", "reeve.dev", "nodehooks", "", false),
        ("delete", "reeve.dev", "nodehookstatuses", "", false),
        ("patch", "reeve.dev", "runtimecomponents", "", false),
        ("delete", "", "nodes", "", false),
        ("update", "", "nodes", "", false),
        ("get", "", "secrets", "", false),
        ("list", "", "pods", "", false),
        ("create", "", "pods", "kube-system", false),
        ("get", "", "configmaps", "kube-system", false),
        ("update", "coordination.k8s.io", "leases", "default", false),
        ("create", "rbac.authorization.k8s.io", "clusterroles", "", false),
    ] {
        let review: SubjectAccessReview = serde_json::from_value(json!({"metadata": {}, "spec": {
            "user": "system:serviceaccount:kube-system:reeve-cri",
            "resourceAttributes": {"verb": verb, "group": group, "resource": resource, "namespace": namespace},
        }}))
        .unwrap();
        let reviews: Api<SubjectAccessReview> = Api::all(place.node.client());
        let review = reviews.create(&PostParams::default(), &review).await.unwrap();
        assert_eq!(review.status.unwrap().allowed, expected, "{verb} {resource}.{group} in {namespace:?}");
    }
}
