//! Koordinator's server behind `reeve-cri` and behind koord-runtime-proxy: what it is asked for the same calls.
//!
//! `koord-differences.txt` lists what differs, each with the fault of koord-runtime-proxy that it comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use reeve_tests::{HookPlugin, eventually, start_koord_runtime_proxy};
use serde_json::{Value, json};

use crate::hooks::{ALL, Place, tear_down};
use crate::place::Client;

const DIFFERENCES: &str = include_str!("koord-differences.txt");

/// What kubelet asks for one pod, from its birth to its end.
fn live(place: &Place, socket: &Path) {
    let mut client = Client::dial(socket);
    let mut sandbox = place.sandbox("beside", "default");
    sandbox["metadata"]["attempt"] = json!(1);
    sandbox["linux"]["resources"] = json!({"cpu_shares": "204", "memory_limit_in_bytes": "268435456"});
    sandbox["linux"]["overhead"] = json!({"cpu_shares": "10"});
    let pod = client.call("RunPodSandbox", &json!({"config": sandbox})).field("pod_sandbox_id");
    let mut request = place.container(&pod, &sandbox);
    request["config"]["metadata"]["attempt"] = json!(2);
    request["config"]["linux"]["resources"]["oom_score_adj"] = json!("900");
    request["config"]["linux"]["resources"]["cpuset_cpus"] = json!("0");
    let container = client.call("CreateContainer", &request).field("container_id");
    assert_eq!(client.call("StartContainer", &json!({"container_id": container})).code, "OK");
    let update = json!({"container_id": container, "linux": {"memory_limit_in_bytes": "134217728"}});
    assert_eq!(client.call("UpdateContainerResources", &update).code, "OK");
    tear_down(&mut client, &pod, &container);
}

/// What a plugin was asked, by hook, as paths and values. Ids are each container's own.
async fn asked(plugin: &HookPlugin) -> BTreeMap<String, BTreeMap<String, String>> {
    let asked = eventually("the plugin was asked at every hook", || async {
        let asked = plugin.asked();
        let hooks: BTreeSet<&str> = asked.iter().map(|(hook, _)| hook.as_str()).collect();
        if hooks.len() == ALL.len() { Ok(asked) } else { Err(format!("{hooks:?}")) }
    })
    .await;
    let mut by_hook: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (hook, mut request) in asked {
        if let Some(id) = request.pointer_mut("/container_meta/id") {
            *id = json!("ID");
        }
        let fields = by_hook.entry(hook).or_default();
        flatten("", &request, fields);
    }
    by_hook
}

fn flatten(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(&below, value, into);
            }
        }
        other => drop(into.insert(path.to_owned(), other.to_string())),
    }
}

/// One line for each field that is not the same.
fn differences(ours: &BTreeMap<String, String>, theirs: &BTreeMap<String, String>) -> Vec<String> {
    let paths: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let line = |path: &String| match (ours.get(path), theirs.get(path)) {
        (Some(one), Some(other)) if one == other => None,
        (Some(_), None) => Some(format!("{path}: ours alone")),
        (None, _) => Some(format!("{path}: theirs alone")),
        (Some(_), Some(_)) => Some(format!("{path}: another value")),
    };
    paths.into_iter().filter_map(line).collect()
}

#[tokio::test]
#[ignore = "needs koord-runtime-proxy; make e2e ONLY=cri-koord"]
async fn koordinators_server_is_asked_the_same_but_for_listed_faults() {
    let place = Place::start().await;
    let supervisor = place.runtime.supervisor();
    let (ours, theirs) = (HookPlugin::start(supervisor, "ours").await, HookPlugin::start(supervisor, "theirs").await);
    let (containerd, plugin) = (place.runtime.socket(), Some((&theirs, &ALL[..])));
    let koord = start_koord_runtime_proxy(supervisor, "koord", &containerd, plugin).await;
    let (_koord, koord_socket) = koord.unwrap();
    ours.register(&place.hooks, &ALL, &json!({}));
    place.in_force(&["ours"]).await;
    live(&place, &koord_socket);
    let theirs = asked(&theirs).await;
    live(&place, &place.socket);
    let ours = asked(&ours).await;

    let mut found = BTreeSet::new();
    let mut fields = 0;
    for hook in ALL {
        fields += ours[hook].len();
        found.extend(differences(&ours[hook], &theirs[hook]).into_iter().map(|line| format!("{hook} {line}")));
    }
    let lines = DIFFERENCES.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let listed: BTreeSet<String> = lines.map(|line| line.split(" | ").next().unwrap().to_owned()).collect();
    println!("hooks={} fields={fields} differing={} listed={}", ALL.len(), found.len(), listed.len());
    let unlisted: Vec<&String> = found.difference(&listed).collect();
    let gone: Vec<&String> = listed.difference(&found).collect();
    assert!(unlisted.is_empty() && gone.is_empty(), "not listed: {unlisted:#?}\nlisted and not found: {gone:#?}");
}
