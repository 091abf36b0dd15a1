//! 1,000 releases of the largest chart that is compared with Helm, in Helm's syntax as its project releases it, against
//! Helm. Largest is the one with the most templates. A megabyte of them defines its kinds; they are off by default.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use reeve_renderer::budget::{Budget, Limits};
use reeve_renderer::cache::NoCache;
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer::render::{RenderFacts, Renderer};
use reeve_renderer::resolve::{self, Resolved};
use reeve_renderer::template::render_charts;
use reeve_renderer::tree::MemoryTree;
use reeve_renderer::value::Value;

use crate::helm::{self, KUBERNETES, Objects, Workspace};
use crate::measure::{self, best};
use crate::repository;

const MODULE: &str = "github.com/cert-manager/cert-manager@v1.19.1";
const PATH: &str = "deploy/charts/cert-manager";
const NAME: &str = "cert-manager";
/// The project's release gives this file its name.
const RENAMED: (&str, &str) = ("Chart.template.yaml", "Chart.yaml");

const RELEASES: usize = 1_000;
/// Starting Helm takes long enough that a part of them tells the time of one.
const STARTED: usize = 14;
/// Which part: a step that shares no factor with the turns in which the values vary, so that every variant is met.
const STEP: usize = 7;
const ROUNDS: usize = 3;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kinds {
    /// The chart as it is by default, which is what is promised.
    Without,
    /// The chart with the definitions of its kinds, for the record.
    With,
}

pub(crate) fn run(kinds: Kinds) -> Result<()> {
    let files = files()?;
    let (count, more) = match kinds {
        Kinds::Without => (RELEASES, ""),
        Kinds::With => (RELEASES / 10, "crds: {enabled: true, keep: false}\n"),
    };
    let releases: Vec<(String, String)> =
        (0..count).map(|number| (format!("manager-{number:04}"), values(number) + more)).collect();
    let what = if kinds == Kinds::With { " with the definitions of its kinds" } else { "" };
    println!("{count} releases of {MODULE}{what}, values of their own, no cache, one thread; time on a core");
    let fleet = load(&files, &releases)?;
    let resolved = resolve_all(&fleet, &releases)?;
    let texts = best(ROUNDS, || resolved.iter().try_for_each(|release| texts(release).map(drop)))?;
    let bundles = best(ROUNDS, || render_all(&fleet, &resolved))?;
    let whole = best(ROUNDS, || {
        let fleet = load(&files, &releases)?;
        render_all(&fleet, &resolve_all(&fleet, &releases)?)
    })?;
    let peak = measure::peak_memory("self")?;
    measure::line("ours: templates to text", each(texts, count));
    measure::line("ours: to checked, labelled objects and their digest", each(bundles, count));
    measure::line("ours: reading the files of chart and values, too", each(whole, count));
    let Some(program) = std::env::var_os("HELM").map(PathBuf::from) else {
        println!("  HELM is not set, so nothing is compared: `make bench` sets it to the pinned helm");
        return Ok(());
    };
    let workspace = Workspace::new(NAME, &files, &releases)?;
    let started = start_some(&workspace, &program, &fleet, &resolved)?;
    let engine = workspace.engine(ROUNDS)?;
    measure::line(&format!("helm template, one process per release ({STARTED} started)"), started);
    measure::line("Helm's engine as a library, one thread", each(engine.one_thread, count));
    let by_process = measure::ratio(started, each(whole, count));
    let by_engine = measure::ratio(engine.one_thread, texts);
    let wanted = |least| (kinds == Kinds::Without).then_some(least);
    measure::verdict("helm template / ours with everything", by_process, wanted(50.0));
    measure::verdict("Helm's engine / ours, text to text", by_engine, wanted(5.0));
    measure::verdict("Helm's engine to text / ours to objects", measure::ratio(engine.one_thread, bundles), None);
    println!("render peak memory: ours {peak:.0} MiB, Helm's engine {:.0} MiB (beside it)", engine.peak);
    Ok(())
}

/// How long Helm is on cores for one release, started for some of them, whose objects are compared with ours first.
fn start_some(workspace: &Workspace, program: &Path, fleet: &Fleet, resolved: &[Resolved]) -> Result<Duration> {
    let part: Vec<&Resolved> = resolved.iter().step_by(STEP).take(STARTED).collect();
    for release in &part {
        check_equal(fleet, release, &workspace.template(program, name(release)?)?)?;
    }
    measure::count("releases whose objects are equal to Helm's, one by one", part.len());
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let before = measure::children_on_cores()?;
        part.iter().try_for_each(|release| workspace.template(program, name(release)?).map(drop))?;
        best = best.min(measure::children_on_cores()?.saturating_sub(before));
    }
    Ok(each(best, part.len()))
}

fn each(all: Duration, count: usize) -> Duration {
    all / u32::try_from(count).unwrap_or(u32::MAX)
}

/// The values of a release; no two are alike.
fn values(number: usize) -> String {
    format!(
        "replicaCount: {replicas}\nglobal:\n  logLevel: {level}\n  commonLabels: {{team: \
         team-{number}}}\n  imagePullSecrets: [{{name: registry-{level}}}]\n  leaderElection: {{namespace: \
         leases-{number}}}\nprometheus:\n  enabled: true\n  servicemonitor: {{enabled: {even}, interval: \
         {number}s}}\npodDisruptionBudget: {{enabled: true, minAvailable: {level}}}\nextraArgs: \
         [--dns01-recursive-nameservers=10.0.0.{level}:53, --cluster-resource-namespace=ns-{number}]\nextraEnv: [{{name: \
         NUMBER, value: \"{number}\"}}]\nresources: {{requests: {{cpu: {number}m}}}}\nwebhook:\n  replicaCount: \
         {replicas}\n  networkPolicy: {{enabled: {even}}}\n  timeoutSeconds: {timeout}\ncainjector: {{replicaCount: \
         {replicas}}}\ningressShim: {{defaultIssuerName: issuer-{number}, defaultIssuerKind: ClusterIssuer}}\n",
        replicas = number % 3 + 1,
        level = number % 5 + 1,
        even = number.is_multiple_of(2),
        timeout = number % 20 + 5,
    )
}

/// The chart as its project released it: path and content.
fn files() -> Result<BTreeMap<String, String>> {
    let elsewhere = tempfile::tempdir().context("cannot make a folder")?;
    fs::write(elsewhere.path().join("go.mod"), "module fetch\n").context("cannot write go.mod")?;
    let output = Command::new("go")
        .args(["mod", "download", "-json", MODULE])
        .env("GOWORK", "off")
        .current_dir(elsewhere.path())
        .output()
        .context("cannot start go")?;
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).context("go answers with no JSON")?;
    let folder = answer["Dir"].as_str().with_context(|| format!("cannot fetch {MODULE}: {answer}"))?;
    let mut files = BTreeMap::new();
    collect(&Path::new(folder).join(PATH), "", &mut files)?;
    let (from, to) = RENAMED;
    let metadata = files.remove(from).with_context(|| format!("there is no {from}"))?;
    files.insert(to.to_owned(), metadata);
    Ok(files)
}

fn collect(folder: &Path, below: &str, files: &mut BTreeMap<String, String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).context("a file has no name")?;
        if path.is_dir() {
            collect(&path, &format!("{below}{name}/"), files)?;
        } else if let Ok(text) = fs::read_to_string(&path) {
            files.insert(format!("{below}{name}"), text);
        }
    }
    Ok(())
}

/// One runtime with one component for each release.
fn load(files: &BTreeMap<String, String>, releases: &[(String, String)]) -> Result<Fleet> {
    let metadata = files.get("Chart.yaml").context("there is no Chart.yaml")?;
    let metadata: serde_yaml::Value = serde_yaml::from_str(metadata).context("Chart.yaml is no YAML")?;
    let version = metadata["version"].as_str().context("the chart has no version")?.trim_start_matches('v');
    let mut tree = MemoryTree::new();
    tree.write("fleet.yaml", format!("kind: Fleet\ndefaults:\n  namespace: {}\n", helm::NAMESPACE));
    for (name, text) in files {
        tree.write(format!("charts/{NAME}/{version}/{name}"), text);
    }
    let head = |name| {
        format!(
            "kind: Runtime\ncapabilities: {{kubernetesVersion: {KUBERNETES}}}\ncomponents:\n  {name}:\n    chart: {NAME}\n    version: {version}\n    values:\n"
        )
    };
    for (name, values) in releases {
        tree.write(format!("runtimes/{name}.yaml"), head(name) + &repository::indented(values, 6));
    }
    let (fleet, said) = Loader::new().load(&tree).context("a tree in memory can be read")?;
    let errors: Vec<Diagnostic> = said.into_iter().filter(Diagnostic::is_error).collect();
    if errors.is_empty() { Ok(fleet) } else { Err(broken(&errors)) }
}

fn resolve_all(fleet: &Fleet, releases: &[(String, String)]) -> Result<Vec<Resolved>> {
    let one = |(name, _): &(String, String)| match resolve::resolve(fleet, name) {
        Some(Ok(resolved)) => Ok(resolved),
        Some(Err(said)) => Err(broken(&said)),
        None => bail!("there is no runtime {name}"),
    };
    releases.iter().map(one).collect()
}

fn render_all(fleet: &Fleet, resolved: &[Resolved]) -> Result<()> {
    let renderer = Renderer::new(&fleet.settings, &NoCache);
    resolved.iter().try_for_each(|release| renderer.runtime(release).map(drop).map_err(|said| broken(&said)))
}

fn broken(said: &[Diagnostic]) -> anyhow::Error {
    anyhow::anyhow!("the bench's own repository is wrong: {:?}", said.first())
}

fn name(release: &Resolved) -> Result<&str> {
    Ok(&release.components.first().context("a release without a component")?.name)
}

/// What the templates write: all that Helm's engine does, and nothing more.
fn texts(release: &Resolved) -> Result<usize> {
    let component = release.components.first().context("a release without a component")?;
    let helm = component.helm.as_ref().context("a chart that is not Helm's")?;
    let facts = RenderFacts::new(release, component);
    let scope = facts.scope(component, "").data("Values", Value::Dict(component.values.with_floats()));
    let mut bytes = 0;
    for rendered in render_charts(&helm.node(), &scope, &Budget::new(Limits::default()), None) {
        bytes += rendered.result.map_err(|said| broken(&said))?.text.len();
    }
    Ok(bytes)
}

fn check_equal(fleet: &Fleet, release: &Resolved, helm: &str) -> Result<()> {
    let theirs = helm::objects(helm)?;
    let component = release.components.first().context("a release without a component")?;
    let drafts = Renderer::new(&fleet.settings, &NoCache).drafts(release, component).map_err(|said| broken(&said))?;
    let mut ours = Objects::new();
    for draft in drafts.iter().flatten() {
        let value = serde_json::Value::from(&Value::Dict(draft.value.clone()));
        helm::add(serde_yaml::to_value(value).context("an object is no YAML")?, &mut ours)?;
    }
    for (key, theirs) in &theirs {
        if ours.get(key) != Some(theirs) {
            bail!("{}: {key:?} is\n{theirs:#?}\nwith Helm, and ours is\n{:#?}", name(release)?, ours.get(key));
        }
    }
    if theirs.len() == ours.len() { Ok(()) } else { bail!("{}: we render more than Helm", name(release)?) }
}
