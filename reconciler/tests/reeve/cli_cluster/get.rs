//! `reeve get`.

use reeve_crds::{Runtime, RuntimeComponent};
use serde_json::json;

use crate::cli_cluster::fixture::{CliFixture, state, with};
use crate::cli_cluster::watching::Watching;

/// A source, two runtimes and a component, of which one is not well.
async fn fixture(prefix: &str) -> CliFixture {
    let fixture = CliFixture::new(prefix).await;
    let source = json!({
        "revision": "main@4f1c2aa90b3d",
        "runtimes": {
            "summary": "1/2", "total": 2, "ready": 1, "processing": 0, "warning": 0, "error": 1, "deleting": 0,
            "suspended": 0, "unknown": 0,
        },
    });
    fixture.source("fleet", with(state("Ready", "Succeeded", "all is well"), source)).await;
    let applied = json!({
        "applied": { "revision": "main@4f1c2aa90b3d", "digest": "sha256:1" },
        "componentsReady": { "ready": 1, "total": 1, "summary": "1/1" },
    });
    fixture.runtime("eu-1", "fleet", with(state("Ready", "Succeeded", "all is well"), applied)).await;
    fixture.runtime("eu-2", "fleet", state("Error", "Refused", "quota exceeded")).await;
    fixture.component("eu-1", "web", state("Ready", "Succeeded", "all is well")).await;
    fixture
}

/// The words of each line, but for ages.
fn words(text: &str) -> Vec<Vec<&str>> {
    let is_age = |word: &str| word.len() < 5 && word.ends_with('s') && word.starts_with(|c: char| c.is_ascii_digit());
    text.lines().map(|line| line.split_whitespace().filter(|word| !is_age(word)).collect()).collect()
}

#[tokio::test]
async fn all_three_kinds_are_in_one_list_and_one_that_is_not_ready_shows_in_the_status() {
    let fixture = fixture("get").await;
    let told = fixture.reeve(&["get"]).await.with(1);
    let wanted: &[&[&str]] = &[
        &["NAME", "STATE", "REASON", "READY", "REVISION", "AGE", "MESSAGE"],
        &["source/fleet", "Ready", "Succeeded", "1/2", "main@4f1c2aa90b3d"],
        &["runtime/eu-1", "Ready", "Succeeded", "1/1", "main@4f1c2aa90b3d"],
        &["runtime/eu-2", "Error", "Refused", "-", "-", "quota", "exceeded"],
        &["component/eu-1-web", "Ready", "Succeeded", "-", "-"],
    ];
    assert_eq!(words(&told.out), wanted);
    let column = |line: &str| line.find("Ready").or_else(|| line.find("STATE")).or_else(|| line.find("Error"));
    let columns: Vec<_> = told.out.lines().map(column).collect();
    assert!(columns.windows(2).all(|pair| pair[0] == pair[1]), "the columns are not below each other: {}", told.out);
    assert!(told.out.lines().all(|line| line == line.trim_end()), "{}", told.out);
}

#[tokio::test]
async fn names_choose_and_what_is_not_there_is_told_with_what_was_meant() {
    let fixture = fixture("get-names").await;
    let told = fixture.reeve(&["get", "runtime", "eu-1"]).await.with(0);
    let wanted: &[&[&str]] = &[
        &["NAME", "STATE", "REASON", "COMPONENTS", "REVISION", "DRIFT", "CHANNEL", "AGE"],
        &["eu-1", "Ready", "Succeeded", "1/1", "main@4f1c2aa90b3d", "-", "regular"],
    ];
    assert_eq!(words(&told.out), wanted);
    fixture.reeve(&["get", "rt", "eu-1", "eu-2"]).await.with(1);
    let told = fixture.reeve(&["get", "runtimes", "eu-11"]).await.with(2);
    let wanted = format!(
        "error: there is no runtime `eu-11` in namespace `{}`\n  help: did you mean `eu-1`?\n",
        fixture.namespace
    );
    assert_eq!(told.err, wanted);
    let told = fixture.reeve(&["get", "inventory"]).await.with(0);
    assert_eq!(told.out, format!("no inventory in namespace {}\n", fixture.namespace));
}

#[tokio::test]
async fn scripts_get_objects_and_names() {
    let fixture = fixture("get-scripts").await;
    let told = fixture.reeve(&["get", "runtimes", "-o", "json"]).await.with(1).json();
    assert_eq!(told["kind"], "List");
    assert_eq!(told["items"][1]["metadata"]["name"], "eu-2");
    assert_eq!(told["items"][1]["kind"], "Runtime");
    assert_eq!(told["items"][1]["status"]["state"], "Error");
    assert_eq!(told["items"][1]["metadata"]["managedFields"], serde_json::Value::Null);
    let told = fixture.reeve(&["get", "-o", "name"]).await.with(1);
    let wanted = "gitsource.reeve.dev/fleet\nruntime.reeve.dev/eu-1\nruntime.reeve.dev/eu-2\n\
                  runtimecomponent.reeve.dev/eu-1-web\n";
    assert_eq!(told.out, wanted);
    let told = fixture.reeve(&["get", "sources", "-o", "yaml"]).await.with(0);
    assert!(told.out.starts_with("---\napiVersion: reeve.dev/v1alpha1\nkind: GitSource\n"), "{}", told.out);
    let quoted = "lastTransitionTime: \"2026-01-02T03:04:05Z\"\n";
    assert!(told.out.contains(quoted), "a time is text for every reader of YAML: {}", told.out);
    let told = fixture.reeve(&["get", "sources", "-o", "wide"]).await.with(0);
    assert!(told.out.contains("https://git.example.com/acme/fleet.git") && told.out.contains("all is well"));
}

#[tokio::test]
async fn the_worst_comes_first_if_asked_and_colours_tell_states() {
    let fixture = fixture("get-sort").await;
    let told = fixture.reeve(&["get", "runtimes", "--sort", "state", "-o", "name"]).await.with(1);
    assert_eq!(told.out, "runtime.reeve.dev/eu-2\nruntime.reeve.dev/eu-1\n");
    assert!(!fixture.reeve(&["get"]).await.with(1).out.contains('\x1b'));
    let told = fixture.reeve(&["--color", "always", "get"]).await.with(1);
    assert!(told.out.contains("\x1b[1;31mError\x1b[0m") && told.out.contains("\x1b[32mReady\x1b[0m"), "{}", told.out);
}

#[tokio::test]
async fn ready_that_speaks_of_an_older_spec_is_not_ready() {
    let fixture = CliFixture::new("get-old").await;
    fixture.runtime("eu-1", "fleet", state("Ready", "Succeeded", "")).await;
    fixture.reeve(&["get", "runtimes"]).await.with(0);
    let patch = kube::api::Patch::Merge(json!({ "spec": { "channel": "fast" } }));
    fixture.api::<Runtime>().patch("eu-1", &kube::api::PatchParams::default(), &patch).await.unwrap();
    let told = fixture.reeve(&["get", "runtimes"]).await.with(1);
    let row = words(&told.out).pop().unwrap().join(" ");
    assert_eq!(row, "eu-1 Processing - - - - fast it changed, and was not looked at since");
}

#[tokio::test]
async fn all_namespaces_have_a_column_of_their_own() {
    let fixture = fixture("get-all").await;
    let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_reeve"))
        .args(["get", "runtimes", "-A", "--kubeconfig"])
        .arg(fixture.cluster.kubeconfig())
        .output()
        .await
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.starts_with("NAMESPACE "), "{out}");
    let ours: Vec<_> = out.lines().filter(|line| line.starts_with(&fixture.namespace)).collect();
    assert_eq!(ours.len(), 2, "{out}");
}

#[tokio::test]
async fn a_watch_prints_what_changes_and_nothing_else() {
    let fixture = fixture("get-watch").await;
    let mut watching = Watching::start(&fixture, &["get", "--watch"]);
    for start in ["NAME", "source/fleet", "runtime/eu-1", "runtime/eu-2", "component/eu-1-web"] {
        let line = watching.line().await;
        assert!(line.starts_with(start), "{line}");
    }
    // Nothing that the table shows.
    fixture.report::<Runtime>("eu-1", json!({ "objects": 7 })).await;
    fixture.report::<Runtime>("eu-2", state("Processing", "Progressing", "")).await;
    let line = watching.line().await;
    assert!(line.starts_with("runtime/eu-2") && line.contains("Processing"), "{line}");
    fixture.api::<RuntimeComponent>().delete("eu-1-web", &kube::api::DeleteParams::default()).await.unwrap();
    let line = watching.line().await;
    assert!(line.starts_with("component/eu-1-web") && line.ends_with("deleted"), "{line}");
}

#[tokio::test]
async fn a_watch_in_json_has_an_object_on_each_line_from_the_first() {
    let fixture = fixture("get-watch-json").await;
    let mut watching = Watching::start(&fixture, &["get", "runtimes", "--watch", "-o", "json"]);
    let mut next = async || serde_json::from_str::<serde_json::Value>(&watching.line().await).unwrap();
    for name in ["eu-1", "eu-2"] {
        assert_eq!(next().await["metadata"]["name"], name);
    }
    fixture.report::<Runtime>("eu-2", state("Processing", "Progressing", "")).await;
    assert_eq!(next().await["status"]["state"], "Processing");
}

#[tokio::test]
async fn a_watch_that_begins_with_nothing_has_columns_all_the_same() {
    let fixture = CliFixture::new("get-watch-empty").await;
    let mut watching = Watching::start(&fixture, &["get", "--watch"]);
    let header = watching.line().await;
    assert!(header.starts_with("NAME") && header.ends_with("MESSAGE"), "{header}");
    fixture.runtime("eu-1", "fleet", state("Unknown", "Unknown", "")).await;
    let progress = |ready: u32| {
        let count = json!({ "ready": ready, "total": 3, "summary": format!("{ready}/3") });
        with(state("Processing", "Progressing", "web waits"), json!({ "componentsReady": count }))
    };
    for ready in [1, 2] {
        fixture.report::<Runtime>("eu-1", progress(ready)).await;
        let summary = format!("{ready}/3");
        let row = loop {
            let row = watching.line().await;
            if row.contains(&summary) {
                break row;
            }
        };
        assert_eq!(row.find(&summary), header.find("READY"), "{header}\n{row}");
        assert_eq!(row.find("web waits"), header.find("MESSAGE"), "{header}\n{row}");
    }
}

#[tokio::test]
async fn rows_fit_on_a_narrow_terminal() {
    let fixture = CliFixture::new("get-narrow").await;
    fixture.runtime("eu-1", "fleet", state("Error", "Refused", "a message that is longer than a narrow screen")).await;
    let shown = async |columns: u32| {
        let file = fixture.cluster.kubeconfig().display();
        let binary = env!("CARGO_BIN_EXE_reeve");
        let reeve = format!("{binary} --color never get --kubeconfig {file} -n {}", fixture.namespace);
        let mut script = tokio::process::Command::new("script");
        script.args(["--quiet", "--return", "--command", &format!("stty cols {columns}; {reeve}"), "/dev/null"]);
        crate::cli::repository::ended(script.stdin(std::process::Stdio::null()).output().await.unwrap()).with(1).out
    };
    let narrow = shown(80).await;
    assert!(narrow.lines().all(|line| line.trim_end().chars().count() <= 80), "{narrow}");
    assert!(narrow.contains("a message") && narrow.contains("..."), "{narrow}");
    assert!(shown(200).await.contains("longer than a narrow screen"));
}
