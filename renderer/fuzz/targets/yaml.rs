//! Any bytes as YAML, in both dialects: read, written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reeve_renderer::yaml::{Dialect, Options, documents, write};

fuzz_target!(|text: &str| {
    for dialect in [Dialect::Strict, Dialect::Helm] {
        let Ok(nodes) = documents(text, &Options { dialect, nodes: 10_000 }) else { continue };
        for node in nodes {
            let Ok(value) = node.to_value() else { continue };
            let mut written = String::new();
            write(&value, &mut written);
            let again = documents(&written, &Options::default()).expect("what we write can be read");
            let again = again.first().map_or(reeve_renderer::value::Value::Null, |node| node.to_value().expect("as deep as before"));
            assert_eq!(again, value, "{written}");
        }
    }
});
