//! Findings for people, in the form of the Rust compiler: the line, a mark below it, notes and what to do.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use reeve_renderer::diagnostic::{Diagnostic, Location, Severity};
use reeve_renderer::tree::Tree;

use super::style::{Paint, Style};
use super::text::{count, harmless, in_runtimes};

pub(super) mod github;
pub(super) mod json;
pub(super) mod sarif;
#[cfg(test)]
mod tests;

/// Characters of a line that are shown.
const WIDEST: usize = 140;
/// Files whose text is kept.
const KEPT: usize = 64;

/// What was looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) runtimes: usize,
    pub(super) components: usize,
    pub(super) objects: usize,
}

/// Writes findings with the lines they are about.
pub(super) struct Reporter<'a> {
    tree: &'a dyn Tree,
    style: Style,
    files: HashMap<Arc<str>, Option<Arc<str>>>,
}

/// A line with the stretch that is marked, ready to be shown.
struct Excerpt {
    line: String,
    indent: usize,
    length: usize,
}

impl<'a> Reporter<'a> {
    pub(super) fn new(tree: &'a dyn Tree, style: Style) -> Self {
        Self { tree, style, files: HashMap::new() }
    }

    /// Writes all of them, with an empty line after each.
    pub(super) fn write(&mut self, findings: &[Diagnostic], out: &mut dyn Write) -> io::Result<()> {
        findings.iter().try_for_each(|finding| self.finding(finding, out))
    }

    fn finding(&mut self, finding: &Diagnostic, out: &mut dyn Write) -> io::Result<()> {
        let style = self.style;
        let (paint, word) = match finding.severity {
            Severity::Error => (Paint::Error, "error"),
            Severity::Warning => (Paint::Warning, "warning"),
        };
        let head = style.paint(paint, &format!("{word}[{}]", finding.code));
        let message = style.paint(Paint::Strong, &format!(": {}", harmless(&finding.message)));
        writeln!(out, "{head}{message}")?;
        let places = finding.location.iter().chain(finding.notes.iter().filter_map(|note| note.location.as_ref()));
        let width = places.map(|place| place.line.to_string().len()).max().unwrap_or(1);
        let edge = style.paint(Paint::Frame, &format!("{:width$} |", ""));
        let bullet = style.paint(Paint::Frame, &format!("{:width$} =", ""));
        let mut framed = false;
        if let Some(place) = &finding.location {
            framed = self.place(place, "-->", (paint, '^'), width, out)?;
        }
        for note in &finding.notes {
            let (word, message) = (style.paint(Paint::Note, "note"), harmless(&note.message));
            if framed {
                writeln!(out, "{edge}")?;
            }
            framed = false;
            writeln!(out, "{bullet} {word}: {message}")?;
            if let Some(place) = &note.location {
                framed = self.place(place, ":::", (Paint::Note, '-'), width, out)?;
            }
        }
        let mut last = Vec::new();
        if let Some(help) = &finding.help {
            last.push(format!("{}: {}", style.paint(Paint::Help, "help"), harmless(help)));
        }
        if !finding.runtimes.is_empty() {
            last.push(in_runtimes(&finding.runtimes));
        }
        if framed && !last.is_empty() {
            writeln!(out, "{edge}")?;
        }
        last.iter().try_for_each(|line| writeln!(out, "{bullet} {line}"))?;
        writeln!(out)
    }

    /// Whether the line itself is shown.
    fn place(
        &mut self,
        place: &Location,
        arrow: &str,
        (paint, mark): (Paint, char),
        width: usize,
        out: &mut dyn Write,
    ) -> io::Result<bool> {
        let style = self.style;
        let arrow = style.paint(Paint::Frame, &format!("{:width$}{arrow}", ""));
        writeln!(out, "{arrow} {}", harmless(&place.to_string()))?;
        // The start of a file stands for the file as a whole: there is nothing to mark in it.
        if (place.line, place.column, place.length) == (1, 1, 1) {
            return Ok(false);
        }
        let Some(excerpt) = self.excerpt(place) else { return Ok(false) };
        let edge = style.paint(Paint::Frame, &format!("{:width$} |", ""));
        let number = style.paint(Paint::Frame, &format!("{:>width$} |", place.line));
        let marks = style.paint(paint, &mark.to_string().repeat(excerpt.length));
        writeln!(out, "{edge}\n{number} {}\n{edge} {:indent$}{marks}", excerpt.line, "", indent = excerpt.indent)?;
        Ok(true)
    }

    fn excerpt(&mut self, place: &Location) -> Option<Excerpt> {
        if self.files.len() > KEPT {
            self.files.clear();
        }
        let tree = self.tree;
        let read = |file: &str| {
            tree.read(file).ok().flatten().and_then(|bytes| Some(std::str::from_utf8(&bytes).ok()?.into()))
        };
        let text = self.files.entry(place.file.clone()).or_insert_with(|| read(&place.file)).clone()?;
        let line = text.lines().nth((place.line as usize).checked_sub(1)?)?;
        Some(excerpt(line, place.column as usize, place.length as usize))
    }
}

/// The part of a line around its mark, which is a single line high and as wide as a screen.
fn excerpt(line: &str, column: usize, length: usize) -> Excerpt {
    let start = column.saturating_sub(1);
    let all = line.chars().count();
    // The mark of something that spans lines ends with the line.
    let length = length.min(all.saturating_sub(start)).clamp(1, WIDEST);
    let skipped = if all > WIDEST { (start + length).saturating_sub(WIDEST - 20).min(start) } else { 0 };
    let front = if skipped > 0 { "..." } else { "" };
    let back = if all - skipped.min(all) > WIDEST { "..." } else { "" };
    let middle: String = line.chars().skip(skipped).take(WIDEST).collect();
    Excerpt {
        line: format!("{front}{}{back}", harmless(&middle)).trim_end().to_owned(),
        indent: start.min(all) - skipped + front.len(),
        length,
    }
}

/// `2 errors, 1 warning`; `no findings`.
pub(super) fn tally(findings: &[Diagnostic]) -> String {
    let errors = findings.iter().filter(|finding| finding.is_error()).count();
    let warnings = findings.len() - errors;
    let parts: Vec<String> = [(errors, "error"), (warnings, "warning")]
        .into_iter()
        .filter(|(many, _)| *many > 0)
        .map(|(many, thing)| count(many, thing))
        .collect();
    if parts.is_empty() { "no findings".to_owned() } else { parts.join(", ") }
}

/// The last line of a report.
pub(super) fn summary(findings: &[Diagnostic], counts: Counts, style: Style) -> String {
    let tally = tally(findings);
    let paint = match findings.iter().any(Diagnostic::is_error) {
        true => Paint::Error,
        false if findings.is_empty() => Paint::Note,
        false => Paint::Warning,
    };
    let Counts { runtimes, components, objects } = counts;
    let looked = [count(runtimes, "runtime"), count(components, "component"), count(objects, "object")].join(", ");
    format!("checked {looked}: {}", style.paint(paint, &tally))
}
