//! Dashboard, alerts and docs hold to what a working `reeve run` really shows.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::fixture::{Fixture, config};
use super::page::Page;
use super::reeve::Reeve;

/// Put on by whoever scrapes.
const OF_THE_TARGET: [&str; 4] = ["namespace", "job", "pod", "instance"];

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

fn alerts() -> Vec<Value> {
    let rules: Value = serde_yaml::from_str(&read("charts/reeve/files/alerts.yaml")).unwrap();
    rules["groups"].as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

/// Every query of the dashboard and the alerts.
fn queries() -> Vec<String> {
    let mut found: Vec<String> = alerts().iter().map(|alert| alert["expr"].as_str().unwrap().to_owned()).collect();
    collect(&serde_json::from_str(&read("charts/reeve/files/dashboard.json")).unwrap(), &mut found);
    found
}

fn collect(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for key in ["expr", "definition"] {
                into.extend(fields.get(key).and_then(Value::as_str).map(str::to_owned));
            }
            fields.values().for_each(|field| collect(field, into));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
        _ => {}
    }
}

/// A metric as a query names it, and the words that it asks for.
#[derive(Debug)]
struct Selector {
    metric: String,
    wanted: Vec<(String, String)>,
}

fn selectors(query: &str) -> Vec<Selector> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut found = Vec::new();
    let mut rest = query;
    while let Some(start) = rest.find(is_name) {
        let word = rest[start..].split(|letter| !is_name(letter)).next().unwrap();
        rest = &rest[start + word.len()..];
        if !word.starts_with("reeve_") && !word.starts_with("process_") {
            continue;
        }
        let mut wanted = Vec::new();
        if let Some(matchers) = rest.strip_prefix('{') {
            let (matchers, after) = matchers.split_once('}').unwrap();
            matchers.split(',').for_each(|matcher| wanted.extend(words(matcher.trim())));
            rest = after;
        }
        found.push(Selector { metric: word.to_owned(), wanted });
    }
    found
}

/// `state=~"A|B"` asks for `A` and for `B`.
fn words(matcher: &str) -> Vec<(String, String)> {
    let (label, value) = matcher.split_once(['=', '!']).unwrap();
    let value = value.trim_start_matches(['=', '~']).trim_matches('"');
    if value.starts_with('$') {
        return Vec::new();
    }
    value.split('|').map(|word| (label.to_owned(), word.to_owned())).collect()
}

/// Whether a value is the word, in which a dot stands for any letter.
fn fits(word: &str, value: &str) -> bool {
    word.len() == value.len() && word.chars().zip(value.chars()).all(|(wanted, found)| wanted == '.' || wanted == found)
}

/// The labels that a query groups or joins by.
fn grouped_by(query: &str) -> Vec<&str> {
    let lists = ["by (", "on ("].into_iter().flat_map(|mark| query.split(mark).skip(1));
    lists.flat_map(|list| list.split(')').next().unwrap().split(',').map(str::trim)).collect()
}

fn check(query: &str, page: &Page) -> Result<(), String> {
    let selectors = selectors(query);
    if selectors.is_empty() {
        return Err("names no metric".to_owned());
    }
    for Selector { metric, wanted } in &selectors {
        if page.named(metric).next().is_none() {
            return Err(format!("there is no {metric}"));
        }
        for (label, word) in wanted {
            if !page.named(metric).any(|sample| sample.labels.get(label).is_some_and(|found| fits(word, found))) {
                return Err(format!("there is no {metric} with {label}={word}"));
            }
        }
    }
    let has = |label: &str| {
        let mut samples = selectors.iter().flat_map(|selector| page.named(&selector.metric));
        OF_THE_TARGET.contains(&label) || samples.any(|sample| sample.labels.contains_key(label))
    };
    grouped_by(query).into_iter().find(|label| !has(label)).map_or(Ok(()), |label| Err(format!("no label {label}")))
}

/// A page on which something of everything happened.
async fn page_of_a_busy_process() -> Page {
    let fixture = Fixture::new("monitoring").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let astray = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: astray, namespace: nowhere-at-all }\n";
    fixture.component("astray", "1.0.0", astray);
    fixture.push();
    fixture.follow().await;
    let args = ["--lease-namespace", &fixture.namespace, "--watch-namespace", &fixture.namespace];
    let reeve = Reeve::run(fixture.cluster.kubeconfig(), fixture.data.path(), &args);
    fixture.comes_to_say("settings", "git").await;
    fixture.event("MissingNamespace", &["nowhere-at-all"]).await;
    reeve.shows(&[(("reeve_components", &[("state", "Ready")]), 1.0)]).await
}

#[tokio::test]
async fn whatever_the_dashboard_the_alerts_and_the_docs_name_is_on_the_page() {
    let page = page_of_a_busy_process().await;
    let queries = queries();
    assert!(queries.len() > 40, "only {} queries were found", queries.len());
    for query in &queries {
        if let Err(why) = check(query, &page) {
            panic!("{query}: {why}");
        }
    }
    let bad = ["reeve_gone > 0", "reeve_runtimes{state=\"Fine\"}", "sum by (outcome) (reeve_runtimes)"];
    assert!(bad.iter().all(|query| check(query, &page).is_err()), "the check itself is blind");

    let ours = page.samples().iter().filter(|sample| sample.name.starts_with("reeve_"));
    let shown: BTreeSet<String> = ours.map(|sample| family(&sample.name)).collect();
    let documented = documented();
    let missing: Vec<_> = shown.difference(&documented).collect();
    let stale: Vec<_> = documented.difference(&shown).collect();
    assert!(missing.is_empty() && stale.is_empty(), "not in the docs: {missing:?}; only in the docs: {stale:?}");
}

/// Without what a histogram adds.
fn family(name: &str) -> String {
    let parts = ["_bucket", "_sum", "_count"];
    parts.iter().find_map(|part| name.strip_suffix(part)).unwrap_or(name).to_owned()
}

/// First cells of the table of metrics.
fn documented() -> BTreeSet<String> {
    let page = read("docs/operations.md");
    let section = page.split("\n## Metrics\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    cells
        .flat_map(|cell| cell.split(['`', ',', ' ']))
        .filter(|word| word.starts_with("reeve_"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_alert_says_what_is_wrong_and_links_a_heading_that_is_there() {
    let page = read("docs/operations.md");
    let headings = page.lines().filter_map(|line| line.strip_prefix("##"));
    let anchors: BTreeSet<String> = headings.map(|heading| anchor(heading.trim_start_matches('#'))).collect();
    let mut names = BTreeSet::new();
    for alert in alerts() {
        let name = alert["alert"].as_str().unwrap();
        assert!(names.insert(name.to_owned()), "{name} is there twice");
        for annotation in ["summary", "description"] {
            assert!(
                alert["annotations"][annotation].as_str().is_some_and(|text| text.len() > 10),
                "{name}: {annotation}"
            );
        }
        let severity = alert["labels"]["severity"].as_str().unwrap();
        assert!(["critical", "warning", "info"].contains(&severity), "{name}: {severity}");
        let link = alert["annotations"]["runbook_url"].as_str().unwrap();
        let anchor = link.strip_prefix("docs/operations.md#").unwrap();
        assert!(anchors.contains(anchor), "{name}: there is no heading for {link}");
    }
    assert!(names.len() > 8, "{names:?}");
}

/// As web pages make it of a heading.
fn anchor(heading: &str) -> String {
    let letters = heading.trim().to_lowercase();
    letters
        .chars()
        .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter))
        .collect::<String>()
        .replace(' ', "-")
}
