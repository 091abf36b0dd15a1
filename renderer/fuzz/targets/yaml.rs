//! Any bytes as YAML, in both dialects: read, written and read again. Read as data they are what they are with positions.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reeve_renderer::value::Value;
use reeve_renderer::yaml::{Dialect, Options, Interner, documents, values, write};

fuzz_target!(|text: &str| {
    for dialect in [Dialect::Strict, Dialect::Helm] {
        let options = Options { dialect, nodes: 10_000 };
        let read = documents(text, &options);
        let data = values(text, &options, &mut Interner::default());
        assert_eq!(data.is_ok(), read.is_ok(), "{data:?}");
        let (Ok(nodes), Ok(data)) = (read, data) else { continue };
        let same = nodes.iter().zip(&data).all(|(node, document)| {
            node.span.line == document.line && node.to_value().as_ref() == Ok(&document.value)
        });
        assert!(same && nodes.len() == data.len(), "{data:?}");
        for node in nodes {
            let Ok(value) = node.to_value() else { continue };
            let mut written = String::new();
            write(&value, &mut written);
            let again = documents(&written, &Options::default()).expect("what we write can be read");
            let again = again.first().map_or(Value::Null, |node| node.to_value().expect("as deep as before"));
            assert!(is_same(&again, &value), "{value:?} is written as {written}");
        }
    }
});

/// Equal, but for numbers: a whole one is written without a point, as Helm writes it.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(a), Value::Float(b)) | (Value::Float(b), Value::Int(a)) => *a as f64 == *b,
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.items().iter().zip(b.items()).all(|(a, b)| is_same(a, b))
        }
        (Value::Dict(a), Value::Dict(b)) => {
            let pairs = a.entries().iter().zip(b.entries());
            a.len() == b.len() && pairs.into_iter().all(|((k, a), (l, b))| k == l && is_same(a, b))
        }
        (a, b) => a == b,
    }
}
