//! One version of a chart: what it is called, its values, its schema, its templates, its files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::decode::{Decoder, Field};
use super::lfs;
use super::listing::VersionEntry;
use super::load::{self, read_text};
use super::{HealthRule, Values};
use crate::diagnostic::{Diagnostic, Location};
use crate::fleet::helm::archive::Room;
use crate::fleet::helm::{self, HelmChart};
use crate::schema::Schema;
use crate::template::{ChartFiles, Source, Templates};
use crate::tree::{self, ContentId, Entry, EntryKind, MemoryTree, Tree, TreeError};
use crate::value::Dict;
use crate::yaml::{self, Document, Node};
use reeve_renderer_objects::version::Version;

/// `charts/<chart>/<version>/`, or the archive of that name.
#[derive(Debug)]
pub struct Chart {
    /// Its name.
    pub name: Arc<str>,
    /// Its version.
    pub version: Arc<str>,
    /// Its folder, or its archive.
    pub folder: Arc<str>,
    /// Names its content.
    pub id: ContentId,
    /// All of `Chart.yaml`.
    pub metadata: Dict,
    /// `values.yaml`.
    pub values: Option<Values>,
    /// `values.schema.json`.
    pub schema: Option<Schema>,
    /// `health.yaml`.
    pub health: Arc<[HealthRule]>,
    /// The Jinja templates.
    pub templates: Templates,
    /// Objects in files that are no templates: of `crds/` and plain YAML of `templates/`.
    pub plain: Vec<PlainFile>,
    /// All other files.
    pub files: Files,
    /// The chart in Helm's shape, if it is in Helm's own syntax or has charts below it.
    pub helm: Option<Arc<HelmChart>>,
}

/// A file of objects that passes as it is.
#[derive(Debug)]
pub struct PlainFile {
    /// Its path in the repository.
    pub file: Arc<str>,
    /// The documents in it.
    pub documents: Vec<Document>,
}

/// Files that templates may read: those of their own chart.
#[derive(Clone, Debug, Default)]
pub struct Files(BTreeMap<Arc<str>, Arc<[u8]>>);

impl Files {
    pub(crate) fn new(files: BTreeMap<Arc<str>, Arc<[u8]>>) -> Self {
        Self(files)
    }
}

impl ChartFiles for Files {
    fn get(&self, path: &str) -> Option<Arc<[u8]>> {
        self.0.get(path).cloned()
    }

    fn paths(&self) -> Vec<Arc<str>> {
        self.0.keys().cloned().collect()
    }
}

/// All files of a chart together.
const LARGEST_CHART: u64 = 32 << 20;
/// One file of a chart in Helm's syntax, as in Helm.
const LARGEST_HELM_FILE: u64 = 5 << 20;

const METADATA: &[&str] = &[
    "apiVersion",
    "name",
    "version",
    "kubeVersion",
    "description",
    "type",
    "keywords",
    "home",
    "sources",
    "dependencies",
    "maintainers",
    "icon",
    "appVersion",
    "deprecated",
    "annotations",
];

/// Reads a chart version; what cannot be read is among the findings.
pub(super) fn read(
    tree: &dyn Tree,
    name: &str,
    version: &VersionEntry,
) -> Result<(Option<Chart>, Vec<Diagnostic>), TreeError> {
    let room = &mut Room::default();
    let Some(size) = version.packed else { return read_folder(tree, name, version, room) };
    match unpacked(tree, &version.path, size, room)? {
        Ok(unpacked) => read_folder(&unpacked, name, version, room),
        Err(finding) => Ok((None, vec![finding])),
    }
}

/// The files of an archive, as if they were in a folder of its name.
fn unpacked(
    tree: &dyn Tree,
    path: &str,
    size: u64,
    room: &mut Room,
) -> Result<Result<MemoryTree, Diagnostic>, TreeError> {
    let file: Arc<str> = path.into();
    if let Some(finding) = load::too_large(&file, size, LARGEST_CHART) {
        return Ok(Err(finding));
    }
    let Some(bytes) = tree.read(path)? else { return Ok(Ok(MemoryTree::new())) };
    if let Some(finding) = lfs::found_in(&file, &bytes) {
        return Ok(Err(finding));
    }
    Ok(match helm::archive::unpack(&bytes, room) {
        Ok(files) => Ok(files.into_iter().map(|(name, content)| (format!("{path}/{name}"), content)).collect()),
        Err(error) => Err(Diagnostic::error("chart-archive", error.to_string()).at(Location::file(file))),
    })
}

fn read_folder(
    tree: &dyn Tree,
    name: &str,
    entry: &VersionEntry,
    room: &mut Room,
) -> Result<(Option<Chart>, Vec<Diagnostic>), TreeError> {
    let (version, id) = (&*entry.version, entry.id);
    let folder: Arc<str> = entry.path.as_str().into();
    let entries = tree::walk(tree, &folder)?;
    let mut reading = Reading { tree, folder: folder.clone(), findings: Vec::new(), room };
    let names: BTreeSet<String> = entries.keys().cloned().collect();
    let is_helm = helm::is_helm(tree, &folder, &names)?;
    reading.check_entries(&entries, if is_helm { LARGEST_HELM_FILE } else { load::LARGEST_FILE });
    if !reading.findings.is_empty() {
        return Ok((None, reading.findings));
    }
    if is_helm {
        let chart = reading.helm(&entries, &names, name, version, id)?;
        return Ok((chart, reading.findings));
    }
    let metadata = reading.metadata(&entries, name, version)?;
    let values = reading.values(&entries)?;
    let schema = reading.schema(&entries)?;
    let health = reading.health(&entries)?;
    let (templates, plain) = reading.templates(&entries)?;
    let files = reading.files(&entries)?;
    let failed = reading.findings.iter().any(Diagnostic::is_error);
    let (Some(metadata), Some(templates), false) = (metadata, templates, failed) else {
        return Ok((None, reading.findings));
    };
    let chart = Chart {
        name: name.into(),
        version: version.into(),
        folder,
        id,
        metadata,
        values,
        schema,
        health,
        templates,
        plain,
        files,
        helm: None,
    };
    Ok((Some(chart), reading.findings))
}

struct Reading<'a> {
    tree: &'a dyn Tree,
    folder: Arc<str>,
    findings: Vec<Diagnostic>,
    room: &'a mut Room,
}

type Entries = BTreeMap<String, Entry>;

impl Reading<'_> {
    fn path(&self, name: &str) -> Arc<str> {
        format!("{}/{name}", self.folder).into()
    }

    /// A chart in Helm's syntax; templates in Jinja may stand beside the others.
    fn helm(
        &mut self,
        entries: &Entries,
        names: &BTreeSet<String>,
        name: &str,
        version: &str,
        id: ContentId,
    ) -> Result<Option<Chart>, TreeError> {
        let health = self.health(entries)?;
        let folder = Arc::clone(&self.folder);
        let Some(helm) = helm::read(self.tree, &folder, names, &mut self.findings, self.room)? else { return Ok(None) };
        for (key, found, wanted) in [("name", &helm.name, name), ("version", &helm.version, version)] {
            // Some charts write `v1.2.3` or `1.2`, which are no names of folders here.
            let plain = Version::parse(found).filter(|_| key == "version").map(|version| version.to_string());
            if plain.as_deref().unwrap_or(found) != wanted {
                let message = format!("`{key}` is `{found}`, but the folder says `{wanted}`");
                let finding = Diagnostic::error("name-mismatch", message).at(Location::file(self.path("Chart.yaml")));
                self.findings.push(finding.key(key));
            }
        }
        if helm.is_library {
            let finding = Diagnostic::error("library-chart", "a library chart has no objects of its own");
            let finding = finding.at(Location::file(self.path("Chart.yaml")));
            self.findings.push(finding.help("put it into the charts/ of the charts that use it"));
        }
        self.findings.extend(helm::unhonoured(&helm));
        let is_jinja = |name: &&String| name.starts_with("templates/") && tree::extension(name) == Some("j2");
        let jinja =
            entries.iter().filter(|(name, _)| is_jinja(name)).map(|(name, entry)| (name.clone(), entry.clone()));
        let (templates, _) = self.templates(&jinja.collect())?;
        let failed = self.findings.iter().any(Diagnostic::is_error);
        let (Some(templates), false) = (templates, failed) else { return Ok(None) };
        Ok(Some(Chart {
            name: name.into(),
            version: version.into(),
            folder,
            id,
            metadata: helm.metadata.clone(),
            values: helm.values.clone(),
            schema: None,
            health,
            templates,
            plain: Vec::new(),
            files: helm.files.clone(),
            helm: Some(helm),
        }))
    }

    fn check_entries(&mut self, entries: &Entries, largest: u64) {
        let mut total = 0u64;
        for (name, entry) in entries {
            let file = self.path(name);
            match entry.kind {
                EntryKind::File { size } => {
                    total = total.saturating_add(size);
                    self.findings.extend(load::too_large(&file, size, largest));
                }
                EntryKind::Other(what) => self.findings.push(load::not_a_file(&file, what)),
                EntryKind::Folder => {}
            }
        }
        if total > LARGEST_CHART {
            let message = format!("the chart has more than {} MiB of files", LARGEST_CHART >> 20);
            self.findings.push(Diagnostic::error("file-too-large", message).at(Location::file(self.folder.clone())));
        }
    }

    fn document(&mut self, entries: &Entries, name: &str) -> Result<Option<(Arc<str>, Node)>, TreeError> {
        if !entries.contains_key(name) {
            return Ok(None);
        }
        let file = self.path(name);
        let Some(text) = read_text(self.tree, &file, &mut self.findings)? else { return Ok(None) };
        Ok(load::single(&file, &text, &mut self.findings).map(|node| (file, node)))
    }

    fn metadata(&mut self, entries: &Entries, name: &str, version: &str) -> Result<Option<Dict>, TreeError> {
        if !entries.contains_key("Chart.yaml") {
            let finding = Diagnostic::error("missing-file", format!("{} has no Chart.yaml", self.folder));
            let help = format!("write one with `apiVersion: v2`, `name: {name}` and `version: {version}`");
            self.findings.push(finding.at(Location::file(self.path("Chart.yaml"))).help(help));
            return Ok(None);
        }
        let Some((file, node)) = self.document(entries, "Chart.yaml")? else { return Ok(None) };
        let mut decoder = Decoder::new(&file);
        let root = Field::root(&node);
        let fields = decoder.map(&root, METADATA);
        for (key, wanted) in [("name", name), ("version", version)] {
            let path = root.path.key(key);
            let Some(field) = fields.get(key) else {
                let finding = Diagnostic::error("missing-key", format!("`{key}` is missing"));
                decoder.report(root.span, &path, finding.help(format!("write `{key}: {wanted}`")));
                continue;
            };
            if let Some(found) = decoder.text(field).filter(|found| &*found.value != wanted) {
                let message = format!("`{key}` is `{}`, but the folder says `{wanted}`", found.value);
                decoder.report(found.span, &path, Diagnostic::error("name-mismatch", message));
            }
        }
        for key in ["appVersion", "kubeVersion", "description"] {
            if let Some(field) = fields.get(key) {
                decoder.text(field);
            }
        }
        if let Some(field) = fields.get("dependencies").filter(|field| field.node.kind() != "null") {
            let finding = Diagnostic::error("subchart", "the charts that this one depends on are not in its charts/");
            decoder.report(field.span, &field.path, finding.help("run `helm dependency build` and commit its charts/"));
        }
        if let Some(field) = fields.get("type").filter(|field| field.node.to_value() == Ok("library".into())) {
            let finding = Diagnostic::error("library-chart", "a library chart has no objects of its own");
            decoder.report(field.span, &field.path, finding.help("copy its macros into the charts that use them"));
        }
        let values = decoder.values(&root);
        self.findings.append(&mut decoder.findings);
        Ok(values.map(|values| values.dict()))
    }

    fn values(&mut self, entries: &Entries) -> Result<Option<Values>, TreeError> {
        let Some((file, node)) = self.document(entries, "values.yaml")? else { return Ok(None) };
        let mut decoder = Decoder::new(&file);
        let values = decoder.values(&Field::root(&node));
        self.findings.append(&mut decoder.findings);
        Ok(values)
    }

    fn schema(&mut self, entries: &Entries) -> Result<Option<Schema>, TreeError> {
        if !entries.contains_key("values.schema.json") {
            return Ok(None);
        }
        let file = self.path("values.schema.json");
        let Some(text) = read_text(self.tree, &file, &mut self.findings)? else { return Ok(None) };
        match Schema::read(&file, &text) {
            Ok((schema, mut warnings)) => {
                self.findings.append(&mut warnings);
                Ok(Some(schema))
            }
            Err(mut findings) => {
                self.findings.append(&mut findings);
                Ok(None)
            }
        }
    }

    fn health(&mut self, entries: &Entries) -> Result<Arc<[HealthRule]>, TreeError> {
        let Some((file, node)) = self.document(entries, "health.yaml")? else { return Ok(Arc::default()) };
        let mut decoder = Decoder::new(&file);
        let rules = decoder.health(&node);
        self.findings.append(&mut decoder.findings);
        Ok(rules)
    }

    fn templates(&mut self, entries: &Entries) -> Result<(Option<Templates>, Vec<PlainFile>), TreeError> {
        let mut sources = Vec::new();
        let mut plain = Vec::new();
        let of_folder = |folder| entries.keys().filter(move |name| name.starts_with(folder));
        for name in of_folder("crds/").chain(of_folder("templates/")) {
            let file = self.path(name);
            let leaf = name.rsplit('/').next().unwrap_or(name);
            let template = name.strip_prefix("templates/");
            if leaf.starts_with("NOTES.txt") || leaf.starts_with('.') {
                continue;
            }
            let Some(text) = read_text(self.tree, &file, &mut self.findings)? else { continue };
            if let Some(name) = template.filter(|name| tree::extension(name) == Some("j2")) {
                sources.push(Source { name: name.to_owned(), file, text: text.into() });
            } else if matches!(tree::extension(leaf), Some("yaml" | "yml" | "json")) {
                plain.extend(self.plain(file, &text));
            } else {
                let help = "templates end in .j2, files for `Files` go next to templates/, for example into files/";
                let finding = Diagnostic::error("unexpected-file", "this file is neither a template nor YAML");
                self.findings.push(finding.at(Location::file(file)).help(help));
            }
        }
        match Templates::compile(&sources) {
            Ok(templates) => Ok((Some(templates), plain)),
            Err(findings) => {
                self.findings.extend(findings.into_iter().map(|finding| hint_at_go(finding, &sources)));
                Ok((None, plain))
            }
        }
    }

    fn plain(&mut self, file: Arc<str>, text: &str) -> Option<PlainFile> {
        match yaml::values(text, &yaml::Options::default(), &mut yaml::Interner::default()) {
            Ok(documents) => Some(PlainFile { file, documents }),
            Err(problems) => {
                self.findings.extend(problems.into_iter().map(|problem| problem.in_file(&file)));
                None
            }
        }
    }

    fn files(&mut self, entries: &Entries) -> Result<Files, TreeError> {
        let mut files = BTreeMap::new();
        for name in entries.keys() {
            let special = matches!(&**name, "Chart.yaml" | "values.yaml" | "values.schema.json" | "health.yaml");
            if special || name.starts_with("templates/") || name.starts_with("crds/") {
                continue;
            }
            let file = self.path(name);
            if let Some(content) = self.tree.read(&file)? {
                self.findings.extend(lfs::found_in(&file, &content));
                files.insert(Arc::from(name.as_str()), content);
            }
        }
        Ok(Files(files))
    }
}

/// A chart that was moved over from Helm by renaming its files only.
fn hint_at_go(mut finding: Diagnostic, sources: &[Source]) -> Diagnostic {
    const MARKS: &[&str] =
        &[".", "$", "/*", "if ", "else", "end", "range ", "with ", "define ", "template ", "include \"", "toYaml ."];
    let Some(location) = finding.location.as_ref().filter(|_| finding.help.is_none()) else { return finding };
    let source = sources.iter().find(|source| source.file == location.file);
    let line =
        source.and_then(|source| source.text.lines().nth(location.line.saturating_sub(1) as usize)).unwrap_or_default();
    let tags = line.split("{{").skip(1).map(|tag| tag.trim_start_matches('-').trim_start());
    if tags.clone().any(|tag| MARKS.iter().any(|span| tag.starts_with(span))) {
        let help = "this looks like Helm's template language; here it is Jinja: `{{ Values.x }}`, `{% if Values.x %}`, \
                    `{{ include(\"labels\") | nindent(4) }}`";
        finding.help = Some(help.to_owned());
    }
    finding
}
