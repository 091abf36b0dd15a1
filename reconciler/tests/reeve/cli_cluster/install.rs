//! `reeve install`: what it prints, and what it does to a cluster.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Resource, ResourceExt as _};
use reeve_tests::{Cluster, ControlPlane};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cli::repository::{Ended, Repository, ended};

/// `reeve install` on a cluster.
pub(crate) async fn install(cluster: &Cluster, args: &[&str]) -> Ended {
    reeve(cluster, &[&["install"], args].concat()).await
}

/// `reeve` on a cluster.
pub(crate) async fn reeve(cluster: &Cluster, args: &[&str]) -> Ended {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_reeve"));
    command.args(args).arg("--kubeconfig").arg(cluster.kubeconfig()).stdin(Stdio::null());
    ended(command.output().await.unwrap())
}

fn printed(args: &[&str]) -> Vec<Value> {
    let args = [&["install", "--skip-crds", "-o", "json"], args].concat();
    let list = Repository::empty().reeve(&args).with(0).json();
    list["items"].as_array().unwrap().clone()
}

fn named<'a>(objects: &'a [Value], kind: &str, name: &str) -> Option<&'a Value> {
    objects.iter().find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
}

#[test]
fn what_is_installed_by_default_is_checked_in() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts/reeve.yaml");
    let printed = Repository::empty().reeve(&["install", "--skip-crds"]).with(0).out;
    assert!(std::fs::read_to_string(file).unwrap() == printed, "charts/reeve.yaml is stale: run `make charts`");
}

#[test]
fn the_kinds_are_those_of_this_version() {
    let printed = Repository::empty().reeve(&["install", "--crds-only", "-o", "json"]).with(0).json();
    let printed: BTreeMap<String, Value> = printed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|crd| (crd["metadata"]["name"].as_str().unwrap().to_owned(), crd["spec"].clone()))
        .collect();
    let wanted: BTreeMap<String, Value> = reeve_crds::definitions::all()
        .unwrap()
        .into_iter()
        // Through text, as what was printed: large numbers are read alike then.
        .map(|crd| (crd.name_any(), serde_json::from_str(&serde_json::to_string(&crd.spec).unwrap()).unwrap()))
        .collect();
    assert!(printed.keys().eq(wanted.keys()), "{:?}", printed.keys());
    for (name, spec) in &wanted {
        assert!(printed[name] == *spec, "{name} differs");
    }
}

#[test]
fn values_change_what_is_installed() {
    let objects = printed(&["--set", "replicas=1", "--set", "image.repository=r.example.com/reeve", "-n", "ops"]);
    let deployment = named(&objects, "Deployment", "reeve").unwrap();
    assert_eq!(deployment["spec"]["replicas"], 1);
    assert_eq!(deployment["metadata"]["namespace"], "ops");
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "r.example.com/reeve:0.1.0");
    assert!(named(&objects, "PodDisruptionBudget", "reeve").is_none(), "one pod cannot be spared");
    let digest = format!("sha256:{}", "ab".repeat(32));
    let objects = printed(&["--set", &format!("image.digest={digest}"), "--set", "image.tag=ignored"]);
    let image = &named(&objects, "Deployment", "reeve").unwrap()["spec"]["template"]["spec"]["containers"][0]["image"];
    assert_eq!(*image, json!(format!("reeve.local/reeve@{digest}")));
    let objects = printed(&["--set", "data.persistent=true", "--set", "replicas=1"]);
    assert!(named(&objects, "PersistentVolumeClaim", "reeve-data").is_some());
    let objects = printed(&["--set", "serviceMonitor.enabled=true", "--set", "networkPolicy.enabled=false"]);
    assert!(
        named(&objects, "ServiceMonitor", "reeve").is_some() && named(&objects, "NetworkPolicy", "reeve").is_none()
    );
    assert!(named(&objects, "ServiceAccount", "reeve-control-plane").is_none());
    let kinds = r#"controlPlane.kinds=["cluster.x-k8s.io/Cluster","/ConfigMap"]"#;
    let objects = printed(&["-n", "ops", "--set", kinds, "--set", "controlPlane.account=maker"]);
    assert!(named(&objects, "ServiceAccount", "maker").is_some());
    assert!(named(&objects, "ClusterRoleBinding", "reeve-control-plane").is_none());
    assert_eq!(named(&objects, "Role", "reeve-control-plane").unwrap()["rules"][0]["resourceNames"], json!(["maker"]));
    let args = &named(&objects, "Deployment", "reeve").unwrap()["spec"]["template"]["spec"]["containers"][0]["args"];
    for wanted in [
        "--control-plane-account=ops/maker",
        "--control-plane-kind=cluster.x-k8s.io/Cluster",
        "--control-plane-kind=/ConfigMap",
    ] {
        assert!(args.as_array().unwrap().contains(&json!(wanted)), "{args}");
    }
    let appliers =
        r#"appliers=[{"namespace":"a","name":"x"},{"namespace":"b","name":"y"},{"namespace":"a","name":"z"}]"#;
    let objects = printed(&["--set", appliers, "--set", r#"sourceNamespaces=["a","c"]"#]);
    let places = |name: &str| -> Vec<(String, Value)> {
        let roles = objects.iter().filter(|object| object["kind"] == "Role" && object["metadata"]["name"] == name);
        let place = |role: &Value| role["metadata"]["namespace"].as_str().unwrap().to_owned();
        roles.map(|role| (place(role), role["rules"][0]["resourceNames"].clone())).collect()
    };
    assert_eq!(places("reeve-appliers"), [("a".to_owned(), json!(["x", "z"])), ("b".to_owned(), json!(["y"]))]);
    assert_eq!(places("reeve-secrets"), [("a".to_owned(), Value::Null), ("c".to_owned(), Value::Null)]);
}

#[test]
fn the_applier_has_the_rights_that_were_asked_for_and_no_others() {
    let bindings = |args: &[&str]| -> Vec<(String, Value, Value)> {
        let objects = printed(args);
        let of_applier = |object: &&Value| object["subjects"][0]["name"] == "reeve-applier";
        let told = |object: &Value| {
            let kind = object["kind"].as_str().unwrap().to_owned();
            (kind, object["metadata"]["namespace"].clone(), object["roleRef"]["name"].clone())
        };
        objects.iter().filter(of_applier).map(told).collect()
    };
    assert_eq!(bindings(&[]), []);
    let everything = ("ClusterRoleBinding".to_owned(), Value::Null, json!("cluster-admin"));
    assert_eq!(bindings(&["--applier", "cluster-admin"]), [everything]);
    let inside = |namespace: &str| ("RoleBinding".to_owned(), json!(namespace), json!("admin"));
    assert_eq!(bindings(&["--applier", "namespaces=shop,orders"]), [inside("orders"), inside("shop")]);
    let folder = Repository::empty();
    for wrong in ["everything", "namespaces=", "namespaces=a,,b", "namespaces=A"] {
        let told = folder.reeve(&["install", "--applier", wrong]).with(2).err;
        assert!(told.contains("wanted cluster-admin, or namespaces such as namespaces=shop,orders"), "{told}");
    }
}

#[test]
fn pods_are_spread_and_may_reach_only_what_they_need() {
    let objects = printed(&["--set", "priorityClassName=important", "--set", "networkPolicy.ports=[443]"]);
    let pod = &named(&objects, "Deployment", "reeve").unwrap()["spec"]["template"]["spec"];
    assert_eq!(pod["priorityClassName"], "important");
    let keys: Vec<&Value> =
        pod["topologySpreadConstraints"].as_array().unwrap().iter().map(|one| &one["topologyKey"]).collect();
    assert_eq!(keys, ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]);
    assert!(pod["affinity"]["podAntiAffinity"].is_object(), "{pod}");
    let policy = &named(&objects, "NetworkPolicy", "reeve").unwrap()["spec"];
    assert_eq!(policy["policyTypes"], json!(["Ingress", "Egress"]));
    assert_eq!(policy["egress"].as_array().unwrap().len(), 3, "{policy}");
    assert_eq!(policy["egress"][2], json!({ "ports": [{ "port": 443 }] }));
    let extra = r#"networkPolicy.egress=[{"ports":[{"port":7999}]}]"#;
    let own = r#"topologySpreadConstraints=[{"maxSkew":2,"topologyKey":"rack","whenUnsatisfiable":"DoNotSchedule"}]"#;
    let objects = printed(&["--set", extra, "--set", own, "--set", r#"affinity={"nodeAffinity":{}}"#]);
    let policy = &named(&objects, "NetworkPolicy", "reeve").unwrap()["spec"];
    assert_eq!(policy["egress"][3], json!({ "ports": [{ "port": 7999 }] }));
    let pod = &named(&objects, "Deployment", "reeve").unwrap()["spec"]["template"]["spec"];
    assert_eq!(pod["topologySpreadConstraints"][0]["topologyKey"], "rack");
    assert_eq!(pod["affinity"], json!({ "nodeAffinity": {} }));
}

#[test]
fn the_dashboard_and_the_alerts_come_when_asked_for() {
    let file = |name: &str| {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts/reeve/files").join(name)).unwrap()
    };
    let asked = ["--set", "dashboard.enabled=true", "--set", "alerts.enabled=true"];
    let runbooks = ["--set", "alerts.runbooks=https://wiki.example.com/reeve"];
    let objects = printed(&[&asked[..], &runbooks[..]].concat());
    let dashboard = named(&objects, "ConfigMap", "reeve-dashboard").unwrap();
    assert_eq!(dashboard["metadata"]["labels"]["grafana_dashboard"], "1");
    let shown: Value = serde_json::from_str(dashboard["data"]["reeve.json"].as_str().unwrap()).unwrap();
    assert!(shown == serde_json::from_str::<Value>(&file("dashboard.json")).unwrap(), "the dashboard differs");
    let alerts = named(&objects, "PrometheusRule", "reeve").unwrap();
    let links = file("alerts.yaml").replace("docs/operations.md", "https://wiki.example.com/reeve");
    assert!(alerts["spec"] == serde_yaml::from_str::<Value>(&links).unwrap(), "{}", alerts["spec"]);
    assert!(!alerts["spec"].to_string().contains("docs/operations.md"));
}

#[test]
fn the_process_listens_where_its_probes_ask() {
    let objects = printed(&["--set", "admin.port=8080", "--set", "webhook.port=8081"]);
    let container = &named(&objects, "Deployment", "reeve").unwrap()["spec"]["template"]["spec"]["containers"][0];
    let args =
        json!(["run", "--webhook-address=0.0.0.0:8081", "--pod-address=$(POD_IP)", "--admin-address=0.0.0.0:8080"]);
    assert_eq!(container["args"], args);
    assert_eq!(container["ports"][1], json!({ "name": "admin", "containerPort": 8080 }));
}

#[test]
fn values_that_mean_nothing_are_refused() {
    let folder = Repository::empty();
    for (value, said) in [
        ("replica=1", "did you mean replicas?"),
        ("replicas=many", "replicas must be"),
        ("replicas", "`replicas` sets no value"),
        ("image.digest=sha256:short", "image.digest must match"),
        (r#"controlPlane.kinds=["Secret"]"#, "controlPlane.kinds"),
        ("data.persistent=true", "several replicas cannot share a volume"),
    ] {
        let told = folder.reeve(&["install", "--set", value]).with(2);
        assert!(told.err.contains(said), "{}", told.err);
        assert_eq!(told.out, "");
    }
    folder.reeve(&["install", "-n", "No"]).with(2);
}

#[test]
fn a_value_that_is_wrong_is_told_by_what_was_given() {
    let folder = Repository::empty();
    let told = folder.reeve(&["install", "--set", "replicas=1", "--set", "image.tag=1"]).with(2).err;
    let wanted = "error[schema]: image.tag must be text, not a whole number\n \
                  |\n \
                  = note: it is given by --set image.tag=1\n \
                  = help: write --set 'image.tag=\"1\"'\n\n";
    assert!(told.starts_with(wanted), "{told}");
    let told = folder.reeve(&["install", "--set", r#"image={"tga":"v1"}"#]).with(2).err;
    assert!(told.contains("image.tga is not a known key"), "{told}");
    assert!(told.contains(r#"= note: it is given by --set image={"tga":"v1"}"#), "{told}");
    assert!(!told.contains("runtimes/install.yaml"), "{told}");
}

/// The resourceVersions of all objects of a kind.
async fn versions<K>(cluster: &Cluster, into: &mut BTreeMap<String, String>)
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    let api: Api<K> = Api::all(cluster.client());
    let label = ListParams::default().labels("app.kubernetes.io/managed-by=reeve-install");
    for object in api.list(&label).await.unwrap() {
        let key = format!("{} {:?} {}", K::kind(&()), object.namespace(), object.name_any());
        // Its controller reports on it, which is no change of ours.
        let version = if K::kind(&()) == "Deployment" {
            object.meta().generation.map(|g| g.to_string())
        } else {
            object.resource_version()
        };
        into.insert(key, version.unwrap());
    }
}

async fn all_versions(cluster: &Cluster) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    versions::<Namespace>(cluster, &mut found).await;
    versions::<CustomResourceDefinition>(cluster, &mut found).await;
    versions::<ServiceAccount>(cluster, &mut found).await;
    versions::<ClusterRole>(cluster, &mut found).await;
    versions::<ClusterRoleBinding>(cluster, &mut found).await;
    versions::<Role>(cluster, &mut found).await;
    versions::<RoleBinding>(cluster, &mut found).await;
    versions::<Deployment>(cluster, &mut found).await;
    found
}

#[tokio::test]
async fn installing_twice_changes_nothing_and_what_others_set_is_not_overwritten() {
    let control_plane = ControlPlane::start().await.unwrap().controllers().await.unwrap();
    let cluster: &Cluster = &control_plane;
    let told = install(cluster, &["--apply"]).await.with(0);
    assert!(told.out.starts_with("Namespace reeve-system created\n"), "{}", told.out);
    assert!(told.out.lines().all(|line| line.ends_with(" created")), "{}", told.out);
    let settled = |crd: &CustomResourceDefinition| {
        let conditions = crd.status.iter().flat_map(|status| status.conditions.iter().flatten());
        conditions.filter(|condition| condition.status == "True").count() >= 2
    };
    let crds: Api<CustomResourceDefinition> = Api::all(cluster.client());
    for crd in reeve_crds::definitions::all().unwrap() {
        reeve_tests::until(&crds, &crd.name_any(), "the API server is done with it", settled).await;
    }
    let before = all_versions(cluster).await;
    assert!(before.len() >= 20, "{before:?}");
    let told = install(cluster, &["--apply"]).await.with(0);
    let moved: Vec<_> = told.out.lines().filter(|line| !line.ends_with(" unchanged")).collect();
    // Only the status of the Deployment moves by itself.
    assert!(moved.iter().all(|line| line.starts_with("Deployment.apps ")), "{}", told.out);
    assert_eq!(all_versions(cluster).await, before);

    let deployments: Api<Deployment> = Api::namespaced(cluster.client(), "reeve-system");
    let scale = PatchParams { field_manager: Some("kubectl-scale".to_owned()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({ "spec": { "replicas": 5 } }));
    deployments.patch("reeve", &scale, &patch).await.unwrap();
    let told = install(cluster, &["--apply"]).await.with(2);
    assert!(told.err.contains("others have set Deployment.apps reeve-system/reeve otherwise"), "{}", told.err);
    assert!(told.err.contains("kubectl-scale") && told.err.contains("--force-conflicts"), "{}", told.err);
    install(cluster, &["--apply", "--force-conflicts"]).await.with(0);
    assert_eq!(deployments.get("reeve").await.unwrap().spec.unwrap().replicas, Some(2));

    // No node, so no pod: waiting ends all the same.
    let told = install(cluster, &["--apply", "--wait", "--timeout", "1s"]).await.with(2);
    assert!(told.err.contains("it does not work after 1 s") && told.err.contains("reeve check"), "{}", told.err);
    install(cluster, &["--apply", "--wait", "--crds-only"]).await.with(0);
    let secrets: Api<Secret> = Api::namespaced(cluster.client(), "reeve-system");
    assert!(secrets.list(&ListParams::default()).await.unwrap().items.is_empty(), "no secret is made");
}

#[tokio::test]
async fn waiting_ends_when_all_replicas_of_the_newest_spec_are_available() {
    // Without controllers, whose part is played here.
    let control_plane = ControlPlane::start().await.unwrap();
    let cluster: &Cluster = &control_plane;
    let deployments: Api<Deployment> = Api::namespaced(cluster.client(), "reeve-system");
    let report = async |generation: i64, available: i32| {
        let status = json!({
            "observedGeneration": generation, "replicas": 2, "updatedReplicas": 2, "readyReplicas": available,
            "availableReplicas": available,
        });
        let patch = Patch::Merge(json!({ "status": status }));
        deployments.patch_status("reeve", &PatchParams::default(), &patch).await.unwrap();
    };
    install(cluster, &["--apply"]).await.with(0);
    report(1, 2).await;
    install(cluster, &["--apply", "--wait"]).await.with(0);
    let upgrade = ["--apply", "--set", "image.tag=other", "--wait", "--timeout", "1s"];
    install(cluster, &upgrade).await.with(2);
    report(2, 1).await;
    install(cluster, &upgrade).await.with(2);
    report(2, 2).await;
    install(cluster, &upgrade).await.with(0);
}
