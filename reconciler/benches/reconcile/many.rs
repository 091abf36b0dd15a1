//! What many small runtimes take in memory: while they are installed, at rest, while all change, and when nearly all are gone.

use std::time::Duration;

use anyhow::{Context, Result};
use kube::Api;
use kube::api::{ListParams, PostParams};
use reeve_crds::Runtime;
use reeve_tests::{CommitId, GitRepository, Process};

use crate::fixture::{Fixture, until_all};
use crate::measure::{Usage, resident};
use crate::ours::{NAMESPACE, is_at, publish, source, start};
use crate::workload::{self, Size};

const TEMPLATE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: note-{{ Runtime.name }}\ndata:\n  text: \"{{ Values.text }}\"\n";
/// Memory counts as given back when it has not become less for so long.
const QUIET: Duration = Duration::from_secs(40);

pub(crate) async fn run(size: Size, runtimes: usize) -> Result<()> {
    println!("\n  {runtimes} runtimes of one ConfigMap each");
    let fixture = Fixture::start().await?;
    fixture.control_plane.crds().await;
    fixture.namespace(NAMESPACE).await?;
    fixture.account(NAMESPACE, "reeve-applier").await?;
    let repository = GitRepository::create_in(fixture.control_plane.supervisor(), "fleet")?;
    let files: Vec<(String, String)> = fleet("first").into_iter().chain((0..runtimes).map(runtime)).collect();
    let commit = publish(&repository, &files)?;
    let data = fixture.control_plane.supervisor().data().join("reeve");
    let process = start(&fixture, size, &data, &[])?;
    let observer = fixture.observer.clone();
    let sources = Api::namespaced(observer.clone(), NAMESPACE);
    sources.create(&PostParams::default(), &source(&repository.file_url())?).await.context("cannot follow")?;
    let api: Api<Runtime> = Api::namespaced(observer, NAMESPACE);
    all_at(&api, runtimes, &commit).await?;
    show(&process, "installed, at rest", runtimes).await?;
    let commit = publish(&repository, &fleet("second"))?;
    all_at(&api, runtimes, &commit).await?;
    show(&process, "all changed, at rest", runtimes).await?;
    for number in 1..runtimes {
        repository.remove(&runtime(number).0)?;
    }
    repository.commit_all("Remove nearly all runtimes")?;
    repository.push()?;
    let gone = async {
        while api.list_metadata(&ListParams::default().limit(2)).await?.items.len() > 1 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        Ok::<(), kube::Error>(())
    };
    tokio::time::timeout(crate::fixture::PATIENCE, gone).await.context("they do not go")??;
    show(&process, "all but one gone", runtimes).await
}

async fn all_at(api: &Api<Runtime>, runtimes: usize, commit: &CommitId) -> Result<()> {
    until_all(api.clone(), runtimes, |runtime| is_at(runtime, commit)).await
}

/// Prints what the process has in memory once it gives nothing more back, and the most that it ever had.
async fn show(process: &Process, when: &str, runtimes: usize) -> Result<()> {
    let mut least = resident(process.pid())?;
    loop {
        tokio::time::sleep(QUIET).await;
        let now = resident(process.pid())?;
        if now > least * 0.98 {
            break;
        }
        least = now;
    }
    let peak = Usage::of(process.pid())?.peak;
    println!(
        "    many {when}: {least:.0} MiB, {:.1} KiB a runtime; the most so far {peak:.0} MiB",
        least * 1024.0 / per(runtimes)
    );
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "counts of runtimes are far below what f64 holds exactly")]
fn per(runtimes: usize) -> f64 {
    runtimes as f64
}

fn fleet(text: &str) -> Vec<(String, String)> {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    vec![
        file(
            "fleet.yaml",
            &format!(
                "kind: Fleet\ndefaults:\n  channel: stable\n  namespace: {}\n\
                 limits:\n  removals: 100%\ncomponents:\n  note: {{ values: {{ text: {text} }} }}\n",
                workload::NAMESPACE
            ),
        ),
        file("channels/stable.yaml", "kind: Channel\ncomponents:\n  note: 1.0.0\n"),
        file("charts/note/1.0.0/Chart.yaml", "apiVersion: v2\nname: note\nversion: 1.0.0\n"),
        file("charts/note/1.0.0/values.yaml", "text: \"\"\n"),
        file("charts/note/1.0.0/templates/note.yaml.j2", TEMPLATE),
    ]
}

fn runtime(number: usize) -> (String, String) {
    (format!("runtimes/r{number}.yaml"), "kind: Runtime\npolicy: { deletionPolicy: Delete }\n".to_owned())
}
