//! What the accounts of the chart may do, asked of a real API server: all that their part needs, and nothing beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use k8s_openapi::api::authorization::v1::{SelfSubjectRulesReview, SelfSubjectRulesReviewSpec};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use reeve_renderer::fleet::Loader;
use reeve_renderer::render::Renderer;
use reeve_renderer::resolve;
use reeve_renderer::tree::MemoryTree;
use reeve_tests::{Cluster, eventually};
use serde_json::{Value, json};

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../charts/reeve-resolver");

/// Verbs, group, resource with its subresource, and whether that is so in every namespace or in its own alone.
const DATA_PLANE: &[(&str, &str, &str, bool)] = &[
    ("get list watch", "reeve.dev", "scalingrules", true),
    ("get list watch", "discovery.k8s.io", "endpointslices", true),
    ("get list watch", "", "nodes", true),
    ("get patch", "apps", "deployments/scale", true),
    ("get patch", "apps", "statefulsets/scale", true),
    ("get list watch", "coordination.k8s.io", "leases", false),
];

const SWITCH: &[(&str, &str, &str, bool)] = &[
    ("get list watch create update patch delete", "reeve.dev", "scalingrules", true),
    ("get patch", "reeve.dev", "scalingrules/status", true),
    ("update", "reeve.dev", "scalingrules/finalizers", true),
    ("list", "admissionregistration.k8s.io", "validatingwebhookconfigurations", true),
    ("list", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", true),
    ("list", "apiregistration.k8s.io", "apiservices", true),
    ("get list watch create patch delete", "", "services", true),
    ("get list watch create update delete", "discovery.k8s.io", "endpointslices", true),
    ("get list watch", "apps", "deployments", true),
    ("get list watch", "apps", "statefulsets", true),
    ("get patch", "apps", "deployments/scale", true),
    ("get patch", "apps", "statefulsets/scale", true),
    ("list", "", "pods", true),
    ("get", "", "nodes/proxy", true),
    ("create patch", "events.k8s.io", "events", true),
    ("get list watch create update delete", "keda.sh", "scaledobjects", true),
    ("get list watch update", "keda.sh", "scaledjobs", true),
    ("get list watch create patch", "networking.istio.io", "virtualservices", true),
    ("get list watch", "security.istio.io", "peerauthentications", true),
    ("get create update", "coordination.k8s.io", "leases", false),
];

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn render(namespace: &str, values: &Value) -> Vec<Value> {
    let mut tree = MemoryTree::default();
    tree.write("fleet.yaml".to_owned(), "kind: Fleet\n");
    for file in files(Path::new(CHART)) {
        let path = file.strip_prefix(CHART).unwrap().display().to_string();
        tree.write(format!("charts/reeve-resolver/0.1.0/{path}"), std::fs::read_to_string(&file).unwrap());
    }
    let component = json!({ "version": "0.1.0", "namespace": namespace, "values": values });
    let runtime = json!({ "kind": "Runtime", "components": { "reeve-resolver": component } });
    tree.write("runtimes/test.yaml".to_owned(), runtime.to_string());
    let (fleet, findings) = Loader::new().load(&tree).unwrap();
    assert!(findings.is_empty(), "{findings:?}");
    let resolved = resolve::resolve(&fleet, "test").unwrap().unwrap();
    let cache = reeve_renderer::cache::MemoryCache::new(1 << 20);
    let bundle = Renderer::new(&fleet.settings, &cache).runtime(&resolved).unwrap();
    let objects = bundle.components.iter().flat_map(|component| &component.objects);
    objects.map(|object| serde_json::to_value(&object.value).unwrap()).collect()
}

type Rights = BTreeMap<(String, String), BTreeSet<String>>;

/// All that an account may do with objects of a namespace, beside what everybody may: asking who they are.
async fn rights(cluster: &Cluster, own: &str, part: &str, namespace: &str) -> Rights {
    let mut config = cluster.config().unwrap();
    config.auth_info.impersonate = Some(format!("system:serviceaccount:{own}:reeve-resolver-{part}"));
    let reviews: Api<SelfSubjectRulesReview> = Api::all(Client::try_from(config).unwrap());
    let spec = SelfSubjectRulesReviewSpec { namespace: Some(namespace.to_owned()) };
    let review = SelfSubjectRulesReview { spec, ..SelfSubjectRulesReview::default() };
    let status = reviews.create(&PostParams::default(), &review).await.unwrap().status.unwrap();
    assert!(!status.incomplete, "{status:?}");
    let mut rights = Rights::new();
    for rule in status.resource_rules {
        for group in rule.api_groups.into_iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                if matches!(group.as_str(), "authorization.k8s.io" | "authentication.k8s.io") {
                    continue;
                }
                let verbs: &mut BTreeSet<String> = rights.entry((group.clone(), resource.clone())).or_default();
                verbs.extend(rule.verbs.iter().cloned());
            }
        }
    }
    rights
}

fn wanted(rights: &[(&str, &str, &str, bool)], is_own: bool) -> Rights {
    let here = rights.iter().filter(|(.., everywhere)| is_own || *everywhere);
    let right = |(verbs, group, resource, _): &(&str, &str, &str, bool)| {
        (((*group).to_owned(), (*resource).to_owned()), verbs.split(' ').map(str::to_owned).collect())
    };
    here.map(right).collect()
}

#[tokio::test]
async fn each_part_may_do_what_it_does_and_nothing_else() {
    let cluster = Cluster::shared().await;
    let own = cluster.namespace("rights").await;
    let objects = render(&own, &json!({}));
    let names = |kind: &str| -> Vec<String> {
        let of_kind = objects.iter().filter(|object| object["kind"] == kind);
        of_kind.map(|object| object["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("Service"), ["reeve-resolver-scaler"]);
    let roles = ["ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"];
    let granted = objects.iter().filter(|object| roles.iter().any(|kind| object["kind"] == *kind));
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": granted.collect::<Vec<_>>() });
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), list.to_string()).unwrap();
    cluster.kubectl(&["apply", "-n", &own, "-f", file.path().to_str().unwrap()]).await;
    for (part, expected) in [("data-plane", DATA_PLANE), ("switch", SWITCH)] {
        for namespace in [own.as_str(), "default"] {
            let expected = wanted(expected, namespace == own);
            eventually(&format!("the rights of the {part} in {namespace}"), || async {
                let found = rights(cluster, &own, part, namespace).await;
                if found == expected { Ok(()) } else { Err(format!("{found:#?} and not {expected:#?}")) }
            })
            .await;
        }
    }
}

#[tokio::test]
async fn the_data_plane_reads_the_secrets_that_are_named_and_no_others() {
    let cluster = Cluster::shared().await;
    let own = cluster.namespace("certificates").await;
    let named = json!({ "certificates": [{ "namespace": own, "name": "web-tls" }] });
    let objects = render(&own, &named);
    let roles = ["ServiceAccount", "Role", "RoleBinding"];
    let granted = objects.iter().filter(|object| roles.iter().any(|kind| object["kind"] == *kind));
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": granted.collect::<Vec<_>>() });
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), list.to_string()).unwrap();
    cluster.kubectl(&["apply", "-n", &own, "-f", file.path().to_str().unwrap()]).await;
    for name in ["web-tls", "other"] {
        cluster.kubectl(&["create", "secret", "generic", name, "-n", &own]).await;
    }
    let mut config = cluster.config().unwrap();
    config.auth_info.impersonate = Some(format!("system:serviceaccount:{own}:reeve-resolver-data-plane"));
    let secrets: Api<Secret> = Api::namespaced(Client::try_from(config).unwrap(), &own);
    let only = |name: &str| ListParams::default().fields(&format!("metadata.name={name}"));
    eventually("it reads the one that is named", || async { secrets.list(&only("web-tls")).await }).await;
    secrets.get("web-tls").await.unwrap();
    for refused in [secrets.get("other").await.map(drop), secrets.list(&ListParams::default()).await.map(drop)] {
        assert!(matches!(&refused, Err(kube::Error::Api(status)) if status.code == 403), "{refused:?}");
    }
}

#[test]
fn without_istio_the_switch_has_no_rights_to_its_kinds() {
    let text = serde_json::to_string(&render("reeve-system", &json!({ "istio": { "enabled": false } }))).unwrap();
    assert!(!text.contains("istio.io"), "{text}");
}

#[test]
fn without_keda_the_switch_has_no_rights_to_its_kinds_and_no_service() {
    let text = serde_json::to_string(&render("reeve-system", &json!({ "keda": { "enabled": false } }))).unwrap();
    assert!(!text.contains("keda.sh") && !text.contains("reeve-resolver-scaler"), "{text}");
}
