//! The reference of all functions, written from the functions and the cases themselves.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use reeve_renderer::functions::{self, refused};

use crate::cases::{self, Case};
use crate::outcome::Outcome;

const HEAD: &str = "# Functions

Written by `make conformance`; a test fails when it is stale.

The functions that chart writers know from Helm, with the same names and results. A template calls them as `f(a, b)` or
`b | f(a)`: as in Helm, what is piped is the last argument. Each is held against Helm itself by the cases in
`renderer/tests/conformance`.
";

pub(crate) fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/functions.md")
}

pub(crate) fn text(judged: &[(Case, Outcome, Outcome)]) -> String {
    let cases: Vec<&Case> = judged.iter().map(|(case, _, _)| case).collect();
    let counts = cases::counts(&cases);
    let mut text = format!("{HEAD}\n## Offered\n\n{} functions, {} cases.\n\n", functions::all().len(), cases.len());
    text.push_str("| function | arguments | takes what is not set | cases |\n|---|---|---|---|\n");
    for entry in functions::all() {
        let (least, most) = entry.arity;
        let arguments = match most {
            Some(most) if most == least => least.to_string(),
            Some(most) => format!("{least} to {most}"),
            None => format!("{least} or more"),
        };
        let lenient = if entry.lenient { "yes" } else { "" };
        let count = counts.get(entry.name).unwrap_or(&0);
        writeln!(text, "| `{}` | {arguments} | {lenient} | {count} |", entry.name).unwrap();
    }
    text.push_str("\n## Not offered\n\nIn a chart in Jinja; what a Helm chart may do with these is in\n");
    text.push_str(
        "[charts.md](charts.md#use-the-chart-you-have).\n\n| function | why, and what instead |\n|---|---|\n",
    );
    for (name, instead) in refused::all() {
        writeln!(text, "| `{name}` | {instead} |").unwrap();
    }
    differences(&mut text, judged);
    text
}

fn differences(text: &mut String, judged: &[(Case, Outcome, Outcome)]) {
    text.push_str("\n## Chosen differences\n");
    let mut by_reason: BTreeMap<&str, Vec<&(Case, Outcome, Outcome)>> = BTreeMap::new();
    for one in judged {
        if let Some(reason) = &one.0.reason {
            by_reason.entry(reason).or_default().push(one);
        }
    }
    for (reason, judged) in by_reason {
        let mut letters = reason.chars();
        let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
        writeln!(text, "\n{first}{}:\n\n| Helm | gives | here | gives |\n|---|---|---|---|", letters.as_str()).unwrap();
        for (case, helm, ours) in judged {
            let cells = [code(&case.go), result(helm), code(&case.ours), result(ours)];
            writeln!(text, "| {} |", cells.join(" | ")).unwrap();
        }
    }
}

fn result(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Output(output) if output.is_empty() => "nothing".to_owned(),
        Outcome::Output(output) => code(&output.replace('\n', "\\n").replace('\u{7f}', "\\x7f")),
        // The words are of no matter, and Helm's name the machine's insides.
        Outcome::Error(_) => "an error".to_owned(),
    }
}

/// As code in a table, where a bar would end the cell.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}
