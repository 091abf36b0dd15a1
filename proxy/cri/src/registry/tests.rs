use super::*;

const GOOD: &str = r#"{"remote-endpoint": "/run/a.sock", "runtime-hooks": ["PreCreateContainer"]}"#;

fn files(files: &[(&str, &str)]) -> Files {
    files.iter().map(|(name, text)| ((*name).to_owned(), Ok(text.as_bytes().to_vec()))).collect()
}

fn names(registry: &Registry) -> Vec<&str> {
    registry.plugins().map(|plugin| plugin.name.as_str()).collect()
}

#[test]
fn plugins_are_asked_in_the_order_of_their_files_names() {
    let mut registry = Registry::default();
    assert_eq!(registry.update(&files(&[("20-b.json", GOOD), ("10-a.json", GOOD)])), []);
    assert_eq!(names(&registry), ["10-a", "20-b"]);
}

#[test]
fn a_file_that_turns_bad_keeps_its_last_good_version_and_is_reported_once() {
    let mut registry = Registry::default();
    registry.update(&files(&[("a.json", GOOD)]));
    let reports = registry.update(&files(&[("a.json", "{")]));
    assert_eq!(reports.len(), 1);
    assert!(reports[0].message.ends_with("its last good version stays in force"), "{reports:?}");
    assert_eq!(registry.update(&files(&[("a.json", "{")])), []);
    assert_eq!(names(&registry), ["a"]);
}

#[test]
fn a_bad_file_does_not_keep_another_from_being_used() {
    let mut registry = Registry::default();
    let reports = registry.update(&files(&[("a.json", ""), ("b.json", GOOD)]));
    assert_eq!((reports.len(), names(&registry)), (1, vec!["b"]));
}

#[test]
fn a_file_that_is_gone_is_gone_at_once_and_forgotten() {
    let mut registry = Registry::default();
    registry.update(&files(&[("a.json", GOOD)]));
    registry.update(&files(&[]));
    assert_eq!(names(&registry), Vec::<&str>::new());
    registry.update(&files(&[("a.json", "{")]));
    assert_eq!(names(&registry), Vec::<&str>::new(), "a version from before it was deleted is not in force");
}
