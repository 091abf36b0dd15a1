//! Jobs before and after a change. No node runs them here: the test says how they end.

use k8s_openapi::api::batch::v1::Job;
use kube::api::{Patch, PatchParams};
use reeve_crds::{RuntimeComponent, State};
use reeve_tests::until;
use serde_json::json;

use super::fixture::{Fixture, config};

fn job(name: &str, hook: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{ name: {name}, annotations: {{ helm.sh/hook: {hook:?} }} }}\nspec:\n  suspend: true\n  template:\n    spec: {{ restartPolicy: Never, containers: [{{ name: a, image: a }}] }}\n---\n"
    )
}

impl Fixture {
    /// Waits for a Job other than this one.
    async fn job(&self, name: &str, other_than: &str) -> String {
        let is_another =
            |job: &Job| job.metadata.uid.as_deref() != Some(other_than) && job.metadata.deletion_timestamp.is_none();
        until(&self.there::<Job>(), name, "the Job is there", is_another).await.metadata.uid.unwrap()
    }

    async fn end_job(&self, name: &str, kind: &str) {
        let time = "2026-01-01T00:00:00Z";
        let before = if kind == "Complete" { "SuccessCriteriaMet" } else { "FailureTarget" };
        let condition = |kind: &str| json!({ "type": kind, "status": "True", "reason": "Test", "message": "as the test says", "lastTransitionTime": time });
        let mut status = json!({ "startTime": time, "conditions": [condition(before), condition(kind)] });
        if kind == "Complete" {
            status["completionTime"] = json!(time);
        }
        let patch = json!({ "status": status });
        self.there::<Job>().patch_status(name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    }
}

#[tokio::test]
async fn a_job_before_ends_before_anything_is_applied_and_one_after_comes_last() {
    let fixture = Fixture::new("jobs").await;
    fixture.component(
        "web",
        "1.0.0",
        &(job("before", "pre-install") + &config("settings", "one") + &job("after", "post-upgrade")),
    );
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.job("before", "").await;
    assert_eq!(fixture.says("settings").await, None);
    let name = format!("{}.web", fixture.runtime);
    let is_named = |component: &RuntimeComponent| {
        let conditions = component.status.iter().flat_map(|status| &status.conditions);
        let mut ready = conditions.filter(|condition| condition.type_ == "Ready");
        ready.any(|ready| ready.message.starts_with("Job.batch ") && ready.message.contains("/before: "))
    };
    until(&fixture.api::<RuntimeComponent>(), &name, "the Job that is awaited is named", is_named).await;
    fixture.end_job("before", "Complete").await;
    fixture.applied(&first).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "one");
    assert!(fixture.there::<Job>().get_opt("after").await.unwrap().is_none(), "an install is no upgrade");
    fixture.meddle("settings", "hand").await;
    fixture.comes_to_say("settings", "one").await;
    fixture.component_is("web", State::Ready, "Succeeded").await;
    assert!(fixture.there::<Job>().get_opt("after").await.unwrap().is_none(), "a repair is no upgrade");

    fixture.component(
        "web",
        "1.1.0",
        &(job("before", "pre-install") + &config("settings", "two") + &job("after", "post-upgrade")),
    );
    let second = fixture.push();
    fixture.job("after", "").await;
    assert_eq!(fixture.says("settings").await.unwrap(), "two");
    fixture.end_job("after", "Complete").await;
    let runtime = fixture.applied(&second).await;
    assert_eq!(runtime.status.unwrap().state, Some(State::Ready));
}

#[tokio::test]
async fn a_job_that_fails_is_the_component_s_failure_and_runs_again() {
    let fixture = Fixture::new("job-fails").await;
    fixture.component("web", "1.0.0", &(job("before", "pre-install,pre-upgrade") + &config("settings", "one")));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    let uid = fixture.job("before", "").await;
    fixture.end_job("before", "Failed").await;
    let status = fixture.component_is("web", State::Error, "JobFailed").await.status.unwrap();
    assert_eq!(status.failure.unwrap().object.unwrap().name, "before");
    assert_eq!(status.jobs.len(), 1);
    assert_eq!(fixture.says("settings").await, None);
    let uid = fixture.job("before", &uid).await;
    fixture.end_job("before", "Complete").await;
    fixture.applied(&first).await;
    reeve.kill();
    let _reeve = fixture.reeve();
    fixture.meddle("settings", "hand").await;
    fixture.comes_to_say("settings", "one").await;
    assert_eq!(fixture.there::<Job>().get("before").await.unwrap().metadata.uid.unwrap(), uid, "once per digest");
}

#[tokio::test]
async fn a_job_that_does_not_end_does_not_keep_the_process_and_is_awaited_again_after_a_restart() {
    let fixture = Fixture::new("jobs-stop").await;
    let kept =
        job("before", "pre-install").replace("helm.sh/hook:", "helm.sh/hook-delete-policy: hook-failed, helm.sh/hook:");
    fixture.component("web", "1.0.0", &(kept + &config("settings", "one")));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    let uid = fixture.job("before", "").await;
    fixture.component_is("web", State::Processing, "Progressing").await;
    let log = reeve.log_file();
    reeve.terminate().await;
    let log = std::fs::read_to_string(log).unwrap();
    assert!(!log.contains("did not end in time"), "the wait is given up at once:\n{log}");
    let _reeve = fixture.reeve();
    assert_eq!(fixture.job("before", "").await, uid, "it is the same");
    fixture.end_job("before", "Complete").await;
    fixture.applied(&first).await;
}
