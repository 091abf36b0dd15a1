//! Findings for people, in the form of the Rust compiler: the line, a mark below it, notes and what to do.

use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use reeve_renderer::diagnostic::{Diagnostic, Location, Severity};
use reeve_renderer::tree::Tree;

use super::style::{Paint, Style};
use super::text::{count, harmless, in_runtimes};

pub(super) mod github;
pub(super) mod json;
pub(super) mod sarif;
#[cfg(test)]
mod tests;

/// Columns of a line that are shown.
const WIDEST: usize = 140;
/// Findings that are shown: nobody reads more at once.
const SHOWN: usize = 100;
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
    renderer: Renderer,
    files: HashMap<Arc<str>, Option<Arc<str>>>,
}

impl<'a> Reporter<'a> {
    pub(super) fn new(tree: &'a dyn Tree, style: Style) -> Self {
        let renderer = if style.is_on() { Renderer::styled() } else { Renderer::plain() };
        Self { tree, renderer: renderer.term_width(WIDEST), files: HashMap::new() }
    }

    /// Writes them, with an empty line after each; of many the first, errors before warnings, and how many more there are.
    pub(super) fn write(&mut self, findings: &[Diagnostic], out: &mut dyn Write) -> io::Result<()> {
        if findings.len() <= SHOWN {
            return findings.iter().try_for_each(|finding| self.write_one(finding, out));
        }
        let (errors, warnings): (Vec<_>, Vec<_>) = findings.iter().partition(|finding| finding.is_error());
        errors.into_iter().chain(warnings).take(SHOWN).try_for_each(|finding| self.write_one(finding, out))?;
        let more = count(findings.len() - SHOWN, "more finding");
        writeln!(out, "{more} not shown; `reeve validate --output json` has all\n")
    }

    fn write_one(&mut self, finding: &Diagnostic, out: &mut dyn Write) -> io::Result<()> {
        let report = self.report(finding);
        writeln!(out, "{}\n", self.renderer.render(&[report]))
    }

    fn report<'f>(&mut self, finding: &'f Diagnostic) -> Group<'f> {
        let level = match finding.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut report = Group::with_title(level.primary_title(harmless(&finding.message)).id(finding.code));
        if let Some(place) = &finding.location {
            report = self.place(report, place, AnnotationKind::Primary);
        }
        for note in &finding.notes {
            report = report.element(Level::NOTE.message(harmless(&note.message)));
            if let Some(place) = &note.location {
                report = self.place(report, place, AnnotationKind::Context);
            }
        }
        if let Some(help) = &finding.help {
            report = report.element(Level::HELP.message(harmless(help)));
        }
        if !finding.runtimes.is_empty() {
            report = report.element(Level::NOTE.no_name().message(in_runtimes(&finding.runtimes)));
        }
        report
    }

    /// The place, with its line if there is something to mark on it.
    fn place<'f>(&mut self, report: Group<'f>, place: &'f Location, kind: AnnotationKind) -> Group<'f> {
        let file = harmless(&place.file);
        let (line, column) = (place.line as usize, place.column as usize);
        // The start of a file stands for the file as a whole: there is nothing to mark in it.
        let is_whole = (place.line, place.column, place.length) == (1, 1, 1);
        match self.line(place).filter(|line| !is_whole && !line.is_empty()) {
            Some(text) => {
                let mark = kind.span(bytes(&text, column.saturating_sub(1), place.length as usize));
                report.element(Snippet::source(text).line_start(line).path(file).annotation(mark))
            }
            None => report.element(Origin::path(file).line(line).char_column(column)),
        }
    }

    fn line(&mut self, place: &Location) -> Option<String> {
        if self.files.len() > KEPT {
            self.files.clear();
        }
        let tree = self.tree;
        let read = |file: &str| {
            tree.read(file).ok().flatten().and_then(|bytes| Some(std::str::from_utf8(&bytes).ok()?.into()))
        };
        let text = self.files.entry(place.file.clone()).or_insert_with(|| read(&place.file)).clone()?;
        let line = text.lines().nth((place.line as usize).checked_sub(1)?)?;
        Some(harmless(line).trim_end().to_owned())
    }
}

/// Where a stretch of characters is in bytes. What spans lines ends with its first.
fn bytes(line: &str, start: usize, length: usize) -> Range<usize> {
    let at = |character: usize| line.char_indices().nth(character).map_or(line.len(), |(at, _)| at);
    at(start)..at(start.saturating_add(length.max(1)))
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
