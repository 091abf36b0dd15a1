//! Reads a chart in Helm's shape: a folder of the repository, with folders and archives of other charts below it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::archive::Room;
use super::chart_yaml::Decoder;
use super::ignore::Rules;
use super::metadata::requirements;
use super::{HelmChart, archive};
use crate::diagnostic::{Diagnostic, Location};
use crate::fleet::Values;
use crate::fleet::chart::{Files, PlainFile};
use crate::schema::Schema;
use crate::template::{GoTemplates, Source, is_notes};
use crate::tree::{self, MemoryTree, Tree, TreeError};
use crate::value::{Dict, TooDeep, Value};
use crate::yaml::{self, Content, Dialect, Node, Options};

/// Charts below charts: more than anyone nests, less than a stack holds.
const DEEPEST: usize = 8;

/// What Helm's YAML is read as.
pub(crate) const HELM_YAML: Options = Options { dialect: Dialect::Helm, nodes: 500_000 };

/// Whether a chart is in Helm's own syntax: some template is, or there is none in Jinja at all, or it has charts below it.
pub(crate) fn is_helm(tree: &dyn Tree, folder: &str, names: &BTreeSet<String>) -> Result<bool, TreeError> {
    let is_jinja = |name: &&String| name.starts_with("templates/") && tree::extension(name) == Some("j2");
    if !names.iter().any(|name| is_jinja(&name)) || names.iter().any(|name| name.starts_with("charts/")) {
        return Ok(true);
    }
    for name in names.iter().filter(|name| name.starts_with("templates/") && !is_jinja(name) && !is_notes(name)) {
        let text = tree.read(&tree::join(folder, name))?;
        if text.is_some_and(|text| text.windows(2).any(|two| two == b"{{")) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reads a chart and all below it; what is wrong is among the findings.
pub(crate) fn read(
    tree: &dyn Tree,
    folder: &Arc<str>,
    names: &BTreeSet<String>,
    findings: &mut Vec<Diagnostic>,
    room: &mut Room,
) -> Result<Option<Arc<HelmChart>>, TreeError> {
    let mut rules = Rules::default();
    if let Some(text) = tree.read(&tree::join(folder, ".helmignore"))? {
        match Rules::parse(&String::from_utf8_lossy(&text)) {
            Ok(found) => rules = found,
            Err((line, message)) => {
                let location = Location::new(format!("{folder}/.helmignore"), u32::try_from(line).unwrap_or(1), 1);
                findings.push(Diagnostic::error("helm-ignore", message).at(location));
            }
        }
    }
    let rules = rules.with_defaults();
    let names = names.iter().filter(|name| !rules.leaves_out(name)).cloned().collect();
    Reading { tree, folder: Arc::clone(folder), names, findings, room, kube_version: None }.chart(0)
}

struct Reading<'a> {
    tree: &'a dyn Tree,
    folder: Arc<str>,
    names: BTreeSet<String>,
    findings: &'a mut Vec<Diagnostic>,
    room: &'a mut Room,
    kube_version: Option<(Arc<str>, Location)>,
}

impl Reading<'_> {
    fn path(&self, name: &str) -> Arc<str> {
        format!("{}/{name}", self.folder).into()
    }

    fn text(&mut self, name: &str) -> Result<Option<Arc<str>>, TreeError> {
        let file = self.path(name);
        let Some(bytes) = self.tree.read(&file)? else { return Ok(None) };
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let Ok(text) = std::str::from_utf8(bytes) else {
            self.findings.push(Diagnostic::error("not-utf8", "this file is not UTF-8 text").at(Location::file(file)));
            return Ok(None);
        };
        Ok(Some(text.into()))
    }

    /// The first document of a file.
    fn document(&mut self, name: &str) -> Result<Option<Node>, TreeError> {
        if !self.names.contains(name) {
            return Ok(None);
        }
        let Some(text) = self.text(name)? else { return Ok(None) };
        match yaml::documents(&text, &HELM_YAML) {
            Ok(documents) => Ok(documents.into_iter().next()),
            Err(problems) => {
                let file = self.path(name);
                self.findings.extend(problems.into_iter().map(|problem| problem.in_file(&file)));
                Ok(None)
            }
        }
    }

    fn dict(&mut self, name: &str, node: &Node) -> Option<Dict> {
        match node.to_value() {
            Ok(Value::Dict(dict)) => Some(dict),
            Ok(Value::Null) => Some(Dict::default()),
            Ok(other) => {
                let message = format!("this is {}, not a map", other.kind());
                self.findings.push(Diagnostic::error("wrong-type", message).at(Location::file(self.path(name))));
                None
            }
            Err(deep) => self.not_too_deep(name, Err(deep)),
        }
    }

    fn chart(mut self, depth: usize) -> Result<Option<Arc<HelmChart>>, TreeError> {
        if depth > DEEPEST {
            let message = format!("charts are nested more than {DEEPEST} levels deep");
            self.findings.push(Diagnostic::error("subchart", message).at(Location::file(self.folder.clone())));
            return Ok(None);
        }
        let before = self.findings.len();
        let metadata = self.metadata()?;
        let values = self.values()?;
        let schema = self.schema()?;
        let (templates, mistakes) = self.templates(depth)?;
        let crds = self.crds()?;
        let is_old = metadata.as_ref().is_some_and(|metadata| {
            metadata.get("apiVersion").and_then(Value::as_text).is_none_or(|version| ["", "v1"].contains(&version))
        });
        let files = self.files(is_old)?;
        let children = self.children(depth)?;
        let Some(metadata) = metadata else { return Ok(None) };
        if self.findings.iter().skip(before).any(Diagnostic::is_error) {
            return Ok(None);
        }
        let text = |key: &str| metadata.get(key).and_then(Value::as_text).unwrap_or_default().into();
        let requirements = requirements(&metadata);
        self.check_requirements(&requirements, &children, depth == 0);
        let is_library = metadata.get("type").and_then(Value::as_text) == Some("library");
        Ok(Some(Arc::new(HelmChart {
            name: text("name"),
            version: text("version"),
            folder: Arc::clone(&self.folder),
            declares: !requirements.is_empty(),
            metadata,
            kube_version: self.kube_version.take(),
            values,
            schema,
            templates,
            mistakes,
            crds,
            files,
            requirements,
            is_library,
            children,
        })))
    }

    /// Helm asks for the charts that the first one needs, and goes without those that a chart below needs.
    fn check_requirements(&mut self, wanted: &[super::Requirement], children: &[Arc<HelmChart>], is_root: bool) {
        for requirement in wanted {
            if !children.iter().any(|child| child.name == requirement.name) {
                let message = format!("the chart depends on `{}`, which is not in its charts/", requirement.name);
                let finding = if is_root {
                    Diagnostic::error("subchart", message)
                } else {
                    Diagnostic::warning("subchart", message)
                };
                let finding = finding.at(Location::file(self.path("Chart.yaml")));
                self.findings.push(finding.help("run `helm dependency build` and commit its charts/"));
            }
        }
    }

    fn metadata(&mut self) -> Result<Option<Dict>, TreeError> {
        if !self.names.contains("Chart.yaml") {
            let finding = Diagnostic::error("missing-file", format!("{} has no Chart.yaml", self.folder));
            self.findings.push(finding.at(Location::file(self.path("Chart.yaml"))));
            return Ok(None);
        }
        let Some(node) = self.document("Chart.yaml")? else { return Ok(None) };
        let Some(mut fields) = self.fields("Chart.yaml", &node) else { return Ok(None) };
        let file = self.path("Chart.yaml");
        let mut decoder = Decoder::new(&file, self.findings);
        decoder.check(&node, &fields);
        self.kube_version = decoder.kube_version(&node, &fields);
        if let Some(node) = self.document("requirements.yaml")? {
            fields.extend(self.fields("requirements.yaml", &node).unwrap_or_default());
        }
        for lock in ["Chart.lock", "requirements.lock"] {
            if let Some(node) = self.document(lock)? {
                let file = self.path(lock);
                let read = Decoder::new(&file, self.findings).lock(&node);
                self.not_too_deep(lock, read);
            }
        }
        let dict = Dict::new(fields.into());
        Ok(self.not_too_deep("Chart.yaml", dict))
    }

    /// What Helm reads of a file into the fields of a chart.
    fn fields(&mut self, name: &str, node: &Node) -> Option<BTreeMap<Arc<str>, Value>> {
        if matches!(node.content, Content::Scalar(Value::Null)) {
            return Some(BTreeMap::new());
        }
        let file = self.path(name);
        let fields = Decoder::new(&file, self.findings).chart(node);
        self.not_too_deep(name, fields)
    }

    fn not_too_deep<T>(&mut self, name: &str, result: Result<T, TooDeep>) -> Option<T> {
        let found =
            |deep: TooDeep| Diagnostic::error("yaml-limit", deep.to_string()).at(Location::file(self.path(name)));
        match result {
            Ok(value) => Some(value),
            Err(deep) => {
                let finding = found(deep);
                self.findings.push(finding);
                None
            }
        }
    }

    fn values(&mut self) -> Result<Option<Values>, TreeError> {
        let Some(node) = self.document("values.yaml")? else { return Ok(None) };
        let Some(dict) = self.dict("values.yaml", &node) else { return Ok(None) };
        Ok(Some(Values::data(self.path("values.yaml"), node, dict)))
    }

    fn schema(&mut self) -> Result<Option<Schema>, TreeError> {
        if !self.names.contains("values.schema.json") {
            return Ok(None);
        }
        let Some(text) = self.text("values.schema.json")? else { return Ok(None) };
        match Schema::read(&self.path("values.schema.json"), &text) {
            Ok((schema, mut warnings)) => {
                self.findings.append(&mut warnings);
                Ok(Some(schema))
            }
            Err(mut found) => {
                self.findings.append(&mut found);
                Ok(None)
            }
        }
    }

    /// The templates, and what is wrong with those of a chart below another.
    fn templates(&mut self, depth: usize) -> Result<(GoTemplates, Vec<Diagnostic>), TreeError> {
        let mut sources = Vec::new();
        for name in self.names.clone() {
            let Some(template) = name.strip_prefix("templates/") else { continue };
            if tree::extension(template) == Some("j2") {
                continue;
            }
            let Some(text) = self.text(&name)? else { continue };
            sources.push(Source { name: template.to_owned(), file: self.path(&name), text });
        }
        match GoTemplates::compile(&sources) {
            Ok(templates) => Ok((templates, Vec::new())),
            Err(mut found) if depth == 0 => {
                self.findings.append(&mut found);
                Ok((GoTemplates::default(), Vec::new()))
            }
            Err(found) => Ok((GoTemplates::default(), found)),
        }
    }

    fn crds(&mut self) -> Result<Vec<PlainFile>, TreeError> {
        let mut crds = Vec::new();
        for name in self.names.clone().iter().filter(|name| name.starts_with("crds/")) {
            let is_yaml = tree::extension(name)
                .is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|known| ending.eq_ignore_ascii_case(known)));
            if !is_yaml {
                continue;
            }
            let file = self.path(name);
            let Some(text) = self.text(name)? else { continue };
            match yaml::values(&text, &HELM_YAML, &mut yaml::Interner::default()) {
                Ok(documents) => crds.push(PlainFile { file, documents }),
                Err(problems) => self.findings.extend(problems.into_iter().map(|problem| problem.in_file(&file))),
            }
        }
        Ok(crds)
    }

    /// The files that templates may read; of a chart of the first shape, where it says what it depends on too.
    fn files(&mut self, is_old: bool) -> Result<Files, TreeError> {
        const SPECIAL: &[&str] = &["Chart.yaml", "Chart.lock", "values.yaml", "values.schema.json", "health.yaml"];
        const OLD: &[&str] = &["requirements.yaml", "requirements.lock"];
        let mut files = BTreeMap::new();
        for name in &self.names {
            let is_special = SPECIAL.contains(&&**name) || OLD.contains(&&**name) && !is_old;
            let is_signature = tree::extension(name) == Some("prov");
            if is_special || name.starts_with("templates/") || name.starts_with("charts/") && !is_signature {
                continue;
            }
            if let Some(content) = self.tree.read(&self.path(name))? {
                files.insert(Arc::from(name.as_str()), content);
            }
        }
        Ok(Files::new(files))
    }

    fn children(&mut self, depth: usize) -> Result<Vec<Arc<HelmChart>>, TreeError> {
        let mut below: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut children = Vec::new();
        for name in &self.names {
            let Some(rest) = name.strip_prefix("charts/") else { continue };
            let (chart, file) = rest.split_once('/').unwrap_or((rest, ""));
            if !chart.starts_with(['_', '.']) && (!file.is_empty() || tree::extension(chart) == Some("tgz")) {
                below.entry(chart.to_owned()).or_default().insert(file.to_owned());
            }
        }
        for (name, files) in below {
            let folder: Arc<str> = format!("{}/charts/{name}", self.folder).into();
            let child = if files.contains("") {
                self.packed(&folder, depth)?
            } else {
                let (findings, room) = (&mut *self.findings, &mut *self.room);
                Reading { tree: self.tree, folder, names: files, findings, room, kube_version: None }
                    .chart(depth + 1)?
            };
            children.extend(child);
        }
        Ok(children)
    }

    /// A chart in an archive: read as if it were a folder of that name.
    fn packed(&mut self, file: &Arc<str>, depth: usize) -> Result<Option<Arc<HelmChart>>, TreeError> {
        let Some(bytes) = self.tree.read(file)? else { return Ok(None) };
        let files = match archive::unpack(&bytes, self.room) {
            Ok(files) => files,
            Err(error) => {
                self.findings.push(Diagnostic::error("subchart", error.to_string()).at(Location::file(file.clone())));
                return Ok(None);
            }
        };
        let names = files.iter().map(|(name, _)| name.clone()).collect();
        let tree: MemoryTree = files.into_iter().map(|(name, content)| (format!("{file}/{name}"), content)).collect();
        let (findings, room) = (&mut *self.findings, &mut *self.room);
        Reading { tree: &tree, folder: Arc::clone(file), names, findings, room, kube_version: None }.chart(depth + 1)
    }
}
