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

#[test]
fn a_runtime_that_leaves_git_ends_as_its_policy_said() {
    let repository = Repository::fleet();
    repository.write("runtimes/eu-1.yaml", "kind: Runtime\npolicy:\n  deletionPolicy: Delete\n");
    repository.commit();
    std::fs::remove_file(repository.file("runtimes/eu-1.yaml")).unwrap();
    std::fs::remove_file(repository.file("runtimes/eu-2.yaml")).unwrap();
    repository.write("runtimes/eu-3.yaml", "kind: Runtime\ncomponents:\n  web:\n    enabled: false\n");
    repository.commit();
    let ended = repository.reeve(&["plan", "--rev", "HEAD~1..HEAD"]).with(1);
    let wanted = "\
in runtime eu-1 (its file left Git: it is deleted with its objects)
  component web (left Git)
    - Deployment.apps default/web
    - ConfigMap default/second
    - ConfigMap default/first

in runtime eu-2 (its file left Git: it is deleted, its objects stay)
  component web (left Git)
      Deployment.apps default/web (left Git, but stays)
      ConfigMap default/second (left Git, but stays)
      ConfigMap default/first (left Git, but stays)

0 to create, 0 to change, 0 to repair, 3 to delete, 2 runtimes to end; 3 stay as they are
";
    assert_eq!(ended.out, wanted);
    let document = repository.reeve(&["plan", "--rev", "HEAD~1..HEAD", "-r", "eu-2", "-o", "json"]).with(1).json();
    assert_eq!(document["plans"][0]["ended"]["deletionPolicy"], "Orphan");
    assert_eq!(document["plans"][0]["components"][0]["removals"][0]["action"], "Release");
}

#[test]
fn what_moves_to_another_runtime_is_told_to_move() {
    let repository = Repository::fleet();
    repository.write("runtimes/eu-1.yaml", "kind: Runtime\npolicy:\n  deletionPolicy: Delete\n");
    std::fs::remove_file(repository.file("runtimes/eu-2.yaml")).unwrap();
    repository.commit();
    std::fs::remove_file(repository.file("runtimes/eu-1.yaml")).unwrap();
    repository.write("runtimes/eu-9.yaml", "kind: Runtime\npolicy:\n  deletionPolicy: Delete\n");
    repository.commit();
    let renamed = repository.reeve(&["plan", "--rev", "HEAD~1..HEAD"]).with(1);
    let wanted = "\
in runtime eu-1 (its file left Git: it is deleted with its objects)
  component web (left Git)
    ~ Deployment.apps default/web (moves to runtime eu-9, as it is)
    ~ ConfigMap default/second (moves to runtime eu-9, as it is)
    ~ ConfigMap default/first (moves to runtime eu-9, as it is)

in runtime eu-9
  component web
    ~ ConfigMap default/first (moves here from runtime eu-1, as it is)
    ~ ConfigMap default/second (moves here from runtime eu-1, as it is)
    ~ Deployment.apps default/web (moves here from runtime eu-1, as it is)

0 to create, 3 to move, 0 to change, 0 to repair, 0 to delete, 1 runtime to end; 0 stay as they are
";
    assert_eq!(renamed.out, wanted);
}

#[test]
fn jobs_that_would_run_are_told_and_a_target_that_is_not_served_gets_nothing() {
    let repository = Repository::fleet();
    repository.commit();
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations:\n    \
               helm.sh/hook: pre-upgrade,post-install\nspec: {}\n";
    repository.write("charts/web/1.0.0/templates/job.yaml", job);
    repository.write("runtimes/eu-2.yaml", "kind: Runtime\ntarget:\n  type: Agent\n");
    repository.write("runtimes/eu-3.yaml", "kind: Runtime\n");
    repository.commit();
    let ended = repository.reeve(&["plan", "--rev", "HEAD~1..HEAD"]).with(1);
    let wanted = "\
in runtime eu-1
  component web
    > Job.batch default/migrate (runs before the rest is applied)

in runtime eu-2 (unsupported: a target of type Agent is not served yet: InCluster and KubeConfig are; nothing is applied)

in runtime eu-3
  component web
    + ConfigMap default/first
    + ConfigMap default/second
    + Deployment.apps default/web
    > Job.batch default/migrate (runs when all is healthy)

3 to create, 0 to change, 0 to repair, 0 to delete, 2 Jobs to run; 3 stay as they are
";
    assert_eq!(ended.out, wanted);
    let document = repository.reeve(&["plan", "--rev", "HEAD~1..HEAD", "-o", "json"]).with(1).json();
    let jobs = &document["plans"][0]["components"][0]["jobs"];
    assert_eq!(*jobs, serde_json::json!([{ "object": "Job.batch default/migrate", "phase": "Before" }]));
    assert!(document["plans"][1]["unsupported"].is_string(), "{document}");
}

#[test]
fn a_kind_that_the_operator_does_not_allow_keeps_its_component_and_those_after_it_back() {
    let repository = Repository::fleet();
    repository.commit();
    repository.write("charts/after/1.0.0/Chart.yaml", "apiVersion: v2\nname: after\nversion: 1.0.0\n");
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: after\n";
    repository.write("charts/after/1.0.0/templates/config.yaml", config);
    repository.write("channels/regular.yaml", "kind: Channel\ncomponents:\n  web: 1.0.0\n  after: 1.0.0\n");
    repository.change("fleet.yaml", "  web: {}\n", "  web: { target: ControlPlane }\n  after: { dependsOn: [web] }\n");
    std::fs::remove_file(repository.file("runtimes/eu-2.yaml")).unwrap();
    repository.write("runtimes/eu-3.yaml", "kind: Runtime\n");
    repository.commit();
    let plan = ["plan", "--rev", "HEAD~1..HEAD", "-r", "eu-3"];
    let ended = repository.reeve(&[&plan[..], &["--control-plane-kind", "/ConfigMap"]].concat()).with(1);
    let wanted = "\
in runtime eu-3
  component web
    x Deployment.apps default/web may not be in the control plane: the operator allows /ConfigMap
  component after (waits for web, which does not become ready)

0 to create, 0 to change, 0 to repair, 0 to delete, 1 refused; 0 stay as they are
";
    assert_eq!(ended.out, wanted);
    let ended = repository.reeve(&plan).with(1);
    assert!(ended.out.ends_with("4 to create, 0 to change, 0 to repair, 0 to delete; 0 stay as they are\n"));
}

#[test]
fn a_commit_that_removes_too_many_runtimes_is_told_to_remove_none() {
    let repository = Repository::fleet();
    let names: Vec<String> = (1..=6).map(|at| format!("runtimes/eu-1{at}.yaml")).collect();
    for name in &names {
        repository.write(name, "kind: Runtime\npolicy: { deletionPolicy: Delete }\n");
    }
    repository.commit();
    for name in &names {
        std::fs::remove_file(repository.file(name)).unwrap();
    }
    repository.commit();
    let told = repository.reeve(&["plan", "--rev", "HEAD~1..HEAD"]).with(1).out;
    let words = "refused: its file left Git with those of 6 of 6 runtimes with deletionPolicy Delete, and limits.removals \
                 allows 10%: none of them is removed";
    assert!(told.contains(words) && told.contains("0 to delete, 6 refused"), "{told}");
    std::fs::write(repository.file(&names[0]), "kind: Runtime\npolicy: { deletionPolicy: Delete }\n").unwrap();
    repository.commit();
    let told = repository.reeve(&["plan", "--rev", "HEAD~2..HEAD"]).with(1).out;
    assert!(told.contains("5 runtimes to end"), "five may go in any case: {told}");
}
