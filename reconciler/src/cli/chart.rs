//! `reeve chart`: brings charts into the repository from folders, archives, registries and Helm repositories, and shows
//! what a newer version does. Git stays the only truth: nothing is fetched when something is rendered.

use std::cmp::Ordering;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer::tree::{Entry, EntryKind, MemoryTree, Tree, TreeError};
use reeve_renderer_objects::version::Version;

use super::args::RevisionArgs;
use super::args::chart::{ChartArgs, ChartCommand, ImportArgs, PlaceArgs, UpdateArgs};
use super::failure::Failure;
use super::report::{Reporter, tally};
use super::source::Source;
use super::{Status, Terminal, diff};

pub(super) mod changed;
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
    let digest = lock.digest.clone();
    chart.write(&args.place.fleet, lock)?;
    let (name, version) = (&chart.name, &chart.version);
    writeln!(terminal.out, "imported {name} {version} into {} ({digest})", chart.folder())?;
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
    let chart = Imported::read(&origin.shown(), files)?;
    let known_as = match origin {
        Origin::Repository { name, .. } => Some(name.clone()),
        _ => None,
    };
    let version = version.unwrap_or_else(|| chart.version.clone());
    let lock = Lock { origin: origin.written(&place.fleet), chart: known_as, version, digest, files: None };
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
    let (fleet, name) = (&args.place.fleet, args.chart.as_str());
    let Newest { version: old, lock: known } = newest(fleet, name)?;
    let origin = Origin::known(&known.origin, known.chart.as_deref(), fleet)?;
    let (chart, lock) = fetched(&origin, args.version.as_deref(), &args.place)?;
    let lock = Lock { origin: known.origin.clone(), ..lock };
    let new = chart.version.as_str();
    let is_here = fleet.join(chart.folder()).is_dir();
    let order = compared(new, &old);
    if order.is_lt() && args.version.is_none() {
        writeln!(terminal.out, "the newest {name} at {} is {new}, older than {old}, which is here", lock.origin)?;
        return Ok(Status::Fine);
    }
    if order.is_eq() {
        writeln!(terminal.out, "{name} {old} is the newest at {}", lock.origin)?;
        if lock.digest != known.digest {
            writeln!(terminal.out, "what is there is not what was imported: a change needs another version")?;
        }
    } else {
        writeln!(terminal.out, "{name} {old} -> {new} from {}", lock.origin)?;
    }
    let source = Source::open(fleet, &RevisionArgs::default())?;
    let loader = Loader::new();
    let (before, _) = source.load(&loader)?;
    if changed::is_changed(&*source.tree, &format!("charts/{name}/{old}"), &known)? {
        writeln!(
            terminal.out,
            "charts/{name}/{old} was changed here after its import; no other version has the change"
        )?;
    }
    let with = With { base: &*source.tree, added: if is_here { MemoryTree::new() } else { chart.tree() } };
    let (mut after, findings) = loader.load(&with)?;
    let is_left = |version: &str| if order.is_lt() { version != new } else { compared(version, new).is_lt() };
    if !replace(&mut after, name, new, is_left) && is_here {
        return Ok(Status::Fine);
    }
    if order.is_eq() {
        writeln!(terminal.out, "what it does to whoever has an older one:")?;
    }
    let below = format!("{}/", chart.folder());
    let findings = findings.into_iter().filter(|finding| {
        finding.location.as_ref().is_some_and(|location| location.file.starts_with(&below)) || finding.is_error()
    });
    let status = diff::fleets(&before, &after, findings.collect(), &source, &with, terminal)?;
    if !args.write || is_here {
        return Ok(status);
    }
    chart.write(fleet, lock)?;
    writeln!(terminal.out, "imported {name} {new} into {}", chart.folder())?;
    // The differences were asked for, and what was to be done is done.
    Ok(if matches!(status, Status::Findings) { Status::Fine } else { status })
}

/// Gives a version of a chart to whoever has one of those that are left, as if channels and pins were changed; whether
/// there is such a version.
fn replace(fleet: &mut Fleet, chart: &str, new: &str, is_left: impl Fn(&str) -> bool) -> bool {
    let Some(versions) = fleet.charts.get_mut(chart) else { return false };
    let Some(with) = versions.get(new).cloned() else { return true };
    let mut any = false;
    for (_, chart) in versions.iter_mut().filter(|(version, _)| is_left(version)) {
        *chart = with.clone();
        any = true;
    }
    any
}

/// The order of two versions of folders, which are semantic ones.
fn compared(one: &str, other: &str) -> Ordering {
    let parse = |text| Version::parse(text);
    match (parse(one), parse(other)) {
        (Some(one), Some(other)) => one.compare(&other),
        _ => one.cmp(other),
    }
}

/// The newest version of a chart that was imported.
struct Newest {
    version: String,
    lock: Lock,
}

fn newest(fleet: &Path, chart: &str) -> Result<Newest, ChartError> {
    let folder = fleet.join("charts").join(chart);
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let version = name.strip_suffix(".lock")?.to_owned();
        // An import that was killed may have left its lock alone.
        let lock = Lock::parse(&fs::read_to_string(entry.path()).ok()?).filter(|_| folder.join(&version).is_dir())?;
        Some(Newest { version, lock })
    });
    let newest = found.max_by(|one, other| compared(&one.version, &other.version));
    newest.ok_or(ChartError::NotImported { chart: chart.to_owned() })
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
