use std::collections::HashMap;

use super::*;
use crate::hook_set::{PodScope, tests::revision};
use crate::message::cri::PodSandboxMetadata;
use crate::registration::parse;
use crate::selector::Selector;

const SKIP: &str = "runtimeproxy.koordinator.sh/skip-hookserver";

fn scope() -> Scope {
    Scope { skip_label: (SKIP.to_owned(), "true".to_owned()), exempt_namespaces: vec!["kube-system".to_owned()] }
}

fn pod(namespace: &str, labels: &[(&str, &str)]) -> Pod {
    let metadata = PodSandboxMetadata { namespace: namespace.to_owned(), ..Default::default() };
    let labels: HashMap<String, String> =
        labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Pod { metadata, labels, ..Pod::default() }
}

fn by_file() -> Registration {
    let text = br#"{"remote-endpoint": "/run/a.sock", "runtime-hooks": ["PreCreateContainer"]}"#;
    parse("a.json", text).unwrap().0
}

fn by_node_hook() -> Registration {
    Registration::of_revision("hook", &revision("/run/a.sock")).remove(0)
}

#[test]
fn the_label_of_the_plugins_own_pods_counts_anywhere_for_files_and_where_pods_are_exempt_for_node_hooks() {
    let labels = [(SKIP, "true")];
    for (namespace, labels, file, node_hook) in [
        ("shop", &labels[..], true, false),
        ("kube-system", &labels[..], true, true),
        ("kube-system", &[][..], false, false),
        ("shop", &[(SKIP, "false")][..], false, false),
    ] {
        let pod = pod(namespace, labels);
        assert_eq!(scope().is_skipped(&by_file(), &pod), file, "{namespace} {labels:?}");
        assert_eq!(scope().is_skipped(&by_node_hook(), &pod), node_hook, "{namespace} {labels:?}");
    }
}

#[test]
fn pods_of_exempt_namespaces_and_static_pods_start_although_a_plugin_failed() {
    let mut of_file = pod("shop", &[]);
    of_file.annotations.insert("kubernetes.io/config.source".to_owned(), "file".to_owned());
    let mut strict = by_node_hook();
    strict.exempt = Some(crate::hook_set::Exempt { namespaces: vec!["infra".to_owned()], static_pods: false });
    for (plugin, pod, exempt) in [
        (&by_file(), &pod("kube-system", &[]), true),
        (&by_file(), &pod("shop", &[]), false),
        (&by_file(), &of_file, true),
        (&by_node_hook(), &of_file, true),
        (&strict, &of_file, false),
        (&strict, &pod("kube-system", &[]), false),
        (&strict, &pod("infra", &[]), true),
    ] {
        assert_eq!(scope().is_exempt(plugin, pod), exempt, "{} {pod:?}", plugin.name);
    }
}

#[test]
fn a_node_hook_is_for_the_pods_that_it_chooses() {
    let selector = Selector { labels: [("app".to_owned(), "web".to_owned())].into(), ..Selector::default() };
    let mut plugin = by_node_hook();
    plugin.pods = PodScope { namespaces: vec!["shop".to_owned()], selector };
    assert!(plugin.is_for(&pod("shop", &[("app", "web")])));
    assert!(!plugin.is_for(&pod("shop", &[("app", "db")])));
    assert!(!plugin.is_for(&pod("other", &[("app", "web")])));
    assert!(by_node_hook().is_for(&pod("other", &[])));
}

#[test]
fn running_containers_are_updated_when_a_revision_changes_and_not_when_its_share_does() {
    use crate::hook_set::{HookSet, NodeHook, tests::hook};
    let wanted = |hook: NodeHook| running::Wanted::of(&HookSet { hooks: vec![hook], ..HookSet::default() });
    let first = NodeHook { updates_per_minute: Some(60), ..hook("a", revision("/run/a.sock")) };
    let mut known = wanted(first.clone());
    assert!(!wanted(NodeHook { percent: 50, generation: 2, ..first.clone() }).replace(&mut known));
    assert!(!wanted(NodeHook { updates_per_minute: None, ..hook("a", revision("/run/b.sock")) }).replace(&mut known));
    assert!(wanted(first.clone()).replace(&mut known), "it asks for updates now");
    let next = NodeHook { last_good: Some(first.current), ..hook("a", revision("/run/b.sock")) };
    let next = NodeHook { updates_per_minute: Some(60), ..next };
    assert!(wanted(next.clone()).replace(&mut known));
    assert!(
        wanted(NodeHook { returned: Some("broken".to_owned()), ..next }).replace(&mut known),
        "back to the last good"
    );
}
