//! Our side of a case, in both syntaxes.

use std::sync::Arc;

use reeve_renderer::budget::{Budget, Limits};
use reeve_renderer::fleet::helm::in_go;
use reeve_renderer::template::{ChartFiles, ChartNode, GoTemplates, Scope, Source, Templates, render_charts};
use reeve_renderer::value::Value;

const NAME: &str = "case.j2";

/// What our engine makes of a template.
pub(crate) fn render_ours(template: &str, values: &Value) -> Result<String, String> {
    let source = Source { name: NAME.to_owned(), file: Arc::from(NAME), text: Arc::from(template) };
    let templates = Templates::compile(&[source]).map_err(|problems| {
        let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
        messages.join("; ")
    })?;
    let scope = Scope::new().data("Values", values.clone());
    templates.render(NAME, &scope, &Budget::new(Limits::default())).map_err(|problem| problem.to_string())
}

fn dict(entries: &[(&str, Value)]) -> Value {
    Value::dict(entries.iter().map(|(key, value)| (Arc::from(*key), value.clone())).collect()).unwrap()
}

struct NoFiles;

impl ChartFiles for NoFiles {
    fn get(&self, _: &str) -> Option<Arc<[u8]>> {
        None
    }

    fn paths(&self) -> Vec<Arc<str>> {
        Vec::new()
    }
}

/// What our engine makes of a template in Helm's syntax.
pub(crate) fn render_go(template: &str, values: &Value) -> Result<String, String> {
    let source = Source { name: "case".to_owned(), file: Arc::from("case"), text: Arc::from(template) };
    let templates = GoTemplates::compile(&[source]).map_err(|problems| {
        let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
        messages.join("; ")
    })?;
    let metadata = dict(&[("version", Value::from("1.0.0")), ("apiVersion", Value::from("v2"))]);
    let chart = ChartNode {
        name: "truth".into(),
        plain_name: "truth".into(),
        is_switched: true,
        metadata: in_go(metadata.as_dict().unwrap(), &"truth".into(), Some(&[]), true),
        templates: &templates,
        files: &NoFiles,
        is_library: false,
        children: Vec::new(),
    };
    let text = Value::from;
    let release = dict(&[("name", text("truth")), ("namespace", text("default"))]);
    let scope = Scope::new().data("Values", values.with_floats()).data("Release", release);
    let mut rendered = render_charts(&chart, &scope, &Budget::new(Limits::default()), None);
    let written =
        rendered.remove(0).result.map_err(|problems| problems.first().map(ToString::to_string).unwrap_or_default())?;
    match written.poisoned.first() {
        Some(poisoned) => Err(poisoned.finding.to_string()),
        None => Ok(written.text),
    }
}
