//! Flux: source-controller and kustomize-controller, built by hand, as processes next to the API server.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::Condition as _;
use kube::{Api, Client, ResourceExt as _};
use reeve_tests::{GitHttp, GitRepository, Process, Server};
use serde_json::{Value, json};

use crate::fixture::{Fixture, PATIENCE, accepts, until_all};
use crate::measure::Usage;
use crate::outcome::Outcome;
use crate::workload::{AFTER, BEFORE, NAMESPACE, Size, substituted};

/// The release whose kinds are installed; the programs must be of it.
const VERSION: &str = "v1.7.3";
const CONTROLLERS: [&str; 2] = ["source-controller", "kustomize-controller"];
const REQUESTED: &str = "reconcile.fluxcd.io/requestedAt";
const FILE: &str = "app/app.yaml";

/// Runs the programs in this folder, and says how they did.
pub(crate) async fn run(size: Size, programs: &Path) -> Result<Outcome> {
    println!("  Flux {VERSION}");
    let mut fixture = Fixture::start().await?;
    for controller in CONTROLLERS {
        install_kinds(&fixture.observer, &kinds_of(controller)?).await?;
    }
    fixture.account(NAMESPACE, "flux").await?;
    let repository = GitRepository::create_in(fixture.control_plane.supervisor(), "flux")?;
    let kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [app.yaml]\n";
    let before = substituted(BEFORE);
    let commit = repository.publish(&[("app/kustomization.yaml", kustomization), (FILE, &before)])?;
    let server = repository.serve_http(None)?;
    let processes = start(&fixture, size, programs)?;

    let observer = fixture.observer.clone();
    let sources = api(&observer, "source.toolkit.fluxcd.io", "GitRepository");
    let applied = api(&observer, "kustomize.toolkit.fluxcd.io", "Kustomization");
    accepts(&sources, &source(&server)?).await?;
    accepts(&applied, &kustomization_of(0)?).await?;
    let mut phases = Vec::new();
    let work = async {
        sources.create(&PostParams::default(), &source(&server)?).await.context("cannot create the GitRepository")?;
        let (created, ready) = futures::join!(
            create_all(&applied, size),
            until_all(applied.clone(), size.components, |object| is_at(object, commit.as_str()))
        );
        created.and(ready)
    };
    phases.push(fixture.phase("install", work).await);
    let work = async {
        let commit = repository.publish(&[(FILE, &substituted(AFTER))])?;
        request(&sources, "apps", "upgrade").await?;
        until_all(applied.clone(), size.components, |object| is_at(object, commit.as_str())).await
    };
    phases.push(fixture.phase("upgrade", work).await);
    phases.push(fixture.phase("no-op", look_again(&applied, size)).await);
    let usages: Vec<Usage> = processes.iter().map(|process| Usage::of(process.pid())).collect::<Result<_>>()?;
    for (process, usage) in processes.iter().zip(&usages) {
        println!("    {:<22} {:>6.0} MiB, {:.1} s on cores", process.name(), usage.peak, usage.cpu.as_secs_f64());
    }
    let usage = usages.into_iter().reduce(|all, usage| all + usage);
    Ok(Outcome { who: "Flux", phases, usage })
}

/// The kinds of a controller, from the module cache.
fn kinds_of(controller: &str) -> Result<Vec<PathBuf>> {
    let module = format!("github.com/fluxcd/{controller}@{VERSION}");
    let output = Command::new("go").args(["mod", "download", "-json", &module]).env("GOWORK", "off").output();
    let output = output.context("cannot start go")?;
    let said: Value = serde_json::from_slice(&output.stdout).context("go said no JSON")?;
    let folder = said["Dir"].as_str().with_context(|| format!("cannot download {module}: {}", said["Error"]))?;
    let folder = Path::new(folder).join("config/crd/bases");
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

async fn install_kinds(client: &Client, files: &[PathBuf]) -> Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for file in files {
        let crd: CustomResourceDefinition = serde_yaml::from_str(&std::fs::read_to_string(file)?)?;
        api.create(&PostParams::default(), &crd).await.context("cannot create a CRD")?;
        let name = crd.name_any();
        let served = || async {
            let crd = api.get(&name).await?;
            if is_crd_established().matches_object(Some(&crd)) { Ok(()) } else { bail!("not established") }
        };
        reeve_tests::within(PATIENCE, "the CRD is established", served).await?;
    }
    Ok(())
}

fn start(fixture: &Fixture, size: Size, programs: &Path) -> Result<Vec<Process>> {
    let supervisor = fixture.control_plane.supervisor();
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr())?.port();
    let artifacts = format!("127.0.0.1:{port}");
    let storage = supervisor.data().join("flux-artifacts");
    std::fs::create_dir_all(&storage).context("cannot make a folder")?;
    let controllers = CONTROLLERS.into_iter().map(|name| {
        let mut server = Server::new(name, programs.join(name))
            .args(["--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0", "--events-addr=", "--log-level=error"])
            .args([format!("--concurrent={}", size.concurrency)])
            .env("KUBECONFIG", fixture.control_plane.kubeconfig().display().to_string())
            .env("RUNTIME_NAMESPACE", NAMESPACE)
            .env("SOURCE_CONTROLLER_LOCALHOST", &artifacts);
        if name == "source-controller" {
            server = server.args([
                format!("--storage-path={}", storage.display()),
                format!("--storage-addr={artifacts}"),
                format!("--storage-adv-addr={artifacts}"),
            ]);
        }
        supervisor.spawn(server)
    });
    controllers.collect()
}

fn api(client: &Client, group: &str, kind: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), NAMESPACE, &ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind)))
}

fn source(server: &GitHttp) -> Result<DynamicObject> {
    let object = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": { "name": "apps" },
        "spec": { "url": server.url(), "interval": "60m", "ref": { "branch": "main" } },
    });
    serde_json::from_value(object).context("not an object")
}

/// What keeps one component.
fn kustomization_of(index: usize) -> Result<DynamicObject> {
    let object = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": { "name": format!("app-{index}") },
        "spec": {
            "interval": "60m",
            "retryInterval": "2m",
            "timeout": "1m",
            "prune": true,
            "wait": true,
            "path": "./app",
            "targetNamespace": NAMESPACE,
            "serviceAccountName": "flux",
            "sourceRef": { "kind": "GitRepository", "name": "apps" },
            "postBuild": { "substitute": { "INDEX": index.to_string() } },
        },
    });
    serde_json::from_value(object).context("not an object")
}

async fn create_all(api: &Api<DynamicObject>, size: Size) -> Result<()> {
    let all = futures::stream::iter(0..size.components).map(|index| async move {
        let object = kustomization_of(index)?;
        api.create(&PostParams::default(), &object).await.map(drop).context("cannot create a Kustomization")
    });
    all.buffer_unordered(size.concurrency).try_collect().await
}

async fn request(api: &Api<DynamicObject>, name: &str, value: &str) -> Result<()> {
    let patch = json!({ "metadata": { "annotations": { REQUESTED: value } } });
    api.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await.map(drop).context("cannot annotate")
}

async fn look_again(api: &Api<DynamicObject>, size: Size) -> Result<()> {
    let all = futures::stream::iter(0..size.components).map(|index| async move {
        let name = format!("app-{index}");
        request(api, &name, "again").await
    });
    let annotate = all.buffer_unordered(size.concurrency).try_collect::<()>();
    let is_done =
        |object: &DynamicObject| object.data["status"]["lastHandledReconcileAt"] == "again" && is_ready(object);
    let (annotated, done) = futures::join!(annotate, until_all(api.clone(), size.components, is_done));
    annotated.and(done)
}

fn is_ready(object: &DynamicObject) -> bool {
    let conditions = object.data["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

fn is_at(object: &DynamicObject, commit: &str) -> bool {
    let revision = object.data["status"]["lastAppliedRevision"].as_str();
    is_ready(object) && revision.is_some_and(|revision| revision.contains(commit))
}
