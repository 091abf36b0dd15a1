//! `reeve diff --live`.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, Patch, PatchParams};
use reeve_crds::Runtime;
use serde_json::{Value, json};

use crate::cli::repository::{Ended, ended};
use crate::engine::fixture::{Fixture, annotated, config, definition, deployment};

/// `reeve diff --live` of the work tree, with further arguments.
async fn diff(fixture: &Fixture, args: &[&str]) -> Ended {
    diff_with(fixture, &fixture.cluster.kubeconfig().display().to_string(), args).await
}

async fn diff_with(fixture: &Fixture, kubeconfig: &str, args: &[&str]) -> Ended {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_reeve"));
    command.args(["diff", "--live", "--namespace", &fixture.namespace, "--kubeconfig", kubeconfig]).args(args);
    command.current_dir(fixture.repository.work_tree()).env_remove("NO_COLOR").kill_on_drop(true);
    ended(command.output().await.unwrap())
}

/// A fixture to which these manifests were applied, and in which nobody applies any more.
async fn applied(prefix: &str, manifests: &str) -> Fixture {
    let fixture = Fixture::new(prefix).await;
    fixture.component("web", "1.0.0", manifests);
    settle(&fixture).await;
    fixture
}

async fn settle(fixture: &Fixture) {
    let commit = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&commit).await;
    reeve.terminate().await;
}

/// Changes an object by hand.
async fn patch(fixture: &Fixture, api_version: &str, kind: &str, name: &str, patch: Value) {
    let params = PatchParams { field_manager: Some("somebody".to_owned()), ..PatchParams::default() };
    let api = fixture.dynamic(api_version, kind, Some(&fixture.target));
    api.patch(name, &params, &Patch::Merge(&patch)).await.unwrap();
}

#[tokio::test]
async fn what_is_as_git_says_is_no_difference_and_asking_writes_nothing() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: { name: key }\nstringData: { a: b }\n---\n";
    let manifests = [&config("settings", "git"), &deployment("web", 0), secret].concat();
    let fixture = applied("live-same", &manifests).await;
    let before = fixture.versions().await;
    assert_eq!(diff(&fixture, &[]).await.with(0).out, "no difference\n");
    let document = diff(&fixture, &["-o", "json"]).await.with(0).json();
    assert_eq!(document["groups"], json!([]));
    fixture.component("web", "1.1.0", &config("settings", "other"));
    diff(&fixture, &["--impersonate"]).await.with(1);
    assert_eq!(fixture.versions().await, before);
    let url = fixture.repository.file_url();
    assert_eq!(diff(&fixture, &["--git", &url, "--rev", "main"]).await.with(0).out, "no difference\n");
    assert_eq!(diff(&fixture, &["--rev", "HEAD"]).await.with(0).out, "no difference\n");
}

#[tokio::test]
async fn what_git_changed_and_what_people_changed_is_told_field_by_field() {
    let first = [config("gone", "git"), config("settings", "git"), deployment("web", 0)].concat();
    let fixture = Fixture::new("live-fields").await;
    fixture.component("old", "1.0.0", &config("older", "git"));
    fixture.component("web", "1.0.0", &first);
    settle(&fixture).await;
    fixture.drop_component("old");
    patch(&fixture, "apps/v1", "Deployment", "web", json!({ "spec": { "replicas": 5, "paused": true } })).await;
    fixture.component(
        "web",
        "1.1.0",
        &[config("new", "x"), config("settings", "other"), deployment("web", 0)].concat(),
    );
    let (runtime, target, namespace) = (&fixture.runtime, &fixture.target, &fixture.namespace);
    let told = diff(&fixture, &["-r", runtime]).await.with(1);
    let wanted = format!(
        "\
in runtime {runtime}
  - ConfigMap {target}/gone (component web)
  + ConfigMap {target}/new (component web)
      + apiVersion: v1
      + data:
      +   say: x
      + kind: ConfigMap
      + metadata:
      +   labels:
      +     app.kubernetes.io/managed-by: reeve
      +     reeve.dev/component: web
      +     reeve.dev/runtime-namespace: {namespace}
      +   name: new
      +   namespace: {target}
  - ConfigMap {target}/older (component old)
  ~ ConfigMap {target}/settings (component web)
      data.say: \"git\" -> \"other\"
  ~ Deployment.apps {target}/web (component web)
      spec.replicas: 5 -> 0

1 runtime: 1 added, 2 changed, 2 removed
"
    );
    assert_eq!(told.out, wanted);
    let document = diff(&fixture, &["-o", "json"]).await.with(1).json();
    let changes = &document["groups"][0]["changes"];
    assert_eq!(changes[4]["fields"], json!([{ "path": "spec.replicas", "before": 5, "after": 0 }]));
    assert_eq!(changes[0]["change"], "removed");
    assert_eq!(changes[0]["value"]["data"], json!({ "say": "git" }));
    assert_eq!(changes[0]["value"]["metadata"]["uid"], Value::Null);
}

#[tokio::test]
async fn what_would_be_refused_is_told_with_its_reason_and_the_rest_goes_on() {
    let frozen = |say: &str| format!("{}immutable: true\n---\n", config("frozen", say).trim_end_matches("---\n"));
    let fixture = applied("live-refused", &frozen("one")).await;
    fixture.apply("v1", "ConfigMap", Some(&fixture.target), "theirs", json!({ "data": { "say": "theirs" } })).await;
    let odd = "apiVersion: nowhere.example.com/v1\nkind: Odd\nmetadata: { name: odd }\n---\n";
    let wrong = "apiVersion: v1\nkind: Service\nmetadata: { name: wrong }\nspec: { ports: [{ port: 70000 }] }\n---\n";
    fixture.component(
        "web",
        "1.1.0",
        &[&frozen("two"), &config("theirs", "git"), odd, wrong, &config("well", "x")].concat(),
    );
    let document = diff(&fixture, &["-o", "json"]).await.with(1).json();
    let changes = document["groups"][0]["changes"].as_array().unwrap();
    let told: Vec<_> = changes
        .iter()
        .map(|change| {
            (change["object"]["name"].as_str().unwrap(), change["change"].as_str().unwrap(), change["reason"].as_str())
        })
        .collect();
    let refused = |name, reason| (name, "refused", Some(reason));
    let wanted = [
        refused("frozen", "Immutable"),
        refused("theirs", "Conflict"),
        ("well", "added", None),
        refused("wrong", "Invalid"),
        refused("odd", "MissingKind"),
    ];
    assert_eq!(told, wanted);
    let text = diff(&fixture, &[]).await.with(1).out;
    let theirs = format!(
        "  x ConfigMap {}/theirs (component web)\n      Conflict: data.say is applied by somebody; set policy.adoption: Always",
        fixture.target
    );
    assert!(text.contains(&theirs), "{text}");
    assert!(text.ends_with("\n1 runtime: 1 added, 0 changed, 0 removed, 4 refused\n"), "{text}");
    fixture.runtime(&fixture.runtime, "policy: { adoption: Always, recreate: OnImmutable }\n");
    let text = diff(&fixture, &[]).await.with(1).out;
    assert!(text.contains("      data.say: \"theirs\" -> \"git\"\n"), "{text}");
    let anew =
        format!("  - ConfigMap {0}/frozen (component web)\n  + ConfigMap {0}/frozen (component web)\n", fixture.target);
    assert!(text.contains(&anew), "{text}");
}

#[tokio::test]
async fn what_reeve_leaves_alone_is_left_alone() {
    let rule = "apiVersion: reeve.dev/v1alpha1\nkind: ScalingRule\nmetadata: { name: web }\nspec:\n  services: [{ name: web }]\n  scaleTarget: { apiVersion: apps/v1, kind: Deployment, name: web }\n---\n";
    let manifests = [
        &annotated("never", "git", "reeve.dev/apply", "Never"),
        &annotated("missing", "git", "reeve.dev/apply", "IfMissing"),
        &annotated("ignored", "git", "reeve.dev/drift", "Ignore"),
        &annotated("field", "git", "reeve.dev/ignore", "/data/say"),
        &annotated("released", "git", "reeve.dev/prune", "Never"),
        &config("by-policy", "git"),
        &deployment("web", 0),
        rule,
    ];
    let fixture = Fixture::new("live-alone").await;
    let rest = "policy: { drift: { ignore: [{ kind: ConfigMap, name: by-policy, paths: [/data/say] }] } }\n";
    fixture.runtime(&fixture.runtime, rest);
    fixture.component("web", "1.0.0", &manifests.concat());
    settle(&fixture).await;
    for name in ["missing", "ignored", "field", "by-policy"] {
        patch(&fixture, "v1", "ConfigMap", name, json!({ "data": { "say": "people" } })).await;
    }
    patch(&fixture, "apps/v1", "Deployment", "web", json!({ "spec": { "replicas": 7 } })).await;
    assert_eq!(diff(&fixture, &[]).await.with(0).out, "no difference\n");
}

#[tokio::test]
async fn values_of_secrets_are_never_printed() {
    let secret = |value: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{ name: key }}\nstringData: {{ same: hunter1, password: {value} }}\n---\n"
        )
    };
    let fixture = applied("live-secret", &secret("hunter2")).await;
    let file = fixture.data.path().join("secret.yaml");
    std::fs::write(&file, secret("hunter3")).unwrap();
    fixture.cluster.kubectl(&["apply", "-n", &fixture.target, "-f", file.to_str().unwrap()]).await;
    fixture.component("web", "1.1.0", &secret("hunter4"));
    for format in ["text", "json"] {
        let told = diff(&fixture, &["-o", format]).await.with(1);
        for value in ["hunter", "aHVudGVy"] {
            assert!(!told.out.contains(value) && !told.err.contains(value), "{}{}", told.out, told.err);
        }
        assert!(told.out.contains("data.password") && !told.out.contains("data.same"), "{}", told.out);
    }
}

#[tokio::test]
async fn what_comes_with_its_namespace_or_its_kind_is_not_refused() {
    let fixture = Fixture::new("live-first").await;
    let (group, namespace) = (format!("{}.example.com", fixture.namespace), format!("{}-made", fixture.namespace));
    let inside = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: a, namespace: {namespace} }}\n---\n");
    let manifests = [
        format!("apiVersion: v1\nkind: Namespace\nmetadata: {{ name: {namespace} }}\n---\n"),
        inside,
        definition(&group, "Widget"),
        format!("apiVersion: {group}/v1\nkind: Widget\nmetadata: {{ name: w }}\n---\n"),
    ];
    fixture.component("web", "1.0.0", &manifests.concat());
    let told = diff(&fixture, &[]).await.with(1);
    assert!(told.out.ends_with("\n1 runtime: 4 added, 0 changed, 0 removed\n"), "{}", told.out);
}

#[tokio::test]
async fn a_field_that_only_kubectl_applied_is_told_to_go() {
    let fixture = Fixture::new("live-kubectl").await;
    let file = fixture.data.path().join("settings.yaml");
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: settings }\ndata: { say: git, old: x }\n";
    std::fs::write(&file, text).unwrap();
    fixture.cluster.kubectl(&["apply", "-n", &fixture.target, "-f", file.to_str().unwrap()]).await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let document = diff(&fixture, &["-o", "json"]).await.with(1).json();
    let fields = document["groups"][0]["changes"][0]["fields"].as_array().unwrap();
    assert_eq!(fields[0], json!({ "path": "data.old", "before": "x" }));
    assert_eq!(fields.len(), 2, "and our labels: {fields:?}");
    settle(&fixture).await;
    let data = fixture.there::<ConfigMap>().get("settings").await.unwrap().data.unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["say"]);
}

#[tokio::test]
async fn rights_to_get_and_to_patch_are_enough_and_without_them_nothing_is_called_equal() {
    let fixture = applied("live-rights", &config("settings", "git")).await;
    let (ns, target) = (&fixture.namespace, &fixture.target);
    let rights = |namespace: &str, rules: Value| (namespace.to_owned(), rules);
    let rules = [
        rights(ns, json!([{ "apiGroups": ["reeve.dev"], "resources": ["*"], "verbs": ["list"] }])),
        rights(target, json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"] }])),
    ];
    for (namespace, rules) in &rules {
        grant(&fixture, namespace, rules.clone()).await;
    }
    let text = std::fs::read_to_string(fixture.cluster.kubeconfig()).unwrap();
    let mut kubeconfig: Value = serde_yaml::from_str(&text).unwrap();
    kubeconfig["users"][0]["user"]["as"] = json!(format!("{ns}-onlooker"));
    let file = fixture.data.path().join("onlooker");
    std::fs::write(&file, kubeconfig.to_string()).unwrap();
    let file = file.display().to_string();
    let told = reeve_tests::eventually("the rights to read are there", || async {
        let told = diff_with(&fixture, &file, &[]).await;
        if told.out.contains("Forbidden") { Ok(told) } else { Err(format!("{}{}", told.out, told.err)) }
    })
    .await
    .with(2);
    assert_eq!(told.err, "not compared, since the API server did not say: 1 object\n");
    grant(&fixture, target, json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "patch"] }]))
        .await;
    reeve_tests::eventually("the rights are enough", || async {
        let told = diff_with(&fixture, &file, &[]).await;
        if told.status == Some(0) { Ok(()) } else { Err(format!("{}{}", told.out, told.err)) }
    })
    .await;
}

async fn grant(fixture: &Fixture, namespace: &str, rules: Value) {
    let api = "rbac.authorization.k8s.io";
    let version = format!("{api}/v1");
    fixture.apply(&version, "Role", Some(namespace), "onlooker", json!({ "rules": rules })).await;
    let binding = json!({
        "roleRef": { "apiGroup": api, "kind": "Role", "name": "onlooker" },
        "subjects": [{ "apiGroup": api, "kind": "User", "name": format!("{}-onlooker", fixture.namespace) }],
    });
    fixture.apply(&version, "RoleBinding", Some(namespace), "onlooker", binding).await;
}

#[tokio::test]
async fn an_object_of_another_runtime_is_not_ours_to_change() {
    let fixture = applied("live-other", &config("settings", "git")).await;
    fixture.repository.remove("runtimes").unwrap();
    fixture.runtime("another", "");
    let told = diff(&fixture, &[]).await.with(1);
    let other = format!("{}/{}", fixture.namespace, fixture.runtime);
    let message = format!("      Conflict: belongs to component web of runtime {other}: remove it there or here\n");
    assert!(told.out.contains(&message), "{}", told.out);
}

#[tokio::test]
async fn a_runtime_that_cannot_be_rendered_is_not_called_equal() {
    let fixture = applied("live-broken", &config("settings", "git")).await;
    fixture.runtime("another", "components: { web: { version: 9.9.9 } }\n");
    let told = diff(&fixture, &[]).await.with(2);
    assert_eq!(told.out, "");
    assert!(told.err.ends_with("not compared, since . cannot be rendered in runtime another\n"), "{}", told.err);
    assert!(fixture.there::<ConfigMap>().list(&ListParams::default()).await.is_ok());
}

#[tokio::test]
async fn a_runtime_of_another_cluster_is_not_held_against_this_one() {
    let fixture = applied("live-elsewhere", &config("settings", "git")).await;
    fixture.runtime("another", "target: { type: Agent }\n");
    let told = diff(&fixture, &[]).await.with(0);
    assert_eq!(told.err, "warning: not compared: in runtime another the target is another cluster\n");
    let told = diff(&fixture, &["-r", "another"]).await.with(2);
    assert!(told.err.starts_with("error: in runtime another the target is another cluster\n"), "{}", told.err);
}

#[tokio::test]
async fn a_tenant_has_nothing_outside_of_namespaces() {
    let fixture = Fixture::new("live-tenant").await;
    fixture.runtime(&fixture.runtime, &format!("target: {{ namespaces: [{}] }}\n", fixture.target));
    let role = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{ name: {} }}\n",
        fixture.target
    );
    fixture.component("web", "1.0.0", &role);
    let told = diff(&fixture, &[]).await.with(2);
    assert!(told.err.contains("error[cluster-scoped]: ClusterRole.rbac.authorization.k8s.io "), "{}", told.err);
}

#[tokio::test]
async fn a_runtime_whose_file_left_git_is_told_with_what_becomes_of_its_objects() {
    let fixture = applied("live-ended", &config("settings", "git")).await;
    fixture.repository.remove("runtimes").unwrap();
    let name = &fixture.runtime;
    let told = diff(&fixture, &[]).await.with(1);
    assert_eq!(told.out, format!("- runtime {name} (its file left Git: its object stays)\n"));
    let merge = Patch::Merge(json!({ "spec": { "deletionPolicy": "Delete" } }));
    fixture.api::<Runtime>().patch(name, &PatchParams::default(), &merge).await.unwrap();
    let told = diff(&fixture, &["-r", name]).await.with(1);
    let wanted = format!(
        "- runtime {name} (its file left Git: its objects are deleted)\nin runtime {name}\n  - ConfigMap {}/settings \
         (component web)\n\n1 runtime: 0 added, 0 changed, 1 removed\n",
        fixture.target
    );
    assert_eq!(told.out, wanted);
    let document = diff(&fixture, &["-o", "json"]).await.with(1).json();
    assert_eq!(document["ended"], json!([{ "runtime": name, "deletionPolicy": "Delete", "objectsThatStay": 0 }]));
}
