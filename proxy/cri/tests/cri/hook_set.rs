//! Hooks of NodeHooks, as the feed writes them, before a real containerd.

use std::path::Path;

use reeve_proxy_cri::hook::Hook;
use reeve_proxy_cri::hook_set::{
    Breaker, Budget, Exempt, HookSet, Limits, NodeHook, Plugin as SetPlugin, PluginHook, PodScope, Revision,
};
use reeve_proxy_cri::settings::{ConflictPolicy, FailurePolicy, Merge, Mode, Part, Protocol};
use reeve_proxy_cri::state::{State, client};
use reeve_tests::eventually;
use serde_json::json;
use std::time::Duration;

use crate::hooks::{Place, shares};
use crate::place::{Client, Plugin, hook_set};

fn revision(plugin: &Plugin, hooks: &[Hook]) -> Revision {
    let rule = |hook: &Hook| PluginHook {
        hook: *hook,
        failure_policy: FailurePolicy::Ignore,
        timeout: Duration::from_secs(2),
    };
    let plugin = SetPlugin {
        name: "shares".to_owned(),
        endpoint: plugin.socket.clone(),
        peer_uid: 0,
        protocol: Protocol::Koordinator,
        mode: Mode::Enforce,
        hooks: hooks.iter().map(rule).collect(),
        merge: Merge::Sparse,
        read: vec![Part::CpuShares],
        write: vec![Part::CpuShares],
        concurrency: 64,
        breaker: Breaker { failures: 1000, open_for: Duration::from_secs(30) },
    };
    Revision {
        plugins: vec![plugin],
        conflicts: ConflictPolicy::Fail,
        pods: PodScope::default(),
        exempt: Exempt::default(),
        budget: Budget::default(),
    }
}

fn hook(current: Revision) -> NodeHook {
    NodeHook {
        name: "colocation".to_owned(),
        generation: 1,
        order: 100,
        percent: 100,
        limits: Limits::default(),
        updates_per_minute: None,
        current,
        commit: None,
        good: false,
        returned: None,
        last_good: None,
        last_good_commit: None,
    }
}

/// Writes a hook set as the feed does, and waits until the proxy has it.
async fn put(place: &Place, hook: &NodeHook) -> State {
    let path = hook_set(place.runtime.supervisor());
    let set = HookSet { hooks: vec![hook.clone()], ..HookSet::default() };
    let fresh = path.with_extension("new");
    std::fs::write(&fresh, set.to_text()).unwrap();
    std::fs::rename(&fresh, &path).unwrap();
    said(place, "the hook set is in force", |state| state.hooks.iter().any(|said| said.generation == hook.generation))
        .await
}

async fn said(place: &Place, what: &str, holds: impl Fn(&State) -> bool) -> State {
    let socket = place.runtime.supervisor().data().join("proxy.state");
    eventually(what, || async {
        let state = client::read(Path::new(&socket)).await.map_err(|error| error.to_string())?;
        if holds(&state) { Ok(state) } else { Err(format!("{state:?}")) }
    })
    .await
}

#[tokio::test]
async fn a_revision_that_fails_gives_way_to_the_last_good_one_by_itself() {
    let place = Place::start().await;
    let supervisor = place.runtime.supervisor();
    let (good, bad) = (Plugin::start(supervisor, "good").await, Plugin::start(supervisor, "bad").await);
    good.answer(&json!({"PreCreateContainer": {"response": {"container_resources": {"cpu_shares": "2048"}}}}));
    bad.answer(&json!({"PreCreateContainer": {"code": "INTERNAL", "message": "bug"}}));
    let last_good = revision(&good, &[Hook::PreCreateContainer]);
    let limits = Limits { max_failure_percent: 20, max_latency: None };
    let canary = NodeHook {
        generation: 2,
        limits,
        last_good: Some(last_good.clone()),
        ..hook(revision(&bad, &[Hook::PreCreateContainer]))
    };
    let state = put(&place, &canary).await;
    assert_eq!(state.hooks[0].returned, None);

    let mut client = Client::dial(&place.socket);
    let sandbox = place.sandbox("canary", "default");
    let pod = client.call("RunPodSandbox", &json!({"config": sandbox})).field("pod_sandbox_id");
    for attempt in 0..10 {
        let mut request = place.container(&pod, &sandbox);
        request["config"]["metadata"]["attempt"] = json!(attempt);
        assert_eq!(client.call("CreateContainer", &request).code, "OK", "the policy is Ignore");
    }
    let state = said(&place, "the proxy returned", |state| state.hooks[0].returned.is_some()).await;
    println!("returned: {}", state.hooks[0].returned.as_deref().unwrap());
    assert_eq!(state.plugins.len(), 1);
    assert_eq!(state.plugins[0].revision, last_good.digest());

    let mut request = place.container(&pod, &sandbox);
    request["config"]["metadata"]["attempt"] = json!(10);
    let container = client.call("CreateContainer", &request).field("container_id");
    client.call("StartContainer", &json!({"container_id": container}));
    assert_eq!(shares(&place, &container), "2048", "by the last good revision");
    assert_eq!(bad.asked().len(), 10, "what failed is not asked any more");
    let state = said(&place, "it is counted", |state| state.plugins[0].calls.calls == 1).await;
    assert_eq!(state.plugins[0].calls.changes, 1);
    assert!(state.runtime.unwrap().starts_with("containerd "));

    let show = |arguments: &[&str]| {
        let socket = format!("--state-socket={}", supervisor.data().join("proxy.state").display());
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_reeve-cri")).args(arguments).arg(socket).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let why = show(&["why", "default/canary"]);
    let by = format!("main cpu_shares: 512 -> 2048 by colocation/shares at {}, PreCreateContainer", last_good.digest());
    assert!(why.contains(&by), "{why}");
    assert!(
        show(&["why", "default/other"]).starts_with("no plugin changed, refused or failed anything of default/other")
    );
    let hooks = show(&["hooks"]);
    assert!(hooks.contains("% of pods, returned: 10 of 10 calls"), "{hooks}");
    assert!(hooks.contains("plugin shares of colocation at "), "{hooks}");
}

#[tokio::test]
async fn containers_that_run_are_held_to_a_hook_that_changes_if_it_asks_for_that() {
    let place = Place::start().await;
    let plugin = Plugin::start(place.runtime.supervisor(), "plugin").await;
    let update = |shares: &str| {
        plugin.answer(
            &json!({"PreUpdateContainerResources": {"response": {"container_resources": {"cpu_shares": shares}}}}),
        );
    };
    update("4096");
    let mut client = Client::dial(&place.socket);
    let sandbox = place.sandbox("running", "default");
    let pod = client.call("RunPodSandbox", &json!({"config": sandbox})).field("pod_sandbox_id");
    let container = client.call("CreateContainer", &place.container(&pod, &sandbox)).field("container_id");
    client.call("StartContainer", &json!({"container_id": container}));
    let old = shares(&place, &container);

    let left = hook(revision(&plugin, &[Hook::PreUpdateContainerResources]));
    put(&place, &left).await;
    let held = NodeHook { generation: 2, updates_per_minute: Some(6000), ..left.clone() };
    put(&place, &held).await;
    let new = eventually("the running container is updated", || async {
        let now = shares(&place, &container);
        if now == old { Err(now) } else { Ok(now) }
    })
    .await;
    println!("cpu shares of a running container {old} -> {new} by NodeHook colocation");
    assert_eq!(new, "4096");
    assert_eq!(plugin.asked().len(), 1, "not when nobody asked for it");

    update("8192");
    let mut next = NodeHook { generation: 3, ..held };
    next.current.budget.percent = 20;
    put(&place, &next).await;
    eventually("it is updated again", || async {
        let now = shares(&place, &container);
        if now == "8192" { Ok(()) } else { Err(now) }
    })
    .await;
}

/// Runs `reeve-cri` to its end. Returns its exit status and what it printed.
fn ask(arguments: &[&str]) -> (Option<i32>, String) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_reeve-cri")).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), text)
}

#[tokio::test]
async fn recorded_calls_tell_what_other_hooks_would_have_made_of_them() {
    let place = Place::start().await;
    let data = place.runtime.supervisor().data();
    let plugin = Plugin::start(place.runtime.supervisor(), "plugin").await;
    plugin.answer(&json!({"PreCreateContainer": {"response": {"container_resources": {"cpu_shares": "2048"}}}}));
    let now = hook(revision(&plugin, &[Hook::PreCreateContainer]));
    put(&place, &NodeHook { commit: Some("0123abc".to_owned()), ..now.clone() }).await;

    let mut client = Client::dial(&place.socket);
    let sandbox = place.sandbox("recorded", "default");
    let pod = client.call("RunPodSandbox", &json!({"config": sandbox})).field("pod_sandbox_id");
    let calls = data.join("calls.jsonl");
    let socket = format!("--state-socket={}", data.join("proxy.state").display());
    let mut recording = std::process::Command::new(env!("CARGO_BIN_EXE_reeve-cri"))
        .args(["record", "--calls=1", &socket])
        .stdout(std::fs::File::create(&calls).unwrap())
        .spawn()
        .unwrap();
    let mut attempt = 0;
    eventually("a call is recorded", || {
        let mut request = place.container(&pod, &sandbox);
        request["config"]["metadata"]["attempt"] = json!(attempt);
        attempt += 1;
        client.call("CreateContainer", &request);
        let ended = recording.try_wait().unwrap();
        async move { ended.ok_or("it goes on") }
    })
    .await;
    let recorded = std::fs::read_to_string(&calls).unwrap();
    assert!(!recorded.contains("red"), "a value of a variable: {recorded}");

    let mut masked = now.clone();
    masked.current.plugins[0].write = vec![Part::OomScoreAdj];
    let replay = |hook: NodeHook| {
        let file = data.join("other.json");
        std::fs::write(&file, HookSet { hooks: vec![hook], ..HookSet::default() }.to_text()).unwrap();
        ask(&["replay", calls.to_str().unwrap(), "--hook-set", file.to_str().unwrap()])
    };
    let same = "calls=1 same=1 differing=0 refused=0 unanswered=0 assumed=0 missed=0\n";
    assert_eq!(replay(now), (Some(0), same.to_owned()));
    let line = "PreCreateContainer default/recorded main cpu_shares: 512, then 2048\n";
    let counts = "calls=1 same=0 differing=1 refused=0 unanswered=0 assumed=0 missed=0\n";
    assert_eq!(replay(masked), (Some(1), format!("{line}{counts}")));
    std::fs::write(&calls, "nonsense\n").unwrap();
    let (status, said) =
        ask(&["replay", calls.to_str().unwrap(), "--hook-set", hook_set(place.runtime.supervisor()).to_str().unwrap()]);
    assert_eq!(status, Some(2));
    assert!(said.contains("calls.jsonl, line 1"), "{said}");

    let (_, why) = ask(&["why", "default/recorded", &socket]);
    assert!(why.contains("from 0123abc, PreCreateContainer"), "{why}");
}
