//! `reeve plan` against a cluster.

use kube::api::{Patch, PatchParams};
use reeve_crds::{GitSource, Runtime, RuntimeComponent};
use serde_json::{Value, json};

use crate::cli::repository::{Ended, ended};
use crate::engine::fixture::{Fixture, annotated, config};

/// `reeve plan` of the work tree, with further arguments.
async fn plan(fixture: &Fixture, args: &[&str]) -> Ended {
    let kubeconfig = fixture.cluster.kubeconfig().display().to_string();
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_reeve"));
    command.args(["plan", "--namespace", &fixture.namespace, "--kubeconfig", &kubeconfig]).args(args);
    command.current_dir(fixture.repository.work_tree()).env_remove("NO_COLOR").kill_on_drop(true);
    ended(command.output().await.unwrap())
}

/// Applies what there is, and then nobody applies any more.
async fn settle(fixture: &Fixture) {
    let commit = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&commit).await;
    reeve.terminate().await;
}

async fn suspend<K>(fixture: &Fixture, name: &str, suspend: bool)
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned,
{
    let merge = Patch::Merge(json!({ "spec": { "suspend": suspend } }));
    fixture.api::<K>().patch(name, &PatchParams::default(), &merge).await.unwrap();
}

#[tokio::test]
async fn a_runtime_whose_file_left_git_ends_as_its_policy_says() {
    let fixture = Fixture::new("plan-ended").await;
    let (name, target) = (&fixture.runtime, &fixture.target);
    fixture.component("web", "1.0.0", &config("settings", "git"));
    fixture.runtime(name, "policy: { deletionPolicy: Delete }\n");
    settle(&fixture).await;
    assert_eq!(plan(&fixture, &[]).await.with(0).out, "nothing to do: 1 object is as Git says\n");
    fixture.repository.remove("runtimes").unwrap();
    let told = plan(&fixture, &[]).await.with(1);
    let wanted = format!(
        "\
in runtime {name} (its file left Git: it is deleted with its objects)
  component web (left Git)
    - ConfigMap {target}/settings

0 to create, 0 to change, 0 to repair, 1 to delete, 1 runtime to end; 0 stay as they are
"
    );
    assert_eq!((told.out.as_str(), told.err.as_str()), (wanted.as_str(), ""));
    plan(&fixture, &["-r", name]).await.with(1);
    let merge = Patch::Merge(json!({ "spec": { "deletionPolicy": "Orphan" } }));
    fixture.api::<Runtime>().patch(name, &PatchParams::default(), &merge).await.unwrap();
    let document = plan(&fixture, &["-o", "json"]).await.with(1).json();
    assert_eq!(document["plans"][0]["ended"]["deletionPolicy"], "Orphan");
    assert_eq!(document["plans"][0]["components"][0]["removals"][0]["action"], "Release");

    // The runtimes of another source are not this repository's to end.
    let other = json!({ "spec": { "url": "https://example.com/other.git", "ref": { "branch": "main" } } });
    fixture.apply("reeve.dev/v1alpha1", "GitSource", Some(&fixture.namespace), "other", other).await;
    let runtime = json!({ "spec": { "sourceRef": { "name": "other" } } });
    fixture.apply("reeve.dev/v1alpha1", "Runtime", Some(&fixture.namespace), "theirs", runtime).await;
    let document = plan(&fixture, &["-o", "json"]).await.with(1).json();
    assert_eq!(document["plans"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn what_bears_the_marks_of_a_runtime_that_is_gone_is_not_told_to_belong_to_it() {
    let fixture = Fixture::new("plan-gone").await;
    let labels = json!({
        "app.kubernetes.io/managed-by": "reeve",
        "reeve.dev/runtime": "gone",
        "reeve.dev/runtime-namespace": fixture.namespace,
    });
    let left = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "left", "labels": labels },
        "data": { "say": "nobody" },
    });
    let gone = PatchParams::apply(&format!("reeve:{}/gone", fixture.namespace));
    fixture.dynamic("v1", "ConfigMap", Some(&fixture.target)).patch("left", &gone, &Patch::Apply(&left)).await.unwrap();
    fixture.component("web", "1.0.0", &[config("left", "git"), config("settings", "git")].concat());
    let told = plan(&fixture, &[]).await.with(1).out;
    assert!(!told.contains("belongs to"), "{told}");
    // And that is what happens.
    settle(&fixture).await;
    assert_eq!(plan(&fixture, &[]).await.with(0).out, "nothing to do: 2 objects are as Git says\n");
}

#[tokio::test]
async fn what_others_may_change_is_not_told_to_be_repaired() {
    let fixture = Fixture::new("plan-ignored").await;
    let policy = "policy: { drift: { ignore: [{ kind: ConfigMap, name: by-policy, paths: [/data/say] }] } }\n";
    fixture.runtime(&fixture.runtime, policy);
    let field = annotated("field", "git", "reeve.dev/ignore", "/data/say");
    fixture.component("web", "1.0.0", &[field, config("by-policy", "git"), config("watched", "git")].concat());
    settle(&fixture).await;
    let params = PatchParams { field_manager: Some("somebody".to_owned()), ..PatchParams::default() };
    let people = Patch::Merge(json!({ "data": { "say": "people" } }));
    let there = fixture.dynamic("v1", "ConfigMap", Some(&fixture.target));
    for name in ["field", "by-policy"] {
        there.patch(name, &params, &people).await.unwrap();
    }
    assert_eq!(plan(&fixture, &[]).await.with(0).out, "nothing to do: 3 objects are as Git says\n");
    there.patch("watched", &params, &people).await.unwrap();
    let told = plan(&fixture, &[]).await.with(1).out;
    assert!(told.contains(&format!("    ! ConfigMap {}/watched (someone changed it)\n", fixture.target)), "{told}");
    assert!(told.ends_with("1 to repair, 0 to delete; 2 stay as they are\n"), "{told}");
}

#[tokio::test]
async fn what_is_suspended_is_left_and_told() {
    let fixture = Fixture::new("plan-suspended").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    fixture.component_with("after", "1.0.0", "{ dependsOn: [web] }", &config("after", "git"));
    settle(&fixture).await;
    fixture.component("web", "1.1.0", &config("settings", "other"));
    fixture.component_with("after", "1.1.0", "{ dependsOn: [web] }", &config("after", "other"));
    plan(&fixture, &[]).await.with(1);

    let component = format!("{}.web", fixture.runtime);
    suspend::<RuntimeComponent>(&fixture, &component, true).await;
    let told = plan(&fixture, &[]).await.with(0).out;
    assert!(told.contains("  component web (suspended: nothing is done until component web is resumed)\n"), "{told}");
    assert!(told.contains("  component after (waits for web, which does not become ready)\n"), "{told}");
    suspend::<RuntimeComponent>(&fixture, &component, false).await;

    suspend::<Runtime>(&fixture, &fixture.runtime, true).await;
    let told = plan(&fixture, &[]).await.with(0).out;
    let whole = format!("in runtime {0} (suspended: nothing is done until Runtime {0} is resumed)\n", fixture.runtime);
    assert!(told.starts_with(&whole), "{told}");
    suspend::<Runtime>(&fixture, &fixture.runtime, false).await;

    suspend::<GitSource>(&fixture, "fleet", true).await;
    let document = plan(&fixture, &["-o", "json"]).await.with(0).json();
    assert_eq!(document["plans"][0]["suspended"], "GitSource fleet");
    fixture.repository.remove("runtimes").unwrap();
    plan(&fixture, &[]).await.with(0);
}

#[tokio::test]
async fn what_is_there_already_is_taken_over_as_the_policy_says() {
    let fixture = Fixture::new("plan-adoption").await;
    let say = json!({ "data": { "say": "theirs" } });
    fixture.apply("v1", "ConfigMap", Some(&fixture.target), "applied", say.clone()).await;
    let there = fixture.dynamic("v1", "ConfigMap", Some(&fixture.target));
    for name in ["made", "once"] {
        let made = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
        there.create(&kube::api::PostParams::default(), &serde_json::from_value(made).unwrap()).await.unwrap();
    }
    let once = annotated("once", "git", "reeve.dev/apply", "IfMissing");
    let manifests = [config("applied", "git"), config("made", "git"), config("new", "git"), once].concat();
    fixture.component("web", "1.0.0", &manifests);
    let told = plan(&fixture, &[]).await.with(1);
    let target = &fixture.target;
    assert!(told.err.contains("has no GitSource: name its namespace with -n"), "{}", told.err);
    let out = told.out;
    let unless =
        format!("~ ConfigMap {target}/applied (is there already, and is taken over unless what somebody applies");
    assert!(out.contains(&unless), "{out}");
    assert!(out.contains(&format!("~ ConfigMap {target}/made (is there already, and is taken over)\n")), "{out}");
    assert!(out.contains(&format!("+ ConfigMap {target}/new\n")) && !out.contains("/once"), "{out}");
    let sum = "1 to create, 2 to take over, 0 to change, 0 to repair, 0 to delete; 1 stay as they are\n";
    assert!(out.ends_with(sum), "{out}");

    fixture.runtime(&fixture.runtime, "policy: { adoption: Never }\n");
    let document = plan(&fixture, &["-o", "json"]).await.with(1).json();
    let component = &document["plans"][0]["components"][0];
    let refused: Vec<&Value> = component["refused"].as_array().unwrap().iter().map(|one| &one["reason"]).collect();
    assert_eq!(refused, ["Conflict", "Conflict"], "{document}");
    assert_eq!(component["steps"].as_array().unwrap().len(), 2, "{document}");
}

#[tokio::test]
async fn a_job_is_told_until_it_ran() {
    let fixture = Fixture::new("plan-job").await;
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: { name: migrate, annotations: { helm.sh/hook: post-upgrade } }\nspec: { completions: 0, template: { spec: { restartPolicy: Never, containers: [{ name: a, image: a }] } } }\n---\n";
    fixture.component("web", "1.0.0", &[&config("settings", "git"), job].concat());
    settle(&fixture).await;
    assert_eq!(plan(&fixture, &[]).await.with(0).out, "nothing to do: 1 object is as Git says\n");
    fixture.component("web", "1.1.0", &[&config("settings", "other"), job].concat());
    let told = plan(&fixture, &[]).await.with(1).out;
    let line = format!("    > Job.batch {}/migrate (runs when all is healthy)\n", fixture.target);
    assert!(told.contains(&line), "{told}");
    assert!(told.ends_with("1 to change, 0 to repair, 0 to delete, 1 Job to run; 0 stay as they are\n"), "{told}");
    settle(&fixture).await;
    assert_eq!(plan(&fixture, &[]).await.with(0).out, "nothing to do: 1 object is as Git says\n");
}

#[tokio::test]
async fn what_cannot_change_is_told_to_be_made_anew_if_the_policy_says_so() {
    let frozen = |say: &str| format!("{}immutable: true\n---\n", config("frozen", say).trim_end_matches("---\n"));
    let fixture = Fixture::new("plan-anew").await;
    fixture.runtime(&fixture.runtime, "policy: { recreate: OnImmutable }\n");
    fixture.component("web", "1.0.0", &[frozen("one"), config("soft", "one")].concat());
    settle(&fixture).await;
    fixture.component("web", "1.1.0", &[frozen("two"), config("soft", "two")].concat());
    let told = plan(&fixture, &[]).await.with(1).out;
    let anew = format!("~ ConfigMap {}/frozen (deleted and made anew, since a field cannot change)\n", fixture.target);
    assert!(told.contains(&anew) && told.contains(&format!("~ ConfigMap {}/soft\n", fixture.target)), "{told}");
}
