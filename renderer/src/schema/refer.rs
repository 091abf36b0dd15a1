//! Follows references to the schemas they name, within the file only.

use crate::diagnostic::Diagnostic;
use crate::suggest;
use crate::value::KeyPath;
use crate::yaml::{Content, Entry, Node};

use super::locate::Catalog;
use super::uri;
use super::wording::cut;

/// What a reference leads to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) location: usize,
    pub(super) resource: usize,
    /// Whether it was named by an anchor.
    pub(super) by_anchor: bool,
}

/// Why a reference leads nowhere, and what to do.
struct Nowhere {
    why: String,
    help: Option<String>,
}

impl<'n> Catalog<'n> {
    /// The schema that a reference at a location names; a finding if there is none.
    pub(super) fn follow(&mut self, from: usize, entry: &Entry, reference: &str) -> Option<Target> {
        let resource = self.locations.get(from)?.resource;
        let base = self.resources.get(resource).map(|resource| resource.address.clone()).unwrap_or_default();
        let (address, fragment) = uri::resolve(&base, reference);
        match self.target(&address, &fragment, reference) {
            Ok(target) => Some(target),
            Err(nowhere) => {
                let key = self.path(from).key(entry.key.clone());
                let mut finding = Diagnostic::error("schema-reference", nowhere.why)
                    .at(entry.value.span.in_file(&self.file))
                    .key(key);
                finding.help = nowhere.help;
                self.report(finding);
                None
            }
        }
    }

    fn target(&mut self, address: &str, fragment: &str, reference: &str) -> Result<Target, Nowhere> {
        let shown = cut(reference);
        let Some(resource) = self.resource(address) else {
            return Err(Nowhere {
                why: format!("`{shown}` is outside this file"),
                help: Some(
                    "only references within the file work: copy the definition under `$defs` and write `#/$defs/<name>`"
                        .to_owned(),
                ),
            });
        };
        let garbled = || Nowhere { why: format!("`{shown}` has an escape that means nothing"), help: None };
        let fragment = uri::decoded(fragment).ok_or_else(garbled)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            let steps = uri::pointer(&fragment).ok_or_else(garbled)?;
            return self.walk(resource, &steps, &shown);
        }
        let Some(anchors) = self.resources.get(resource).map(|resource| &resource.anchors) else {
            return Err(garbled());
        };
        match anchors.get(&*fragment) {
            Some(location) => Ok(Target { location: *location, resource, by_anchor: true }),
            None => Err(Nowhere {
                why: format!("`{shown}` leads nowhere: the file has no anchor `{}`", cut(&fragment)),
                help: suggest::nearest(&fragment, anchors.keys().map(|name| &**name))
                    .map(|name| format!("did you mean `#{name}`?")),
            }),
        }
    }

    fn walk(&mut self, resource: usize, steps: &[String], shown: &str) -> Result<Target, Nowhere> {
        let lost = || Nowhere { why: format!("`{shown}` leads nowhere"), help: None };
        let root: &'n Node = self.resources.get(resource).ok_or_else(lost)?.root;
        let (mut node, mut span) = (root, root.span);
        let mut inner = resource;
        let mut path = self.at(root).map_or_else(KeyPath::root, |location| self.path(location));
        for (taken, step) in steps.iter().enumerate() {
            let next = match &node.content {
                Content::Map(_) => self.entry(node, step).map(|entry| (&entry.value, entry.span, path.key(&**step))),
                Content::List(items) => {
                    index(step).and_then(|index| items.get(index).map(|item| (item, item.span, path.index(index))))
                }
                Content::Scalar(_) => None,
            };
            let Some(next) = next else { return Err(missing(node, steps, taken, shown)) };
            (node, span, path) = next;
            if let Some(location) = self.at(node).and_then(|location| self.locations.get(location)) {
                inner = location.resource;
            }
        }
        let location = match self.at(node) {
            Some(location) => location,
            None => self.add_at(node, span, path, inner),
        };
        Ok(Target { location, resource, by_anchor: false })
    }
}

fn index(step: &str) -> Option<usize> {
    step.parse().ok().filter(|index: &usize| index.to_string() == step)
}

/// Says which step of a pointer is not there, and what may have been meant.
fn missing(node: &Node, steps: &[String], taken: usize, shown: &str) -> Nowhere {
    let step = steps.get(taken).map(String::as_str).unwrap_or_default();
    let before = taken.checked_sub(1).and_then(|before| steps.get(before));
    let place = before.map_or_else(|| "the file".to_owned(), |before| format!("`{}`", cut(before)));
    let known = node.entries().unwrap_or_default().iter().take(500).map(|entry| &*entry.key);
    let help = suggest::nearest(step, known).map(|name| {
        let escape = |step: &str| step.replace('~', "~0").replace('/', "~1");
        let steps = steps.iter().enumerate().map(|(at, step)| escape(if at == taken { name } else { step }));
        let pointer: Vec<String> = steps.collect();
        format!("did you mean `#/{}`?", cut(&pointer.join("/")))
    });
    Nowhere { why: format!("`{shown}` leads nowhere: {place} has no `{}`", cut(step)), help }
}
