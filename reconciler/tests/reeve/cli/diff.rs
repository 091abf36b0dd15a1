//! `reeve diff`.

use crate::cli::repository::Repository;

#[test]
fn nothing_changed_is_no_difference() {
    let repository = Repository::fleet();
    repository.commit();
    let ended = repository.reeve(&["diff", "HEAD", "."]).with(0);
    assert_eq!(ended.out, "no difference\n");
}

#[test]
fn runtimes_that_change_alike_are_shown_together() {
    let repository = Repository::fleet();
    for at in 3..=7 {
        repository.write(&format!("runtimes/eu-{at}.yaml"), "kind: Runtime\n");
    }
    repository.commit();
    repository.change("layers/base.yaml", "replicas: 2", "replicas: 3\n  image:\n    tag: \"3\"");
    repository.change("runtimes/eu-2.yaml", "replicas: 5", "replicas: 6");
    let ended = repository.reeve(&["diff", "HEAD", "."]).with(1);
    let wanted = "\
in 6 runtimes: eu-1, eu-3, eu-4 and 3 more
  ~ Deployment.apps default/web (component web)
      spec.image: \"nginx:1\" -> \"nginx:3\"
      spec.replicas: 2 -> 3

in runtime eu-2
  ~ Deployment.apps default/web (component web)
      spec.replicas: 5 -> 6

7 runtimes: 0 added, 7 changed, 0 removed
";
    assert_eq!(ended.out, wanted);
    let ended = repository.reeve(&["diff", "HEAD", ".", "-r", "eu-2"]).with(1);
    assert!(ended.out.starts_with("in runtime eu-2\n"), "{}", ended.out);
    assert!(!ended.out.contains("eu-1"), "{}", ended.out);
}

#[test]
fn objects_come_and_go_between_two_commits() {
    let repository = Repository::fleet();
    let first = repository.commit();
    let settings = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: second\ndata:\n  a: |\n    one\n    two\n";
    repository.write("charts/web/1.0.0/templates/settings.yaml", settings);
    repository.write("charts/web/1.0.0/templates/more.yaml", "apiVersion: v1\nkind: Service\nmetadata:\n  name: s\n");
    repository.write("runtimes/eu-2.yaml", "kind: Runtime\ncomponents:\n  web:\n    enabled: false\n");
    let second = repository.commit();
    let ended = repository.reeve(&["diff", &first, &second[..8], "-r", "eu-1"]).with(1);
    let wanted = "\
in runtime eu-1
  - ConfigMap default/first (component web)
  ~ ConfigMap default/second (component web)
      data.a:
        - b
        + one
        + two
  + Service default/s (component web)
      + apiVersion: v1
      + kind: Service
      + metadata:
      +   labels:
      +     app.kubernetes.io/managed-by: reeve
      +     reeve.dev/component: web
      +   name: s
      +   namespace: default

1 runtime: 1 added, 1 changed, 1 removed
";
    assert_eq!(ended.out, wanted);
    let document = repository.reeve(&["diff", "HEAD~1", "HEAD", "-o", "json"]).with(1).json();
    let groups = document["groups"].as_array().unwrap();
    let removed = groups.iter().find(|group| group["runtimes"] == serde_json::json!(["eu-2"])).unwrap();
    assert!(removed["changes"].as_array().unwrap().iter().all(|change| change["change"] == "removed"), "{removed}");
}

#[test]
fn two_folders_are_compared_and_secrets_are_not_shown() {
    let (old, new) = (Repository::fleet(), Repository::fleet());
    for (repository, password) in [(&old, "hunter2"), (&new, "correct-horse")] {
        let secret = format!("apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  p: {password}\n");
        repository.write("charts/web/1.0.0/templates/secret.yaml", &secret);
    }
    let (old, new) = (old.path().to_str().unwrap().to_owned(), new.path().to_str().unwrap().to_owned());
    let nowhere = Repository::empty();
    let ended = nowhere.reeve(&["diff", &old, &new]).with(1);
    assert!(ended.out.contains("stringData.p"), "{}", ended.out);
    assert!(!ended.out.contains("hunter2") && !ended.out.contains("correct-horse"), "{}", ended.out);
    assert!(ended.err.contains("warning[secret-in-clear]"), "{}", ended.err);
}

#[test]
fn what_cannot_be_rendered_is_told_and_is_not_called_equal() {
    let repository = Repository::fleet();
    repository.commit();
    repository.change("runtimes/eu-2.yaml", "replicas: 5", "replicas: -5");
    let ended = repository.reeve(&["diff", "HEAD", "."]).with(2);
    assert_eq!(ended.out, "");
    assert!(ended.err.starts_with("error[schema]"), "{}", ended.err);
    assert!(ended.err.ends_with("not compared, since . cannot be rendered in runtime eu-2\n"), "{}", ended.err);
}

#[test]
fn a_runtime_whose_file_cannot_be_read_is_called_neither_removed_nor_added() {
    let repository = Repository::fleet();
    repository.commit();
    repository.write("runtimes/eu-2.yaml", "kind: Runtime\nlayers: [\n");
    let ended = repository.reeve(&["diff", "HEAD", "."]).with(2);
    assert_eq!(ended.out, "");
    assert!(ended.err.starts_with("error[yaml-syntax]"), "{}", ended.err);
    assert!(ended.err.ends_with("not compared, since . cannot be rendered in runtime eu-2\n"), "{}", ended.err);
    let ended = repository.reeve(&["diff", ".", "HEAD"]).with(2);
    assert_eq!((&*ended.out, &*ended.err), ("", "not compared, since . cannot be rendered in runtime eu-2\n"));
}

#[test]
fn a_revision_with_errors_is_not_called_equal() {
    let repository = Repository::fleet();
    repository.commit();
    repository.write("layers/unused.yaml", "kind: Layer\nvaluse: {}\n");
    let ended = repository.reeve(&["diff", "HEAD", "."]).with(2);
    assert_eq!(ended.out, "");
    assert!(ended.err.starts_with("error[unknown-key]"), "{}", ended.err);
}

#[test]
fn a_revision_that_is_not_there_is_an_error_of_running() {
    let repository = Repository::fleet();
    let neither = |name: &str, why: &str| {
        format!("error: `{name}` is neither a folder nor a revision of a Git repository here\n  because: {why}")
    };
    let ended = repository.reeve(&["diff", "HEAD", "."]).with(2);
    assert!(ended.err.starts_with(&neither("HEAD", "cannot open the Git repository .\n")), "{}", ended.err);
    repository.commit();
    for name in ["HAED", "no-such-folder"] {
        let ended = repository.reeve(&["diff", name, "."]).with(2);
        let why = format!("there is no revision `{name}` in .\n");
        assert!(ended.err.starts_with(&neither(name, &why)), "{}", ended.err);
    }
}

#[test]
fn what_a_cluster_is_needed_for_is_refused_without_one() {
    let repository = Repository::fleet();
    for args in [
        &["diff"][..],
        &["diff", "HEAD"],
        &["diff", "HEAD", ".", "--live"],
        &["diff", "HEAD", ".", "--impersonate"],
        &["diff", "HEAD", ".", "--namespace", "fleet"],
        &["diff", "HEAD", ".", "--rev", "main"],
        &["diff", ".", "--live", "--git", "https://git.example.com/fleet.git"],
    ] {
        let ended = repository.reeve(args).with(2);
        assert!(ended.err.contains("Usage: reeve diff [OPTIONS] <A> <B>\n       reeve diff --live"), "{}", ended.err);
    }
}
