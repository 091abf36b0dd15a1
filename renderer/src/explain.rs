//! Why a field of an object is what it is: the template and document it comes from, and the values and facts whose change
//! changes it.
//!
//! Found by trial: each value that the template read is changed, the template is rendered again, and the field is looked
//! at. What the answer names has been seen to matter.

use std::sync::Arc;

use crate::budget::Limits;
use crate::object::{Draft, Origin};
use crate::render::{RenderFacts, render_watched};
use crate::resolve::{Resolved, ResolvedComponent};
use crate::template::Facts;
use crate::tree;
use crate::value::{Dict, KeyPath, Step, Value};

/// More values than this are not tried: an answer that names hundreds is none.
const MOST_TRIALS: usize = 400;

/// Why a field is what it is.
#[derive(Clone, Debug)]
pub struct FieldReason {
    /// The component of the object.
    pub component: Arc<str>,
    /// The template and document.
    pub origin: Origin,
    /// What the field is.
    pub value: Option<Value>,
    /// Values whose change changes it.
    pub values: Vec<KeyPath>,
    /// Facts whose change changes it: the root (`Runtime`, `Component`, ...) and the path below it.
    pub facts: Vec<(&'static str, KeyPath)>,
}

/// The reason of the field at `path` of a draft of a component.
pub fn field(
    resolved: &Resolved,
    component: &ResolvedComponent,
    draft: &Draft,
    path: &KeyPath,
    limits: Limits,
) -> FieldReason {
    let value = path.find(&Value::Dict(draft.value.clone())).cloned();
    let mut reason = FieldReason {
        component: component.name.clone(),
        origin: draft.origin.clone(),
        value: value.clone(),
        values: Vec::new(),
        facts: Vec::new(),
    };
    let folder = format!("{}/templates/", component.chart.folder);
    let is_jinja = tree::extension(&draft.origin.file) == Some("j2");
    let template = match draft.origin.file.strip_prefix(&folder) {
        Some(name) if is_jinja => name,
        // A template in Helm's syntax is known by its path, since charts below have some too.
        _ if component.helm.is_some() => &*draft.origin.file,
        _ => return reason,
    };
    let values = if is_jinja { component.values.clone() } else { component.values.with_floats() };
    let trial = Trial { component, template, draft, path, value, limits };
    let facts = RenderFacts::new(resolved, component);
    let watched = Facts::new(values.clone());
    if render_watched(component, &facts, template, &watched, limits).is_err() {
        return reason;
    }
    for (at, found) in leaves(watched.touched().into_iter().collect()) {
        let root = Value::Dict(values.clone());
        let matters = |new: Value| match at.with(&root, new) {
            Some(Value::Dict(values)) => trial.differs(&RenderFacts::new(resolved, component), values),
            _ => false,
        };
        if others(found.as_ref()).into_iter().any(matters) {
            reason.values.push(at);
        }
    }
    for ((root, at), found) in facts.touched() {
        let matters = |new: Value| {
            let mut facts = RenderFacts::new(resolved, component);
            facts.change(root, &at, new) && trial.differs(&facts, values.clone())
        };
        if others(found.as_ref()).into_iter().any(matters) {
            reason.facts.push((root, at));
        }
    }
    reason
}

/// One field of one document of one template.
struct Trial<'a> {
    component: &'a ResolvedComponent,
    template: &'a str,
    draft: &'a Draft,
    path: &'a KeyPath,
    value: Option<Value>,
    limits: Limits,
}

impl Trial<'_> {
    /// Whether the field is another with these facts and values. A render that fails says nothing.
    fn differs(&self, facts: &RenderFacts, values: Dict) -> bool {
        let Ok(drafts) = render_watched(self.component, facts, self.template, &Facts::new(values), self.limits) else {
            return false;
        };
        let same =
            |draft: &&Draft| draft.kind == self.draft.kind && draft.origin.document == self.draft.origin.document;
        let named = drafts.iter().find(|draft| draft.kind == self.draft.kind && draft.name == self.draft.name);
        let Some(draft) = named.or_else(|| drafts.iter().find(same)) else { return true };
        self.path.find(&Value::Dict(draft.value.clone())).cloned() != self.value
    }
}

/// The scalars below what was read.
fn leaves(read: Vec<(KeyPath, Option<Value>)>) -> Vec<(KeyPath, Option<Value>)> {
    let mut open = read;
    let mut found = Vec::new();
    open.reverse();
    while let Some((path, value)) = open.pop() {
        match &value {
            Some(Value::Dict(dict)) if !dict.is_empty() => {
                let below = dict.entries().iter().map(|(key, value)| (path.key(key.clone()), Some(value.clone())));
                open.extend(below.rev());
            }
            Some(Value::List(list)) if !list.is_empty() => {
                let below = list.items().iter().enumerate();
                open.extend(below.map(|(at, value)| (path.then(Step::Index(at)), Some(value.clone()))).rev());
            }
            _ => found.push((path, value)),
        }
        if found.len() + open.len() > MOST_TRIALS * 4 || found.len() >= MOST_TRIALS {
            break;
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found.dedup_by(|a, b| a.0 == b.0);
    found
}

/// Other values of the same kind.
fn others(value: Option<&Value>) -> Vec<Value> {
    match value {
        None | Some(Value::Null) => vec![Value::from("x"), Value::Bool(true), Value::Int(7)],
        Some(Value::Bool(value)) => vec![Value::Bool(!value)],
        Some(Value::Int(value)) => vec![Value::Int(value.wrapping_add(1)), Value::Int(value.wrapping_sub(1))],
        Some(Value::Float(value)) => vec![Value::Float(value + 1.5)],
        Some(Value::Text(text)) => vec![Value::from(format!("{text}x")), Value::from("zz"), Value::from("")],
        Some(Value::List(_)) => vec![Value::list(vec![Value::from("x")]).unwrap_or(Value::Null)],
        Some(Value::Dict(_)) => {
            vec![Value::dict([(Arc::from("x"), Value::from("x"))].into()).unwrap_or(Value::Null)]
        }
    }
}
