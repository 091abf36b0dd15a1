use proptest::prelude::*;

use super::*;

/// A revision with one plugin at this socket.
pub(crate) fn revision(endpoint: &str) -> Revision {
    let timeout = Duration::from_secs(2);
    let rule = PluginHook { hook: Hook::PreCreateContainer, failure_policy: FailurePolicy::Ignore, timeout };
    let plugin = Plugin {
        name: "plugin".to_owned(),
        endpoint: endpoint.into(),
        peer_uid: 0,
        protocol: Protocol::Koordinator,
        mode: Mode::Enforce,
        hooks: vec![rule],
        merge: Merge::Sparse,
        read: vec![Part::PodLabels],
        write: vec![Part::CpuShares],
        concurrency: 64,
        breaker: Breaker { failures: 5, open_for: Duration::from_secs(30) },
    };
    Revision {
        plugins: vec![plugin],
        conflicts: ConflictPolicy::Fail,
        pods: PodScope::default(),
        exempt: Exempt { namespaces: vec!["kube-system".to_owned()], static_pods: true },
        budget: Budget::default(),
    }
}

/// A NodeHook for all pods.
pub(crate) fn hook(name: &str, current: Revision) -> NodeHook {
    NodeHook {
        name: name.to_owned(),
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

#[test]
fn where_a_canary_stands_does_not_change_the_digest_and_content_does() {
    let set = |hook: NodeHook| HookSet { hooks: vec![hook], ..HookSet::default() }.digest();
    let first = hook("a", revision("/run/a.sock"));
    assert_eq!(
        set(first.clone()),
        set(NodeHook { percent: 10, good: true, generation: 9, commit: Some("c".to_owned()), ..first.clone() })
    );
    assert_ne!(set(first.clone()), set(hook("a", revision("/run/b.sock"))));
    assert_ne!(set(first.clone()), set(NodeHook { order: 7, ..first }));
}

#[test]
fn a_misspelt_field_is_refused_and_named() {
    let text =
        String::from_utf8(HookSet { hooks: vec![hook("a", revision("/run/a.sock"))], ..HookSet::default() }.to_text());
    let text = text.unwrap().replace("\"percent\": 100", "\"percentage\": 100");
    let error = reeve_process::error_chain(&HookSet::parse(text.as_bytes()).unwrap_err());
    assert!(error.contains("percentage"), "{error}");
}

proptest! {
    #[test]
    fn a_set_reads_back_as_it_was_written(
        percent in 0..=100_u8, milliseconds in 1..60_000_u64, endpoint in "/[a-z]{1,20}", good in any::<bool>()
    ) {
        let max_latency = Some(Duration::from_millis(milliseconds));
        let limits = Limits { max_failure_percent: 3, max_latency };
        let hook = NodeHook { percent, good, limits, last_good: Some(revision("/run/old")), ..hook("a", revision(&endpoint)) };
        let set = HookSet { hooks: vec![hook], ..HookSet::default() };
        prop_assert_eq!(HookSet::parse(&set.to_text()).unwrap(), set);
    }
}
