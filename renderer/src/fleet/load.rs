//! Reads a repository, and remembers what it read: the next revision costs only what changed in it.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::decode::Decoder;
use super::listing::{files, folders, versions};
use super::values::DocumentText;
use super::{Channel, Chart, Fleet, Layer, Runtime, Settings, chart, lfs};
use crate::diagnostic::{Diagnostic, Location};
use crate::tree::{self, ContentId, Entry, EntryKind, Tree, TreeError};
use crate::yaml::{self, Node};

/// Larger files are not read: no values file or template needs a mebibyte.
pub(super) const LARGEST_FILE: u64 = 1 << 20;

/// Reads repositories. Shared by all revisions of one repository.
#[derive(Debug, Default)]
pub struct Loader {
    files: Mutex<Remembered<Parsed>>,
    charts: Mutex<Remembered<Option<Arc<Chart>>>>,
}

/// What a path with this content was read as, and what was wrong with it.
type Remembered<T> = HashMap<(String, ContentId), (T, Vec<Diagnostic>)>;

#[derive(Clone, Debug)]
enum Parsed {
    Settings(Arc<Settings>),
    Channel(Arc<Channel>),
    Layer(Arc<Layer>),
    Runtimes(Vec<Arc<Runtime>>),
    Nothing,
}

impl Loader {
    /// A loader that has read nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The fleet in a tree, and all that is wrong with its files. What is wrong is left out of the fleet.
    pub fn load(&self, tree: &dyn Tree) -> Result<(Fleet, Vec<Diagnostic>), TreeError> {
        let mut fleet = Fleet::default();
        let mut findings = Vec::new();
        let mut seen = Seen::default();
        self.settings(tree, &mut fleet, &mut findings, &mut seen)?;
        check_root(tree, &mut fleet, &mut findings)?;
        for (folder, deep) in [("channels", false), ("layers", false), ("runtimes", true)] {
            for (path, entry) in files(tree, folder, deep, &mut findings)? {
                let parsed = self.parsed(tree, &path, &entry, &mut findings, &mut seen)?;
                add_parsed(&mut fleet, &path, parsed, &mut findings);
            }
        }
        self.charts(tree, &mut fleet, &mut findings, &mut seen)?;
        self.forget(&seen);
        findings.sort();
        Ok((fleet, findings))
    }

    fn settings(
        &self,
        tree: &dyn Tree,
        fleet: &mut Fleet,
        findings: &mut Vec<Diagnostic>,
        seen: &mut Seen,
    ) -> Result<(), TreeError> {
        let Some(entry) = tree.list("")?.into_iter().find(|entry| &*entry.name == "fleet.yaml") else {
            let finding = Diagnostic::error("missing-file", "there is no fleet.yaml: this is not a fleet repository");
            findings.push(finding.at(Location::file("fleet.yaml")).help("`reeve new fleet NAME` makes one"));
            fleet.broken.insert("fleet.yaml".to_owned());
            return Ok(());
        };
        if let EntryKind::Folder | EntryKind::Other(_) = entry.kind {
            findings.push(misplaced("fleet.yaml", entry.kind));
            fleet.broken.insert("fleet.yaml".to_owned());
            return Ok(());
        }
        match self.parsed(tree, "fleet.yaml", &entry, findings, seen)? {
            Parsed::Settings(settings) => fleet.settings = settings,
            _ => {
                fleet.broken.insert("fleet.yaml".to_owned());
            }
        }
        Ok(())
    }

    fn parsed(
        &self,
        tree: &dyn Tree,
        path: &str,
        entry: &Entry,
        findings: &mut Vec<Diagnostic>,
        seen: &mut Seen,
    ) -> Result<Parsed, TreeError> {
        let key = (path.to_owned(), entry.id);
        seen.files.push(key.clone());
        if let Some((parsed, said)) = self.files.lock().get(&key) {
            findings.extend(said.iter().cloned());
            return Ok(parsed.clone());
        }
        let mut said = Vec::new();
        let parsed = parse(tree, path, entry, &mut said)?;
        findings.extend(said.iter().cloned());
        self.files.lock().insert(key, (parsed.clone(), said));
        Ok(parsed)
    }

    fn charts(
        &self,
        tree: &dyn Tree,
        fleet: &mut Fleet,
        findings: &mut Vec<Diagnostic>,
        seen: &mut Seen,
    ) -> Result<(), TreeError> {
        for name in folders(tree, "charts", findings)? {
            for version in versions(tree, &name.name, findings)? {
                if let Some(finding) = misnamed(&version.path, &name.name, &version.version) {
                    findings.push(finding);
                    continue;
                }
                let key = (version.path.clone(), version.id);
                seen.charts.push(key.clone());
                let known = self.charts.lock().get(&key).cloned();
                let (chart, said) = if let Some(known) = known {
                    known
                } else {
                    let (chart, said) = chart::read(tree, &name.name, &version)?;
                    let read = (chart.map(Arc::new), said);
                    self.charts.lock().insert(key, read.clone());
                    read
                };
                findings.extend(said);
                let versions = fleet.charts.entry(name.name.clone()).or_default();
                if let Some(chart) = chart {
                    versions.insert(version.version, chart);
                } else {
                    fleet.broken.insert(format!("charts/{}/{}", name.name, version.version));
                }
            }
        }
        Ok(())
    }

    /// Only what the last revision had is remembered.
    fn forget(&self, seen: &Seen) {
        forget_unseen(&mut self.files.lock(), &seen.files);
        forget_unseen(&mut self.charts.lock(), &seen.charts);
    }
}

/// A part of the repository that is something else than a folder would silently be an empty one.
fn check_root(tree: &dyn Tree, fleet: &mut Fleet, findings: &mut Vec<Diagnostic>) -> Result<(), TreeError> {
    for entry in tree.list("")? {
        let part = matches!(&*entry.name, "channels" | "layers" | "charts" | "runtimes");
        if part && entry.kind != EntryKind::Folder {
            findings.push(misplaced(&entry.name, entry.kind));
            fleet.broken.insert(format!("{}/", entry.name));
        }
    }
    Ok(())
}

fn misplaced(path: &str, kind: EntryKind) -> Diagnostic {
    let (what, wanted) = match kind {
        EntryKind::File { .. } => ("a file", "a folder"),
        EntryKind::Folder => ("a folder", "a file"),
        EntryKind::Other(what) => (what, if path == "fleet.yaml" { "a file" } else { "a folder" }),
    };
    Diagnostic::error("not-a-file", format!("{path} is {what}, and must be {wanted}")).at(Location::file(path))
}

/// What a revision consists of.
#[derive(Default)]
struct Seen {
    files: Vec<(String, ContentId)>,
    charts: Vec<(String, ContentId)>,
}

/// Two revisions are remembered at most, so that one can be compared with the one before.
fn forget_unseen<T>(remembered: &mut Remembered<T>, seen: &[(String, ContentId)]) {
    if remembered.len() > seen.len() * 2 + 64 {
        let seen: std::collections::HashSet<_> = seen.iter().collect();
        remembered.retain(|key, _| seen.contains(key));
    }
}

fn parse(tree: &dyn Tree, path: &str, entry: &Entry, findings: &mut Vec<Diagnostic>) -> Result<Parsed, TreeError> {
    let file: Arc<str> = path.into();
    if let EntryKind::File { size } = entry.kind
        && let Some(finding) = too_large(&file, size, LARGEST_FILE)
    {
        findings.push(finding);
        return Ok(Parsed::Nothing);
    }
    let Some(text) = read_text(tree, &file, findings)? else { return Ok(Parsed::Nothing) };
    let mut decoder = Decoder::new(&file);
    let folder = path.split_once('/').map_or("", |(folder, _)| folder);
    let parsed = if folder == "runtimes" {
        runtimes(&mut decoder, path, &text).map_or(Parsed::Nothing, Parsed::Runtimes)
    } else {
        match single(&file, &text, &mut decoder.findings) {
            None => Parsed::Nothing,
            Some(node) => match folder {
                "channels" => Parsed::Channel(Arc::new(decoder.channel(&node))),
                "layers" => Parsed::Layer(Arc::new(decoder.layer(&node))),
                _ => Parsed::Settings(Arc::new(decoder.settings(&node))),
            },
        }
    };
    findings.append(&mut decoder.findings);
    Ok(parsed)
}

/// The runtimes of a file; nothing if any of them cannot be read.
fn runtimes(decoder: &mut Decoder, path: &str, text: &str) -> Option<Vec<Arc<Runtime>>> {
    match yaml::documents(text, &yaml::Options::default()) {
        Ok(documents) if documents.is_empty() => {
            decoder.findings.push(empty(&decoder.file.clone()));
            None
        }
        Ok(documents) => {
            let stem = (documents.len() == 1).then(|| stem(path));
            let mut texts = DocumentText::of(text, &documents).unwrap_or_default().into_iter();
            let each = documents.iter().map(|node| {
                decoder.document = texts.next();
                decoder.runtime(node, stem).map(Arc::new)
            });
            each.collect()
        }
        Err(problems) => {
            let file = decoder.file.clone();
            decoder.findings.extend(problems.into_iter().map(|problem| problem.in_file(&file)));
            None
        }
    }
}

/// The one document of a file.
pub(super) fn single(file: &Arc<str>, text: &str, findings: &mut Vec<Diagnostic>) -> Option<Node> {
    match yaml::documents(text, &yaml::Options::default()) {
        Ok(documents) => {
            if let Some(second) = documents.get(1) {
                let finding = Diagnostic::error("many-documents", "this file must hold one document");
                findings.push(finding.at(second.span.in_file(file)).help("move the second into a file of its own"));
            }
            let first = documents.into_iter().next();
            if first.is_none() && !file.ends_with("values.yaml") {
                findings.push(empty(file));
            }
            first
        }
        Err(problems) => {
            findings.extend(problems.into_iter().map(|problem| problem.in_file(file)));
            None
        }
    }
}

fn empty(file: &Arc<str>) -> Diagnostic {
    Diagnostic::error("empty-file", "this file is empty")
        .at(Location::file(file.clone()))
        .help("write it, or remove it")
}

/// The text of a file that is in the tree.
pub(super) fn read_text(
    tree: &dyn Tree,
    file: &Arc<str>,
    findings: &mut Vec<Diagnostic>,
) -> Result<Option<String>, TreeError> {
    let Some(bytes) = tree.read(file)? else { return Ok(None) };
    if bytes.len() as u64 > LARGEST_FILE {
        findings.extend(too_large(file, bytes.len() as u64, LARGEST_FILE));
        return Ok(None);
    }
    if let Some(finding) = lfs::found_in(file, &bytes) {
        findings.push(finding);
        return Ok(None);
    }
    match std::str::from_utf8(&bytes) {
        Ok(text) => Ok(Some(text.to_owned())),
        Err(error) => {
            let before = &bytes[..error.valid_up_to()];
            let line = before.split(|byte| *byte == b'\n').count();
            let location = Location::new(file.clone(), u32::try_from(line).unwrap_or(u32::MAX), 1);
            findings.push(Diagnostic::error("not-utf8", "this file is not UTF-8 text").at(location));
            Ok(None)
        }
    }
}

pub(super) fn too_large(file: &Arc<str>, size: u64, largest: u64) -> Option<Diagnostic> {
    (size > largest).then(|| {
        let message = format!("this file has {size} bytes; at most {largest} are read");
        Diagnostic::error("file-too-large", message)
            .at(Location::file(file.clone()))
            .help("split it, or move it elsewhere")
    })
}

pub(super) fn not_a_file(file: &Arc<str>, what: &str) -> Diagnostic {
    let finding = Diagnostic::error("not-a-file", format!("this is {what}, which is not followed"));
    finding.at(Location::file(file.clone())).help("put the file itself here")
}

fn stem(path: &str) -> &str {
    let leaf = path.rsplit('/').next().unwrap_or(path);
    leaf.strip_suffix(".yaml").or_else(|| leaf.strip_suffix(".yml")).unwrap_or(leaf)
}

fn misnamed(path: &str, name: &str, version: &str) -> Option<Diagnostic> {
    if !crate::names::is_label(name) {
        let message = format!("`{name}` is not a name that Kubernetes takes");
        return Some(Diagnostic::error("bad-name", message).at(Location::file(path)).help(crate::names::LABEL_RULE));
    }
    let error = semver::Version::parse(version).err()?;
    let message = format!("`{version}` is not a version: {error}");
    let plain = version.strip_prefix('v').filter(|plain| semver::Version::parse(plain).is_ok());
    let help = format!("name it like {}", plain.unwrap_or("1.2.0"));
    Some(Diagnostic::error("bad-version", message).at(Location::file(path)).help(help))
}

fn add_parsed(fleet: &mut Fleet, path: &str, parsed: Parsed, findings: &mut Vec<Diagnostic>) {
    let name: Arc<str> = stem(path).into();
    let start = yaml::Span { line: 1, column: 1, length: 1 };
    match parsed {
        Parsed::Settings(_) => {}
        Parsed::Nothing => {
            let folder = path.split_once('/').map_or("", |(folder, _)| folder);
            fleet.broken.insert(tree::join(folder, &name));
        }
        Parsed::Channel(channel) => {
            findings.extend(bad_file_name(&channel.file, &name));
            if let Some(other) = fleet.channels.insert(name.clone(), channel) {
                findings.push(twice(path, &name, start, Location::file(other.file.clone())));
            }
        }
        Parsed::Layer(layer) => {
            findings.extend(bad_file_name(&layer.file, &name));
            if let Some(other) = fleet.layers.insert(name.clone(), layer) {
                findings.push(twice(path, &name, start, Location::file(other.file.clone())));
            }
        }
        Parsed::Runtimes(runtimes) => {
            for runtime in runtimes {
                let (name, span) = (runtime.name.clone(), runtime.span);
                if let Some(other) = fleet.runtimes.insert(name.clone(), runtime) {
                    findings.push(twice(path, &name, span, other.span.in_file(&other.file)));
                }
            }
        }
    }
}

fn twice(path: &str, name: &str, span: yaml::Span, other: Location) -> Diagnostic {
    Diagnostic::error("duplicate-name", format!("`{name}` is there twice"))
        .at(span.in_file(&path.into()))
        .note("the other is here", Some(other))
        .help("rename one of the two")
}

fn bad_file_name(file: &Arc<str>, name: &str) -> Option<Diagnostic> {
    (!crate::names::is_label(name)).then(|| {
        let message = format!("`{name}` is not a name that Kubernetes takes");
        Diagnostic::error("bad-name", message).at(Location::file(file.clone())).help(crate::names::LABEL_RULE)
    })
}
