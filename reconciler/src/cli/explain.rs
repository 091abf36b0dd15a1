//! `reeve explain`: which files set a value, and which values a field of an object comes from.

use std::path::Path;

use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer::resolve::{self, Resolved, ResolvedComponent};
use reeve_renderer::suggest::did_you_mean;
use reeve_renderer::value::{KeyPath, Step, Value};

use super::args::ExplainArgs;
use super::failure::Failure;
use super::source::{Source, runtimes_of};
use super::{Status, Terminal};

mod chain;
mod object;

pub(super) fn run(args: &ExplainArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let source = Source::open(Path::new("."), &args.revision)?;
    let (fleet, said) = source.load(&Loader::new())?;
    let resolved = find_runtime(&fleet, &args.runtime, &said)?;
    let components = find_components(&resolved, args.component.as_deref())?;
    if let Some(field) = &args.field {
        let path = parse(field)?;
        return object::explain(&fleet, &resolved, &components, &args.subject, &path, terminal);
    }
    let known: Vec<_> = match parse(&args.subject) {
        Ok(path) => components.iter().filter(|component| !component.history_of(&path).is_empty()).copied().collect(),
        Err(error) if !args.subject.contains('/') => return Err(error),
        Err(_) => Vec::new(),
    };
    // A key of values may hold a slash too; it is an object only if it is no value.
    if known.is_empty() && args.subject.contains('/') {
        return object::explain(&fleet, &resolved, &components, &args.subject, &KeyPath::root(), terminal);
    }
    let path = parse(&args.subject)?;
    if known.is_empty() {
        return Err(unknown_value(&components, &path, args));
    }
    chain::write_values(&known, &path, &args.runtime, terminal.style, &mut terminal.out)?;
    Ok(Status::Fine)
}

fn parse(path: &str) -> Result<KeyPath, Failure> {
    path.parse().map_err(|error| Failure::unknown(format!("{error}"), None))
}

fn find_runtime(fleet: &Fleet, name: &str, said: &[Diagnostic]) -> Result<Resolved, Failure> {
    runtimes_of(fleet, &[name.to_owned()])?;
    match resolve::resolve(fleet, name) {
        Some(Ok(resolved)) => Ok(resolved),
        Some(Err(findings)) => Err(unresolved(name, findings.first().or(said.first()))),
        None => Err(Failure::unknown(format!("there is no runtime `{name}`"), None)),
    }
}

/// What stands in the way, in one line; all of it is what `validate` is for.
fn unresolved(name: &str, first: Option<&Diagnostic>) -> Failure {
    let why = first.map(|finding| format!(": {finding}")).unwrap_or_default();
    let help = "`reeve validate` shows all that is wrong".to_owned();
    Failure::unknown(format!("runtime `{name}` cannot be rendered{why}"), Some(help))
}

fn find_components<'a>(resolved: &'a Resolved, name: Option<&str>) -> Result<Vec<&'a ResolvedComponent>, Failure> {
    let all = resolved.components.iter();
    let Some(name) = name else { return Ok(all.collect()) };
    let found: Vec<_> = all.clone().filter(|component| *component.name == *name).collect();
    if found.is_empty() {
        let message = format!("runtime `{}` has no component `{name}`", resolved.runtime.name);
        return Err(Failure::unknown(message, did_you_mean(name, all.map(|component| &*component.name))));
    }
    Ok(found)
}

fn unknown_value(components: &[&ResolvedComponent], path: &KeyPath, args: &ExplainArgs) -> Failure {
    let of = match &args.component {
        Some(component) => format!("component `{component}`"),
        None => "any component".to_owned(),
    };
    let message = format!("no file sets `{path}` for {of} of runtime `{}`", args.runtime);
    let help = components.iter().find_map(|component| nearest(&Value::Dict(component.values.clone()), path));
    Failure::unknown(message, help)
}

/// The path that was probably meant: the first step that leads nowhere, with a key that is there.
fn nearest(root: &Value, path: &KeyPath) -> Option<String> {
    let mut value = root;
    let mut reached = KeyPath::root();
    for step in &path.0 {
        let next = KeyPath(vec![step.clone()]);
        if let Some(found) = next.find(value) {
            value = found;
            reached = reached.then(step.clone());
            continue;
        }
        let Step::Key(key) = step else {
            let length = value.as_list()?.len();
            return Some(format!("`{reached}` has {}", super::text::count(length, "item")));
        };
        let keys = value.as_dict()?.entries().keys().map(|key| &**key);
        let near = reeve_renderer::suggest::nearest(key, keys)?;
        return Some(format!("did you mean `{}`?", reached.key(near)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_in_a_path_is_mended_where_it_is() {
        let inner = Value::dict([("tag".into(), Value::from("1"))].into()).unwrap();
        let list = Value::list(vec![Value::Int(1)]).unwrap();
        let root = Value::dict([("image".into(), inner), ("ports".into(), list)].into()).unwrap();
        let help = |path: &str| nearest(&root, &path.parse().unwrap());
        assert_eq!(help("image.tga").as_deref(), Some("did you mean `image.tag`?"));
        assert_eq!(help("imge.tag").as_deref(), Some("did you mean `image`?"));
        assert_eq!(help("ports[3]").as_deref(), Some("`ports` has 1 item"));
        assert_eq!(help("image.repository"), None);
    }
}
