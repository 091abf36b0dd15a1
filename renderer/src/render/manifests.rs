//! What a template in Helm's syntax wrote, taken apart into documents as Helm does it.

use std::sync::Arc;

use super::in_template;
use crate::cache::Outcome;
use crate::fleet::helm::HELM_YAML;
use crate::object::{self, Manners};
use crate::template::RenderedFile;
use crate::value::Value;
use crate::yaml::{self, Document, Interner};

/// The objects of a template's output.
pub(super) fn read(rendered: RenderedFile) -> Outcome {
    let RenderedFile { file, result } = rendered;
    let written = result?;
    let mut documents = Vec::new();
    let mut findings = Vec::new();
    let mut interner = Interner::default();
    for (text, before) in split(&written.text) {
        match yaml::values(&text, &HELM_YAML, &mut interner) {
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
fn split(text: &str) -> Vec<(String, u32)> {
    let mut documents: Vec<(String, u32)> = vec![(String::new(), 0)];
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        match (line.strip_prefix("---"), documents.last_mut()) {
            (None, Some((document, _))) => document.push_str(line),
            (Some(rest), _) => match rest.trim_start() {
                "" => documents.push((String::new(), at + 1)),
                rest => documents.push((rest.to_owned(), at)),
            },
            (None, None) => {}
        }
    }
    for (document, _) in &mut documents {
        document.truncate(document.trim_end().len());
        document.push('\n');
    }
    documents.retain(|(document, _)| document != "\n");
    documents
}

/// The same with whole numbers where fractions are none, as Helm hands objects to the API server: `{{ .Values.n }}` writes a
/// million as `1e+06`, and an object has `1000000`. Nothing, if there are no such numbers.
fn with_whole_numbers(value: &Value) -> Option<Value> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    match value {
        Value::Float(number) if number.fract() == 0.0 && number.abs() < BEYOND && *number != 0.0 => {
            #[expect(clippy::cast_possible_truncation, reason = "it is whole, and within the bounds")]
            let whole = *number as i64;
            Some(Value::Int(whole))
        }
        Value::Float(_) | Value::Null | Value::Bool(_) | Value::Int(_) | Value::Text(_) => None,
        Value::List(list) => {
            let items: Vec<Option<Value>> = list.items().iter().map(with_whole_numbers).collect();
            items.iter().any(Option::is_some).then_some(())?;
            let both = items.into_iter().zip(list.items());
            Value::list(both.map(|(new, old)| new.unwrap_or_else(|| old.clone())).collect()).ok()
        }
        Value::Dict(dict) => {
            let changed =
                dict.entries().iter().filter_map(|(key, value)| Some((key.clone(), with_whole_numbers(value)?)));
            let changed: Vec<(Arc<str>, Value)> = changed.collect();
            (!changed.is_empty()).then_some(())?;
            let mut entries = dict.entries().clone();
            entries.extend(changed);
            Value::dict(entries).ok()
        }
    }
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
        assert_eq!(split(text), expected.map(|(text, line)| (text.to_owned(), line)));
    }
}
