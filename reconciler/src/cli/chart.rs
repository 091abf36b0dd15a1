//! `reeve chart`: brings charts into the repository from folders, archives, registries and Helm repositories, and shows
//! what a newer version does. Git stays the only truth: nothing is fetched when something is rendered.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::fleet::Loader;
use reeve_renderer::tree::{Entry, EntryKind, MemoryTree, Tree, TreeError};

use super::args::RevisionArgs;
use super::args::chart::{ChartArgs, ChartCommand, ImportArgs, PlaceArgs, UpdateArgs};
use super::failure::Failure;
use super::report::{Reporter, tally};
use super::source::Source;
use super::{Status, Terminal, diff};

mod error;
mod fetch;
mod http;
mod imported;
mod lock;
mod oci;
mod origin;
mod versions;

pub(super) use error::ChartError;
use imported::Imported;
use lock::Lock;
use origin::Origin;

pub(super) fn run(args: &ChartArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    match &args.what {
        ChartCommand::Import(args) => import(args, terminal),
        ChartCommand::Update(args) => update(args, terminal),
    }
}

fn import(args: &ImportArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    Source::open(&args.place.fleet, &RevisionArgs::default())?.load(&Loader::new())?;
    let origin = Origin::parse(&args.origin, args.name.as_deref())?;
    let (chart, lock) = fetched(&origin, args.version.as_deref(), &args.place)?;
    if let Some(wanted) = args.name.as_ref().filter(|name| **name != chart.name) {
        let (found, wanted) = (format!("`{}`", chart.name), format!("`{wanted}`"));
        return Err(ChartError::Other { place: lock.origin, found, wanted }.into());
    }
    let trial = chart.trial()?;
    chart.write(&args.place.fleet, &lock)?;
    let (name, version) = (&chart.name, &chart.version);
    writeln!(terminal.out, "imported {name} {version} into {} ({})", chart.folder(), lock.digest)?;
    if !chart.left_out.is_empty() {
        writeln!(terminal.out, "left out what is for Git: {}", chart.left_out.join(", "))?;
    }
    if !trial.findings.is_empty() {
        Reporter::new(&trial.tree, terminal.style).write(&trial.findings, &mut terminal.out)?;
        writeln!(terminal.out, "{} in {}", tally(&trial.findings), chart.folder())?;
    }
    if !trial.unset.is_empty() {
        writeln!(terminal.out, "with its own values alone it does not render; set what is named here:")?;
        Reporter::new(&trial.tree, terminal.style).write(&trial.unset, &mut terminal.out)?;
    }
    if trial.findings.iter().any(Diagnostic::is_error) {
        return Ok(Status::Findings);
    }
    writeln!(
        terminal.out,
        "write `{name}: {version}` into a channel, and `{name}: {{}}` below `components` of fleet.yaml or of a runtime"
    )?;
    Ok(Status::Fine)
}

/// A chart from its origin, and what is written down of that.
fn fetched(origin: &Origin, wanted: Option<&str>, place: &PlaceArgs) -> Result<(Imported, Lock), ChartError> {
    let (files, digest, version) = fetch::fetch(origin, wanted, place)?;
    let chart = Imported::read(files)?;
    let known_as = match origin {
        Origin::Repository { name, .. } => Some(name.clone()),
        _ => None,
    };
    let version = version.unwrap_or_else(|| chart.version.clone());
    let lock = Lock { origin: origin.written(&place.fleet), chart: known_as, version, digest };
    // Registries and repositories were asked for it; a folder or an archive has what it has.
    if let (Origin::Folder(path) | Origin::Archive(path), Some(wanted)) = (origin, wanted)
        && versions::choose(Some(wanted), [(chart.version.as_str(), ())]).is_none()
    {
        let (place, wanted) = (path.clone(), wanted.to_owned());
        return Err(ChartError::Other { place, found: chart.version, wanted });
    }
    Ok((chart, lock))
}

fn update(args: &UpdateArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let fleet = &args.place.fleet;
    let (old, known) = newest_lock(fleet, &args.chart)?;
    let origin = Origin::known(&known.origin, known.chart.as_deref(), fleet)?;
    let (chart, lock) = fetched(&origin, args.version.as_deref(), &args.place)?;
    let lock = Lock { origin: known.origin, ..lock };
    if chart.version == old {
        writeln!(terminal.out, "{} {old} is the newest at {}", args.chart, lock.origin)?;
        if lock.digest != known.digest {
            writeln!(terminal.out, "what is there is not what was imported: a change needs another version")?;
        }
        return Ok(Status::Fine);
    }
    writeln!(terminal.out, "{} {old} -> {} from {}", args.chart, chart.version, lock.origin)?;
    let source = Source::open(fleet, &RevisionArgs::default())?;
    let loader = Loader::new();
    let (before, _) = source.load(&loader)?;
    let below = format!("{}/", chart.folder());
    let added = chart.files.iter().map(|(name, content)| (format!("{below}{name}"), content)).collect();
    let with = With { base: &*source.tree, added };
    let (mut after, findings) = loader.load(&with)?;
    // Whoever has the old version gets the new one, as if channels and pins were changed.
    if let Some(versions) = after.charts.get_mut(args.chart.as_str())
        && let Some(new) = versions.get(chart.version.as_str()).cloned()
    {
        versions.insert(old.into(), new);
    }
    let findings = findings.into_iter().filter(|finding| {
        finding.location.as_ref().is_some_and(|location| location.file.starts_with(&below)) || finding.is_error()
    });
    let status = diff::fleets(&before, &after, findings.collect(), &source, &with, terminal)?;
    if args.write {
        chart.write(fleet, &lock)?;
        writeln!(terminal.out, "imported {} {} into {}", chart.name, chart.version, chart.folder())?;
    }
    Ok(status)
}

/// The newest version of a chart that was imported, and what is written down of it.
fn newest_lock(fleet: &Path, chart: &str) -> Result<(String, Lock), ChartError> {
    let folder = fleet.join("charts").join(chart);
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let version = name.strip_suffix(".lock")?.to_owned();
        let lock = Lock::parse(&fs::read_to_string(entry.path()).ok()?)?;
        Some((semver::Version::parse(&version).ok()?, version, lock))
    });
    let newest = found.max_by(|(one, ..), (other, ..)| one.cmp(other));
    newest.map(|(_, version, lock)| (version, lock)).ok_or(ChartError::NotImported { chart: chart.to_owned() })
}

/// A tree with more files in it.
struct With<'a> {
    base: &'a dyn Tree,
    added: MemoryTree,
}

impl Tree for With<'_> {
    fn list(&self, folder: &str) -> Result<Vec<Entry>, TreeError> {
        let mut entries = self.base.list(folder)?;
        for added in self.added.list(folder)? {
            match entries.iter_mut().find(|entry| entry.name == added.name) {
                // Folders of both: named anew, since they hold more now.
                Some(entry) if entry.kind == EntryKind::Folder => entry.id = added.id,
                Some(entry) => *entry = added,
                None => entries.push(added),
            }
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }

    fn read(&self, path: &str) -> Result<Option<std::sync::Arc<[u8]>>, TreeError> {
        match self.added.read(path)? {
            Some(found) => Ok(Some(found)),
            None => self.base.read(path),
        }
    }
}
