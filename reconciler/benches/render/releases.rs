//! 1,000 releases of one chart of ten templates, each with values of its own, against Helm.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use reeve_renderer::budget::{Budget, Limits};
use reeve_renderer::cache::NoCache;
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer::render::Renderer;
use reeve_renderer::resolve::{self, Resolved};
use reeve_renderer::template::Scope;
use reeve_renderer::tree::MemoryTree;
use reeve_renderer::value::{Dict, Value};

use crate::helm::{self, Engine, Workspace};
use crate::measure::{self, best};
use crate::{chart, repository};

const RELEASES: usize = 1_000;
/// Starting Helm takes long enough that a part of them tells the time of one.
const STARTED: usize = 50;
/// Which part: a step that shares no factor with the turns in which the values vary, so that every variant is met.
const STEP: usize = 19;

pub(crate) fn run() -> Result<()> {
    let releases: Vec<(String, String)> =
        (0..RELEASES).map(|number| (format!("shop-{number:04}"), repository::shop_values(number))).collect();
    let fleet = load(&releases)?;
    let resolved = resolve(&fleet, &releases)?;
    println!(
        "{RELEASES} releases of a chart of 10 templates, values of their own, no cache; time on a core, best of {} rounds",
        measure::ROUNDS
    );
    let texts = best(measure::ROUNDS, || resolved.iter().try_for_each(|release| texts(release).map(drop)))?;
    let renderer = Renderer::new(&fleet.settings, &NoCache);
    let bundles = best(measure::ROUNDS, || {
        resolved.iter().try_for_each(|release| renderer.runtime(release).map(drop).map_err(|said| broken(&said)))
    })?;
    let whole = best(measure::ROUNDS, || {
        let fleet = load(&releases)?;
        let renderer = Renderer::new(&fleet.settings, &NoCache);
        let resolved = resolve(&fleet, &releases)?;
        resolved.iter().try_for_each(|release| renderer.runtime(release).map(drop).map_err(|said| broken(&said)))
    })?;
    measure::line("ours: templates to text, one thread, per release", each(texts, RELEASES));
    measure::line("ours: to checked, labelled objects and their digest", each(bundles, RELEASES));
    measure::line("ours: reading the files of chart and values, too", each(whole, RELEASES));
    let Some(program) = std::env::var_os("HELM").map(PathBuf::from) else {
        println!("  HELM is not set, so nothing is compared: `make bench` sets it to the pinned helm");
        return Ok(());
    };
    let workspace = Workspace::new("shop", &chart::of_helm()?, &releases)?;
    for release in resolved.iter().step_by(STEP).take(STARTED) {
        check_equal(release, &workspace.template(&program, &name(release)?)?)?;
    }
    measure::count("releases whose objects are equal to Helm's, one by one", STARTED);
    let (started, waited) = start_each(&workspace, &program, &resolved)?;
    let Engine { one_thread, threads, .. } = workspace.engine(measure::ROUNDS)?;
    measure::line(&format!("helm template, one process per release ({STARTED} started)"), each(started, STARTED));
    measure::line("helm template, as the clock on the wall has it", each(waited, STARTED));
    measure::line("Helm's engine as a library, one thread", each(one_thread, RELEASES));
    measure::line("Helm's engine as a library, as many threads as Go takes", each(threads, RELEASES));
    let whole_each = each(whole, RELEASES);
    measure::compare(
        "helm template / ours with everything",
        measure::ratio(each(started, STARTED), whole_each),
        "wanted 50",
    );
    measure::compare("Helm's engine / ours, text only, one thread", measure::ratio(one_thread, texts), "wanted 5");
    measure::compare("Helm's engine with Go's threads / ours, text only", measure::ratio(threads, texts), "");
    measure::compare("Helm's engine, text / ours, objects and digest", measure::ratio(one_thread, bundles), "");
    Ok(())
}

fn each(all: Duration, count: usize) -> Duration {
    all / u32::try_from(count).unwrap_or(u32::MAX)
}

/// One runtime with one component for each release.
fn load(releases: &[(String, String)]) -> Result<Fleet> {
    let mut tree = MemoryTree::new();
    tree.write("fleet.yaml", format!("kind: Fleet\ndefaults:\n  namespace: {}\n", helm::NAMESPACE));
    tree.write("charts/shop/1.0.0/Chart.yaml", chart::metadata()?);
    tree.write("charts/shop/1.0.0/values.yaml", chart::values()?);
    for (name, text) in chart::files("jinja")? {
        tree.write(format!("charts/shop/1.0.0/templates/{name}"), text);
    }
    for (name, values) in releases {
        let values = repository::indented(values, 6);
        let head = format!("kind: Runtime\ncomponents:\n  {name}:\n    chart: shop\n    version: 1.0.0\n    values:\n");
        tree.write(format!("runtimes/{name}.yaml"), head + &values);
    }
    let (fleet, said) = Loader::new().load(&tree).context("a tree in memory can be read")?;
    if said.is_empty() { Ok(fleet) } else { Err(broken(&said)) }
}

fn resolve(fleet: &Fleet, releases: &[(String, String)]) -> Result<Vec<Resolved>> {
    let one = |(name, _): &(String, String)| match resolve::resolve(fleet, name) {
        Some(Ok(resolved)) => Ok(resolved),
        Some(Err(said)) => Err(broken(&said)),
        None => bail!("there is no runtime {name}"),
    };
    releases.iter().map(one).collect()
}

fn broken(said: &[Diagnostic]) -> anyhow::Error {
    anyhow::anyhow!("the bench's own repository is wrong: {:?}", said.first())
}

fn name(release: &Resolved) -> Result<String> {
    Ok(release.components.first().context("a release without a component")?.name.to_string())
}

/// What the templates write: all that Helm's engine does, and nothing more.
fn texts(release: &Resolved) -> Result<Vec<String>> {
    let component = release.components.first().context("a release without a component")?;
    let text = |text: &Arc<str>| Value::Text(text.clone());
    // Helm's own name is in the labels, and the objects are to be equal.
    let about =
        [("name", text(&component.name)), ("namespace", text(&component.namespace)), ("service", Value::from("Helm"))];
    let about = Dict::new(about.into_iter().map(|(key, value)| (Arc::from(key), value)).collect())?;
    let scope = Scope::new()
        .data("Values", Value::Dict(component.values.clone()))
        .data("Chart", Value::Dict(component.chart.metadata.clone()))
        .data("Release", Value::Dict(about));
    let budget = Budget::new(Limits::default());
    let templates = &component.chart.templates;
    templates.names().map(|name| templates.render(name, &scope, &budget).map_err(|said| broken(&[said]))).collect()
}

fn check_equal(release: &Resolved, helm: &str) -> Result<()> {
    let theirs = helm::objects(helm)?;
    let mut ours = helm::Objects::new();
    for text in texts(release)? {
        ours.extend(helm::objects(&text)?);
    }
    let name = name(release)?;
    let keys = |objects: &helm::Objects| objects.keys().cloned().collect::<Vec<_>>();
    if keys(&theirs) != keys(&ours) {
        bail!("{name}: Helm renders {:?}, we render {:?}", keys(&theirs), keys(&ours));
    }
    for (key, theirs) in &theirs {
        if ours.get(key) != Some(theirs) {
            bail!("{name}: {key:?} is\n{theirs:#?}\nwith Helm, and ours is\n{:#?}", ours.get(key));
        }
    }
    Ok(())
}

/// Helm started for a part of the releases: the best rounds, on cores and by the clock on the wall.
fn start_each(workspace: &Workspace, program: &Path, resolved: &[Resolved]) -> Result<(Duration, Duration)> {
    let (mut on_cores, mut waited) = (Duration::MAX, Duration::MAX);
    for _ in 0..measure::ROUNDS {
        let before = measure::children_on_cores()?;
        let round = measure::once(|| {
            let part = resolved.iter().step_by(STEP).take(STARTED);
            part.into_iter().try_for_each(|release| workspace.template(program, &name(release)?).map(drop))
        })?;
        on_cores = on_cores.min(measure::children_on_cores()?.saturating_sub(before));
        waited = waited.min(round);
    }
    Ok((on_cores, waited))
}
