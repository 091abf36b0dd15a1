use proptest::prelude::*;

use super::*;

#[test]
fn the_three_fields_of_koordinator_are_enough() {
    let text = br#"{"remote-endpoint": "/var/run/koordlet/koordlet.sock", "failure-policy": "Ignore",
        "runtime-hooks": ["PreRunPodSandbox", "PreCreateContainer", "PreRemoveRunPodSandbox"]}"#;
    let (read, warnings) = parse("koordlet.json", text).unwrap();
    assert_eq!(read.name, "koordlet");
    assert_eq!(read.endpoint, PathBuf::from("/var/run/koordlet/koordlet.sock"));
    let hooks = [Hook::PreRunPodSandbox, Hook::PreCreateContainer].map(|hook| (hook, FailurePolicy::Ignore));
    assert_eq!(read.hooks, hooks.into());
    assert_eq!((read.merge, read.mode, read.timeout), (Merge::Echo, Mode::Enforce, TIMEOUT));
    assert_eq!(warnings, ["hook PreRemoveRunPodSandbox is not known and is left out"]);
}

#[test]
fn fail_counts_as_ignore_once_the_call_is_over() {
    let text = br#"{"remote-endpoint": "/a", "failure-policy": "Fail", "runtime-hooks": ["PreStartContainer", "PostStartContainer"]}"#;
    let (read, warnings) = parse("a.json", text).unwrap();
    assert_eq!(read.hooks[&Hook::PreStartContainer], FailurePolicy::Fail);
    assert_eq!(read.hooks[&Hook::PostStartContainer], FailurePolicy::Ignore);
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

proptest! {
    #[test]
    fn no_bytes_are_too_strange_to_read(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse("a.json", &text);
    }
}
