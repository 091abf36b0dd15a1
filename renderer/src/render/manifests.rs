//! What a template in Helm's syntax wrote, taken apart into documents as Helm does it.

use std::borrow::Cow;

use super::in_template;
use crate::bytes;
use crate::cache::Outcome;
use crate::fleet::helm::HELM_YAML;
use crate::object::{self, Manners};
use crate::template::{RenderedFile, is_notes};
use crate::value::Value;
use crate::yaml::{self, Document, Interner};

/// The objects of a template's output.
pub(super) fn read(rendered: RenderedFile, interner: &mut Interner) -> Outcome {
    let RenderedFile { file, result } = rendered;
    let written = result?;
    if is_notes(&file) {
        // Run for what it refuses and changes; what it says is for people.
        return Ok(Vec::new());
    }
    let mut documents = Vec::new();
    let mut findings = Vec::new();
    for (text, before) in split(&written.text) {
        match yaml::values(&text, &HELM_YAML, interner) {
            Ok(found) => documents.extend(found.into_iter().map(|one| Document { line: one.line + before, ..one })),
            Err(problems) => findings.extend(problems.into_iter().map(|mut problem| {
                problem.span.line += before;
                in_template(problem, &written)
            })),
        }
    }
    if !findings.is_empty() {
        // A poisoned value that was to be several lines is no YAML: then it is what is wrong.
        let poisoned = written.poisoned.iter().filter(|one| written.text.contains(&*one.mark));
        let poisoned: Vec<_> = poisoned.map(|one| one.finding.clone()).collect();
        return Err(if poisoned.is_empty() { findings } else { poisoned });
    }
    documents.retain(|document| !object::is_left_out(&document.value));
    for document in &mut documents {
        if let Some(value) = with_whole_numbers(&document.value) {
            document.value = value;
        }
    }
    for poisoned in &written.poisoned {
        if documents.iter().any(|document| holds(&document.value, &poisoned.mark)) {
            findings.push(poisoned.finding.clone());
        }
    }
    if !findings.is_empty() {
        return Err(findings);
    }
    object::drafts(&file, &documents, Manners::Helm, |line| written.line(line))
}

/// The documents of a text, each with how many lines are before it. Helm splits at every line that begins with three
/// dashes, whatever follows, and ends each document with one line break, however many it had.
fn split(text: &str) -> Vec<(Cow<'_, str>, u32)> {
    let mut documents = Vec::new();
    // Where the document begins, and how many lines are before it.
    let (mut begin, mut before) = (0, 0);
    let (mut line_begin, mut at) = (0, 0);
    while line_begin < text.len() {
        let line = &text[line_begin..];
        let line = &line[..bytes::find(line, b'\n').map_or(line.len(), |end| end + 1)];
        let line_end = line_begin + line.len();
        if let Some(rest) = line.strip_prefix("---") {
            documents.push((&text[begin..line_begin], before));
            let rest = rest.trim_start();
            (begin, before) = (line_end - rest.len(), if rest.is_empty() { at + 1 } else { at });
        }
        (line_begin, at) = (line_end, at + 1);
    }
    documents.push((&text[begin..], before));
    documents.into_iter().filter_map(|(document, before)| Some((ended(document)?, before))).collect()
}

/// A document with one line break at its end, unless there is nothing in it.
fn ended(document: &str) -> Option<Cow<'_, str>> {
    let content = document.trim_end();
    if content.is_empty() {
        return None;
    }
    match document.as_bytes().get(content.len()) {
        Some(b'\n') => Some(Cow::Borrowed(&document[..=content.len()])),
        _ => Some(Cow::Owned(format!("{content}\n"))),
    }
}

/// The same with whole numbers where fractions are none, as Helm hands objects to the API server: `{{ .Values.n }}` writes a
/// million as `1e+06`, and an object has `1000000`. Nothing, if there are no such numbers.
fn with_whole_numbers(value: &Value) -> Option<Value> {
    match value {
        Value::Float(number) => whole(*number).map(Value::Int),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Text(_) => None,
        // Nearly always there are none, which is seen without making anything.
        Value::List(_) | Value::Dict(_) if !has_whole_floats(value) => None,
        Value::List(list) => {
            let items = list.items().iter().map(|item| with_whole_numbers(item).unwrap_or_else(|| item.clone()));
            Value::list(items.collect()).ok()
        }
        Value::Dict(dict) => {
            let mut entries = dict.entries().to_map();
            for value in entries.values_mut() {
                if let Some(changed) = with_whole_numbers(value) {
                    *value = changed;
                }
            }
            Value::dict(entries.into()).ok()
        }
    }
}

fn has_whole_floats(value: &Value) -> bool {
    match value {
        Value::Float(number) => whole(*number).is_some(),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Text(_) => false,
        Value::List(list) => list.items().iter().any(has_whole_floats),
        Value::Dict(dict) => dict.entries().values().any(has_whole_floats),
    }
}

/// The whole number that a float is, if it is one within the bounds of whole numbers and not zero.
fn whole(number: f64) -> Option<i64> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole, and within the bounds")]
    let whole = number as i64;
    (number.fract() == 0.0 && number.abs() < BEYOND && number != 0.0).then_some(whole)
}

/// Whether a value holds this text anywhere.
fn holds(value: &Value, mark: &str) -> bool {
    match value {
        Value::Text(text) => text.contains(mark),
        Value::List(list) => list.items().iter().any(|item| holds(item, mark)),
        Value::Dict(dict) => dict.entries().iter().any(|(key, value)| key.contains(mark) || holds(value, mark)),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn documents_are_split_where_helm_splits_them() {
        let text = "a: 1\n---\n\n---# b\nb: |\n  x\n\n---\nc: |+\n  y";
        let expected = [("a: 1\n", 0), ("# b\nb: |\n  x\n", 3), ("c: |+\n  y\n", 8)];
        assert_eq!(split(text), expected.map(|(text, line)| (text.into(), line)));
    }
}
