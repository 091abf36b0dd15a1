//! `docs/charts.md`: every template on the page is rendered, and what the page says of it must be so.

use std::collections::BTreeMap;
use std::sync::Arc;

use reeve_renderer::budget::{Budget, Limits};
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::template::{ChartFiles, Scope, Source, Templates};
use reeve_renderer::tree::MemoryTree;
use reeve_renderer::value::Value;
use reeve_renderer::yaml;

use crate::{page, repository};

struct Files(BTreeMap<Arc<str>, Arc<[u8]>>);

impl ChartFiles for Files {
    fn get(&self, path: &str) -> Option<Arc<[u8]>> {
        self.0.get(path).cloned()
    }

    fn paths(&self) -> Vec<Arc<str>> {
        self.0.keys().cloned().collect()
    }
}

fn value(text: &str) -> Value {
    match yaml::documents(text, &yaml::Options::default()).unwrap().first() {
        Some(node) => node.to_value().unwrap(),
        None => Value::empty_dict(),
    }
}

/// The scope that the page describes.
fn render(template: &str, macros: &str, values: &str) -> Result<String, Vec<Diagnostic>> {
    let source = |name: &str, text: &str| Source { name: name.into(), file: name.into(), text: text.into() };
    let templates = Templates::compile(&[source("page.yaml.j2", template), source("_macros.j2", macros)])?;
    let files = Files([("files/motd.txt".into(), b"hello\n".as_slice().into())].into());
    let facts = value(
        "Runtime: {name: shop-eu, labels: {region: eu}, channel: regular}
Component: {name: web, namespace: shop, chart: web, version: 1.2.0, target: Runtime}
Release: {name: web, namespace: shop, service: Reeve}
Chart: {apiVersion: v2, name: web, version: 1.2.0, appVersion: \"3.1\"}
Capabilities:
  kubeVersion: {version: v1.35.4, major: \"1\", minor: \"35\", gitVersion: v1.35.4}
  apiVersions: [v1, apps/v1, apps/v1/Deployment, dapr.io/v1alpha1]
Template: {name: charts/web/1.2.0/templates/page.yaml.j2, basePath: charts/web/1.2.0/templates}",
    );
    let mut scope = Scope::new().data("Values", value(values)).files(&files);
    for name in ["Runtime", "Component", "Release", "Chart", "Capabilities", "Template"] {
        scope = scope.data(name, facts.get(name).unwrap().clone());
    }
    let advice = "set it in charts/web/1.2.0/values.yaml, in a layer or in the runtime";
    let scope = scope.advice("Values", advice.to_owned());
    templates.render("page.yaml.j2", &scope, &Budget::new(Limits::default())).map_err(|finding| vec![finding])
}

/// A finding as the page shows it, without the location.
fn shown(findings: &[Diagnostic]) -> String {
    let bare = |finding: &Diagnostic| Diagnostic { location: None, notes: Vec::new(), ..finding.clone() };
    repository::text(&findings.iter().map(bare).collect::<Vec<_>>())
}

#[test]
fn every_template_of_the_page_writes_what_the_page_says() {
    let page = page::read("charts.md");
    let (mut values, mut macros) = (String::new(), String::new());
    let blocks = page::blocks(&page);
    let mut rendered = 0;
    for (at, block) in blocks.iter().enumerate() {
        match (&*block.language, &*block.role) {
            ("yaml", "values") => values.clone_from(&block.text),
            ("jinja", "macros") => macros.clone_from(&block.text),
            ("jinja", "template") => {
                let said = &blocks[at + 1];
                let result = render(&block.text, &macros, &values);
                let have = match &*said.role {
                    "output" => result.unwrap_or_else(|findings| repository::text(&findings)),
                    "finding" => result.map_or_else(|findings| shown(&findings), |text| format!("it writes\n{text}")),
                    other => panic!("line {}: a template is followed by its output, not by `{other}`", said.line),
                };
                assert_eq!(have, said.text, "the template at line {}", block.line);
                rendered += 1;
            }
            ("jinja", other) => panic!("line {}: a template without a role is not checked: `{other}`", block.line),
            _ => {}
        }
    }
    assert!(rendered >= 10, "only {rendered} templates were found");
}

#[test]
fn every_row_of_the_table_from_helm_gives_what_it_says() {
    let page = page::read("charts.md");
    let values = page::blocks(&page).into_iter().find(|block| block.role == "values for the table").unwrap().text;
    let macros = page::blocks(&page).into_iter().find(|block| block.role == "macros").unwrap().text;
    let rows = page::table(&page, "| Helm | here | writes |");
    assert!(rows.len() >= 20, "only {} rows were found", rows.len());
    for row in rows {
        let have = render(&row[1], &macros, &values).unwrap_or_else(|findings| repository::text(&findings));
        assert_eq!(have.replace('\n', "⏎"), row[2], "{}", row[1]);
    }
}

#[test]
fn what_the_page_calls_refused_is_refused() {
    let page = page::read("charts.md");
    let rows = page::table(&page, "| refused | code | instead |");
    assert!(rows.len() >= 8, "only {} rows were found", rows.len());
    for row in rows {
        let findings = render(&row[0], "", "image: {tag: x}\nempty: null\nlist: [1]").expect_err(&row[0]);
        assert_eq!(findings[0].code, row[1], "{}: {}", row[0], repository::text(&findings));
    }
}

#[test]
fn the_rules_of_health_on_the_page_are_taken_and_every_key_is_there() {
    let page = page::read("charts.md");
    let shown = page::blocks(&page).into_iter().find(|block| block.role == "health").unwrap().text;
    let chart = |health: &str| -> MemoryTree {
        let files = [
            ("fleet.yaml", "kind: Fleet\n"),
            ("charts/web/1.0.0/Chart.yaml", "name: web\nversion: 1.0.0\n"),
            ("charts/web/1.0.0/health.yaml", health),
        ];
        files.into_iter().collect()
    };
    let (_, findings) = repository::render(&chart(&shown));
    assert!(findings.is_empty(), "{}", repository::text(&findings));
    let (_, findings) = repository::render(&chart("kind: Health\nzzzzzzzzzz: 1\nrules: [{zzzzzzzzzz: 1}]\n"));
    let lists: Vec<&str> =
        findings.iter().filter_map(|finding| finding.help.as_deref()?.strip_prefix("known keys: ")).collect();
    assert_eq!(lists.len(), 2, "{}", repository::text(&findings));
    for key in lists.iter().flat_map(|list| list.split(", ")) {
        assert!(shown.contains(&format!("{key}:")), "`{key}` is not on the page");
    }
}
