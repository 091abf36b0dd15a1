//! Any text as a template in Helm's syntax: compiled and rendered within the limits.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use reeve_renderer::budget::{Budget, Limits};
use reeve_renderer::template::{ChartFiles, ChartNode, GoTemplates, Scope, Source, render_charts};
use reeve_renderer::value::Value;
use reeve_renderer::yaml::{Options, documents};

const VALUES: &str = "{name: web, count: 3, ratio: 1.5, flag: true, list: [1, two, {a: b}], map: {x: {w: z}}, empty: {}}";

struct NoFiles;

impl ChartFiles for NoFiles {
    fn get(&self, _: &str) -> Option<Arc<[u8]>> {
        None
    }

    fn paths(&self) -> Vec<Arc<str>> {
        Vec::new()
    }
}

fuzz_target!(|text: &str| {
    let source = Source { name: "x.yaml".to_owned(), file: "x.yaml".into(), text: text.into() };
    let Ok(templates) = GoTemplates::compile(&[source]) else { return };
    let values = documents(VALUES, &Options::default()).expect("our own")[0].to_value().expect("shallow");
    let chart = ChartNode {
        name: "x".into(),
        plain_name: "x".into(),
        is_switched: true,
        metadata: Value::empty_dict(),
        templates: &templates,
        files: &NoFiles,
        is_library: false,
        children: Vec::new(),
    };
    let scope = Scope::new().data("Values", values.with_floats());
    let limits = Limits { steps: 50_000, memory: 4 << 20, output: 1 << 20, depth: 64 };
    let _ = render_charts(&chart, &scope, &Budget::new(limits), None);
});
