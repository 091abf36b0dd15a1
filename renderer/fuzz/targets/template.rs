//! Any text as a template: compiled and rendered within the limits, on a small stack.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reeve_renderer::budget::{Budget, Limits};
use reeve_renderer::template::{Scope, Source, Templates};
use reeve_renderer::value::Value;
use reeve_renderer::yaml::{Options, documents};

const VALUES: &str = "{name: web, count: 3, ratio: 1.5, flag: true, list: [1, two, {a: b}], map: {x: {w: z}}, empty: {}}";

fuzz_target!(|text: &str| {
    let source = Source { name: "x.j2".to_owned(), file: "x.j2".into(), text: text.into() };
    let Ok(templates) = Templates::compile(&[source]) else { return };
    let values = documents(VALUES, &Options::default()).expect("our own")[0].to_value().expect("shallow");
    let scope = Scope::new().data("Values", values).data("x", Value::from("y"));
    let limits = Limits { steps: 50_000, memory: 4 << 20, output: 1 << 20, depth: 64 };
    let _ = templates.render("x.j2", &scope, &Budget::new(limits));
});
