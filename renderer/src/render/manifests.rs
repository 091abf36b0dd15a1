//! What a template in Helm's syntax wrote, taken apart into documents as Helm does it.

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
    for poisoned in &written.poisoned {
        if documents.iter().any(|document| holds(&document.value, &poisoned.mark)) {
            findings.push(poisoned.finding.clone());
        }
    }
    if !findings.is_empty() {
        return Err(findings);
    }
    object::drafts(&file, &documents, Manners::Helm, |line| written.location(line).line)
}

/// The documents of a text, each with how many lines are before it. Helm splits at every line that begins with three
/// dashes, whatever follows, and takes white space away at the end of each: a text in it loses its last line break.
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
        drop_last_break(document);
    }
    documents.retain(|(document, _)| !document.is_empty());
    documents
}

/// A block of text at the very end of a document has no line break behind it any more. Not every reader sees that, so the
/// block says it itself.
fn drop_last_break(document: &mut String) {
    let mut block: Option<(usize, Header)> = None;
    let mut at = 0;
    for line in document.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let is_inside = |header: &Header| line.trim().is_empty() || indent > header.indent;
        if !block.as_ref().is_some_and(|(_, header)| is_inside(header)) {
            block = header(line, indent).map(|header| (at, header));
        }
        at += line.len();
    }
    let Some((start, header)) = block else { return };
    let (from, to) = (start + header.from, start + header.to);
    if document.get(to..).is_none_or(|rest| rest.trim().is_empty()) {
        return;
    }
    let digits: String = document[from..to].chars().filter(char::is_ascii_digit).collect();
    let indicator: String = document[from..to].chars().take(1).collect();
    document.replace_range(from..to, &format!("{indicator}{digits}-"));
}

/// The beginning of a block of text: `|` or `>` and what follows it.
struct Header {
    from: usize,
    to: usize,
    /// What the block belongs to is indented so far.
    indent: usize,
}

fn header(line: &str, indent: usize) -> Option<Header> {
    let plain = line.split(" #").next().unwrap_or(line).trim_end();
    let from = plain.rfind(['|', '>'])?;
    let after = plain.get(from + 1..)?;
    if after.len() > 2 || !after.chars().all(|letter| letter.is_ascii_digit() || matches!(letter, '+' | '-')) {
        return None;
    }
    let before = plain.get(..from)?.trim_end();
    let begins = before.is_empty() || before.ends_with(':') || before.ends_with('-');
    if !begins || line.trim_start().starts_with('#') {
        return None;
    }
    let mut indent = indent;
    let mut rest = plain.trim_start();
    while let Some(inner) = rest.strip_prefix("- ") {
        let inner = inner.trim_start();
        if inner.starts_with(['|', '>']) {
            break;
        }
        indent += rest.len() - inner.len();
        rest = inner;
    }
    Some(Header { from, to: plain.len(), indent })
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
        let text = "a: 1\n---\n\n---# b\nb: |\n  x\n\n---\nc: 1\n";
        let expected = [("a: 1", 0), ("# b\nb: |-\n  x", 3), ("c: 1", 8)];
        assert_eq!(split(text), expected.map(|(text, line)| (text.to_owned(), line)));
    }

    #[test]
    fn only_a_block_that_ends_the_document_loses_its_line_break() {
        for (text, expected) in [
            ("a: |\n  x\nb: 1\n", "a: |\n  x\nb: 1"),
            ("- a: |\n    x\n  b: 1\n", "- a: |\n    x\n  b: 1"),
            ("a: |\n  x\n\n  b: |\n    y\n", "a: |-\n  x\n\n  b: |\n    y"),
            ("a: >+2\n    x\n", "a: >2-\n    x"),
            ("a: b |\n", "a: b |"),
            ("- |\n  x\n", "- |-\n  x"),
        ] {
            assert_eq!(split(text), [(expected.to_owned(), 0)], "{text}");
        }
    }
}
