//! `docs/fleet-repository.md`: the repository that the page shows is one, and what it calls refused is.

use reeve_renderer::tree::MemoryTree;
use reeve_renderer::value::{self, Value};
use reeve_renderer::yaml;

use crate::{page, repository};

fn read(text: &str) -> Value {
    yaml::documents(text, &yaml::Options::default()).unwrap()[0].to_value().unwrap()
}

#[test]
fn the_files_on_the_page_make_a_repository_without_findings() {
    let page = page::read("fleet-repository.md");
    let files = page::blocks(&page).into_iter().filter(|block| block.role.contains('.'));
    let tree: MemoryTree = files.map(|block| (block.role, block.text)).collect();
    let (bundles, findings) = repository::render(&tree);
    assert!(findings.is_empty(), "{}", repository::text(&findings));
    let objects: usize = bundles.iter().flat_map(|bundle| &bundle.components).map(|found| found.objects.len()).sum();
    assert!(bundles.len() >= 2 && objects >= 2, "{} runtimes, {objects} objects", bundles.len());
}

#[test]
fn values_merge_as_the_page_shows() {
    let page = page::read("fleet-repository.md");
    let blocks = page::blocks(&page);
    let text = |role: &str| &blocks.iter().find(|block| block.role == role).unwrap().text;
    let (Value::Dict(lower), Value::Dict(higher)) = (read(text("lower")), read(text("higher"))) else {
        panic!("both are maps");
    };
    assert_eq!(Value::Dict(value::merge(&lower, &higher).unwrap()), read(text("merged")));
}

#[test]
fn yaml_that_the_page_calls_refused_is_refused_with_that_code() {
    let page = page::read("fleet-repository.md");
    let rows = page::table(&page, "| written | code | write instead |");
    assert!(rows.len() >= 6, "only {} rows were found", rows.len());
    for row in rows {
        let text = row[0].replace('⏎', "\n");
        let problems = yaml::documents(&text, &yaml::Options::default()).expect_err(&text);
        assert_eq!(problems[0].code, row[1], "{text}");
        if row[2].starts_with(char::is_alphanumeric) && row[2].contains(':') {
            yaml::documents(&row[2].replace('⏎', "\n"), &yaml::Options::default()).expect(&row[2]);
        }
    }
}

/// Files with a key that nobody knows at every level: the findings then list the known ones.
const UNKNOWN: &[(&str, &str)] = &[
    (
        "fleet.yaml",
        "kind: Fleet
zzzzzzzzzz: 1
defaults: {zzzzzzzzzz: 1, policy: {zzzzzzzzzz: 1}}
layers: [{name: base, zzzzzzzzzz: 1, selector: {zzzzzzzzzz: 1, matchExpressions: [{zzzzzzzzzz: 1}]}}]
waves: [{name: all, zzzzzzzzzz: 1}]
components: {web: {zzzzzzzzzz: 1}}
limits: {zzzzzzzzzz: 1}
policy: {zzzzzzzzzz: 1}
",
    ),
    ("channels/regular.yaml", "kind: Channel\nzzzzzzzzzz: 1\n"),
    ("layers/base.yaml", "kind: Layer\nzzzzzzzzzz: 1\ncomponents: {web: {zzzzzzzzzz: 1}}\n"),
    (
        "runtimes/a.yaml",
        "kind: Runtime
zzzzzzzzzz: 1
target: {zzzzzzzzzz: 1, kubeConfigSecretRef: {zzzzzzzzzz: 1}, serviceAccount: {zzzzzzzzzz: 1}}
capabilities: {zzzzzzzzzz: 1}
policy: {zzzzzzzzzz: 1, drift: {zzzzzzzzzz: 1, ignore: [{zzzzzzzzzz: 1}]}, dapr: {zzzzzzzzzz: 1}}
components: {web: {zzzzzzzzzz: 1}}
",
    ),
];

#[test]
fn every_key_of_every_file_is_on_the_page() {
    let page = page::read("fleet-repository.md");
    let (_, findings) = repository::render(&UNKNOWN.iter().copied().collect());
    let lists: Vec<&str> =
        findings.iter().filter_map(|finding| finding.help.as_deref()?.strip_prefix("known keys: ")).collect();
    let levels: usize = UNKNOWN.iter().map(|(_, text)| text.matches("zzzzzzzzzz").count()).sum();
    assert_eq!(lists.len(), levels, "{}", repository::text(&findings));
    for key in lists.iter().flat_map(|list| list.split(", ")) {
        let written = [format!("`{key}`"), format!("`{key}."), format!(".{key}`")];
        assert!(written.iter().any(|form| page.contains(form)), "`{key}` is not on the page");
    }
}
