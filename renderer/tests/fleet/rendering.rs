//! From a repository to bundles: labels, digests, the cache, the affected set, released charts.

use reeve_renderer::affected::{Affected, affected};
use reeve_renderer::cache::{MemoryCache, NoCache};
use reeve_renderer::fleet::Loader;
use reeve_renderer::released;
use reeve_renderer::render::Renderer;
use reeve_renderer::resolve::resolve;
use reeve_renderer::value::Value;

use crate::repository::{bundle, line, load, small, with};

#[test]
fn objects_get_their_namespace_and_our_labels() {
    let bundle = bundle(&small(), "eu-1", &NoCache);
    let object = Value::Dict(bundle.components[0].objects[0].value.clone());
    assert_eq!(
        serde_json::Value::from(&object),
        serde_json::json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "web",
                "namespace": "default",
                "labels": {
                    "app.kubernetes.io/managed-by": "reeve",
                    "reeve.dev/component": "web",
                    "reeve.dev/runtime": "eu-1",
                },
            },
            "data": {"region": "eu", "replicas": "3"},
        })
    );
}

#[test]
fn layout_order_and_comments_of_a_template_do_not_change_the_digest() {
    let template = "# a comment\nkind:   ConfigMap\ndata: {region: \"{{ Values.region }}\", replicas: '{{ Values.replicas }}'}\nmetadata: {name: \"{{ Release.name }}\"}\napiVersion: v1\n";
    let other = with(&[("charts/web/1.0.0/templates/config.yaml.j2", template)]);
    assert_eq!(bundle(&small(), "eu-1", &NoCache).digest, bundle(&other, "eu-1", &NoCache).digest);
    let changed = with(&[("layers/eu.yaml", "kind: Layer\nvalues: {region: eu2}\n")]);
    assert_ne!(bundle(&small(), "eu-1", &NoCache).digest, bundle(&changed, "eu-1", &NoCache).digest);
}

#[test]
fn the_digest_is_the_same_on_every_machine() {
    assert_eq!(
        bundle(&small(), "eu-1", &NoCache).digest.to_string(),
        "sha256:a06f35232e9bf3af5edb4632d070039be98312311bbeffcd59682a50db286556"
    );
}

#[test]
fn one_chart_with_the_same_values_is_rendered_once_for_the_whole_fleet() {
    let mut tree = small();
    for number in 0..20 {
        tree.write(
            format!("runtimes/many-{number}.yaml"),
            "kind: Runtime\nlabels: {region: eu}\ncomponents: {web: {}}\n",
        );
    }
    let (fleet, _) = load(&tree);
    let cache = MemoryCache::new(1 << 20);
    let renderer = Renderer::new(&fleet.settings, &cache);
    for name in fleet.runtimes.keys() {
        renderer.runtime(&resolve(&fleet, name).expect("there").expect("resolves")).expect("renders");
    }
    // eu-1 and the twenty are alike; us-1 has values of its own.
    assert_eq!(cache.counts(), (20, 2));
}

#[test]
fn a_fact_that_a_template_reads_tells_runtimes_apart_and_one_that_it_does_not_read_does_not() {
    let template =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {stage: \"{{ Runtime.labels.stage }}\"}\n";
    let runtime = |stage: &str, team: &str| {
        format!("kind: Runtime\nlabels: {{stage: {stage}, team: {team}}}\ncomponents: {{web: {{}}}}\n")
    };
    let mut tree = with(&[
        ("charts/web/1.0.0/templates/config.yaml.j2", template),
        ("runtimes/eu-1.yaml", &runtime("prod", "a")),
        ("runtimes/us-1.yaml", &runtime("prod", "b")),
    ]);
    tree.write("runtimes/dev.yaml", runtime("dev", "a"));
    let (fleet, _) = load(&tree);
    let cache = MemoryCache::new(1 << 20);
    let stage = |name: &str| {
        let resolved = resolve(&fleet, name).expect("there").expect("resolves");
        let bundle = Renderer::new(&fleet.settings, &cache).runtime(&resolved).expect("renders");
        let data = bundle.components[0].objects[0].value.get("data").cloned().expect("data");
        data.get("stage").and_then(Value::as_text).map(str::to_owned).expect("text")
    };
    assert_eq!([stage("eu-1"), stage("us-1"), stage("dev")], ["prod", "prod", "dev"]);
    assert_eq!(cache.counts(), (1, 2));
}

#[test]
fn an_api_version_that_a_template_asks_for_tells_runtimes_apart_and_others_do_not() {
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {keda: \"{{ Capabilities.apiVersions.has('keda.sh/v1') }}\"}\n";
    let runtime = |versions: &str| {
        format!("kind: Runtime\ncapabilities: {{apiVersions: [{versions}]}}\ncomponents: {{web: {{}}}}\n")
    };
    let (fleet, _) = load(&with(&[
        ("charts/web/1.0.0/templates/config.yaml.j2", template),
        ("runtimes/eu-1.yaml", &runtime("keda.sh/v1")),
        ("runtimes/eu-2.yaml", &runtime("a/v1, keda.sh/v1")),
        ("runtimes/us-1.yaml", &runtime("")),
        ("runtimes/us-2.yaml", &runtime("a/v1")),
    ]));
    let cache = MemoryCache::new(1 << 20);
    let keda = |name: &str| {
        let resolved = resolve(&fleet, name).expect("there").expect("resolves");
        let bundle = Renderer::new(&fleet.settings, &cache).runtime(&resolved).expect("renders");
        bundle.components[0].objects[0].value.get("data").and_then(|data| data.get("keda")).cloned().expect("data")
    };
    assert_eq!(["eu-1", "eu-2", "us-1", "us-2"].map(keda), ["true", "true", "false", "false"].map(Value::from));
    assert_eq!(cache.counts(), (2, 2));
}

#[test]
fn a_change_concerns_only_the_runtimes_whose_inputs_differ() {
    let loader = Loader::new();
    let (before, _) = loader.load(&small()).expect("readable");
    let said = |files: &[(&str, &str)]| -> Vec<String> {
        let (after, _) = loader.load(&with(files)).expect("readable");
        affected(&before, &after).into_iter().map(|(name, how)| format!("{name} {how:?}")).collect()
    };
    assert!(said(&[]).is_empty());
    assert_eq!(said(&[("layers/eu.yaml", "kind: Layer\nvalues: {region: eu9}\n")]), ["eu-1 Changed"]);
    assert!(
        said(&[(
            "layers/eu.yaml",
            "kind: Layer\n# same\nvalues: {region: eu}\ncomponents: {web: {values: {replicas: 3}}}\n"
        )])
        .is_empty()
    );
    assert!(said(&[("channels/other.yaml", "kind: Channel\ncomponents: {web: 1.0.0}\n")]).is_empty());
    assert_eq!(
        said(&[("runtimes/us-1.yaml", ""), ("runtimes/new.yaml", "kind: Runtime\n")]),
        ["new Added", "us-1 Removed"]
    );
    assert_eq!(
        said(&[("charts/web/1.0.0/values.yaml", "replicas: 2\nregion: none\nteam: none\n")]),
        ["eu-1 Changed", "us-1 Changed"]
    );
    assert_eq!(affected(&before, &before), Vec::<(std::sync::Arc<str>, Affected)>::new());
}

#[test]
fn a_bump_in_a_channel_concerns_only_its_users() {
    let loader = Loader::new();
    let base: &[(&str, &str)] = &[
        ("charts/web/1.1.0/Chart.yaml", "name: web\nversion: 1.1.0\n"),
        ("channels/fast.yaml", "kind: Channel\ncomponents: {web: 1.0.0}\n"),
        ("runtimes/us-1.yaml", "kind: Runtime\nchannel: fast\ncomponents: {web: {}}\n"),
    ];
    let (before, _) = loader.load(&with(base)).expect("readable");
    let mut bumped = base.to_vec();
    bumped[1] = ("channels/fast.yaml", "kind: Channel\ncomponents: {web: 1.1.0}\n");
    let (after, _) = loader.load(&with(&bumped)).expect("readable");
    let names: Vec<String> = affected(&before, &after).into_iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names, ["us-1"]);
}

#[test]
fn a_released_chart_version_must_not_change() {
    let after = with(&[
        ("charts/web/1.0.0/values.yaml", "replicas: 2\n"),
        ("charts/web/1.0.0/files/new.txt", "x"),
        ("charts/web/1.1.0/Chart.yaml", "name: web\nversion: 1.1.0\n"),
    ]);
    let (fleet, _) = load(&after);
    let said: Vec<String> = released::check(&small(), &after, &fleet).expect("readable").iter().map(line).collect();
    assert_eq!(
        said,
        [
            "charts/web/1.0.0/values.yaml:1:1 released-chart: charts/web/1.0.0 is released and must not change; this file changed too charts/web/1.0.0/files/new.txt:1:1 (undo the change, and make it in a folder of the next version)"
        ]
    );
    let warned = with(&[
        ("charts/web/1.0.0/values.yaml", "replicas: 2\n"),
        ("fleet.yaml", "kind: Fleet\npolicy: {releasedCharts: Warning}\n"),
    ]);
    let (fleet, _) = load(&warned);
    assert!(released::check(&small(), &warned, &fleet).expect("readable").iter().all(|finding| !finding.is_error()));
}
