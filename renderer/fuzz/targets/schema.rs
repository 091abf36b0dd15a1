//! Any text as a schema, against any YAML as values.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reeve_renderer::schema::Schema;
use reeve_renderer::yaml::{Options, documents};

fuzz_target!(|text: &str| {
    let (schema, values) = text.split_once('\n').unwrap_or((text, "{a: [1, x, {b: null}]}"));
    let Ok((schema, _)) = Schema::read(&"values.schema.json".into(), schema) else { return };
    let Ok(nodes) = documents(values, &Options { nodes: 10_000, ..Options::default() }) else { return };
    for node in nodes {
        schema.check(&node.to_value().expect("the reader bounds the depth"));
    }
});
