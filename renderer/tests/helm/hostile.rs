//! Templates in Helm's syntax that want to hang, exhaust or kill the process: each ends as a finding with a place.

use std::sync::Arc;

use proptest::prelude::*;
use reeve_renderer::budget::{Budget, Limits};
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::template::{ChartFiles, ChartNode, GoTemplates, Scope, Source, render_charts};
use reeve_renderer::value::Value;

struct NoFiles;

impl ChartFiles for NoFiles {
    fn get(&self, _: &str) -> Option<Arc<[u8]>> {
        None
    }

    fn paths(&self) -> Vec<Arc<str>> {
        Vec::new()
    }
}

/// What became of a template, within small limits and on a small stack.
fn render(text: &str) -> Result<String, String> {
    written(text).map_err(|found| {
        assert!(found.location.is_some(), "{found}");
        found.to_string()
    })
}

fn written(text: &str) -> Result<String, Diagnostic> {
    let source = Source { name: "a.yaml".to_owned(), file: "a.yaml".into(), text: text.into() };
    let templates = GoTemplates::compile(&[source]).map_err(|mut found| found.remove(0))?;
    let chart = ChartNode {
        name: "hostile".into(),
        plain_name: "hostile".into(),
        is_switched: true,
        metadata: Value::empty_dict(),
        templates: &templates,
        files: &NoFiles,
        is_library: false,
        children: Vec::new(),
    };
    let limits = Limits { steps: 200_000, memory: 8 << 20, output: 1 << 20, depth: 64 };
    let values = Value::dict([(Arc::from("a"), Value::from("b"))].into()).expect("not deep");
    let scope = Scope::new().data("Values", values);
    let rendered = render_charts(&chart, &scope, &Budget::new(limits), None).remove(0);
    rendered.result.map(|written| written.text).map_err(|mut found| found.remove(0))
}

fn on_a_small_stack(text: String) -> Result<String, String> {
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(move || render(&text));
    thread.expect("a thread starts").join().expect("nothing panics")
}

#[test]
fn what_never_ends_is_stopped() {
    let open = "{{ if true }}".repeat(5000);
    let brackets = format!("{{{{ {}1{} }}}}", "(".repeat(5000), ")".repeat(5000));
    let pipes = format!("{{{{ 1 {} }}}}", "| toString ".repeat(5000));
    let fields = format!("{{{{ {} }}}}", ".a".repeat(50_000));
    for text in [
        "{{ define \"a\" }}{{ template \"a\" . }}{{ end }}{{ template \"a\" . }}",
        "{{ define \"a\" }}{{ include \"a\" . }}{{ end }}{{ include \"a\" . }}",
        "{{ define \"a\" }}{{ tpl \"{{ include \\\"a\\\" . }}\" . }}{{ end }}{{ include \"a\" . }}",
        "{{ range 1000000000 }}{{ end }}",
        "{{ range until 1000000000 }}{{ end }}",
        "{{ $x := \"aaaaaaaaaaaaaaaa\" }}{{ range 60 }}{{ $x = print $x $x }}{{ end }}",
        "{{ $x := list 1 }}{{ range 60 }}{{ $x = list $x $x }}{{ end }}{{ toJson $x }}",
        "{{ $x := list 1 }}{{ range 100000 }}{{ $x = list $x }}{{ end }}{{ toJson $x }}",
        "{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ toYaml $d }}",
        "{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ deepCopy $d }}",
        "{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ $e := dict }}{{ $_ := set $e \"d\" $e }}{{ merge $d $e }}",
        "{{ $_ := set . \"self\" . }}{{ toJson . }}",
        "{{ range 100000 }}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{{ end }}",
        "{{ repeat 1000000000 \"a\" }}",
        &open,
        &brackets,
        &pipes,
        &fields,
    ] {
        let said = on_a_small_stack(text.to_owned()).expect_err(&text[..text.len().min(80)]);
        assert!(said.contains("a.yaml:1:"), "{said}");
    }
}

#[test]
fn a_recursion_is_shown_where_it_is_and_how_it_began() {
    let text = "{{ define \"one\" }}{{ include \"two\" . }}{{ end }}\n{{ define \"two\" }}{{ include \"one\" . }}{{ end }}\n{{ include \"one\" . }}";
    let said = written(text).expect_err("it never ends");
    let notes: Vec<&str> = said.notes.iter().map(|note| note.message.as_str()).collect();
    assert_eq!(said.code, "limit");
    assert_eq!(notes.len(), 10, "{notes:?}");
    assert_eq!(notes[6], "55 more calls between these");
    assert_eq!(notes[9], "in `one`, called from a.yaml:3:4");
}

/// What templates are made of.
const WORDS: &[&str] = &[
    "{{",
    "}}",
    "{{-",
    "-}}",
    "{{ ",
    " }}",
    "{{/*",
    "*/}}",
    " ",
    "\n",
    ".",
    "$",
    "$x",
    ".Values",
    ".a",
    "|",
    "(",
    ")",
    ":=",
    "=",
    ",",
    "\"",
    "`",
    "'",
    "1",
    "-1",
    "0x",
    "1e9",
    "nil",
    "true",
    "if",
    "else",
    "end",
    "range",
    "with",
    "define",
    "template",
    "block",
    "break",
    "continue",
    "include",
    "tpl",
    "set",
    "dict",
    "list",
    "toYaml",
    "index",
    "printf",
    "\"%d\"",
    "\"a\"",
    "merge",
    "range 9",
    "{{ end }}",
    "{{ else }}",
    "{{ if . }}",
    "{{ range . }}",
    "{{ with . }}",
    "{{ define \"a\" }}",
    "{{ template \"a\" . }}",
    "é",
    "\u{0}",
];

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![4 => proptest::sample::select(WORDS).prop_map(str::to_owned), 1 => any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_and_run_within_its_limits(pieces in prop::collection::vec(piece(), 0..40)) {
        let _ = render(&pieces.concat());
    }

    #[test]
    fn text_without_actions_is_written_as_it_is(text in "[^{]{0,200}") {
        prop_assert_eq!(render(&text), Ok(text.replace("<no value>", "")));
    }
}
