use proptest::prelude::*;

use super::*;

#[test]
fn the_three_fields_of_koordinator_are_enough() {
    let text = br#"{"remote-endpoint": "/var/run/koordlet/koordlet.sock", "failure-policy": "Ignore",
        "runtime-hooks": ["PreRunPodSandbox", "PreCreateContainer", "PreRemoveRunPodSandbox"]}"#;
    let (read, warnings) = parse("koordlet.json", text).unwrap();
    assert_eq!(read.name, "koordlet");
    assert_eq!(read.endpoint, PathBuf::from("/var/run/koordlet/koordlet.sock"));
    let rule = HookRule { policy: FailurePolicy::Ignore, timeout: TIMEOUT };
    let hooks = [Hook::PreRunPodSandbox, Hook::PreCreateContainer].map(|hook| (hook, rule));
    assert_eq!(read.hooks, hooks.into());
    assert_eq!((read.merge, read.mode, read.conflicts), (Merge::Echo, Mode::Enforce, ConflictPolicy::Fail));
    assert_eq!(warnings, ["hook PreRemoveRunPodSandbox is not known and is left out"]);
}

#[test]
fn fail_counts_as_ignore_once_the_call_is_over() {
    let text = br#"{"remote-endpoint": "/a", "failure-policy": "Fail", "runtime-hooks": ["PreStartContainer", "PostStartContainer"]}"#;
    let (read, warnings) = parse("a.json", text).unwrap();
    assert_eq!(read.hooks[&Hook::PreStartContainer].policy, FailurePolicy::Fail);
    assert_eq!(read.hooks[&Hook::PostStartContainer].policy, FailurePolicy::Ignore);
    assert_eq!(warnings.len(), 1);
}

#[test]
fn a_bad_file_says_which_field_is_wrong_and_what_to_write() {
    let error = |text: &str| parse("a.json", text.as_bytes()).unwrap_err().to_string();
    assert!(error("{").starts_with("not the JSON of a registration"));
    let lower_case =
        error(r#"{"remote-endpoint": "/a", "failure-policy": "fail", "runtime-hooks": ["PreStartContainer"]}"#);
    assert!(lower_case.contains(r#"failure-policy is "fail": write "Fail" or "Ignore""#), "{lower_case}");
    let relative = error(r#"{"remote-endpoint": "a.sock", "runtime-hooks": ["PreStartContainer"]}"#);
    assert!(relative.contains("absolute path"), "{relative}");
    assert!(error(r#"{"remote-endpoint": "/a", "runtime-hooks": ["Never"]}"#).contains("PreRunPodSandbox"));
}

#[test]
fn what_only_our_own_protocol_can_say_needs_it() {
    let text = |protocol: &str| {
        format!(
            r#"{{"remote-endpoint": "/a", "runtime-hooks": ["PreRunPodSandbox", "PostRemoveContainer"]{protocol}}}"#
        )
    };
    let (read, warnings) = parse("a.json", text("").as_bytes()).unwrap();
    assert!(!read.hooks.contains_key(&Hook::PostRemoveContainer));
    assert!(warnings[0].contains(r#"write "protocol": "Reeve""#), "{warnings:?}");
    let (read, warnings) = parse("a.json", text(r#", "protocol": "Reeve""#).as_bytes()).unwrap();
    assert!(read.hooks.contains_key(&Hook::PostRemoveContainer) && warnings.is_empty());
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange_to_read(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse("a.json", &text);
    }
}
