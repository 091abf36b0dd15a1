use proptest::prelude::*;

use super::Interner;
use crate::value::Value;
use crate::yaml::{self, Document, Options};

fn documents(text: &str, nodes: u64) -> Option<Vec<Document>> {
    super::documents(text, nodes, &mut Interner::default())
}

/// What the parser makes of a text; nothing if it refuses it.
fn parsed(text: &str) -> Option<Vec<Document>> {
    let nodes = yaml::documents(text, &Options::default()).ok()?;
    let value = |node: &yaml::Node| Document { value: node.to_value().expect("not deep"), line: node.span.line };
    Some(nodes.iter().map(value).collect())
}

/// What is read at once is what the parser reads.
fn agrees(text: &str) -> Result<(), String> {
    match documents(text, Options::default().nodes) {
        Some(quick) if Some(&quick) == parsed(text).as_ref() => Ok(()),
        Some(quick) => Err(format!("{text:?}\nread at once: {quick:?}\nparsed: {:?}", parsed(text))),
        None => Ok(()),
    }
}

const TAKEN: &[&str] = &[
    "a: 1\n",
    "a: 1",
    "# c\n\na: b # c\n\n---\n# c\n---\nb:\n  c: d\n",
    "---\na:\n- b\n- c: 1\n  d: 2\n-\n  e: 3\n- - f\n  - g\nh: null\n",
    "a:\n  - b:\n      c: 1\n    d:\n    - e\n",
    "a: |\n  x\n   y\n\n  z\n\nb: |-\n  x\n\nc: |+\n  x\n\n\nd: 1\n",
    "- |\n  x\n- a: |\n    y\n",
    "a: 'it''s'\n\"b c\": \"x\\n\\\"y\\\"\" # c\n'd': ''\n",
    "a: [1, \"b\", c-d, --e, [], {e: f, \"g\":[1]}]\nb: {}\nc: []\n",
    "a: --flag\nb: http://x:80/y#z\nc: -1.5\nd: a:b\ne:f: g\nh: 1.2.3\n",
    "a: [10.0.0.3:53, --e=f:g]\n",
    "a: {h: i:j, k:l: m}\n",
    "p:\n- ::/0\n- ::1\n- o: ::ffff:1.2.3.4\n",
    "a:\nb:\n",
    "  a: 1\n  b: 2\n",
];

#[test]
fn the_usual_style_is_read_at_once_and_as_the_parser_reads_it() {
    for text in TAKEN {
        assert!(documents(text, 1000).is_some(), "{text:?} was left to the parser");
        agrees(text).unwrap();
    }
}

const LEFT: &[&str] = &[
    "a: b\n  c\n",
    "a: >\n  b\n",
    "a: |2\n   b\n",
    "a: |\n  x\n # c\n",
    "a: |\n",
    "a: |\n  x",
    "a: \"b\n  c\"\n",
    "a: \"\\x41\"\n",
    "a: &x 1\nb: *x\n",
    "a: !!str 1\n",
    "<<: {a: 1}\n",
    "? a\n: b\n",
    "%YAML 1.2\n---\na: 1\n",
    "--- a: 1\n",
    "a: 1\n...\n",
    "a: 1\na: 2\n",
    "a: yes\n",
    "on: 1\n",
    "null: 1\n",
    "a: 1\n b: 2\n",
    "a:\n  b: 1\n c: 2\n",
    "a: b: c\n",
    "a: [1\n]\n",
    "a: [b: c]\n",
    "a:\tb\n",
    "a: 1\r\n",
    "a: ü\n",
    "a : 1\n",
    "text\n",
    "- a\nb: 1\n",
    "a: 1\n- b\n",
];

#[test]
fn what_is_not_surely_of_the_usual_style_is_left_to_the_parser() {
    for text in LEFT {
        assert!(documents(text, 1000).is_none(), "{text:?}");
    }
    assert!(documents("a: [1, 2]\n", 5).is_some() && documents("a: [1, 2]\n", 4).is_none(), "too many values");
    let deep = |levels: usize| (0..levels).fold(String::new(), |text, at| text + &" ".repeat(at) + "a:\n");
    assert!(documents(&deep(40), 1000).is_some() && documents(&deep(41), 1000).is_none(), "too deep");
}

#[test]
fn a_key_that_is_too_long_for_the_parser_is_left_to_it_in_brackets_too() {
    for length in [100, 510, 600, 1023, 1024, 1025, 3000] {
        let key = "k".repeat(length);
        for text in [format!("{key}: 1\n"), format!("a: {{{key}: 1}}\n"), format!("a: [{{\"{key}\":1}}]\n")] {
            agrees(&text).unwrap();
        }
    }
}

#[test]
fn objects_of_the_examples_are_read_at_once_and_as_the_parser_reads_them() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/examples/golden");
    let mut taken = (0, 0);
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for document in text.split_inclusive("\n---\n") {
            agrees(document).unwrap();
            taken.0 += usize::from(documents(document, 100_000).is_some());
            taken.1 += 1;
        }
    }
    assert!(taken.0 * 10 > taken.1 * 9, "only {} of {} objects", taken.0, taken.1);
}

/// Pieces of lines, sound and unsound.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "a", "b", "a.b/c", "1", "-1", "0x1F", "1.5", "0755", "yes", "null", "~", "true", "-", "- ", "- - ", "--",
    "---", "...", "?", "? ", ":", ": ", "a:", "a: ", "b: ", "'c': ", "\"d\": ", "'", "\"", "''", "\"\"", "'x'",
    "\"x\"", "\"\\n\"", "\\", "#", " #", "# x", "|", "|-", "|+", ">", "|2", "[", "]", "{", "}", ",", ", ", "[]",
    "{}", "[a, b]", "[--a, -b]", "{a: b}", "{\"a\":1}", "&x ", "*x", "!t ", "%", "@", "`", "<<", "<<: ", "  ", " ", "=", "+",
    "a b", "a#b", "a:b", "http://x", "$", "(", ";", "^",
];

fn pieces() -> impl Strategy<Value = String> {
    let tokens = prop::sample::select(PIECES);
    prop::collection::vec(tokens, 0..5).prop_map(|tokens| tokens.concat())
}

fn texts() -> impl Strategy<Value = String> {
    let line = (0usize..6, pieces()).prop_map(|(indent, piece)| " ".repeat(indent) + &piece);
    (prop::collection::vec(line, 0..9), any::<bool>())
        .prop_map(|(lines, end)| lines.join("\n") + if end { "\n" } else { "" })
}

/// Lines of the usual style.
#[rustfmt::skip]
const LINES: &[&str] = &[
    "a:", "b:", "c: 1", "d: x # y", "- a", "- b: 1", "- c:", "-", "- - d", "e: |", "- |", "f: |-", "x y", "", " ",
    "# c", "g: []", "h: 'i'", "\"j\": k", "l: \"m\"", "- \"n\"", "---", "o: [p, {q: r}]", "text: more", "s: |+",
    "t: >",
];

/// Lines of the usual style whose indentation goes its own way.
fn usual_texts() -> impl Strategy<Value = String> {
    let line = prop::sample::select(LINES);
    let line = (0usize..5, line).prop_map(|(indent, line)| "  ".repeat(indent) + line);
    let lines = prop::collection::vec((line, 0u8..20), 0..14);
    lines.prop_map(|lines| {
        let shifted = lines.into_iter().map(|(line, odd)| if odd == 0 { " ".to_owned() + &line } else { line });
        shifted.map(|line| line + "\n").collect()
    })
}

fn values() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[a-z./:# -]{0,12}",
        "[ -~]{0,16}",
        "[a-z\n ]{0,20}",
        prop::sample::select(vec!["yes", "1", "null", "a: b", "- a", "#", "'", "\"", "x\n", "\n"])
            .prop_map(str::to_owned),
    ];
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i32>().prop_map(|number| Value::Int(number.into())),
        text.prop_map(Value::from),
    ];
    scalar.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| Value::list(items).expect("not deep")),
            prop::collection::btree_map("[a-zA-Z./ -]{1,6}|[ -~]{0,4}", inner, 0..5).prop_map(|entries| {
                Value::dict(entries.into_iter().map(|(key, value)| (key.into(), value)).collect()).expect("not deep")
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_pieces_of_yaml_are_read_as_the_parser_reads_them(text in texts()) {
        prop_assert_eq!(agrees(&text), Ok(()));
    }

    #[test]
    fn any_indentation_of_the_usual_style_is_read_as_the_parser_reads_it(text in usual_texts()) {
        prop_assert_eq!(agrees(&text), Ok(()));
    }

    #[test]
    fn printable_text_is_read_as_the_parser_reads_it(text in "[ -~\n]{0,60}") {
        prop_assert_eq!(agrees(&text), Ok(()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_we_write_is_read_as_the_parser_reads_it(value in values(), cut in 0usize..400, noise in pieces()) {
        let mut text = String::new();
        yaml::write(&value, &mut text);
        prop_assert_eq!(agrees(&text), Ok(()));
        let cut = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.insert_str(cut, &noise);
        prop_assert_eq!(agrees(&text), Ok(()));
    }
}

#[test]
fn a_word_is_the_same_whatever_was_read_before_it() {
    let mut interner = Interner::default();
    let all: Vec<String> = (0..5000).map(|number| format!("word-{number}")).collect();
    for word in all.iter().chain(&all) {
        assert_eq!(&*interner.get(word), word);
    }
    let (first, second) = (interner.get("kind"), interner.get("kind"));
    assert!(std::sync::Arc::ptr_eq(&first, &second));
    assert_eq!(interner.get(&"x".repeat(1000)).len(), 1000);
}
