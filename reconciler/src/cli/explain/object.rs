//! A field of an object: its template, its value, and what it comes from.

use std::io::Write as _;
use std::sync::Arc;

use reeve_renderer::bundle::Object;
use reeve_renderer::explain::{self, FieldReason};
use reeve_renderer::fleet::Fleet;
use reeve_renderer::object::Draft;
use reeve_renderer::render::Renderer;
use reeve_renderer::resolve::{Resolved, ResolvedComponent};
use reeve_renderer::suggest::did_you_mean;
use reeve_renderer::value::{KeyPath, Value};

use super::chain::write_chain;
use super::{nearest, unresolved};
use crate::cli::failure::Failure;
use crate::cli::style::Paint;
use crate::cli::text::value;
use crate::cli::{Status, Terminal, bundles};

/// An object of the bundle, as its chart wrote it, and the component it belongs to.
struct Found<'a> {
    component: &'a ResolvedComponent,
    object: Object,
    draft: Draft,
}

pub(super) fn explain(
    fleet: &Fleet,
    resolved: &Resolved,
    components: &[&ResolvedComponent],
    subject: &str,
    path: &KeyPath,
    terminal: &mut Terminal,
) -> Result<Status, Failure> {
    let all = objects(fleet, resolved, components)?;
    let found = pick(&all, subject, &resolved.runtime.name)?;
    let whole = Value::Dict(found.object.value.clone());
    let Some(now) = path.find(&whole) else {
        let message = format!("{} has no field `{path}`", found.object.key);
        return Err(Failure::unknown(message, nearest(&whole, path)));
    };
    let style = terminal.style;
    let field = if path.0.is_empty() { String::new() } else { format!(" .{path}") };
    let head = style.paint(Paint::Strong, &format!("{}{field}", found.object.key));
    let out = &mut terminal.out;
    writeln!(out, "{head} is {}", value(now))?;
    let origin = &found.draft.origin;
    writeln!(out, "  written by {} document {}, component {}", origin.file, origin.document, found.component.name)?;
    if path.find(&Value::Dict(found.draft.value.clone())).is_none() {
        writeln!(out, "  the template does not write this field: Reeve sets it on every object")?;
        return Ok(Status::Fine);
    }
    let reason = explain::field(resolved, found.component, &found.draft, path, fleet.settings.limits);
    write_reason(&reason, found.component, terminal)?;
    Ok(Status::Fine)
}

fn write_reason(reason: &FieldReason, component: &ResolvedComponent, terminal: &mut Terminal) -> Result<(), Failure> {
    let (style, out) = (terminal.style, &mut terminal.out);
    if reason.values.is_empty() && reason.facts.is_empty() {
        writeln!(out, "  no value and no fact of the runtime changes it: it comes from the chart itself")?;
    }
    let root = Value::Dict(component.values.clone());
    for path in &reason.values {
        let shown = path.find(&root).map_or("not set".to_owned(), value);
        writeln!(out, "\n  {} = {shown}", style.paint(Paint::Strong, &format!("Values.{path}")))?;
        write_chain(component, path, style, "    ", out)?;
    }
    if !reason.facts.is_empty() {
        writeln!(out)?;
    }
    for (root, path) in &reason.facts {
        let name = if path.0.is_empty() { (*root).to_owned() } else { format!("{root}.{path}") };
        writeln!(out, "  {}", style.paint(Paint::Strong, &name))?;
    }
    Ok(())
}

/// All objects of these components.
fn objects<'a>(
    fleet: &Fleet,
    resolved: &Resolved,
    components: &[&'a ResolvedComponent],
) -> Result<Vec<Found<'a>>, Failure> {
    let cache = bundles::cache();
    let renderer = Renderer::new(&fleet.settings, &cache);
    let failed = |findings: Vec<_>| unresolved(&resolved.runtime.name, findings.first());
    let bundle = renderer.runtime(resolved).map_err(failed)?;
    let mut all = Vec::new();
    for component in components {
        let outcome = renderer.drafts(resolved, component).map_err(failed)?;
        let drafts = outcome.as_ref().as_ref().map(Vec::as_slice).unwrap_or_default();
        let bundled = bundle.components.iter().filter(|bundled| bundled.name == component.name);
        for object in bundled.flat_map(|bundled| &bundled.objects) {
            let same = |draft: &&Draft| {
                let key = (&draft.kind, &draft.name, &draft.origin);
                key == (&object.key.kind, &object.key.name, &object.origin) && *draft.group() == *object.key.group
            };
            all.extend(drafts.iter().find(same).map(|draft| Found {
                component,
                object: object.clone(),
                draft: draft.clone(),
            }));
        }
    }
    Ok(all)
}

/// The one object that `KIND/NAME` or `KIND/NAMESPACE/NAME` means.
fn pick<'a, 'f>(all: &'f [Found<'a>], subject: &str, runtime: &Arc<str>) -> Result<&'f Found<'a>, Failure> {
    let parts: Vec<&str> = subject.split('/').collect();
    let (kind, namespace, name) = match parts[..] {
        [kind, name] => (kind, None, name),
        [kind, namespace, name] => (kind, Some(namespace), name),
        _ => {
            let help = "write it like Deployment/web or Deployment/shop/web".to_owned();
            return Err(Failure::unknown(format!("`{subject}` names no object"), Some(help)));
        }
    };
    let is_kind = |found: &&Found<'_>| is_kind(kind, &found.object);
    let of_kind: Vec<_> = all.iter().filter(is_kind).collect();
    if of_kind.is_empty() {
        let help = did_you_mean(kind, all.iter().map(|found| &*found.object.key.kind));
        return Err(Failure::unknown(format!("runtime `{runtime}` has no {kind}"), help));
    }
    let matching = |found: &&&Found<'_>| {
        let key = &found.object.key;
        *key.name == *name && namespace.is_none_or(|namespace| key.namespace.as_deref() == Some(namespace))
    };
    let found: Vec<_> = of_kind.iter().filter(matching).collect();
    match found[..] {
        [one] => Ok(one),
        [] => {
            let help = did_you_mean(name, of_kind.iter().map(|found| &*found.object.key.name));
            let place = namespace.map(|namespace| format!(" in namespace `{namespace}`")).unwrap_or_default();
            Err(Failure::unknown(format!("runtime `{runtime}` has no {kind} `{name}`{place}"), help))
        }
        [..] => {
            let names: Vec<String> =
                found.iter().map(|found| format!("{} of {}", found.object.key, found.component.name)).collect();
            let help = "write KIND/NAMESPACE/NAME or KIND.GROUP/NAME, or name the component with -c".to_owned();
            Err(Failure::unknown(format!("`{subject}` may be {}", names.join(" or ")), Some(help)))
        }
    }
}

/// As kubectl has it: `deployment`, `Deployment`, `deployment.apps`.
fn is_kind(wanted: &str, object: &Object) -> bool {
    let (kind, group) = wanted.split_once('.').map_or((wanted, None), |(kind, group)| (kind, Some(group)));
    kind.eq_ignore_ascii_case(&object.key.kind) && group.is_none_or(|group| *group == *object.key.group)
}
