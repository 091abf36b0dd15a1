//! The cases, as the files beside this one have them.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use reeve_renderer::functions;
use reeve_renderer::value::Value;
use reeve_renderer::yaml::{Options, documents};

/// A template of Helm and ours that should do the same.
pub(crate) struct Case {
    file: String,
    line: usize,
    /// Helm's.
    pub(crate) go: String,
    /// Ours.
    pub(crate) ours: String,
    /// Why ours differs in Jinja, if that is chosen.
    pub(crate) reason: Option<String>,
    /// Why ours differs in Helm's own syntax, if that is chosen.
    pub(crate) go_reason: Option<String>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} => {}", self.file, self.line, self.go, self.ours)
    }
}

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/conformance")
}

/// All cases of all files, in their order.
pub(crate) fn all() -> Vec<Case> {
    let entries = std::fs::read_dir(folder().join("cases")).unwrap();
    let files: BTreeSet<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    let mut cases = Vec::new();
    for path in files {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        for (at, line) in std::fs::read_to_string(&path).unwrap().lines().enumerate() {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                cases.push(case(&file, at + 1, line));
            }
        }
    }
    cases
}

fn case(file: &str, line: usize, text: &str) -> Case {
    let marks = [("differs: ", true, true), ("differs in Jinja: ", true, false), ("differs in Go: ", false, true)];
    let marked = marks.iter().find_map(|(mark, jinja, go)| {
        let (reason, both) = text.strip_prefix(mark)?.split_once(" | ").unwrap();
        Some((jinja.then(|| reason.to_owned()), go.then(|| reason.to_owned()), both))
    });
    let (reason, go_reason, both) = marked.unwrap_or((None, None, text));
    let (go, ours) = both.split_once(" => ").unwrap_or_else(|| panic!("{file}:{line}: no ` => `"));
    Case { file: file.to_owned(), line, go: go.trim().to_owned(), ours: ours.trim().to_owned(), reason, go_reason }
}

/// All constructs of templates, in Helm's syntax: what stands between lines of equals signs.
pub(crate) fn constructs() -> Vec<String> {
    let entries = std::fs::read_dir(folder().join("constructs")).unwrap();
    let files: BTreeSet<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    let texts = files.into_iter().map(|path| std::fs::read_to_string(path).unwrap());
    let split = |text: String| text.trim_end_matches('\n').split("\n=====\n").map(str::to_owned).collect::<Vec<_>>();
    texts.flat_map(split).collect()
}

/// What both sides see as `Values`.
pub(crate) fn values() -> Value {
    let text = std::fs::read_to_string(folder().join("values.yaml")).unwrap();
    documents(&text, &Options::default()).unwrap().remove(0).to_value().unwrap()
}

/// How many cases call each function.
pub(crate) fn counts<C: Borrow<Case>>(cases: &[C]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for name in cases.iter().flat_map(|case| called(&case.borrow().ours)) {
        if let Some(entry) = functions::find(&name) {
            *counts.entry(entry.name).or_default() += 1;
        }
    }
    counts
}

/// The names that are called in a template: those before a bracket or after a bar, outside of text.
fn called(template: &str) -> BTreeSet<String> {
    let mut bare = String::new();
    let mut characters = template.chars();
    while let Some(c) = characters.next() {
        bare.push(c);
        if c == '"' {
            while let Some(c) = characters.next().filter(|c| *c != '"') {
                if c == '\\' {
                    characters.next();
                }
            }
        }
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut names = BTreeSet::new();
    let mut rest = bare.as_str();
    let mut before = ' ';
    while let Some(start) = rest.find(is_word) {
        before = rest[..start].chars().rev().find(|c| !c.is_whitespace()).unwrap_or(before);
        let word = &rest[start..];
        let end = word.find(|c| !is_word(c)).unwrap_or(word.len());
        if before == '|' || (before != '.' && word[end..].starts_with('(')) {
            names.insert(word[..end].to_owned());
        }
        before = 'x';
        rest = &word[end..];
    }
    names
}
