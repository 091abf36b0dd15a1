//! Resolver and reconciler together on one node: a rule, its Service and its target come from Git, and the API server's audit
//! log says who wrote what.

use std::process::{Child, Command, Stdio};

use http::StatusCode;
use kube::api::{Api, Patch, PatchParams};
use reeve_crds::scaling_rule::status::TrafficMode;
use reeve_crds::{GitSource, Runtime, RuntimeComponent, State};
use reeve_tests::{AuditEvent, CommitId, GitRepository, beside, until};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::get;
use crate::place::{App, Place, shared};

/// A fleet of one runtime with one component, and the reconciler that follows it.
struct Fleet {
    place: &'static Place,
    namespace: String,
    repository: GitRepository,
    data: TempDir,
    reeve: Option<Child>,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if let Some(reeve) = &mut self.reeve {
            let _ = reeve.kill();
            let _ = reeve.wait();
        }
    }
}

impl Fleet {
    async fn new(place: &'static Place, prefix: &str) -> Self {
        let namespace = place.node.namespace(prefix).await;
        let account = "system:serviceaccount:reeve-system:reeve-applier";
        for arguments in [
            vec!["create", "namespace", "reeve-system"],
            vec!["create", "serviceaccount", "reeve-applier", "-n", "reeve-system"],
            vec!["create", "clusterrolebinding", "applier", "--clusterrole=cluster-admin", "--user", account],
        ] {
            place.node.kubectl(&arguments).await;
        }
        let (repository, data) = (GitRepository::create().unwrap(), TempDir::new().unwrap());
        Self { place, namespace, repository, data, reeve: None }
    }

    /// Has the Deployment and the Service say this in a label, and pushes.
    fn push(&self, version: &str, label: &str) -> CommitId {
        let namespace = &self.namespace;
        self.write(
            "fleet.yaml",
            &format!(
                "kind: Fleet\ndefaults: {{ channel: regular, namespace: {namespace} }}\ncomponents:\n  web: {{}}\n"
            ),
        );
        self.write("channels/regular.yaml", &format!("kind: Channel\ncomponents:\n  web: {version}\n"));
        self.write("runtimes/node.yaml", "kind: Runtime\n");
        let chart = format!("charts/web/{version}");
        self.write(&format!("{chart}/Chart.yaml"), &format!("apiVersion: v2\nname: web\nversion: {version}\n"));
        let objects = [self.deployment(label), service(label), rule()].map(|object| object.to_string());
        self.write(&format!("{chart}/templates/all.yaml"), &objects.join("\n---\n"));
        let commit = self.repository.commit_all("Change the fleet").unwrap();
        self.repository.push().unwrap();
        commit
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.repository.work_tree().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    /// In Git the target has two replicas, which nobody but a fight would bring back.
    fn deployment(&self, label: &str) -> Value {
        let container = json!({
            "name": "web",
            "image": self.place.image.name(),
            "imagePullPolicy": "Never",
            "readinessProbe": { "httpGet": { "path": "/", "port": 8080 }, "periodSeconds": 1 },
        });
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "labels": { "is": label } },
            "spec": {
                "replicas": 2,
                "selector": { "matchLabels": { "app": "web" } },
                "template": {
                    "metadata": { "labels": { "app": "web" } },
                    "spec": { "terminationGracePeriodSeconds": 1, "containers": [container] },
                },
            },
        })
    }

    /// Follows the repository from now on.
    async fn start(&mut self) {
        let url = self.repository.file_url();
        let source = json!({
            "apiVersion": "reeve.dev/v1alpha1", "kind": "GitSource", "metadata": { "name": "fleet" },
            "spec": { "url": url, "interval": "1h", "ref": { "branch": "main" } },
        });
        let sources: Api<GitSource> = self.api();
        sources.patch("fleet", &PatchParams::apply("somebody").force(), &Patch::Apply(&source)).await.unwrap();
        let log = std::fs::File::create(self.data.path().join("reeve.log")).unwrap();
        let reeve = Command::new(beside(env!("CARGO_BIN_EXE_reeve-resolver"), "reeve"))
            .args(["run", "--no-lease", "--admin-address", "127.0.0.1:0", "--watch-namespace", &self.namespace])
            .arg("--data-folder")
            .arg(self.data.path().join("mirrors"))
            .env("KUBECONFIG", self.place.node.kubeconfig())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        self.reeve = Some(reeve.unwrap());
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        Api::namespaced(self.place.client(), &self.namespace)
    }

    async fn applied(&self, commit: &CommitId) {
        until(&self.api::<Runtime>(), "node", "the commit is applied", |runtime| {
            let Some(status) = &runtime.status else { return false };
            let good = status.last_good.as_ref().and_then(|rendered| rendered.commit.as_deref());
            good == Some(commit.as_str()) && status.state == Some(State::Ready)
        })
        .await;
    }

    /// What was written so far, by whoever is no controller of Kubernetes: verb, object, and by which program.
    fn writes(&self, resource: &str, subresource: &str) -> Vec<String> {
        let wanted = |event: &AuditEvent| {
            event.is_write()
                && event.namespace == self.namespace
                && (event.resource.as_str(), event.subresource.as_str()) == (resource, subresource)
                && !event.uri.contains("dryRun")
                && (200..300).contains(&event.code)
                && !event.user.starts_with("system:serviceaccount:kube-system:")
                && !event.user.starts_with("system:kube-")
        };
        let found = self.place.node.audit().matching(wanted);
        found.iter().map(|event| format!("{} {} {}", event.verb, event.name, event.user_agent)).collect()
    }

    /// How much was written of each kind that both parts touch.
    fn books(&self) -> [usize; 4] {
        let of = |resource, subresource| self.writes(resource, subresource).len();
        [of("deployments", ""), of("deployments", "scale"), of("services", ""), of("runtimecomponents", "status")]
    }

    fn since(&self, before: [usize; 4]) -> [usize; 4] {
        let now = self.books();
        std::array::from_fn(|place| now[place] - before[place])
    }
}

fn service(label: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web", "labels": { "is": label } },
        "spec": { "selector": { "app": "web" }, "ports": [{ "name": "http", "port": 80, "targetPort": 8080 }] },
    })
}

fn rule() -> Value {
    json!({
        "apiVersion": "reeve.dev/v1alpha1", "kind": "ScalingRule", "metadata": { "name": "web" },
        "spec": {
            "services": [{ "name": "web" }], "idleAfter": "2s", "minAwake": "0s", "handOver": { "policy": "Never" },
        },
    })
}

/// From asleep to awake by a request, and asleep again.
async fn cycle(app: &App) {
    assert_eq!(get(app.address, "/").await.unwrap().status, StatusCode::OK);
    app.reaches(TrafficMode::Asleep).await;
    app.pods_are_gone().await;
}

#[tokio::test]
async fn resolver_and_reconciler_never_write_over_each_other() {
    let place = shared().await;
    let mut fleet = Fleet::new(place, "beside").await;
    let first = fleet.push("1.0.0", "first");
    fleet.start().await;
    let app = App::found(place, &fleet.namespace).await;
    app.reaches(TrafficMode::Proxied).await;
    fleet.applied(&first).await;
    // Those of Git's first word are older than the capture.
    app.capture_is_past().await;
    app.replace_pods().await;
    app.reaches(TrafficMode::Asleep).await;
    app.pods_are_gone().await;

    let before = fleet.books();
    cycle(&app).await;
    cycle(&app).await;
    let wakes_and_sleeps = 4;
    assert_eq!(fleet.since(before), [0, wakes_and_sleeps, 0, 0], "{:#?}", fleet.writes("deployments", ""));

    // Git changes both objects while the target sleeps and its Service is captured, and leaves both so.
    let before = fleet.books();
    let second = fleet.push("1.1.0", "second");
    fleet.applied(&second).await;
    let [deployments, scales, services, _] = fleet.since(before);
    assert_eq!((deployments, scales, services), (1, 0, 1), "each once: {:#?}", fleet.writes("services", ""));
    assert_eq!(app.replicas().await, 0);
    let captured = app.services().get("web").await.unwrap();
    assert_eq!(captured.metadata.labels.unwrap()["is"], "second");
    assert_eq!(captured.spec.unwrap().selector.unwrap().len(), 2, "Git's key and the resolver's");

    let before = fleet.books();
    cycle(&app).await;
    assert_eq!(fleet.since(before), [0, 2, 0, 0], "{:#?}", fleet.writes("services", ""));
    let web = fleet.api::<RuntimeComponent>().get("node.web").await.unwrap();
    let status = web.status.unwrap();
    assert_eq!((status.state, status.drift), (Some(State::Ready), None));
}
