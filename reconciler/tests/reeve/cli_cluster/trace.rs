//! `reeve trace`.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::{Patch, PatchParams};
use kube::{Resource as _, ResourceExt as _};
use serde_json::{Value, json};

use crate::cli::repository::{Repository, ended};
use crate::cli_cluster::fixture::{CliFixture, state, with};

const COMMIT: &str = "4f1c2aa90b3d4f1c2aa90b3d4f1c2aa90b3d4f1c";

/// A fleet, a runtime, a component and its Deployment, applied as Reeve applies.
async fn fixture(prefix: &str, commit: &str) -> CliFixture {
    let fixture = CliFixture::new(prefix).await;
    let runtime = fixture.namespace.clone();
    let source = json!({
        "revision": "main@4f1c2aa90b3d",
        "commit": {
            "id": commit, "author": "Platform team <platform@example.com>", "subject": "Raise replicas",
            "committedAt": "2026-01-02T03:04:05Z",
        },
    });
    fixture.source("fleet", with(state("Ready", "Succeeded", ""), source)).await;
    fixture.runtime(&runtime, "fleet", state("Ready", "Succeeded", "")).await;
    let applied = json!({ "applied": {
        "revision": "main@4f1c2aa90b3d", "commit": commit, "digest": "sha256:1", "version": "1.2.0",
    } });
    fixture.component(&runtime, "web", with(state("Ready", "Succeeded", ""), applied)).await;
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "web", "namespace": fixture.namespace,
            "labels": {
                "reeve.dev/runtime": runtime, "reeve.dev/runtime-namespace": fixture.namespace, "reeve.dev/component": "web",
            },
        },
        "spec": {
            "replicas": 0, "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "web", "image": "nginx" }] },
            },
        },
    });
    let api = fixture.api::<Deployment>();
    api.patch("web", &PatchParams::apply("reeve"), &Patch::Apply(&deployment)).await.unwrap();
    fixture
}

#[tokio::test]
async fn an_object_leads_back_to_file_and_commit() {
    let fixture = fixture("trace", COMMIT).await;
    let ns = &fixture.namespace;
    let scale = PatchParams { field_manager: Some("kubectl-edit".to_owned()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({ "metadata": { "annotations": { "hello": "world" } } }));
    fixture.api::<Deployment>().patch("web", &scale, &patch).await.unwrap();
    for name in ["deploy/web", "deployment/web", "deployments.apps/web", "Deployment/web"] {
        let told = fixture.reeve(&["trace", name]).await.with(0);
        let wanted = format!(
            "Deployment.apps {ns}/web\n  \
               component   web ({ns}/{ns}-web), Ready\n  \
               chart       web 1.2.0, from channel regular\n  \
               put there   runtimes/{ns}.yaml:14\n  \
               runtime     {ns}, runtimes/{ns}.yaml\n  \
               source      fleet, https://git.example.com/acme/fleet.git\n  \
               revision    main@4f1c2aa90b3d\n  \
               commit      {COMMIT} by Platform team <platform@example.com>, 2026-01-02T03:04:05Z: Raise replicas\n"
        );
        assert!(told.out.starts_with(&wanted), "{}\nis not\n{wanted}", told.out);
        assert!(told.out.contains("  written by  kubectl-edit (Update, "), "{}", told.out);
        assert!(told.out.contains("metadata.annotations.hello"), "{}", told.out);
        assert!(!told.out.contains("written by  reeve ("), "{}", told.out);
    }
    let told = fixture.reeve(&["trace", "deploy/web", "-o", "json"]).await.with(0).json();
    assert_eq!(told["origin"], format!("runtimes/{ns}.yaml:14"));
    assert_eq!(told["author"], "Platform team <platform@example.com>");
    let yaml = fixture.reeve(&["trace", "deploy/web", "-o", "yaml"]).await.with(0).out;
    assert_eq!(serde_yaml::from_str::<Value>(&yaml).unwrap()["origin"], told["origin"]);
}

#[tokio::test]
async fn what_an_object_of_ours_made_leads_back_too() {
    let fixture = fixture("trace-owner", COMMIT).await;
    let deployment = fixture.api::<Deployment>().get("web").await.unwrap();
    let owner = deployment.controller_owner_ref(&()).unwrap();
    let labels = json!({ "app": "web" });
    let spec = json!({
        "selector": { "matchLabels": labels },
        "template": {
            "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "web", "image": "nginx" }] },
        },
    });
    let metadata = json!({ "name": "made", "labels": labels, "ownerReferences": [owner] });
    fixture.make::<ReplicaSet>(json!({ "metadata": metadata, "spec": spec })).await;
    let told = fixture.reeve(&["trace", "rs/made"]).await.with(0);
    let ns = &fixture.namespace;
    let wanted = format!("ReplicaSet.apps {ns}/made\n  owned by    Deployment.apps {ns}/web\n  component   web ");
    assert!(told.out.starts_with(&wanted), "{}", told.out);
}

#[tokio::test]
async fn a_stranger_is_told_to_be_one_with_who_manages_it() {
    let fixture = fixture("trace-stranger", COMMIT).await;
    let annotations = json!({ "meta.helm.sh/release-name": "shop" });
    let map: ConfigMap = fixture
        .make(json!({ "metadata": { "name": "theirs", "annotations": annotations }, "data": { "a": "b" } }))
        .await;
    assert_eq!(map.name_any(), "theirs");
    let told = fixture.reeve(&["trace", "cm/theirs"]).await.with(1);
    assert!(told.out.contains("is not Reeve's: it has no label reeve.dev/component\n"), "{}", told.out);
    assert!(told.out.contains("claimed     Helm release shop\n"), "{}", told.out);
    assert!(told.out.contains("written by  "), "{}", told.out);
    assert_eq!(
        fixture.reeve(&["trace", "cm/theirs", "-o", "json"]).await.with(1).json()["managedByReeve"],
        Value::Bool(false)
    );
}

#[tokio::test]
async fn what_is_not_there_is_told() {
    let fixture = CliFixture::new("trace-missing").await;
    for (object, said) in [
        ("deploy/web", "there is no Deployment `web` in namespace"),
        ("deplyoments/web", "the cluster knows no kind `deplyoments`\n  help: did you mean `deployments`?"),
        ("web", "`web` is not an object\n  help: write it like deployment/web"),
        ("deploy/", "`deploy/` is not an object"),
    ] {
        let told = fixture.reeve(&["trace", object]).await.with(2);
        assert!(told.err.contains(said), "{}", told.err);
    }
}

#[tokio::test]
async fn a_checkout_adds_the_template_and_who_changed_it() {
    let folder = Repository::fleet();
    let changed = folder.commit();
    folder.write("layers/base.yaml", "kind: Layer\nvalues:\n  replicas: 3\n");
    let applied = folder.commit();
    let fixture = fixture("trace-checkout", &applied).await;
    folder.write(
        &format!("runtimes/{}.yaml", fixture.namespace),
        &format!("kind: Runtime\nnamespace: {}\n", fixture.namespace),
    );
    let with_runtime = folder.commit();
    let applied = json!({ "applied": { "revision": "main@1", "commit": with_runtime, "digest": "sha256:1" } });
    let name = format!("{}-web", fixture.namespace);
    fixture.report::<reeve_crds::RuntimeComponent>(&name, applied).await;
    let trace = async || {
        let mut command = fixture.command(&["-C", &folder.path().display().to_string(), "trace", "deploy/web"]);
        let out = ended(command.output().await.unwrap()).with(0).out;
        // Who wrote it is told with an age, and time passes.
        out.split_inclusive('\n').filter(|line| !line.starts_with("  written by")).collect::<String>()
    };
    let out = trace().await;
    assert!(out.contains("  template    charts/web/1.0.0/templates/deployment.yaml.j2\n"), "{out}");
    assert!(out.contains(&format!("  changed by  {changed} by a <a@example.com>, ")), "{out}");
    // The files as they are do not matter as long as the commit that is applied is there.
    folder.git(&["rm", "--quiet", "-r", "charts"]);
    assert_eq!(trace().await, out);
}

#[tokio::test]
async fn an_object_of_a_chart_in_helms_syntax_leads_back_to_its_template() {
    let folder = Repository::fleet();
    std::fs::remove_file(folder.file("charts/web/1.0.0/templates/deployment.yaml.j2")).unwrap();
    folder.write("charts/web/1.0.0/templates/_names.tpl", "{{ define \"web.name\" }}web{{ end }}");
    folder.write(
        "charts/web/1.0.0/templates/deployment.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ include \"web.name\" . }}\nspec:\n  replicas: {{ .Values.replicas }}\n",
    );
    let fixture = fixture("trace-helm", COMMIT).await;
    let runtime = format!("kind: Runtime\nnamespace: {}\n", fixture.namespace);
    folder.write(&format!("runtimes/{}.yaml", fixture.namespace), &runtime);
    let applied = folder.commit();
    let report = json!({ "applied": { "revision": "main@1", "commit": applied, "digest": "sha256:1" } });
    fixture.report::<reeve_crds::RuntimeComponent>(&format!("{}-web", fixture.namespace), report).await;
    let mut command = fixture.command(&["-C", &folder.path().display().to_string(), "trace", "deploy/web"]);
    let out = ended(command.output().await.unwrap()).with(0).out;
    assert!(out.contains("  template    charts/web/1.0.0/templates/deployment.yaml\n"), "{out}");
    assert!(out.contains(&format!("  changed by  {applied} by a <a@example.com>, ")), "{out}");
}

#[tokio::test]
async fn the_folder_that_one_is_in_counts_if_it_has_the_commit_that_is_applied() {
    let folder = Repository::fleet();
    let applied = folder.commit();
    // The source is further on, and knows nothing of the commit that is applied.
    let fixture = fixture("trace-here", COMMIT).await;
    let report = json!({ "applied": { "revision": "main@1", "commit": applied, "digest": "sha256:1" } });
    let name = format!("{}-web", fixture.namespace);
    fixture.report::<reeve_crds::RuntimeComponent>(&name, report).await;
    let trace = async |folder: &std::path::Path, args: &[&str]| {
        let mut command = fixture.command(&[&["trace", "deploy/web"], args].concat());
        ended(command.current_dir(folder).output().await.unwrap()).with(0)
    };
    let elsewhere = Repository::fleet();
    elsewhere.write("other.yaml", "");
    elsewhere.commit();
    let out = trace(elsewhere.path(), &[]).await.out;
    assert!(out.contains(&format!("  commit      {applied}\n")), "{out}");
    assert!(!out.contains("  template "), "another fleet has other objects: {out}");
    let out = trace(folder.path(), &[]).await.out;
    assert!(out.contains(&format!("  commit      {applied} by a <a@example.com>, ")), "{out}");
    assert!(out.contains("  template "), "{out}");
    let out = trace(&folder.path().join("charts"), &[]).await.out;
    assert!(out.contains(&format!("  commit      {applied} by a <a@example.com>, ")), "{out}");
    let told = trace(folder.path(), &["-o", "json"]).await.json();
    assert_eq!(told["author"], "a <a@example.com>");
}

#[tokio::test]
async fn whoever_wrote_but_a_status_is_not_among_the_writers() {
    let fixture = fixture("trace-status", COMMIT).await;
    let status = PatchParams { field_manager: Some("status-keeper".to_owned()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({ "status": { "collisionCount": 7 } }));
    let written = fixture.api::<Deployment>().patch_status("web", &status, &patch).await.unwrap();
    let is_keeper = |entry: &ManagedFieldsEntry| entry.manager.as_deref() == Some("status-keeper");
    assert!(written.managed_fields().iter().any(is_keeper), "{:?}", written.managed_fields());
    let editor = PatchParams { field_manager: Some("editor".to_owned()), ..PatchParams::default() };
    let labels = json!({ "a": "", "b": "", "c": "", "d": "", "e": "" });
    let patch = Patch::Merge(json!({ "metadata": { "annotations": labels } }));
    fixture.api::<Deployment>().patch("web", &editor, &patch).await.unwrap();
    let out = fixture.reeve(&["trace", "deploy/web"]).await.with(0).out;
    assert!(!out.contains("status-keeper"), "{out}");
    assert!(
        out.contains(": metadata.annotations.a, metadata.annotations.b, metadata.annotations.c and 2 more\n"),
        "{out}"
    );
}
