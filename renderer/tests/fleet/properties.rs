//! What holds for every repository: random ones, changed at random.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use reeve_renderer::affected::affected;
use reeve_renderer::cache::{MemoryCache, NoCache, RenderCache};
use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer::render::Renderer;
use reeve_renderer::resolve::resolve;
use reeve_renderer::tree::MemoryTree;
use reeve_renderer::value::{Dict, Value, merge};

use crate::repository::{findings, small};

/// What a template of a random chart reads.
const READS: &[&str] = &[
    "a: \"{{ Values.a }}\"",
    "b: \"{{ Values.m.x }}\"",
    "c: \"{{ Runtime.labels.region }}\"",
    "d: \"{{ Runtime.labels.stage | default('none') }}\"",
    "e: \"{{ Release.namespace }}-{{ Component.name }}\"",
    "f: {{ Values.m | toJson | quote }}",
    "g: \"{% if Values.b %}{{ Values.a }}{% else %}no{% endif %}\"",
];

/// A file of a random repository, and a number that says what is in it.
type Choices = BTreeMap<String, u8>;

fn text(path: &str, choice: u8) -> String {
    let pick = |words: &[&str]| words[usize::from(choice) % words.len()].to_owned();
    let values = format!("{{a: v{}, b: {}, m: {{x: {}}}}}", choice % 3, choice.is_multiple_of(2), choice % 5);
    match path.split('/').collect::<Vec<_>>()[..] {
        ["fleet.yaml"] => format!(
            "kind: Fleet\ndefaults: {{channel: {}}}\nlayers:\n  - name: l0\n  - name: l1\n    selector: {{matchLabels: {{region: {}}}}}\ncomponents:\n  shared:\n    chart: c0\n    selector: {{matchLabels: {{stage: prod}}}}\n",
            pick(&["ch0", "ch1"]),
            if choice.is_multiple_of(3) { "eu" } else { "us" },
        ),
        ["channels", _] => format!(
            "kind: Channel\ncomponents: {{c0: {}, c1: {}}}\n",
            pick(&["1.0.0", "1.1.0"]),
            if choice.is_multiple_of(3) { "1.0.0" } else { "1.1.0" }
        ),
        ["layers", _] => match choice % 4 {
            0 => "kind: Layer\n".to_owned(),
            1 => format!("kind: Layer\nvalues: {values}\n"),
            2 => format!("kind: Layer\ncomponents: {{c0: {{values: {values}}}}}\n"),
            _ => "kind: Layer\nvalues: {b: null, m: {y: 1}}\n".to_owned(),
        },
        ["runtimes", _] => format!(
            "kind: Runtime\nlabels: {{region: {}, {}team: t{}}}\n{}components:\n  c0: {{}}\n  c1: {}\n",
            if choice.is_multiple_of(2) { "eu" } else { "us" },
            if choice.is_multiple_of(3) { "stage: prod, " } else { "" },
            choice % 7,
            if choice.is_multiple_of(5) { "channel: ch1\n" } else { "" },
            pick(&["{}", "{values: {a: own}}", "{namespace: other}", "{enabled: false}"]),
        ),
        ["charts", chart, version, "Chart.yaml"] => format!("name: {chart}\nversion: {version}\n"),
        ["charts", _, _, "values.yaml"] => format!("a: chart\nb: false\nm: {{x: {}}}\n", choice % 4),
        _ => format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{{{ Component.name }}}}\ndata:\n  {}\n",
            pick(READS)
        ),
    }
}

fn paths() -> Vec<String> {
    let mut paths: Vec<String> =
        ["fleet.yaml", "channels/ch0.yaml", "channels/ch1.yaml", "layers/l0.yaml", "layers/l1.yaml"]
            .into_iter()
            .map(str::to_owned)
            .collect();
    paths.extend((0..5).map(|number| format!("runtimes/r{number}.yaml")));
    for chart in ["c0/1.0.0", "c0/1.1.0", "c1/1.0.0", "c1/1.1.0"] {
        paths.extend(["Chart.yaml", "values.yaml", "templates/x.yaml.j2"].map(|file| format!("charts/{chart}/{file}")));
    }
    paths
}

fn tree(choices: &Choices) -> MemoryTree {
    choices.iter().map(|(path, choice)| (path.clone(), text(path, *choice))).collect()
}

fn repositories() -> impl Strategy<Value = Choices> {
    let paths = paths();
    proptest::collection::vec(any::<u8>(), paths.len())
        .prop_map(move |choices| paths.iter().cloned().zip(choices).collect())
}

fn edits() -> impl Strategy<Value = Vec<(usize, u8)>> {
    proptest::collection::vec((0..paths().len(), any::<u8>()), 0..4)
}

/// The digest of every runtime; what cannot be rendered is told by its findings.
fn digests(fleet: &Fleet, cache: &dyn RenderCache, order: &[Arc<str>]) -> BTreeMap<Arc<str>, String> {
    let renderer = Renderer::new(&fleet.settings, cache);
    order
        .iter()
        .map(|name| {
            let outcome = match resolve(fleet, name) {
                Some(Ok(resolved)) => match renderer.runtime(&resolved) {
                    Ok(bundle) => bundle.digest.to_string(),
                    Err(findings) => format!("{findings:?}"),
                },
                Some(Err(findings)) => format!("{findings:?}"),
                None => "gone".to_owned(),
            };
            (name.clone(), outcome)
        })
        .collect()
}

/// Maps whose keys say what they hold, so that no file makes a map of another's scalar.
fn shaped() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![any::<i64>().prop_map(Value::Int), "[a-z]{0,3}".prop_map(Value::from)];
    let map = |below: BoxedStrategy<Value>| {
        proptest::collection::btree_map("[ab]", below, 0..3).prop_map(|entries| {
            Value::dict(entries.into_iter().map(|(key, value)| (Arc::from(key), value)).collect()).expect("shallow")
        })
    };
    let inner = map(scalar.boxed()).boxed();
    (map(inner.clone()), inner).prop_map(|(maps, scalars)| {
        Value::dict([(Arc::from("maps"), maps), (Arc::from("scalars"), scalars)].into()).expect("shallow")
    })
}

fn dict(value: &Value) -> Dict {
    value.as_dict().cloned().expect("a dict")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_affected_set_has_every_runtime_whose_digest_changed(before in repositories(), edits in edits()) {
        let mut after = before.clone();
        let paths = paths();
        for (at, choice) in edits {
            after.insert(paths[at].clone(), choice);
        }
        let loader = Loader::new();
        let (old, _) = loader.load(&tree(&before)).expect("readable");
        let (new, _) = loader.load(&tree(&after)).expect("readable");
        let names: Vec<Arc<str>> = old.runtimes.keys().chain(new.runtimes.keys()).cloned().collect();
        let concerned: Vec<Arc<str>> = affected(&old, &new).into_iter().map(|(name, _)| name).collect();
        let (before, after) = (digests(&old, &NoCache, &names), digests(&new, &NoCache, &names));
        for name in &names {
            prop_assert!(before[name] == after[name] || concerned.contains(name), "{name}: {} -> {}", before[name], after[name]);
        }
    }

    #[test]
    fn twice_shuffled_cached_and_in_two_threads_gives_one_digest(repository in repositories(), turn in 0usize..5) {
        let tree = tree(&repository);
        let (fleet, _) = Loader::new().load(&tree).expect("readable");
        let names: Vec<Arc<str>> = fleet.runtimes.keys().cloned().collect();
        let once = digests(&fleet, &NoCache, &names);
        let cache = MemoryCache::new(1 << 20);
        let mut turned = names.clone();
        turned.rotate_left(turn.min(names.len().saturating_sub(1)));
        prop_assert_eq!(&once, &digests(&fleet, &cache, &turned));
        let (again, _) = Loader::new().load(&tree).expect("readable");
        prop_assert_eq!(&once, &digests(&again, &cache, &names));
        let shared = MemoryCache::new(1 << 20);
        let both = std::thread::scope(|scope| {
            let cache = &shared;
            let fleet = &fleet;
            let turned = &turned;
            let names = &names;
            let first = scope.spawn(move || digests(fleet, cache, names));
            let second = scope.spawn(move || digests(fleet, cache, turned));
            [first.join().expect("no panic"), second.join().expect("no panic")]
        });
        prop_assert_eq!(&once, &both[0]);
        prop_assert_eq!(&once, &both[1]);
    }

    #[test]
    fn merge_is_associative_where_no_file_changes_the_kind_of_a_value(a in shaped(), b in shaped(), c in shaped()) {
        let (a, b, c) = (dict(&a), dict(&b), dict(&c));
        let left = merge(&merge(&a, &b).expect("shallow"), &c).expect("shallow");
        let right = merge(&a, &merge(&b, &c).expect("shallow")).expect("shallow");
        prop_assert_eq!(left, right);
    }

    #[test]
    fn any_bytes_anywhere_are_findings_and_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "\\PC{0,120}", at in 0usize..7) {
        let path = ["fleet.yaml", "channels/regular.yaml", "layers/base.yaml", "runtimes/eu-1.yaml", "charts/web/1.0.0/values.yaml",
            "charts/web/1.0.0/values.schema.json", "charts/web/1.0.0/templates/config.yaml.j2"][at];
        let mut tree = small();
        tree.write(path, &bytes);
        findings(&tree);
        tree.write(path, &text);
        findings(&tree);
    }
}
