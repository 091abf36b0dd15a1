//! Leaves out of what is sent the fields that others may decide.
//!
//! A field that we stop sending is deleted if nobody else owns it, so it is left out only where somebody does. Where only
//! we own it nobody else ever decided it, so what Git says counts: a change in Git is a change.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use reeve_crds::ObjectRef;
use reeve_crds::runtime::policy::IgnoredFields;
use serde::Deserialize as _;
use serde_json::Value;

use super::{Pointer, PointerError, routes};
use crate::fields::{Manager, Owners, Paths, Sets, Step, fit};

/// The fields of an object that its runtime's policy ignores.
pub fn ignored_by(policy: &[IgnoredFields], object: &ObjectRef) -> Result<Vec<Pointer>, PointerError> {
    let is = |wanted: &Option<String>, value: &str| wanted.as_deref().is_none_or(|wanted| wanted == value);
    policy
        .iter()
        .filter(|rule| is(&rule.group, &object.group) && is(&rule.kind, &object.kind))
        .filter(|rule| is(&rule.namespace, &object.namespace) && is(&rule.name, &object.name))
        .flat_map(|rule| &rule.paths)
        .map(|path| path.parse())
        .collect()
}

/// What is sent instead of `desired`, given what lives, with its `managedFields`. An object that is not there yet gets
/// the fields as its first values.
pub fn without(desired: &Value, live: Option<&Value>, paths: &[Pointer], us: &Manager) -> Value {
    let Some(live) = live.filter(|_| !paths.is_empty()) else { return desired.clone() };
    if let Some((desired, paths)) = routes::lead(desired, live, paths) {
        return leave_out(&desired, live, &paths, us);
    }
    leave_out(desired, live, paths, us)
}

fn leave_out(desired: &Value, live: &Value, paths: &[Pointer], us: &Manager) -> Value {
    let mut payload = desired.clone();
    let managed = live.pointer("/metadata/managedFields").map(Vec::<ManagedFieldsEntry>::deserialize);
    // Who owns what is not known: then nothing is given up.
    let Some(Ok(managed)) = managed else {
        set_live(&mut payload, live, paths);
        return payload;
    };
    let sets = Sets::of(&managed, us);
    let mut edits = Edits::default();
    for path in paths {
        edits.find(desired, Some(live), sets.owners(), path.tokens());
    }
    edits.apply(&mut payload);
    payload
}

fn set_live(payload: &mut Value, live: &Value, paths: &[Pointer]) {
    for path in paths {
        let pointer = path.to_string();
        if let (Some(sent), Some(kept)) = (payload.pointer_mut(&pointer), live.pointer(&pointer)) {
            *sent = kept.clone();
        }
    }
}

/// What to change in what is sent; the ways are those of `desired`.
#[derive(Default)]
struct Edits {
    set: Vec<(Vec<String>, Value)>,
    remove: Vec<Vec<String>>,
}

impl Edits {
    /// Goes to the field and decides there.
    fn find(&mut self, desired: &Value, live: Option<&Value>, owners: Owners<'_>, tokens: &[String]) {
        let (mut desired, mut live, mut owners) = (desired, live, owners);
        let mut last_step = None;
        for (depth, token) in tokens.iter().enumerate() {
            if depth > 0 && !is_keyed(last_step.as_ref()) {
                if owners.is_whole_by_others() {
                    return self.share_whole(desired, live, &tokens[..depth], &tokens[depth..]);
                }
                if owners.ours.is_some_and(Paths::is_whole) {
                    return;
                }
            }
            if matches!(&last_step, Some(Step::Key(keys)) if keys.contains_key(token)) {
                return;
            }
            let Some(next) = at(desired, std::slice::from_ref(token)) else { return };
            let step = match desired {
                Value::Array(_) => owners.step_of(next),
                _ => Some(Step::Field(token.clone())),
            };
            live = live.and_then(|live| live_item(live, token, step.as_ref()));
            owners = step.as_ref().map_or_else(Owners::nobody, |step| owners.below(step));
            (desired, last_step) = (next, step);
        }
        self.decide(desired, live, &owners, &mut tokens.to_vec(), is_keyed(last_step.as_ref()));
    }

    /// A part of an atomic whole that somebody else wrote last, as a part of it is theirs. They keep the whole for as long
    /// as the rest of it is what Git says; once it is not, all of it is sent, with their part as it lives.
    fn share_whole(&mut self, desired: &Value, live: Option<&Value>, whole: &[String], part: &[String]) {
        let mut sent = desired.clone();
        if let (Value::Object(fields), Some(Value::Object(lives)), [name]) = (&mut sent, live, part) {
            match lives.get(name) {
                Some(theirs) => drop(fields.insert(name.clone(), theirs.clone())),
                None => drop(fields.remove(name)),
            }
            if fields != lives && !fields.is_empty() {
                return self.set.push((whole.to_vec(), sent));
            }
        }
        self.remove.push(whole.to_vec());
    }

    fn decide(
        &mut self,
        desired: &Value,
        live: Option<&Value>,
        owners: &Owners<'_>,
        way: &mut Vec<String>,
        keyed: bool,
    ) {
        let is_ours = owners.ours.is_some_and(|paths| !paths.is_empty());
        match desired {
            _ if is_ours && owners.others.is_empty() => {}
            // The items of such a list have owners of their own; ours stay only if we go on sending them.
            _ if keyed && is_ours => self.keep_live_value(live, way),
            _ if owners.is_whole_by_others() => self.remove.push(way.clone()),
            Value::Object(fields) if !fields.is_empty() && !owners.ours.is_some_and(Paths::is_whole) => {
                for (name, value) in fields {
                    way.push(name.clone());
                    let below = owners.below(&Step::Field(name.clone()));
                    self.decide(value, live.and_then(|live| live.get(name)), &below, way, false);
                    way.pop();
                }
            }
            _ if is_ours => self.keep_live_value(live, way),
            _ => self.remove.push(way.clone()),
        }
    }

    /// Sends what lives, if anything does.
    fn keep_live_value(&mut self, live: Option<&Value>, way: &[String]) {
        match live {
            Some(value) => self.set.push((way.to_vec(), value.clone())),
            None => self.remove.push(way.to_vec()),
        }
    }

    fn apply(mut self, payload: &mut Value) {
        for (way, value) in self.set {
            if let Some((name, parent)) = way.split_last()
                && let Some(place) = at_mut(payload, parent).and_then(|parent| entry_mut(parent, name))
            {
                *place = value;
            }
        }
        // From behind, so that the places of list items stay what they were.
        self.remove.sort_by_cached_key(|way| {
            way.iter().map(|token| (token.parse::<u64>().ok(), token.clone())).collect::<Vec<_>>()
        });
        self.remove.dedup();
        for way in self.remove.iter().rev() {
            remove(payload, way);
        }
    }
}

fn is_keyed(step: Option<&Step>) -> bool {
    matches!(step, Some(Step::Key(_)))
}

fn at<'a>(value: &'a Value, way: &[String]) -> Option<&'a Value> {
    way.iter().try_fold(value, |here, token| match here {
        Value::Array(items) => items.get(token.parse::<usize>().ok()?),
        _ => here.get(token),
    })
}

fn at_mut<'a>(value: &'a mut Value, way: &[String]) -> Option<&'a mut Value> {
    way.iter().try_fold(value, |here, token| entry_mut(here, token))
}

fn entry_mut<'a>(value: &'a mut Value, token: &str) -> Option<&'a mut Value> {
    match value {
        Value::Array(items) => items.get_mut(token.parse::<usize>().ok()?),
        _ => value.get_mut(token),
    }
}

/// The same item in the live list, which may be in another order.
fn live_item<'a>(live: &'a Value, token: &str, step: Option<&Step>) -> Option<&'a Value> {
    match (live, step) {
        (Value::Array(items), Some(step @ (Step::Key(_) | Step::Item(_)))) => items
            .iter()
            .filter_map(|item| Some((fit(step, item)?, item)))
            .min_by_key(|(fit, _)| *fit)
            .map(|(_, item)| item),
        (Value::Array(items), _) => items.get(token.parse::<usize>().ok()?),
        _ => live.get(token),
    }
}

/// Takes the field out, and the maps around it that are empty without it.
fn remove(payload: &mut Value, way: &[String]) {
    let Some((name, parent)) = way.split_last() else { return };
    let Some(around) = at_mut(payload, parent) else { return };
    match around {
        Value::Object(fields) => {
            let removed = fields.remove(name);
            if removed.is_some() && fields.is_empty() {
                remove(payload, parent);
            }
        }
        Value::Array(items) => {
            if let Some(place) = name.parse::<usize>().ok().filter(|place| *place < items.len()) {
                items.remove(place);
            }
        }
        _ => {}
    }
}
