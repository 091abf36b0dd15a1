//! Finds the schemas in a file: where each is, what it is called, and by which draft it is read.
//!
//! A schema is told from data by the keywords above it: what stands below `enum` or `default` only looks like one. A
//! reference may still make a schema of any place.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::value::{KeyPath, Step, Value};
use crate::yaml::{Content, Entry, Node, Span};

use super::draft::{self, Below, Draft};
use super::wording::short_path;
use super::{MAX_FINDINGS, uri};

/// Bytes of an address: every schema below one repeats it.
const MAX_ADDRESS: usize = 4096;

/// Unknown keywords that are compared with the known ones.
const MAX_COMPARED: usize = 5_000;

/// One schema in the file.
#[derive(Debug)]
pub(super) struct Location<'n> {
    pub(super) node: &'n Node,
    /// Its key, or its beginning.
    pub(super) span: Span,
    pub(super) resource: usize,
    pub(super) draft: Draft,
    parent: Option<usize>,
    steps: Vec<Step>,
}

/// A schema with an address of its own.
#[derive(Debug)]
pub(super) struct Resource<'n> {
    pub(super) address: String,
    pub(super) root: &'n Node,
    pub(super) draft: Draft,
    pub(super) anchors: BTreeMap<Arc<str>, usize>,
    /// Anchors that `$dynamicRef` looks for; the empty one is that of `$recursiveRef`.
    pub(super) dynamic: BTreeMap<Arc<str>, usize>,
}

/// All schemas of a file.
#[derive(Debug)]
pub(super) struct Catalog<'n> {
    pub(super) file: Arc<str>,
    pub(super) locations: Vec<Location<'n>>,
    pub(super) resources: Vec<Resource<'n>>,
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    /// How many unknown keywords were compared with the known ones.
    compared: usize,
    by_node: HashMap<usize, usize>,
    by_address: HashMap<String, usize>,
    large: HashMap<usize, HashMap<&'n str, &'n Entry>>,
}

/// Where a schema was found.
struct Found<'n> {
    node: &'n Node,
    span: Span,
    steps: Vec<Step>,
}

fn address_of(node: &Node) -> usize {
    std::ptr::from_ref(node).addr()
}

impl<'n> Catalog<'n> {
    /// The schemas below a root.
    pub(super) fn of(file: &Arc<str>, root: &'n Node) -> Self {
        let address = format!("file:///{file}");
        let mut catalog = Self {
            file: file.clone(),
            locations: Vec::new(),
            resources: Vec::new(),
            errors: Vec::new(),
            warnings: Vec::new(),
            compared: 0,
            by_node: HashMap::new(),
            by_address: HashMap::from([(address.clone(), 0)]),
            large: HashMap::new(),
        };
        let draft = catalog.stated(root, &KeyPath::root()).unwrap_or(Draft::Unstated);
        catalog.begin(address, root, draft);
        catalog.add(Found { node: root, span: root.span, steps: Vec::new() }, None, 0, draft);
        catalog
    }

    fn begin(&mut self, address: String, root: &'n Node, draft: Draft) -> usize {
        let (anchors, dynamic) = (BTreeMap::new(), BTreeMap::new());
        self.resources.push(Resource { address, root, draft, anchors, dynamic });
        self.resources.len() - 1
    }

    /// The draft that a schema says it is written in.
    fn stated(&mut self, node: &Node, path: &KeyPath) -> Option<Draft> {
        let entry = node.entry("$schema")?;
        let named = match &entry.value.content {
            Content::Scalar(Value::Text(text)) => Draft::named(text),
            _ => None,
        };
        if named.is_none() {
            let finding = Diagnostic::error("schema-draft", "`$schema` names no draft that is known here")
                .at(entry.value.span.in_file(&self.file))
                .key(path.key("$schema"))
                .help("use https://json-schema.org/draft/2020-12/schema or http://json-schema.org/draft-07/schema#");
            self.report(finding);
        }
        named
    }

    /// The location of a node, if a schema is known to be there.
    pub(super) fn at(&self, node: &Node) -> Option<usize> {
        self.by_node.get(&address_of(node)).copied()
    }

    /// The way to a location from the root of the file, as it is shown: long keys are cut.
    pub(super) fn path(&self, location: usize) -> KeyPath {
        let mut parts: Vec<&[Step]> = Vec::new();
        let mut current = self.locations.get(location);
        while let Some(here) = current {
            parts.push(&here.steps);
            current = here.parent.and_then(|parent| self.locations.get(parent));
        }
        let steps: Vec<Step> = parts.into_iter().rev().flatten().cloned().collect();
        short_path(&steps)
    }

    /// The resource of this address.
    pub(super) fn resource(&self, address: &str) -> Option<usize> {
        self.by_address.get(address).copied()
    }

    /// Makes a schema of a place that no keyword makes one.
    pub(super) fn add_at(&mut self, node: &'n Node, span: Span, path: KeyPath, resource: usize) -> usize {
        let draft = self.resources.get(resource).map_or(Draft::Unstated, |resource| resource.draft);
        self.add(Found { node, span, steps: path.0 }, None, resource, draft)
    }

    /// The entry of a map. Large maps are looked up by an index, since a file can refer to each entry of one.
    pub(super) fn entry(&mut self, node: &'n Node, key: &str) -> Option<&'n Entry> {
        let entries = node.entries()?;
        if entries.len() < 16 {
            return node.entry(key);
        }
        let index = self.large.entry(address_of(node));
        index.or_insert_with(|| entries.iter().map(|entry| (&*entry.key, entry)).collect()).get(key).copied()
    }

    fn add(&mut self, found: Found<'n>, parent: Option<usize>, resource: usize, draft: Draft) -> usize {
        if let Some(known) = self.at(found.node) {
            return known;
        }
        let Found { node, span, steps } = found;
        let location = self.locations.len();
        self.by_node.insert(address_of(node), location);
        self.locations.push(Location { node, span, resource, draft, parent, steps });
        let hidden = draft.reference_hides_siblings() && node.get("$ref").is_some();
        if !hidden {
            self.identify(location);
            self.anchor(location);
        }
        let Some(Location { resource, draft, .. }) = self.locations.get(location) else { return location };
        let (resource, draft) = (*resource, *draft);
        for below in below(node, draft) {
            self.add(below, Some(location), resource, draft);
        }
        location
    }

    /// Reads the address of a schema, which begins a resource of its own.
    fn identify(&mut self, location: usize) {
        let Some(Location { node, resource, draft, .. }) = self.locations.get(location) else { return };
        let (node, outer, draft) = (*node, *resource, *draft);
        let Some(entry) = node.entry(draft.identifier()) else { return };
        let Content::Scalar(Value::Text(text)) = &entry.value.content else {
            if draft != Draft::Four {
                self.fault(location, entry, "must be text");
            }
            return;
        };
        let base = self.resources.get(outer).map(|resource| resource.address.clone()).unwrap_or_default();
        let (address, fragment) = uri::resolve(&base, text);
        if address.len() > MAX_ADDRESS {
            self.fault(location, entry, &format!("must not lead to an address of more than {MAX_ADDRESS} bytes"));
            return;
        }
        if !fragment.is_empty() {
            if !draft.identifier_may_be_anchor() {
                self.fault(location, entry, "must not have a `#`; use `$anchor` for a name within the file");
            } else if let Some(resource) = self.resource(&address) {
                self.name(location, resource, entry, &fragment);
            }
            return;
        }
        if location == 0 {
            self.by_address.insert(address.clone(), 0);
            if let Some(root) = self.resources.first_mut() {
                root.address = address;
            }
            return;
        }
        if address == base || self.by_address.contains_key(&address) {
            self.fault(location, entry, "is the same as that of another schema in this file");
            return;
        }
        let path = self.path(location);
        let draft = self.stated(node, &path).unwrap_or(draft);
        let resource = self.begin(address.clone(), node, draft);
        self.by_address.insert(address, resource);
        if let Some(here) = self.locations.get_mut(location) {
            here.resource = resource;
            here.draft = draft;
        }
    }

    /// Reads the names that references can use within the file.
    fn anchor(&mut self, location: usize) {
        let Some(Location { node, resource, draft, .. }) = self.locations.get(location) else { return };
        let (node, resource, draft) = (*node, *resource, *draft);
        for keyword in ["$anchor", "$dynamicAnchor"] {
            let Some(entry) = node.entry(keyword).filter(|_| draft.knows(keyword)) else { continue };
            let Content::Scalar(Value::Text(name)) = &entry.value.content else {
                self.fault(location, entry, "must be text");
                continue;
            };
            self.name(location, resource, entry, name);
            if keyword == "$dynamicAnchor"
                && let Some(resource) = self.resources.get_mut(resource)
            {
                resource.dynamic.insert(name.clone(), location);
            }
        }
        let recursive = node.get("$recursiveAnchor").filter(|_| draft.knows("$recursiveAnchor"));
        if recursive.is_some_and(|node| node.content == Content::Scalar(Value::Bool(true)))
            && let Some(resource) = self.resources.get_mut(resource)
            && std::ptr::eq(resource.root, node)
        {
            resource.dynamic.insert("".into(), location);
        }
    }

    fn name(&mut self, location: usize, resource: usize, entry: &Entry, name: &str) {
        let Some(resource) = self.resources.get_mut(resource) else { return };
        let known = *resource.anchors.entry(name.into()).or_insert(location);
        if known != location {
            self.fault(location, entry, "is the same as that of another schema in this file");
        }
    }

    /// Records that a keyword's value is wrong.
    pub(super) fn fault(&mut self, location: usize, entry: &Entry, wrong: &str) -> &mut Diagnostic {
        let message = format!("`{}` {wrong}", entry.key);
        let key = self.path(location).key(entry.key.clone());
        let finding = Diagnostic::error("schema-keyword", message).at(entry.value.span.in_file(&self.file)).key(key);
        self.report(finding)
    }

    /// The keyword that an unknown one was probably meant to be. Not looked for in a file that is full of them.
    pub(super) fn meant(&mut self, unknown: &str) -> Option<&'static str> {
        self.compared += 1;
        if self.compared > MAX_COMPARED { None } else { draft::meant(unknown) }
    }

    /// Records a finding. Beyond the limit each takes the place of the one before it: nobody reads that many.
    pub(super) fn report(&mut self, finding: Diagnostic) -> &mut Diagnostic {
        let list = if finding.is_error() { &mut self.errors } else { &mut self.warnings };
        list.truncate(MAX_FINDINGS - 1);
        let at = list.len();
        list.push(finding);
        &mut list[at]
    }

    /// All findings in the order of their places, and whether some of them are errors.
    pub(super) fn into_findings(self) -> (bool, Vec<Diagnostic>) {
        let failed = !self.errors.is_empty();
        let mut findings = self.errors;
        findings.extend(self.warnings);
        findings.sort();
        findings.dedup();
        (failed, findings)
    }
}

/// The schemas directly below one.
fn below(node: &Node, draft: Draft) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    for entry in node.entries().unwrap_or_default() {
        let Some(keyword) = draft::find(&entry.key).filter(|keyword| keyword.holds_in(draft)) else { continue };
        let first = || Step::Key(entry.key.clone());
        match (keyword.below, &entry.value.content) {
            (Below::List | Below::SchemaOrList, Content::List(items)) => {
                found.extend(items.iter().enumerate().map(|(at, node)| Found {
                    node,
                    span: node.span,
                    steps: vec![first(), Step::Index(at)],
                }));
            }
            (Below::Schema | Below::SchemaOrList, _) => {
                found.push(Found { node: &entry.value, span: entry.span, steps: vec![first()] });
            }
            (Below::Map | Below::MapOrNames, Content::Map(entries)) => {
                let schemas = entries
                    .iter()
                    .filter(|entry| keyword.below == Below::Map || !matches!(entry.value.content, Content::List(_)));
                found.extend(schemas.map(|named| Found {
                    node: &named.value,
                    span: named.span,
                    steps: vec![first(), Step::Key(named.key.clone())],
                }));
            }
            (Below::Nothing | Below::List | Below::Map | Below::MapOrNames, _) => {}
        }
    }
    found
}
