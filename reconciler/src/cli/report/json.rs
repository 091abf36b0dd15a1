//! Findings for programs. The shape is documented in the help of `reeve validate`; fields are added, never changed.

use reeve_renderer::diagnostic::{Diagnostic, Location, Severity};
use serde_json::{Value, json};

use super::Counts;

/// The whole report.
pub(in crate::cli) fn document(findings: &[Diagnostic], counts: Counts) -> Value {
    let errors = findings.iter().filter(|finding| finding.is_error()).count();
    json!({
        "findings": findings.iter().map(finding).collect::<Vec<_>>(),
        "summary": {
            "runtimes": counts.runtimes,
            "components": counts.components,
            "objects": counts.objects,
            "errors": errors,
            "warnings": findings.len() - errors,
        },
    })
}

/// One finding.
pub(in crate::cli) fn finding(finding: &Diagnostic) -> Value {
    let mut shown = place(finding.location.as_ref());
    let notes = finding.notes.iter().map(|note| {
        let mut shown = place(note.location.as_ref());
        shown.insert("message".to_owned(), note.message.clone().into());
        Value::Object(shown)
    });
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    shown.extend([
        ("severity".to_owned(), severity.into()),
        ("code".to_owned(), finding.code.into()),
        ("message".to_owned(), finding.message.clone().into()),
        ("key".to_owned(), finding.key.clone().into()),
        ("help".to_owned(), finding.help.clone().into()),
        ("notes".to_owned(), notes.collect()),
        ("runtimes".to_owned(), finding.runtimes.iter().map(ToString::to_string).collect()),
    ]);
    Value::Object(shown)
}

fn place(place: Option<&Location>) -> serde_json::Map<String, Value> {
    let fields = [
        ("file", place.map(|place| Value::from(&*place.file))),
        ("line", place.map(|place| place.line.into())),
        ("column", place.map(|place| place.column.into())),
        ("length", place.map(|place| place.length.into())),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value.unwrap_or(Value::Null))).collect()
}
