//! `reeve new`.

use std::fs;

use crate::cli::repository::Repository;

#[test]
fn a_new_fleet_is_clean_and_renders() {
    let folder = Repository::empty();
    let ended = folder.reeve(&["new", "fleet", "shop"]).with(0);
    assert_eq!(ended.out, "made shop in shop\ntry `reeve validate shop` and `reeve render shop`\n");
    let ended = folder.reeve(&["validate", "shop", "--warnings-as-errors"]).with(0);
    assert_eq!(ended.out, "checked 1 runtime, 1 component, 2 objects: no findings\n");
    let ended = folder.reeve(&["render", "shop", "-o", "name"]).with(0);
    assert_eq!(ended.out, "dev hello Service default/hello\ndev hello Deployment.apps default/hello\n");
    let ended = folder.reeve(&["-C", "shop", "explain", "-r", "dev", "deployment/hello", ".spec.replicas"]).with(0);
    assert!(ended.out.contains("Values.replicas = 1"), "{}", ended.out);
    assert!(fs::read_to_string(folder.file("shop/README.md")).unwrap().starts_with("# shop\n"));
}

#[test]
fn the_values_of_a_new_chart_do_what_they_say() {
    let folder = Repository::empty();
    folder.reeve(&["new", "fleet", "shop"]).with(0);
    folder.change(
        "shop/layers/base.yaml",
        "replicas: 2",
        "replicas: 2\n      env:\n        B: \"2\"\n        A: \"1\"",
    );
    let items = folder.reeve(&["render", "shop", "-o", "json"]).with(0).json();
    let container = &items["items"][1]["spec"]["template"]["spec"]["containers"][0];
    let wanted = serde_json::json!([
        { "name": "RUNTIME", "value": "dev" }, { "name": "A", "value": "1" }, { "name": "B", "value": "2" },
    ]);
    assert_eq!(container["env"], wanted);
    folder.change("shop/layers/base.yaml", "replicas: 2", "replicas: 2\n      prot: 1");
    let ended = folder.reeve(&["validate", "shop"]).with(1);
    assert!(ended.out.starts_with("error[schema]"), "{}", ended.out);
}

#[test]
fn a_new_chart_and_a_new_runtime_fit_into_their_fleet() {
    let folder = Repository::fleet();
    // In clusters of their own, so that the new one is alone in its.
    for file in ["runtimes/eu-1.yaml", "runtimes/eu-2.yaml"] {
        folder.change(file, "kind: Runtime\n", "kind: Runtime\ntarget: { type: Agent }\n");
    }
    folder.reeve(&["new", "chart", "shop"]).with(0);
    let ended = folder.reeve(&["new", "runtime", "us-1"]).with(0);
    assert_eq!(ended.out, "made us-1 in runtimes/us-1.yaml\ntry `reeve render -r us-1`\n");
    folder.reeve(&["validate", "--warnings-as-errors"]).with(0);
    // As the command says to go on.
    folder.change("channels/regular.yaml", "web: 1.0.0", "web: 1.0.0\n  shop: 0.1.0");
    folder.change("fleet.yaml", "web: {}", "web: {}\n  shop: {}");
    let ended = folder.reeve(&["validate", "--warnings-as-errors"]).with(0);
    assert_eq!(ended.out, "checked 3 runtimes, 6 components, 15 objects: no findings\n");
}

#[test]
fn a_new_runtime_gets_a_component_when_its_fleet_gives_none() {
    let folder = Repository::fleet();
    folder.change("fleet.yaml", "components:\n  web: {}\n", "");
    folder.write("runtimes/eu-2.yaml", "kind: Runtime\ncomponents:\n  web: {}\n");
    folder.reeve(&["new", "runtime", "us-1"]).with(0);
    let ended = folder.reeve(&["render", "-r", "us-1", "-o", "name"]).with(0);
    assert_eq!(ended.out.lines().count(), 3, "{}", ended.out);
}

#[test]
fn nothing_is_overwritten() {
    let folder = Repository::fleet();
    for (args, said) in [
        (["new", "chart", "web"], "charts/web is there already"),
        (["new", "runtime", "eu-1"], "runtime `eu-1` in runtimes/eu-1.yaml is there already"),
        (["new", "fleet", "charts"], "charts is there already"),
    ] {
        let ended = folder.reeve(&args).with(2);
        assert!(ended.err.starts_with(&format!("error: {said}\n")), "{}", ended.err);
    }
    folder.write("runtimes/us-1.yaml", "not: a runtime\n");
    folder.reeve(&["new", "runtime", "us-1"]).with(2);
    assert_eq!(fs::read_to_string(folder.file("runtimes/us-1.yaml")).unwrap(), "not: a runtime\n");
}

#[test]
fn names_are_those_that_kubernetes_takes_and_charts_belong_into_fleets() {
    let folder = Repository::empty();
    for name in ["x/..", "Shop", "a b", "/", ""] {
        folder.reeve(&["new", "fleet", name]).with(2);
    }
    let ended = folder.reeve(&["new", "chart", "web"]).with(2);
    assert!(ended.err.contains("this folder is not a fleet repository"), "{}", ended.err);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_fleet_is_made_where_a_path_says() {
    let folder = Repository::empty();
    let ended = folder.reeve(&["new", "fleet", "teams/shop"]).with(0);
    assert!(ended.out.starts_with("made teams/shop in teams/shop\n"), "{}", ended.out);
    folder.reeve(&["validate", "teams/shop"]).with(0);
}
