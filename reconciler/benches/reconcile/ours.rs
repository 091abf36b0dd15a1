//! Reeve: the program as it is shipped, on a fleet repository.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use reeve_crds::{GitSource, Runtime, State, annotation};
use reeve_tests::{CommitId, GitRepository, Process, Server};
use serde_json::json;

use crate::fixture::{Fixture, accepts, stir, until_all};
use crate::measure::Usage;
use crate::outcome::Outcome;
use crate::workload::{AFTER, RUNTIMES, Size, fleet, layer};

/// Where Reeve's own kinds are.
pub(crate) const NAMESPACE: &str = "reeve-system";

/// A cluster that Reeve has converged.
pub(crate) struct Converged {
    pub(crate) fixture: Fixture,
    pub(crate) process: Process,
    pub(crate) data: PathBuf,
    /// What the API server's objects come from; its files go when this does.
    pub(crate) _repository: GitRepository,
}

pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_reeve"))
}

pub(crate) async fn run(size: Size) -> Result<(Outcome, Converged)> {
    println!("  Reeve");
    let mut fixture = Fixture::start().await?;
    fixture.control_plane.crds().await;
    fixture.namespace(NAMESPACE).await?;
    fixture.account(NAMESPACE, "reeve-applier").await?;
    let repository = GitRepository::create_in(fixture.control_plane.supervisor(), "fleet")?;
    let commit = publish(&repository, &fleet(size))?;
    let data = fixture.control_plane.supervisor().data().join("reeve");
    let process = start(&fixture, size, &data, &[])?;
    let observer = fixture.observer.clone();
    let runtimes: Api<Runtime> = Api::namespaced(observer.clone(), NAMESPACE);

    let (sources, source): (Api<GitSource>, _) =
        (Api::namespaced(observer.clone(), NAMESPACE), source(&repository.file_url())?);
    accepts(&sources, &source).await?;
    let mut phases = Vec::new();
    let work = async {
        sources.create(&PostParams::default(), &source).await.context("cannot create the GitSource")?;
        until_all(runtimes.clone(), RUNTIMES, |runtime| is_at(runtime, &commit)).await
    };
    phases.push(fixture.phase("install", work).await);
    let work = async {
        let commit = publish(&repository, &[layer(AFTER)])?;
        until_all(runtimes.clone(), RUNTIMES, |runtime| is_at(runtime, &commit)).await
    };
    phases.push(fixture.phase("upgrade", work).await);
    phases.push(fixture.phase("no-op", look_again(&runtimes)).await);
    phases.push(fixture.phase("drift", stir(&observer, size)).await);
    let usage = Usage::of(process.pid())?;
    let outcome = Outcome { who: "Reeve", phases, usage: Some(usage) };
    Ok((outcome, Converged { fixture, process, data, _repository: repository }))
}

pub(crate) fn start(fixture: &Fixture, size: Size, data: &Path, more: &[String]) -> Result<Process> {
    let text = |path: &Path| path.display().to_string();
    let server = Server::new("reeve", program()).args([
        "run".to_owned(),
        "--no-lease".to_owned(),
        format!("--concurrency={}", size.concurrency),
        format!("--kubeconfig={}", text(fixture.control_plane.kubeconfig())),
        format!("--data-folder={}", text(data)),
        "--admin-address=none".to_owned(),
    ]);
    fixture.control_plane.supervisor().spawn(server.args(more.iter().cloned()))
}

pub(crate) fn publish(repository: &GitRepository, files: &[(String, String)]) -> Result<CommitId> {
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    repository.publish(&files)
}

pub(crate) fn source(url: &str) -> Result<GitSource> {
    let source = json!({
        "apiVersion": "reeve.dev/v1alpha1",
        "kind": "GitSource",
        "metadata": { "name": "fleet" },
        "spec": { "url": url, "ref": { "branch": "main" } },
    });
    serde_json::from_value(source).context("not a GitSource")
}

/// Whether everything of a commit is applied and healthy.
pub(crate) fn is_at(runtime: &Runtime, commit: &CommitId) -> bool {
    let Some(status) = &runtime.status else { return false };
    let applied = status.applied.as_ref().and_then(|applied| applied.commit.as_deref());
    status.state == Some(State::Ready) && applied == Some(commit.as_str())
}

/// Asks for everything to be looked at again, though nothing changed.
async fn look_again(runtimes: &Api<Runtime>) -> Result<()> {
    let patch = json!({ "metadata": { "annotations": { annotation::RECONCILE: "again" } } });
    for runtime in runtimes.list(&ListParams::default()).await?.items {
        let name = runtime.metadata.name.unwrap_or_default();
        runtimes.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
    }
    let is_done = |runtime: &Runtime| {
        let status = runtime.status.as_ref();
        status.is_some_and(|status| {
            status.state == Some(State::Ready) && status.last_handled_reconcile_at.as_deref() == Some("again")
        })
    };
    until_all(runtimes.clone(), RUNTIMES, is_done).await
}
