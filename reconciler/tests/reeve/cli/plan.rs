//! `reeve plan` without a cluster.

use crate::cli::repository::Repository;

/// All but the last line, which sums up.
fn findings(text: &str) -> &str {
    text.trim_end().rsplit_once('\n').map_or("", |(rest, _)| rest)
}

#[test]
fn a_plan_between_revisions_says_what_is_done_to_whom() {
    let repository = Repository::fleet();
    repository.commit();
    repository.change("layers/base.yaml", "replicas: 2", "replicas: 3");
    let ended = repository.reeve(&["plan", "--rev", "HEAD...", "-r", "eu-1"]).with(1);
    assert!(ended.out.contains("~ Deployment.apps default/web"), "{}", ended.out);
    repository.commit();
    let ended = repository.reeve(&["plan", "--rev", "HEAD~1..HEAD"]).with(1);
    let wanted = "\
in runtime eu-1
  component web
    ~ Deployment.apps default/web

0 to create, 1 to change, 0 to repair, 0 to delete; 2 stay as they are
";
    assert_eq!(ended.out, wanted);
    repository.reeve(&["plan", "--rev", "HEAD..HEAD"]).with(0);
    let (elsewhere, url) = (Repository::empty(), format!("file://{}", repository.path().display()));
    let ended = elsewhere.reeve(&["plan", "--git", &url, "--rev", "HEAD~1..HEAD"]).with(1);
    assert_eq!(ended.out, wanted);
}

#[test]
fn a_repository_that_would_be_refused_is_told_of_as_validate_does() {
    let repository = Repository::fleet();
    repository.commit();
    repository.write("layers/unused.yaml", "kind: Layer\nvaluse: {}\n");
    repository.change("runtimes/eu-2.yaml", "replicas: 5", "replicas: -5");
    repository.write("runtimes/eu-3.yaml", "kind: Runtime\nlayers: [\n");
    repository.commit();
    let valid = repository.reeve(&["validate"]).with(1);
    assert!(["unknown-key", "schema", "yaml-syntax"].iter().all(|code| valid.out.contains(code)), "{}", valid.out);
    for rev in ["HEAD~1..HEAD", "HEAD..HEAD"] {
        for runtime in ["eu-1", "eu-2", "eu-3"] {
            let plan = repository.reeve(&["plan", "--rev", rev, "-r", runtime]).with(2);
            assert_eq!(findings(&plan.err), findings(&valid.out));
            assert_eq!(plan.out, "");
        }
    }
    repository.write("layers/unused.yaml", "kind: Layer\n");
    repository.write("runtimes/eu-3.yaml", "kind: Runtime\ncomponents:\n  web:\n    values:\n      replicas: -7\n");
    repository.commit();
    let valid = repository.reeve(&["validate"]).with(1);
    let plan = repository.reeve(&["plan", "--rev", "HEAD~1..HEAD", "-r", "eu-2"]).with(2);
    assert_eq!(findings(&plan.err), findings(&valid.out));
}

#[test]
fn what_an_annotation_asks_for_is_checked_by_both() {
    let repository = Repository::fleet();
    repository.commit();
    let odd =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: odd\n  annotations:\n    reeve.dev/apply: Sometimes\n";
    repository.write("charts/web/1.0.0/templates/odd.yaml", odd);
    repository.change("runtimes/eu-2.yaml", "replicas: 5", "replicas: -5");
    repository.commit();
    let valid = repository.reeve(&["validate"]).with(1);
    assert!(
        valid.out.contains("error[annotation]: ConfigMap default/odd: annotation reeve.dev/apply says"),
        "{}",
        valid.out
    );
    let plan = repository.reeve(&["plan", "--rev", "HEAD~1..HEAD"]).with(2);
    assert_eq!(findings(&plan.err), findings(&valid.out));
}
