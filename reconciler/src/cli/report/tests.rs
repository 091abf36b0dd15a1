use std::sync::Arc;

use reeve_renderer::diagnostic::{Diagnostic, Location};
use reeve_renderer::tree::MemoryTree;

use super::{Counts, Reporter, github, json, sarif, summary, tally};
use crate::cli::style::Style;

fn shown(finding: Diagnostic, style: Style) -> String {
    let tree: MemoryTree = [("a.yaml", "one: 1\n\ttwo: \x1b[31m2\n\n"), ("b.yaml", "x\ny: 3\n")].into_iter().collect();
    let mut out = Vec::new();
    Reporter::new(&tree, style).write(&[finding], &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn two() -> Diagnostic {
    let mut finding = Diagnostic::error("some-code", "it is wrong")
        .at(Location::new("a.yaml", 2, 2).with_length(3))
        .note("the other is here", Some(Location::new("b.yaml", 2, 1)))
        .help("mend it");
    finding.runtimes = vec!["eu-1".into(), "eu-2".into()];
    finding
}

#[test]
fn a_finding_shows_its_line_a_mark_its_notes_and_what_to_do() {
    let wanted = "\
error[some-code]: it is wrong
 --> a.yaml:2:2
  |
2 |  two: \u{fffd}[31m2
  |  ^^^
  |
  = note: the other is here
  |
 ::: b.yaml:2:1
  |
2 | y: 3
  | -
  |
  = help: mend it
  = in 2 runtimes: eu-1, eu-2

";
    assert_eq!(shown(two(), Style::new(false)), wanted);
}

#[test]
fn of_many_findings_the_first_errors_are_shown_and_how_many_more_there_are() {
    let mut findings = vec![Diagnostic::warning("w", "odd"); 150];
    findings.extend(vec![two(); 99]);
    let mut out = Vec::new();
    Reporter::new(&MemoryTree::new(), Style::new(false)).write(&findings, &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    assert_eq!((out.matches("error[").count(), out.matches("warning[").count()), (99, 1));
    assert!(out.ends_with("149 more findings not shown; `reeve validate --output json` has all\n\n"), "{out}");
}

#[test]
fn what_concerns_a_whole_file_marks_nothing_in_it() {
    let finding = Diagnostic::warning("w", "odd").at(Location::file("a.yaml")).help("look");
    assert_eq!(shown(finding, Style::new(false)), "warning[w]: odd\n--> a.yaml:1:1\n = help: look\n\n");
}

#[test]
fn a_place_where_there_is_nothing_is_named_and_not_shown() {
    for place in [
        Location::new("a.yaml", 3, 1),
        Location::new("a.yaml", 99, 1),
        Location::new("gone.yaml", 2, 1),
        Location::new("a.yaml", 0, 0),
    ] {
        let text = shown(Diagnostic::error("e", "x").at(place.clone()), Style::new(false));
        assert_eq!(text, format!("error[e]: x\n--> {place}\n\n"));
    }
}

#[test]
fn colours_come_only_when_asked_for() {
    assert!(shown(two(), Style::new(true)).contains("\x1b[91merror[some-code]\x1b[0m"));
    assert!(!shown(two(), Style::new(false)).contains('\x1b'));
}

/// The line and the marks below it.
fn marked(text: &str, column: u32, length: usize) -> (String, String) {
    let tree: MemoryTree = [("a.yaml", text)].into_iter().collect();
    let finding = Diagnostic::error("e", "x").at(Location::new("a.yaml", 1, column).with_length(length));
    let mut out = Vec::new();
    Reporter::new(&tree, Style::new(false)).write(&[finding], &mut out).unwrap();
    let shown = String::from_utf8(out).unwrap();
    let mut lines = shown.lines().skip(3).map(|line| line.split_once('|').unwrap().1.to_owned());
    (lines.next().unwrap(), lines.next().unwrap())
}

#[test]
fn of_a_long_line_the_part_around_the_mark_is_shown() {
    let long = format!("{}HERE{}", "a".repeat(1000), "b".repeat(1000));
    let (line, marks) = marked(&long, 1001, 4);
    assert_eq!(line.find("HERE"), marks.find("^^^^"));
    assert!(line.starts_with(" ...") && line.ends_with("..."), "{line}");
    assert!(line.len() < 160, "{line}");
    assert_eq!(marked("short", 1, 100_000), (" short".to_owned(), " ^^^^^".to_owned()), "a mark ends with its line");
    assert_eq!(marked("short", 4_000_000_000, usize::MAX), (" short".to_owned(), "      ^".to_owned()));
    let (line, marks) = marked(&"x".repeat(2_000_000), 3, 1_500_000);
    assert!(line.len() + marks.len() < 1000, "a mark that is longer than a screen is cut");
}

#[test]
fn a_mark_stands_below_letters_that_are_two_columns_wide() {
    assert_eq!(marked("東京: 大阪", 5, 2), (" 東京: 大阪".to_owned(), "       ^^^^".to_owned()));
}

#[test]
fn the_last_line_counts() {
    let counts = Counts { runtimes: 3, components: 12, objects: 1 };
    let plain = Style::new(false);
    assert_eq!(summary(&[], counts, plain), "checked 3 runtimes, 12 components, 1 object: no findings");
    assert_eq!(tally(&[two(), two(), Diagnostic::warning("w", "x")]), "2 errors, 1 warning");
}

#[test]
fn an_annotation_stays_on_its_line() {
    let finding = Diagnostic::error("e", "50% of\r\nit::x").at(Location::new("a,b:c%.yaml", 2, 3).with_length(4));
    let mut out = Vec::new();
    github::write(&[finding], "fleet/", &mut out).unwrap();
    let wanted = "::error file=fleet/a%2Cb%3Ac%25.yaml,line=2,col=3,endColumn=6,title=e::50%25 of%0D%0Ait::x\n";
    assert_eq!(String::from_utf8(out).unwrap(), wanted);
}

#[test]
fn sarif_names_rules_and_escapes_paths() {
    let odd = Diagnostic::warning("a-code", "x").at(Location::new("a b/ü.yaml", 2, 3).with_length(4));
    let document = sarif::document(&[two(), odd], "fleet/");
    assert_eq!(document["version"], "2.1.0");
    let run = &document["runs"][0];
    assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "a-code");
    let result = &run["results"][1];
    assert_eq!((&result["ruleIndex"], &result["level"]), (&0.into(), &"warning".into()));
    let location = &result["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], "fleet/a%20b/%C3%BC.yaml");
    assert_eq!(location["region"], serde_json::json!({ "startLine": 2, "startColumn": 3, "endColumn": 7 }));
    assert_eq!(run["results"][0]["relatedLocations"][0]["message"]["text"], "the other is here");
}

#[test]
fn json_has_every_field_of_a_finding() {
    let names: Vec<Arc<str>> = vec!["eu-1".into(), "eu-2".into()];
    let wanted = serde_json::json!({
        "severity": "error", "code": "some-code", "message": "it is wrong", "file": "a.yaml", "line": 2, "column": 2,
        "length": 3, "key": null, "help": "mend it",
        "notes": [{ "message": "the other is here", "file": "b.yaml", "line": 2, "column": 1, "length": 1 }],
        "runtimes": names.iter().map(|name| &**name).collect::<Vec<_>>(),
    });
    assert_eq!(json::finding(&two()), wanted);
}
