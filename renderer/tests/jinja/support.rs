//! Rendering with our engine and with minijinja's.

use std::collections::BTreeMap;

use reeve_renderer::budget::{Budget, Limits};
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::template::{Scope, Source, Templates};
use reeve_renderer::value::Value;

/// Templates by name.
pub(crate) type Files<'t> = &'t [(&'t str, &'t str)];

pub(crate) fn sources(files: Files<'_>) -> Vec<Source> {
    files
        .iter()
        .map(|(name, text)| Source {
            name: (*name).to_owned(),
            file: format!("charts/web/templates/{name}").into(),
            text: (*text).into(),
        })
        .collect()
}

pub(crate) fn dict(entries: &[(&str, Value)]) -> Value {
    Value::dict(entries.iter().map(|(key, value)| ((*key).into(), value.clone())).collect()).unwrap()
}

pub(crate) fn list(items: &[Value]) -> Value {
    Value::list(items.to_vec()).unwrap()
}

/// What all tests see as `Values`.
pub(crate) fn values() -> Value {
    let port = |name: &str, number: i64, kind: &str| {
        dict(&[("name", name.into()), ("port", number.into()), ("kind", kind.into())])
    };
    dict(&[
        ("name", "web".into()),
        ("replicas", 3.into()),
        ("half", Value::Float(0.5)),
        ("on", true.into()),
        ("off", false.into()),
        ("nothing", Value::Null),
        ("empty", "".into()),
        ("none", Value::empty_list()),
        ("bare", Value::empty_dict()),
        ("numbers", list(&[3.into(), 1.into(), 2.into()])),
        ("words", list(&["pear".into(), "Apple".into(), "fig".into()])),
        ("image", dict(&[("repository", "nginx".into()), ("tags", "1.0".into())])),
        ("labels", dict(&[("app", "web".into()), ("tier", "front".into())])),
        ("ports", list(&[port("http", 80, "tcp"), port("dns", 53, "udp"), port("https", 443, "tcp")])),
        (
            "tree",
            list(&[
                dict(&[
                    ("name", "a".into()),
                    ("sub", list(&[dict(&[("name", "b".into()), ("sub", Value::empty_list())])])),
                ]),
                dict(&[("name", "c".into()), ("sub", Value::empty_list())]),
            ]),
        ),
        ("unicode", "grüße 🐍".into()),
    ])
}

pub(crate) fn render_files(files: Files<'_>, name: &str, limits: Limits) -> Result<String, Diagnostic> {
    let templates = Templates::compile(&sources(files)).map_err(|mut problems| problems.remove(0))?;
    let scope = Scope::new()
        .data("Values", values())
        .data("Chart", dict(&[("name", "web".into()), ("appVersion", "1.2".into())]))
        .advice("Values", "set it in charts/web/values.yaml".to_owned());
    templates.render(name, &scope, &Budget::new(limits))
}

pub(crate) fn render(template: &str) -> Result<String, Diagnostic> {
    render_files(&[("main.j2", template)], "main.j2", Limits::default())
}

fn theirs_of(value: &Value) -> minijinja::Value {
    match value {
        Value::Null => minijinja::Value::from(()),
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Float(value) => (*value).into(),
        Value::Text(value) => (&**value).into(),
        Value::List(list) => list.items().iter().map(theirs_of).collect(),
        Value::Dict(dict) => dict
            .entries()
            .iter()
            .map(|(key, value)| (key.to_string(), theirs_of(value)))
            .collect::<BTreeMap<String, minijinja::Value>>()
            .into(),
    }
}

/// What minijinja makes of the same templates.
pub(crate) fn render_theirs(files: Files<'_>, name: &str) -> Result<String, String> {
    let mut environment = minijinja::Environment::new();
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    // Its booleans are Python's; in a manifest they are YAML's.
    environment.set_formatter(|out, state, value| match value.kind() {
        minijinja::value::ValueKind::Bool => Ok(out.write_str(if value.is_true() { "true" } else { "false" })?),
        _ => minijinja::escape_formatter(out, state, value),
    });
    let mut syntax = minijinja::syntax::SyntaxConfig::builder();
    let syntax = syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
    environment.set_syntax(syntax.map_err(|error| error.to_string())?);
    for (name, text) in files {
        environment.add_template(name, text).map_err(|error| error.to_string())?;
    }
    let template = environment.get_template(name).map_err(|error| error.to_string())?;
    let context: BTreeMap<&str, minijinja::Value> = BTreeMap::from([("Values", theirs_of(&values()))]);
    template.render(context).map_err(|error| error.to_string())
}

/// Runs on a thread with the stack that tests and workers have.
pub(crate) fn on_a_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap()
}
