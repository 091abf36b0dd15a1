//! Objects: what a chart's documents must be before anything applies them.
//!
//! What depends on the document alone is checked here once, before the cache; what depends on the runtime (namespaces,
//! labels, two components that claim one object) is done in `bundle`, after it.

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::names;
use crate::value::{Dict, Value, canonical};
use crate::yaml::Document;

mod hook;
pub(crate) mod scope;
#[cfg(test)]
mod tests;

pub use hook::{Hook, HookDeletion, Phase};
pub use reeve_renderer_objects::key::{ObjectKey, Origin};

/// Objects larger than this do not fit into etcd together with what the API server adds.
pub const LARGEST_OBJECT: usize = 1 << 20;

/// Annotations of one object together, as the API server counts them.
const LARGEST_ANNOTATIONS: usize = 256 << 10;

/// A document that is an object, before it is known which runtime it is for.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Group and version.
    pub api_version: Arc<str>,
    /// Kind.
    pub kind: Arc<str>,
    /// Name.
    pub name: Arc<str>,
    /// Namespace, if the document names one.
    pub namespace: Option<Arc<str>>,
    /// The whole of it.
    pub value: Dict,
    /// Where it comes from.
    pub origin: Origin,
    /// When it runs, if it is a hook.
    pub hook: Option<Hook>,
    /// Whether it stays when it leaves the repository.
    pub keep: bool,
}

impl Draft {
    /// The API group.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }
}

/// The objects of a file's documents, or all that is wrong with them. `List` objects are taken apart. `line` says where
/// in the file the line of a document is.
pub(crate) fn drafts(
    file: &Arc<str>,
    documents: &[Document],
    manners: Manners,
    line: impl Fn(u32) -> u32,
) -> Result<Vec<Draft>, Vec<Diagnostic>> {
    let mut drafts = Vec::new();
    let mut findings = Vec::new();
    for (at, document) in documents.iter().enumerate() {
        let origin = Origin { file: file.clone(), document: at + 1, line: line(document.line) };
        read_document(&document.value, &origin, manners, &mut drafts, &mut findings);
    }
    if findings.is_empty() { Ok(drafts) } else { Err(findings) }
}

/// Whose rules a document is written by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manners {
    /// Ours: what means nothing here is refused.
    Strict,
    /// Helm's: hooks that nothing here runs are left out, and what Helm's users may leave empty may be.
    Helm,
}

/// Whether a document is a hook of Helm's that nothing here runs.
pub(crate) fn is_left_out(value: &Value) -> bool {
    let metadata = value.get("metadata").and_then(Value::as_dict);
    metadata.is_some_and(|metadata| matches!(hook::read_lenient("", metadata), hook::Lenient::LeftOut))
}

fn read_document(
    value: &Value,
    origin: &Origin,
    manners: Manners,
    drafts: &mut Vec<Draft>,
    findings: &mut Vec<Diagnostic>,
) {
    if manners == Manners::Helm && *value == Value::Null {
        return;
    }
    let nameless = value.get("metadata").and_then(|metadata| metadata.get("name")).is_none();
    let is_list = nameless && value.get("kind").and_then(Value::as_text).is_some_and(|kind| kind.ends_with("List"));
    if let (true, Some(Value::List(items))) = (is_list, value.get("items")) {
        for item in items.items() {
            read_document(item, origin, manners, drafts, findings);
        }
        return;
    }
    let mut checking = Checking { origin, manners, findings: Vec::new(), name: String::new() };
    drafts.extend(checking.draft(value.clone()));
    findings.append(&mut checking.findings);
}

struct Checking<'a> {
    origin: &'a Origin,
    manners: Manners,
    findings: Vec<Diagnostic>,
    /// What the object is called in messages.
    name: String,
}

impl Checking<'_> {
    fn report(&mut self, code: &'static str, key: &str, message: String, help: &str) {
        let mut finding = Diagnostic::error(code, message).at(self.origin.location()).key(key);
        finding.message.insert_str(0, &format!("{}: ", self.name));
        finding.help = (!help.is_empty()).then(|| help.to_owned());
        self.findings.push(finding);
    }

    fn draft(&mut self, value: Value) -> Option<Draft> {
        self.name = format!("document {}", self.origin.document);
        let Value::Dict(dict) = value else {
            self.report("not-an-object", "", format!("this is {}, not an object", value.kind()), "");
            return None;
        };
        let api_version = self.text(&dict, "apiVersion");
        let kind = self.text(&dict, "kind");
        let Some(metadata) = dict.get("metadata").and_then(Value::as_dict) else {
            self.report(
                "missing-field",
                "metadata",
                "`metadata` is missing".to_owned(),
                "every object needs a metadata.name",
            );
            return None;
        };
        if metadata.get("name").is_none() && metadata.get("generateName").is_some() {
            let help = "write metadata.name: an object that is called otherwise every time cannot be kept to Git";
            self.report("generate-name", "metadata.generateName", "`generateName` cannot be used".to_owned(), help);
            return None;
        }
        let name = self.nested_text(metadata, "name");
        let (api_version, kind, name) = (api_version?, kind?, name?);
        self.name = format!("{kind} {name}");
        self.check_identity(&api_version, &kind, &name);
        let namespace = self.namespace(metadata);
        self.check_labels(metadata);
        self.check_annotations(metadata);
        self.check_size(&dict);
        let (hook, keep) = match self.manners {
            Manners::Strict => self.helm(&kind, metadata),
            Manners::Helm => match hook::read_lenient(&kind, metadata) {
                hook::Lenient::LeftOut => return None,
                hook::Lenient::Object(hook, keep) => (hook, keep),
            },
        };
        let draft =
            Draft { api_version, kind, name, namespace, value: dict.clone(), origin: self.origin.clone(), hook, keep };
        self.findings.is_empty().then_some(draft)
    }

    fn text(&mut self, dict: &Dict, key: &str) -> Option<Arc<str>> {
        match dict.get(key) {
            Some(Value::Text(text)) if !text.is_empty() => Some(text.clone()),
            Some(Value::Text(_) | Value::Null) | None => {
                self.report("missing-field", key, format!("`{key}` is missing"), "");
                None
            }
            Some(other) => {
                self.report("wrong-type", key, format!("`{key}` must be text, not {}", other.kind()), "quote it");
                None
            }
        }
    }

    fn nested_text(&mut self, metadata: &Dict, key: &str) -> Option<Arc<str>> {
        let before = self.findings.len();
        let text = self.text(metadata, key);
        for finding in &mut self.findings[before..] {
            finding.key = Some(format!("metadata.{key}"));
            finding.message = finding.message.replace(&format!("`{key}`"), &format!("`metadata.{key}`"));
        }
        text
    }

    fn check_identity(&mut self, api_version: &str, kind: &str, name: &str) {
        if !names::is_api_version(api_version) {
            let message = format!("`{api_version}` is not an API version");
            self.report("bad-name", "apiVersion", message, "write it like v1 or apps/v1");
        }
        if !names::is_kind(kind) {
            self.report("bad-name", "kind", format!("`{kind}` is not a kind"), "write it like Deployment");
        }
        let path = api_version.starts_with("rbac.authorization.k8s.io/");
        let fine = if path { names::is_path_segment(name) } else { names::is_subdomain(name) };
        if !fine {
            let help = "use lower-case letters, digits, '-' and '.', at most 253";
            self.report("bad-name", "metadata.name", format!("`{name}` is not a name that Kubernetes takes"), help);
        }
    }

    fn namespace(&mut self, metadata: &Dict) -> Option<Arc<str>> {
        let is_empty = metadata.get("namespace").and_then(Value::as_text).is_some_and(str::is_empty);
        if matches!(metadata.get("namespace"), None | Some(Value::Null)) || (is_empty && self.manners == Manners::Helm)
        {
            return None;
        }
        let namespace = self.nested_text(metadata, "namespace")?;
        if !names::is_label(&namespace) {
            let message = format!("`{namespace}` is not a namespace that Kubernetes takes");
            self.report("bad-name", "metadata.namespace", message, names::LABEL_RULE);
        }
        Some(namespace)
    }

    fn entries<'v>(&mut self, metadata: &'v Dict, field: &str) -> Vec<(&'v Arc<str>, &'v str)> {
        let key = format!("metadata.{field}");
        let dict = match metadata.get(field) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Dict(dict)) => dict,
            Some(other) => {
                self.report("wrong-type", &key, format!("`{key}` must be a map, not {}", other.kind()), "");
                return Vec::new();
            }
        };
        let mut entries = Vec::with_capacity(dict.len());
        for (name, value) in dict.entries() {
            if !names::is_qualified(name) {
                self.report("bad-label", &key, format!("`{name}` cannot be a key of {field}"), names::QUALIFIED_RULE);
            }
            match value {
                Value::Text(text) => entries.push((name, &**text)),
                Value::Null if self.manners == Manners::Helm => {}
                other => {
                    let message = format!("`{name}` in {field} must be text, not {}", other.kind());
                    self.report("wrong-type", &key, message, "quote it, in a template with `| quote`");
                }
            }
        }
        entries
    }

    fn check_labels(&mut self, metadata: &Dict) {
        for (name, value) in self.entries(metadata, "labels") {
            if !names::is_label_value(value) {
                let message = format!("`{value}` cannot be the value of the label `{name}`");
                self.report("bad-label", "metadata.labels", message, names::LABEL_VALUE_RULE);
            }
        }
    }

    fn check_annotations(&mut self, metadata: &Dict) {
        let size: usize =
            self.entries(metadata, "annotations").iter().map(|(key, value)| key.len() + value.len()).sum();
        if size > LARGEST_ANNOTATIONS {
            let message = format!("its annotations have {size} bytes; Kubernetes takes {LARGEST_ANNOTATIONS}");
            self.report("object-too-large", "metadata.annotations", message, "move the data into a ConfigMap");
        }
    }

    fn check_size(&mut self, dict: &Dict) {
        let value = Value::Dict(dict.clone());
        if value.size() < LARGEST_OBJECT as u64 / 8 {
            return;
        }
        let size = canonical(&value).len();
        if size > LARGEST_OBJECT {
            let message = format!("it has {size} bytes; at most {LARGEST_OBJECT} fit into etcd");
            self.report("object-too-large", "", message, "split it");
        }
    }

    /// Helm's annotations: understood or refused, never applied as if they meant nothing.
    fn helm(&mut self, kind: &str, metadata: &Dict) -> (Option<Hook>, bool) {
        let Some(annotations) = metadata.get("annotations").and_then(Value::as_dict) else { return (None, false) };
        let hook = match hook::read(kind, annotations) {
            Ok(hook) => hook,
            Err((message, help)) => {
                self.report("helm-hook", "metadata.annotations.\"helm.sh/hook\"", message, help);
                None
            }
        };
        let keep = match annotations.get("helm.sh/resource-policy").and_then(Value::as_text).map(str::trim) {
            None => false,
            Some("keep") => true,
            Some(other) => {
                let message = format!("`{other}` is not a resource policy");
                let help = "the only one is `keep`";
                self.report("helm-policy", "metadata.annotations.\"helm.sh/resource-policy\"", message, help);
                false
            }
        };
        (hook, keep)
    }
}
