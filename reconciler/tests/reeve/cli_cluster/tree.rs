//! `reeve tree`.

use reeve_crds::{Runtime, RuntimeComponent};
use serde_json::json;

use crate::cli::repository::ended;
use crate::cli_cluster::fixture::{CliFixture, state, with};

async fn fixture(prefix: &str) -> CliFixture {
    let fixture = CliFixture::new(prefix).await;
    fixture.source("fleet", with(state("Ready", "Succeeded", ""), json!({ "revision": "main@4f1c2aa90b3d" }))).await;
    fixture.runtime("eu-1", "fleet", state("Ready", "Succeeded", "")).await;
    fixture.runtime("us-1", "elsewhere", state("Suspended", "Suspended", "someone asked for it")).await;
    let sick = json!({
        "unhealthy": [{
            "object": { "group": "apps", "kind": "Deployment", "namespace": fixture.namespace, "name": "web" },
            "health": "InProgress",
            "message": "1 of 3 replicas available",
        }],
        "health": { "ready": 1, "total": 2, "summary": "1/2" },
    });
    fixture.component("eu-1", "web", with(state("Processing", "Progressing", "1 object is not healthy"), sick)).await;
    let entries = [
        ["web", "", "Service", "web", "Applied"],
        ["web", "apps", "Deployment", "web", "Applied"],
        ["old", "", "ConfigMap", "old", "Deleting"],
    ];
    fixture.inventory("eu-1", &entries).await;
    fixture
}

#[tokio::test]
async fn objects_hang_below_components_below_runtimes_below_sources() {
    let fixture = fixture("tree").await;
    let ns = &fixture.namespace;
    let told = fixture.reeve(&["tree"]).await.with(1);
    let wanted = format!(
        "source/fleet Ready main@4f1c2aa90b3d https://git.example.com/acme/fleet.git\n\
         `-- runtime/eu-1 Ready\n    \
             |-- component/eu-1-web Processing web 1.2.0 1/2 healthy: 1 object is not healthy\n    \
             |   |-- Service {ns}/web\n    \
             |   `-- Deployment.apps {ns}/web: InProgress, 1 of 3 replicas available\n    \
             `-- component/old: it left the repository\n        \
                 `-- ConfigMap {ns}/old deleting\n\
         runtime/us-1 Suspended: someone asked for it\n"
    );
    assert_eq!(told.out, wanted);
}

#[tokio::test]
async fn one_runtime_or_source_can_be_asked_for() {
    let fixture = fixture("tree-one").await;
    let told = fixture.reeve(&["tree", "runtime", "us-1"]).await.with(1);
    assert_eq!(told.out, "runtime/us-1 Suspended: someone asked for it\n");
    let told = fixture.reeve(&["tree", "source", "fleet", "-o", "json"]).await.with(1).json();
    assert_eq!(
        told[0]["children"][0]["children"][0]["children"][1]["trouble"],
        "InProgress, 1 of 3 replicas available"
    );
    let yaml = fixture.reeve(&["tree", "source", "fleet", "-o", "yaml"]).await.with(1).out;
    assert_eq!(serde_yaml::from_str::<serde_json::Value>(&yaml).unwrap(), told);
    let told = fixture.reeve(&["tree", "source", "flet"]).await.with(2);
    assert!(
        told.err.contains("there is no source `flet`") && told.err.contains("did you mean `fleet`?"),
        "{}",
        told.err
    );
}

#[tokio::test]
async fn what_a_component_has_applied_is_not_called_planned_because_the_inventory_is_behind() {
    let fixture = CliFixture::new("tree-planned").await;
    fixture.runtime("eu-1", "fleet", state("Ready", "Succeeded", "")).await;
    fixture.component("eu-1", "web", state("Processing", "Progressing", "")).await;
    fixture.inventory("eu-1", &[["web", "", "Service", "web", "Planned"]]).await;
    let shown = format!("Service {}/web", fixture.namespace);
    let told = fixture.reeve(&["tree"]).await.with(1).out;
    assert!(told.ends_with(&format!("{shown} planned\n")), "{told}");
    let mut applied = state("Ready", "Succeeded", "");
    let mut condition = applied["conditions"][0].clone();
    condition["type"] = json!("Applied");
    applied["conditions"].as_array_mut().unwrap().push(condition);
    fixture.report::<RuntimeComponent>("eu-1-web", applied.clone()).await;
    let told = fixture.reeve(&["tree"]).await.with(0).out;
    assert!(told.ends_with(&format!("{shown}\n")), "{told}");
    applied["observedGeneration"] = json!(0);
    fixture.report::<RuntimeComponent>("eu-1-web", applied).await;
    let told = fixture.reeve(&["tree"]).await.with(1).out;
    assert!(told.ends_with(&format!("{shown} planned\n")), "what was applied of an older spec says nothing: {told}");
}

#[tokio::test]
async fn a_component_without_an_object_of_its_own_has_left_only_if_its_runtime_lists_it_no_more() {
    let fixture = CliFixture::new("tree-new").await;
    fixture.runtime("eu-1", "fleet", state("Processing", "Progressing", "")).await;
    let entries = [["web", "", "Service", "web", "Applied"], ["new", "", "Service", "new", "Planned"]];
    fixture.inventory("eu-1", &entries).await;
    let told = fixture.reeve(&["tree"]).await.with(1).out;
    assert!(told.contains("component/web: no RuntimeComponent yet\n"), "nothing is known of it: {told}");
    let rendered = json!({ "revision": "main@4f1c2aa90b3d", "digest": "sha256:00" });
    let listing = |components| {
        with(state("Processing", "Progressing", ""), json!({ "desired": rendered.clone(), "components": components }))
    };
    fixture.report::<Runtime>("eu-1", listing(json!([{ "name": "web", "state": "Processing" }]))).await;
    let told = fixture.reeve(&["tree"]).await.with(1).out;
    assert!(told.contains("component/web: no RuntimeComponent yet\n"), "its runtime lists it: {told}");
    assert!(told.contains("component/new: no RuntimeComponent yet\n"), "what is planned is wanted: {told}");
    fixture.report::<Runtime>("eu-1", listing(json!([]))).await;
    let told = fixture.reeve(&["tree"]).await.with(1).out;
    assert!(told.contains("component/web: it left the repository\n"), "{told}");
}

#[tokio::test]
async fn lines_are_drawn_on_terminals_that_can() {
    let fixture = fixture("tree-lines").await;
    let draw = async |locale: &str| {
        let file = fixture.cluster.kubeconfig().display();
        let binary = env!("CARGO_BIN_EXE_reeve");
        let command = format!("{binary} --color never tree --kubeconfig {file} -n {}", fixture.namespace);
        // util-linux's script(1) gives the command a terminal.
        let mut script = tokio::process::Command::new("script");
        script.args(["--quiet", "--return", "--command", &command, "/dev/null"]).env("LC_ALL", locale);
        ended(script.output().await.unwrap()).with(1).out
    };
    assert!(draw("C.UTF-8").await.contains("└── runtime/eu-1"));
    assert!(draw("C").await.contains("`-- runtime/eu-1"));
}
