//! JSON with positions: text in, nodes that know their line and column out.
//!
//! `serde_json` judges the syntax; what is scanned here is known to be JSON, and only has to be placed. The reader of
//! YAML is not used: to it `1e3` is ambiguous, and JSON has no such doubts.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Location};
use crate::value::{MAX_DEPTH, Value};
use crate::yaml::{Content, Entry, Node, Span};

use super::wording::cut;
use super::{MAX_BYTES, MAX_FINDINGS, MAX_NODES};

/// The nodes of a text.
pub(super) fn read(file: &Arc<str>, text: &str) -> Result<Node, Vec<Diagnostic>> {
    if text.len() > MAX_BYTES {
        let message = format!("the schema is larger than {} MiB", MAX_BYTES >> 20);
        return Err(vec![Diagnostic::error("schema-limit", message).at(Location::file(file.clone()))]);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|error| vec![syntax(file, text, &error)])?;
    let mut scanner = Scanner { file, text, at: 0, line: 1, column: 1, nodes: 0, findings: Vec::new() };
    match scanner.value(0) {
        Ok(node) if scanner.findings.is_empty() => Ok(node),
        Ok(_) => Err(scanner.findings),
        Err(stop) => {
            scanner.findings.push(*stop);
            Err(scanner.findings)
        }
    }
}

fn syntax(file: &Arc<str>, text: &str, error: &serde_json::Error) -> Diagnostic {
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let before = line.bytes().take(error.column().saturating_sub(1));
    let column = before.filter(|byte| !continues(*byte)).count() + 1;
    let said = error.to_string();
    let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).max(1);
    Diagnostic::error("schema-syntax", format!("this is not JSON: {said}")).at(Location::new(
        file.clone(),
        number(error.line()),
        number(column),
    ))
}

/// Whether a byte belongs to the character that began before it.
fn continues(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

struct Scanner<'t> {
    file: &'t Arc<str>,
    text: &'t str,
    at: usize,
    line: u32,
    column: u32,
    nodes: u32,
    findings: Vec<Diagnostic>,
}

impl<'t> Scanner<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn bump(&mut self) {
        match self.peek() {
            Some(b'\n') => {
                self.line += 1;
                self.column = 1;
            }
            Some(byte) if continues(byte) => {}
            Some(_) => self.column += 1,
            None => return,
        }
        self.at += 1;
    }

    // Commas and colons carry no meaning once the syntax is known to be right.
    fn skip(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t' | b',' | b':')) {
            self.bump();
        }
    }

    fn span(&self) -> Span {
        Span { line: self.line, column: self.column, length: 1 }
    }

    /// The stretch from a span to here.
    fn since(&self, span: Span) -> Span {
        let length = if self.line == span.line { self.column.saturating_sub(span.column) } else { 1 };
        Span { length: length.max(1), ..span }
    }

    fn stop(&self, code: &'static str, span: Span, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(code, message).at(span.in_file(self.file)))
    }

    fn value(&mut self, depth: u16) -> Result<Node, Box<Diagnostic>> {
        self.skip();
        let span = self.span();
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(self.stop("schema-limit", span, format!("the schema has more than {MAX_NODES} values")));
        }
        let opens = matches!(self.peek(), Some(b'{' | b'['));
        if opens && depth >= MAX_DEPTH {
            return Err(self.stop("schema-limit", span, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        let content = match self.peek() {
            Some(b'{') => Content::Map(self.entries(depth)?),
            Some(b'[') => Content::List(self.items(depth)?),
            Some(b'"') => Content::Scalar(Value::Text(self.string()?)),
            _ => Content::Scalar(self.word()?),
        };
        let span = if opens { span } else { self.since(span) };
        Ok(Node { span, content })
    }

    fn entries(&mut self, depth: u16) -> Result<Vec<Entry>, Box<Diagnostic>> {
        self.bump();
        let mut entries: Vec<Entry> = Vec::new();
        let mut first: HashMap<Arc<str>, Span> = HashMap::new();
        loop {
            self.skip();
            if self.peek() != Some(b'"') {
                self.bump();
                return Ok(entries);
            }
            let begin = self.span();
            let key = self.string()?;
            let span = self.since(begin);
            let value = self.value(depth + 1)?;
            if let Some(other) = first.get(&key) {
                let finding = Diagnostic::error("schema-duplicate-key", format!("`{}` is there twice", cut(&key)));
                let other = Some(other.in_file(self.file));
                let finding = finding.at(span.in_file(self.file)).note("the first is here", other);
                if self.findings.len() < MAX_FINDINGS {
                    self.findings.push(finding.help("keep one of the two"));
                }
            } else {
                first.insert(key.clone(), span);
                entries.push(Entry { key, span, value });
            }
        }
    }

    fn items(&mut self, depth: u16) -> Result<Vec<Node>, Box<Diagnostic>> {
        self.bump();
        let mut items = Vec::new();
        loop {
            self.skip();
            if matches!(self.peek(), Some(b']') | None) {
                self.bump();
                return Ok(items);
            }
            items.push(self.value(depth + 1)?);
        }
    }

    fn string(&mut self) -> Result<Arc<str>, Box<Diagnostic>> {
        let (begin, span) = (self.at, self.span());
        self.bump();
        while let Some(byte) = self.peek() {
            self.bump();
            match byte {
                b'\\' => self.bump(),
                b'"' => break,
                _ => {}
            }
        }
        let written = self.text.get(begin..self.at).unwrap_or_default();
        serde_json::from_str::<String>(written)
            .map(Arc::from)
            .map_err(|_| self.stop("schema-syntax", span, "this text holds half a character"))
    }

    fn word(&mut self) -> Result<Value, Box<Diagnostic>> {
        let (begin, span) = (self.at, self.span());
        while !matches!(self.peek(), None | Some(b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t')) {
            self.bump();
        }
        let written: &'t str = self.text.get(begin..self.at).unwrap_or_default();
        match written {
            "null" => return Ok(Value::Null),
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            _ => {}
        }
        if let Ok(number) = written.parse::<i64>() {
            return Ok(Value::Int(number));
        }
        match written.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Value::Float(number)),
            _ => Err(self.stop("schema-syntax", span, "this number is too large")),
        }
    }
}
