//! Our side of a case.

use std::sync::Arc;

use reeve_renderer::budget::{Budget, Limits};
use reeve_renderer::template::{Scope, Source, Templates};
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
