//! Every admission rule: the API server refuses the offending object with the rule's message and accepts the
//! corrected one.

use std::collections::BTreeSet;

use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::{Api, Error};
use reeve_tests::Cluster;
use serde_json::{Value, json};

use super::case::{Case, case, merged};
use super::schemas::{self, Rule, find_mut};
use super::subject::{self, Subject};
use super::{
    dapr_workload, git_source, inventory, node_hook, node_hook_status, runtime, runtime_component, scaling_rule,
};

const DURATION: &str = "write a duration";
const LABEL: &str = "write a name of lower case letters";

#[tokio::test]
async fn git_sources_that_break_a_rule_are_refused_until_corrected() {
    prove_all(git_source::subject()).await;
}

#[tokio::test]
async fn runtimes_that_break_a_rule_are_refused_until_corrected() {
    prove_all(runtime::subject()).await;
}

#[tokio::test]
async fn runtime_components_that_break_a_rule_are_refused_until_corrected() {
    prove_all(runtime_component::subject()).await;
}

#[tokio::test]
async fn inventories_that_break_a_rule_are_refused_until_corrected() {
    prove_all(inventory::subject()).await;
}

#[tokio::test]
async fn scaling_rules_that_break_a_rule_are_refused_until_corrected() {
    prove_all(scaling_rule::subject()).await;
}

#[tokio::test]
async fn node_hooks_that_break_a_rule_are_refused_until_corrected() {
    prove_all(node_hook::subject()).await;
}

#[tokio::test]
async fn node_hook_statuses_that_break_a_rule_are_refused_until_corrected() {
    prove_all(node_hook_status::subject()).await;
}

#[tokio::test]
async fn dapr_workloads_that_break_a_rule_are_refused_until_corrected() {
    prove_all(dapr_workload::subject()).await;
}

#[test]
fn every_rule_of_every_schema_has_a_case() {
    let proven: BTreeSet<Rule> = subject::all()
        .iter()
        .flat_map(|subject| {
            let kind = subject.resource.kind.clone();
            cases(subject).into_iter().map(move |case| Rule { kind: kind.clone(), at: case.at, message: case.message })
        })
        .collect();
    let existing: BTreeSet<Rule> = schemas::rules().into_iter().collect();
    let unproven: Vec<&Rule> = existing.difference(&proven).collect();
    let unknown: Vec<&Rule> = proven.difference(&existing).collect();
    assert!(unproven.is_empty(), "rules without a case: {unproven:#?}");
    assert!(unknown.is_empty(), "cases of rules that do not exist: {unknown:#?}");
}

/// The cases that a kind lists, and one for each duration and each name wherever it stands.
fn cases(subject: &Subject) -> Vec<Case> {
    let mut cases = subject.cases.clone();
    let whole = json!({ "spec": subject.spec });
    for rule in schemas::rules().into_iter().filter(|rule| rule.kind == subject.resource.kind) {
        let (sentence, offence) = if rule.message.contains("at most 8760h") {
            ("a duration parses", "soon")
        } else if rule.message.starts_with(DURATION) {
            ("a duration lies within its bounds", "8760h")
        } else if rule.message.starts_with(LABEL) {
            ("a name is a label", "Not A Name")
        } else {
            continue;
        };
        let mut offending = whole.clone();
        let field = find_mut(&mut offending, &rule.at).unwrap_or_else(|| panic!("the sample lacks {}", rule.at));
        *field = offence.into();
        cases.push(case(sentence, &rule.at, &rule.message).refuses(offending["spec"].take()));
    }
    cases
}

async fn prove_all(subject: Subject) {
    let cluster = Cluster::shared().await;
    cluster.crds().await;
    let ns = cluster.namespace("rules").await;
    let api = subject.api(cluster.client(), &ns);
    let mut wrong = Vec::new();
    for (number, case) in cases(&subject).into_iter().enumerate() {
        if let Err(problem) = prove(&api, &subject, &format!("{ns}-{number}"), &case).await {
            wrong.push(format!("{} ({}): {problem}", case.rule, case.at));
        }
    }
    assert!(wrong.is_empty(), "{} rules of {} do not hold:\n{}", wrong.len(), subject.resource.kind, wrong.join("\n"));
}

async fn prove(api: &Api<DynamicObject>, subject: &Subject, name: &str, case: &Case) -> Result<(), String> {
    let given = merged(subject.spec.clone(), &case.before);
    let offending = merged(given.clone(), &case.offending);
    let corrected = merged(given.clone(), &case.corrected);
    if case.is_change {
        let made = write(api, subject, name, &given, None).await.map_err(|e| format!("cannot make the object: {e}"))?;
        expect_refusal(write(api, subject, name, &offending, made.metadata.resource_version.clone()).await, case)?;
        let changed = write(api, subject, name, &corrected, made.metadata.resource_version).await;
        changed.map_err(|error| format!("the corrected change is refused: {error}"))?;
    } else {
        expect_refusal(write(api, subject, name, &offending, None).await, case)?;
        let made = write(api, subject, name, &corrected, None).await;
        made.map_err(|error| format!("the corrected object is refused: {error}"))?;
    }
    api.delete(name, &DeleteParams::default()).await.map_err(|error| error.to_string())?;
    Ok(())
}

/// Creates the object, or replaces it if a version to replace is given. A root rule may ask for a name of its own.
async fn write(
    api: &Api<DynamicObject>,
    subject: &Subject,
    name: &str,
    spec: &Value,
    replaces: Option<String>,
) -> kube::Result<DynamicObject> {
    let text = spec.to_string().replace("$NAME", name);
    let spec: Value = serde_json::from_str(&text).unwrap();
    let mut object: DynamicObject = serde_json::from_value(subject.object(name, &spec)).unwrap();
    object.metadata.resource_version = replaces;
    match &object.metadata.resource_version {
        Some(_) => api.replace(name, &PostParams::default(), &object).await,
        None => api.create(&PostParams::default(), &object).await,
    }
}

fn expect_refusal(outcome: kube::Result<DynamicObject>, case: &Case) -> Result<(), String> {
    let status = match outcome {
        Ok(_) => return Err("the offending object is accepted".to_owned()),
        Err(Error::Api(status)) => status,
        Err(other) => return Err(format!("the API server did not answer: {other}")),
    };
    let causes = status.details.as_ref().map(|details| details.causes.clone()).unwrap_or_default();
    let said =
        causes.iter().any(|cause| without_indexes(&cause.field) == case.at && cause.message.contains(&case.message));
    if said { Ok(()) } else { Err(format!("refused for another reason: {}", status.message)) }
}

/// `spec.plugins[0].name` as the schema has it: `spec.plugins[].name`.
fn without_indexes(field: &str) -> String {
    let field = if field == "<nil>" { "" } else { field };
    let mut path = String::new();
    let mut inside = false;
    for character in field.chars() {
        match character {
            '[' => inside = true,
            ']' => {
                inside = false;
                path.push_str("[]");
            }
            _ if inside => {}
            other => path.push(other),
        }
    }
    path
}
