//! A release that real Helm installed on a real node is taken over by a push: its pods run on, and Helm is needed no more.
//!
//! Helm takes minutes to build, so this is a part of `make e2e`: `make e2e ONLY=release`.

use std::path::{Path, PathBuf};
use std::process::Command;

use k8s_openapi::api::apps::v1::{ControllerRevision, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, Service, ServiceAccount};
use kube::api::ListParams;
use kube::core::NamespaceResourceScope;
use kube::{Resource, ResourceExt as _};
use reeve_crds::State;
use reeve_tests::{Image, Node, eventually};
use serde::de::DeserializeOwned;

use super::fixture::{Fixture, config};

/// The chart as anybody would write it: labels by `include`, defaults left to the API server, a hook, a Service with an
/// address that the cluster gave it.
const CHART: [(&str, &str); 7] = [
    ("values.yaml", "replicas: 2\ngreeting: hello\nextra: {}\n"),
    (
        "templates/_labels.tpl",
        r#"{{- define "labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
app.kubernetes.io/name: web
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}
{{- define "selector" -}}
app.kubernetes.io/name: web
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
{{- define "pod" -}}
metadata:
  labels: {{- include "labels" . | nindent 4 }}
spec:
  serviceAccountName: {{ .Release.Name }}-web
  terminationGracePeriodSeconds: 0
  containers:
    - name: web
      image: reeve.local/busybox:tests
      imagePullPolicy: Never
      command: [sleep, "100000"]
      ports:
        - containerPort: 8080
      resources:
        requests: { cpu: 1m }
{{- end -}}
"#,
    ),
    (
        "templates/workloads.yaml",
        r#"apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-web
  labels: {{- include "labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels: {{- include "selector" . | nindent 6 }}
      app.kubernetes.io/component: server
  template:
    {{- $pod := include "pod" . | fromYaml }}
    {{- $_ := set $pod.metadata.labels "app.kubernetes.io/component" "server" }}
    {{- toYaml $pod | nindent 4 }}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ .Release.Name }}-store
  labels: {{- include "labels" . | nindent 4 }}
spec:
  serviceName: {{ .Release.Name }}-web
  selector:
    matchLabels: {{- include "selector" . | nindent 6 }}
      app.kubernetes.io/component: store
  template:
    {{- $_ := set $pod.metadata.labels "app.kubernetes.io/component" "store" }}
    {{- toYaml $pod | nindent 4 }}
"#,
    ),
    (
        "templates/rest.yaml",
        r#"apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Release.Name }}-web
  labels: {{- include "labels" . | nindent 4 }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}-web
  labels: {{- include "labels" . | nindent 4 }}
spec:
  type: NodePort
  selector: {{- include "selector" . | nindent 4 }}
  ports:
    - { port: 80, targetPort: 8080 }
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-web
  labels: {{- include "labels" . | nindent 4 }}
data:
  greeting: {{ .Values.greeting | quote }}
  {{- with .Values.extra }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
"#,
    ),
    (
        "templates/migrate.yaml",
        r#"apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-migrate
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - { name: migrate, image: "reeve.local/busybox:tests", imagePullPolicy: Never, command: ["true"] }
"#,
    ),
    (
        "templates/setup.yaml",
        r#"apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-setup
  annotations:
    helm.sh/hook: post-install
    helm.sh/hook-delete-policy: hook-succeeded
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - { name: setup, image: "reeve.local/busybox:tests", imagePullPolicy: Never, command: ["true"] }
"#,
    ),
    ("templates/NOTES.txt", "{{ .Release.Name }} is there.\n"),
];

/// Writes the chart and returns its folder.
fn chart(fixture: &Fixture, version: &str) -> PathBuf {
    let folder = format!("charts/web/{version}");
    fixture.write(&format!("{folder}/Chart.yaml"), &format!("apiVersion: v2\nname: web\nversion: {version}\n"));
    for (path, text) in CHART {
        fixture.write(&format!("{folder}/{path}"), text);
    }
    fixture.repository.work_tree().join(folder)
}

/// Runs Helm in the target's namespace, and returns whether it succeeded and what it said.
fn helm(fixture: &Fixture, args: &[&str]) -> (bool, String) {
    let program = std::env::var_os("HELM").expect("HELM names Helm's program");
    let mut command = Command::new(program);
    command.args(args).args(["--namespace", &fixture.target]).env("KUBECONFIG", fixture.cluster.kubeconfig());
    command.env("HOME", fixture.data.path()).env_remove("HELM_NAMESPACE");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (output.status.success(), said)
}

fn install(fixture: &Fixture, verb: &str, release: &str, chart: &Path, values: &[&str]) {
    let mut args = vec![verb, release, chart.to_str().unwrap(), "--wait"];
    args.extend(values.iter().flat_map(|value| ["--set", value]));
    let (done, said) = helm(fixture, &args);
    assert!(done, "{said}");
}

/// Names and uids of all objects of a kind.
async fn identities<K>(fixture: &Fixture) -> Vec<(String, String)>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + std::fmt::Debug,
{
    let all = fixture.there::<K>().list(&ListParams::default()).await.unwrap();
    all.iter().map(|object| (object.name_any(), object.uid().unwrap())).collect()
}

/// All that would change if anything was made again or rolled out, Jobs first, then the pods that serve. A Deployment has another generation for each change of
/// its annotations; what tells of a rollout is its `ReplicaSets`.
async fn running(fixture: &Fixture) -> Vec<Vec<(String, String)>> {
    vec![
        identities::<Job>(fixture).await,
        identities::<Pod>(fixture).await.into_iter().filter(|(name, _)| !name.contains("migrate")).collect(),
        identities::<Deployment>(fixture).await,
        identities::<StatefulSet>(fixture).await,
        identities::<ReplicaSet>(fixture).await,
        identities::<ControllerRevision>(fixture).await,
        identities::<Service>(fixture).await,
        identities::<ServiceAccount>(fixture).await,
        identities::<ConfigMap>(fixture).await,
    ]
}

/// What is left of Helm on the objects of a kind that Reeve governs.
async fn traces_of_helm<K>(fixture: &Fixture) -> Vec<String>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + std::fmt::Debug,
{
    let governed = ListParams::default().labels("reeve.dev/component=web");
    let all = fixture.there::<K>().list(&governed).await.unwrap().items;
    assert!(!all.is_empty(), "no {} was taken over", K::kind(&()));
    let trace = |object: &K| {
        let mark = object.annotations().keys().any(|key| key.starts_with("meta.helm.sh/"));
        let writer = object.managed_fields().iter().any(|entry| entry.manager.as_deref() == Some("helm"));
        (mark || writer).then(|| object.name_any())
    };
    all.iter().filter_map(trace).collect()
}

async fn records(fixture: &Fixture) -> usize {
    let records = ListParams::default().labels("owner=helm,name=shop");
    fixture.there::<Secret>().list(&records).await.unwrap().items.len()
}

#[tokio::test]
#[ignore = "needs Helm: make e2e ONLY=release"]
async fn a_release_of_helm_is_taken_over_by_a_push_and_its_pods_run_on() {
    let node = Node::start().await.unwrap();
    node.load(&Image::busybox().unwrap()).unwrap();
    let fixture = Fixture::on(&node, "release").await;
    let folder = chart(&fixture, "1.0.0");
    install(&fixture, "install", "shop", &folder, &["greeting=hi"]);
    install(&fixture, "upgrade", "shop", &folder, &["extra.old=one", "extra.kept=two"]);
    let before = running(&fixture).await;

    let values = "{ releaseName: shop, values: { extra: { old: one, kept: two } } }";
    fixture.use_chart("web", "1.0.0", values);
    let commit = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&commit).await;
    assert_eq!(running(&fixture).await, before, "nothing was made again or rolled out");
    let ran = fixture.component_is("web", State::Ready, "Succeeded").await.status.unwrap().jobs;
    let ran: Vec<String> = ran.into_iter().map(|job| job.name).collect();
    assert_eq!(ran, ["shop-migrate"], "what is installed is not installed once more");
    let traces = [
        traces_of_helm::<Deployment>(&fixture).await,
        traces_of_helm::<StatefulSet>(&fixture).await,
        traces_of_helm::<Service>(&fixture).await,
        traces_of_helm::<ServiceAccount>(&fixture).await,
        traces_of_helm::<ConfigMap>(&fixture).await,
    ];
    assert_eq!(traces.concat(), Vec::<String>::new());

    // Helm has nothing to say any more: its record can go, and what left the values leaves the object. That is an upgrade,
    // for which the chart's Job runs again.
    assert_eq!(records(&fixture).await, 2, "the record of a release is nobody's but Helm's");
    fixture.cluster.kubectl(&["delete", "secret", "-n", &fixture.target, "-l", "owner=helm,name=shop"]).await;
    let (found, said) = helm(&fixture, &["status", "shop"]);
    assert!(!found && said.contains("not found"), "{said}");
    fixture.use_chart("web", "1.0.0", "{ releaseName: shop, values: { extra: { kept: two } } }");
    fixture.push();
    eventually("what left Git left the object", || async {
        let map = fixture.there::<ConfigMap>().get("shop-web").await.unwrap();
        let keys: Vec<String> = map.data.unwrap_or_default().into_keys().collect();
        if keys == ["greeting", "kept"] { Ok(()) } else { Err(format!("{keys:?}")) }
    })
    .await;
    assert_eq!(running(&fixture).await[1..], before[1..], "the pods run on");
    let [_, pods, objects @ ..] = before.as_slice() else { unreachable!("there are pods") };
    let taken: usize = objects.iter().map(Vec::len).sum();
    eprintln!("helm release: {} pods, {taken} other objects, made again 0, rollouts 0", pods.len());
}

#[tokio::test]
#[ignore = "needs Helm: make e2e ONLY=release"]
async fn helm_that_comes_back_is_drift_and_another_release_is_not_taken() {
    let node = Node::start().await.unwrap();
    node.load(&Image::busybox().unwrap()).unwrap();
    let fixture = Fixture::on(&node, "comes-back").await;
    let folder = chart(&fixture, "1.0.0");
    install(&fixture, "install", "shop", &folder, &[]);
    install(&fixture, "install", "blog", &folder, &[]);
    let blog = fixture.there::<ConfigMap>().get("blog-web").await.unwrap();

    fixture.use_chart("web", "1.0.0", "{ releaseName: shop }");
    fixture.component("thief", "1.0.0", &config("blog-web", "git"));
    fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.component_is("web", State::Ready, "Succeeded").await;
    let refused = fixture.component_is("thief", State::Warning, "Conflict").await.status.unwrap().failure.unwrap();
    assert!(refused.message.contains(&format!("Helm release {}/blog", fixture.target)), "{}", refused.message);
    assert_eq!(fixture.there::<ConfigMap>().get("blog-web").await.unwrap(), blog, "it was not touched");

    // Its record is still there, so somebody may go on with Helm.
    let sets =
        || async { [identities::<ReplicaSet>(&fixture).await, identities::<ControllerRevision>(&fixture).await] };
    let before = sets().await;
    install(&fixture, "upgrade", "shop", &folder, &["greeting=back"]);
    eventually("it is as Git says again, and Helm is gone from it", || async {
        let map = fixture.there::<ConfigMap>().get("shop-web").await.unwrap();
        let says = map.data.clone().unwrap_or_default().remove("greeting").unwrap_or_default();
        let traces = traces_of_helm::<ConfigMap>(&fixture).await;
        if says == "hello" && traces.is_empty() { Ok(()) } else { Err(format!("{says}, {traces:?}")) }
    })
    .await;
    assert_eq!(sets().await, before, "nothing was rolled out");
}
