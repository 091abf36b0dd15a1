//! Findings as annotations of a GitHub workflow: one command per line.

use std::fmt::Write as _;
use std::io::{self, Write};

use reeve_renderer::diagnostic::{Diagnostic, Severity};

use crate::cli::text::in_runtimes;

/// Writes all of them; `prefix` leads from the root of the Git repository to the fleet.
pub(in crate::cli) fn write(findings: &[Diagnostic], prefix: &str, out: &mut dyn Write) -> io::Result<()> {
    findings.iter().try_for_each(|finding| writeln!(out, "{}", command(finding, prefix)))
}

fn command(finding: &Diagnostic, prefix: &str) -> String {
    let word = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut properties = String::new();
    if let Some(place) = &finding.location {
        let end = place.column.saturating_add(place.length.max(1)) - 1;
        let file = property(&format!("{prefix}{}", place.file));
        properties = format!("file={file},line={},col={},endColumn={end},", place.line, place.column);
    }
    let mut message = finding.message.clone();
    for note in &finding.notes {
        // Writing to text cannot fail.
        let _ = write!(message, "\nnote: {}", note.message);
        if let Some(place) = &note.location {
            let _ = write!(message, " ({prefix}{place})");
        }
    }
    if let Some(help) = &finding.help {
        let _ = write!(message, "\nhelp: {help}");
    }
    if !finding.runtimes.is_empty() {
        let _ = write!(message, "\n{}", in_runtimes(&finding.runtimes));
    }
    format!("::{word} {properties}title={}::{}", property(finding.code), escaped(&message))
}

/// A command ends with its line, so a line break must not be in it.
fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// In a property also its own separators must not be.
fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}
