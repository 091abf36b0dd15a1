//! Findings as a SARIF 2.1.0 document, for code scanning.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use reeve_renderer::diagnostic::{Diagnostic, Location, Severity};
use serde_json::{Value, json};

use crate::cli::text::in_runtimes;

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// Stands for the root of the Git repository.
const BASE: &str = "%SRCROOT%";

/// The whole document; `prefix` leads from the root of the Git repository to the fleet.
pub(in crate::cli) fn document(findings: &[Diagnostic], prefix: &str) -> Value {
    let codes: Vec<&str> = findings.iter().map(|finding| finding.code).collect::<BTreeSet<_>>().into_iter().collect();
    let rules: Vec<Value> = codes.iter().map(|code| rule(code)).collect();
    let results: Vec<Value> = findings.iter().map(|finding| result(finding, prefix, &codes)).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "reeve", "version": reeve_process::version::VERSION, "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(code: &str) -> Value {
    json!({ "id": code, "shortDescription": { "text": code.replace('-', " ") } })
}

fn result(finding: &Diagnostic, prefix: &str, codes: &[&str]) -> Value {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut text = finding.message.clone();
    if let Some(help) = &finding.help {
        // Writing to text cannot fail.
        let _ = write!(text, "\n{help}");
    }
    if !finding.runtimes.is_empty() {
        let _ = write!(text, "\n{}", in_runtimes(&finding.runtimes));
    }
    let mut result = json!({
        "ruleId": finding.code,
        "level": level,
        "message": { "text": text },
        "locations": finding.location.iter().map(|place| location(place, prefix)).collect::<Vec<_>>(),
    });
    if let Some(index) = codes.iter().position(|code| *code == finding.code) {
        result["ruleIndex"] = index.into();
    }
    let related: Vec<Value> = finding
        .notes
        .iter()
        .filter_map(|note| {
            let mut related = location(note.location.as_ref()?, prefix);
            related["message"] = json!({ "text": note.message });
            Some(related)
        })
        .collect();
    if !related.is_empty() {
        result["relatedLocations"] = related.into();
    }
    result
}

fn location(place: &Location, prefix: &str) -> Value {
    let end = place.column.saturating_add(place.length.max(1));
    json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&format!("{prefix}{}", place.file)), "uriBaseId": BASE },
            "region": { "startLine": place.line.max(1), "startColumn": place.column.max(1), "endColumn": end.max(2) },
        },
    })
}

/// A path as a relative URI.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}
