//! Charts that nobody here wrote, rendered by Helm and by us: the objects are the same.
//!
//! The charts are read from released Go modules at test time. What Helm makes of the small ones is kept in `truth.json` as
//! digests; `make e2e` renders all of them with Helm itself.

// Tells clippy that the functions behind the tests are test code too.
#![cfg(test)]

mod charts;
mod helm;
mod hostile;
mod objects;
mod ours;
mod truth;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use charts::Chart;
use objects::Objects;

/// What differs between two sets of objects, a line each.
fn differences(helm: &Objects, ours: &Objects) -> Vec<String> {
    let mut found = Vec::new();
    for (key, theirs) in helm {
        match ours.get(key) {
            None => found.push(format!("{key} is missing")),
            Some(object) if object != theirs => {
                found.push(format!("{key} differs: {}", objects::first_difference(theirs, object, "")));
            }
            Some(_) => {}
        }
    }
    found.extend(ours.keys().filter(|key| !helm.contains_key(*key)).map(|key| format!("{key} is too much")));
    found
}

#[test]
fn small_charts_give_the_objects_that_helm_gave() {
    let truth = truth::read();
    for chart in charts::all().iter().filter(|chart| chart.is_small) {
        let folder = chart.folder();
        for (set, values) in chart.sets {
            let ours =
                ours::render(chart, &folder, values).unwrap_or_else(|said| panic!("{} {set}: {said}", chart.name));
            let known = truth
                .get(&chart.label(set))
                .unwrap_or_else(|| panic!("{} {set} is new: {}", chart.name, truth::REGENERATE));
            assert_eq!(known, &truth::digests(&ours), "{} {set}", chart.name);
        }
    }
}

#[test]
#[ignore = "renders every chart with Helm itself; `make e2e` runs it"]
fn every_chart_gives_the_objects_that_helm_gives() {
    let Some(helm) = helm::Helm::find() else { return };
    let (mut charts, mut sets, mut objects) = (0, 0, 0);
    let mut differing = Vec::new();
    for chart in charts::all() {
        charts += 1;
        let folder = chart.folder();
        for (set, values) in chart.sets {
            sets += 1;
            let theirs = helm.template(&chart, &folder, values);
            let ours = ours::render(&chart, &folder, values);
            match (theirs, ours) {
                (Ok(theirs), Ok(ours)) => {
                    objects += theirs.len();
                    let found = differences(&theirs, &ours);
                    differing.extend(found.into_iter().map(|line| format!("{} {set}: {line}", chart.name)));
                }
                (Err(theirs), Ok(_)) => differing.push(format!("{} {set}: only Helm fails: {theirs}", chart.name)),
                (Ok(_), Err(ours)) => differing.push(format!("{} {set}: {ours}", chart.name)),
                (Err(theirs), Err(ours)) => {
                    differing.push(format!("{} {set}: both fail: {theirs}; {ours}", chart.name));
                }
            }
        }
    }
    for line in &differing {
        println!("{line}");
    }
    let line =
        format!("helm charts: {charts} charts, {sets} value sets, {objects} objects, differing {}", differing.len());
    println!("{line}");
    sum_up(&line);
    assert!(differing.is_empty());
}

/// Adds a line to what `make e2e` prints last.
fn sum_up(line: &str) {
    let Some(path) = std::env::var_os("REEVE_SUMMARY") else { return };
    let mut file = std::fs::OpenOptions::new().append(true).open(path).expect("the file is there");
    writeln!(file, "{line}").expect("it can be written");
}

#[test]
#[ignore = "asks Helm again about the small charts; `make conformance` runs it"]
fn write_the_truth() {
    let helm = helm::Helm::find().expect("Helm is needed");
    let mut truth = truth::Truth::new();
    for chart in charts::all().iter().filter(|chart| chart.is_small) {
        let folder = chart.folder();
        for (set, values) in chart.sets {
            let theirs =
                helm.template(chart, &folder, values).unwrap_or_else(|said| panic!("{} {set}: {said}", chart.name));
            truth.insert(chart.label(set), truth::digests(&theirs));
        }
    }
    truth::write(&truth);
    std::fs::write(api_versions_file(), helm.api_versions().join("\n") + "\n").expect("it can be written");
}

/// What Helm takes for served, for templates to be told.
fn api_versions_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/template/charts/api-versions.txt")
}

/// A chart of one template, in a folder of its own.
fn probe(values: &str, template: &str) -> (Chart, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join("templates")).expect("it can be made");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("it can be written");
    write("Chart.yaml", "apiVersion: v2\nname: probe\nversion: 1.0.0\n");
    write("values.yaml", values);
    write("templates/probe.yaml", template);
    (Chart { name: "probe", module: "", path: "", is_small: true, sets: &[], rename: &[], fill: &[] }, folder)
}

#[test]
fn served_is_what_helm_takes_for_served_and_what_the_runtime_declares() {
    let (chart, folder) = probe(
        "",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  all: {{ join \" \" .Capabilities.APIVersions }}\n  pods: {{ .Capabilities.APIVersions.Has \"v1/Pod\" | quote }}\n",
    );
    let data = |declared: &[&str]| {
        let objects = ours::render_where(&chart, folder.path(), "", declared).expect("the probe renders");
        let data = &objects.values().next().expect("the one object")["data"];
        let all = data["all"].as_str().expect("text").split(' ').map(str::to_owned).collect::<Vec<_>>();
        (all, data["pods"].as_str().expect("text").to_owned())
    };
    let known = std::fs::read_to_string(api_versions_file()).expect("the file is there");
    let known: Vec<String> = known.lines().map(str::to_owned).collect();
    assert_eq!(data(&[]), (known.clone(), "false".to_owned()));
    let (all, has_pods) = data(&["v1/Pod", "example.com/v1"]);
    assert_eq!((all.len(), has_pods.as_str()), (known.len() + 2, "true"));
}

#[test]
fn a_chart_that_needs_chance_says_so_and_works_once_the_value_is_set() {
    let (chart, folder) = probe(
        "password: \"\"\n",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  password: {{ .Values.password | default (randAlphaNum 10) | b64enc | quote }}\n",
    );
    let said = ours::render(&chart, folder.path(), "").expect_err("there is no password");
    assert!(said.contains("templates/probe.yaml:6"), "{said}");
    assert!(said.contains("randAlphaNum"), "{said}");
    let objects = ours::render(&chart, folder.path(), "password: x\n").expect("the password is set");
    assert_eq!(objects.len(), 1);
}
