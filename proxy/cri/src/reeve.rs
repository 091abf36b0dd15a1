//! Reeve's own protocol: what a plugin is shown, and what its answer means. Unlike Koordinator's it names what it changes, so
//! nothing has to be guessed from what is left out.

use tonic::Status;

use crate::chain::Answer;
use crate::field::{self, Changes, Field, Fields, Value};
use crate::hook::Hook;
use crate::message::cri::LinuxContainerResources;
use crate::protocol::{self, Change, ChangedField, ChangedValue, HookRequest, HookResponse, HugepageLimit, Resources};
use crate::subject::{Container, Pod, cgroup_parent};

/// What a plugin is asked. `pod` has of its labels and annotations those that the plugin may read.
pub(crate) fn request(hook: Hook, pod: &Pod, container: Option<&Container>, shown: &Fields) -> HookRequest {
    let mut request = protocol::Pod {
        name: pod.metadata.name.clone(),
        uid: pod.metadata.uid.clone(),
        namespace: pod.metadata.namespace.clone(),
        attempt: pod.metadata.attempt,
        runtime_handler: pod.handler.clone(),
        labels: pod.labels.clone(),
        annotations: pod.annotations.clone(),
        cgroup_parent: cgroup_parent(shown),
        overhead: pod.overhead.as_ref().map(resources),
        resources: pod.resources.as_ref().map(resources),
    };
    if container.is_none() {
        request.labels = field::to_map(shown, |field| if let Field::PodLabel(key) = field { Some(key) } else { None });
        request.annotations =
            field::to_map(shown, |field| if let Field::PodAnnotation(key) = field { Some(key) } else { None });
        request.resources = field::to_resources(shown).as_ref().map(resources);
    }
    let container =
        container.map(|container| protocol::Container {
            id: container.id.clone(),
            name: container.metadata.name.clone(),
            attempt: container.metadata.attempt,
            annotations: field::to_map(shown, |field| {
                if let Field::ContainerAnnotation(key) = field { Some(key) } else { None }
            }),
            envs: field::to_map(shown, |field| if let Field::Env(key) = field { Some(key) } else { None }),
            resources: field::to_resources(shown).as_ref().map(resources),
        });
    HookRequest { hook: hook.name().to_owned(), pod: Some(request), container }
}

/// The CRI has no presence: what is zero or empty is not set.
fn resources(resources: &LinuxContainerResources) -> Resources {
    let number = |number: i64| (number != 0).then_some(number);
    let text = |text: &String| (!text.is_empty()).then(|| text.clone());
    let page = |page: &crate::message::cri::HugepageLimit| HugepageLimit {
        page_size: page.page_size.clone(),
        limit: page.limit,
    };
    Resources {
        cpu_period: number(resources.cpu_period),
        cpu_quota: number(resources.cpu_quota),
        cpu_shares: number(resources.cpu_shares),
        memory_limit_in_bytes: number(resources.memory_limit_in_bytes),
        oom_score_adj: number(resources.oom_score_adj),
        cpuset_cpus: text(&resources.cpuset_cpus),
        cpuset_mems: text(&resources.cpuset_mems),
        hugepage_limits: resources.hugepage_limits.iter().map(page).collect(),
        unified: resources.unified.clone(),
        memory_swap_limit_in_bytes: number(resources.memory_swap_limit_in_bytes),
    }
}

/// What an answer means.
pub(crate) fn answer(response: HookResponse) -> Answer {
    if let Some(deny) = response.deny {
        return Answer::Denied(Status::permission_denied(deny.reason));
    }
    let changes: Result<Changes, String> = response.changes.into_iter().map(change).collect();
    changes.map_or_else(Answer::Failed, Answer::Changes)
}

/// One change, or why it is none.
fn change(change: Change) -> Result<(Field, Option<Value>), String> {
    let named = ChangedField::try_from(change.field).unwrap_or(ChangedField::Unspecified);
    let field =
        field_of(named, change.key).ok_or_else(|| format!("it changes field {} that is not known", change.field))?;
    let is_entry = key_of(&field).is_some();
    if key_of(&field).is_some_and(str::is_empty) {
        return Err(format!("it changes {field} without a key"));
    }
    let value = match (&field, change.value) {
        (_, None) => None,
        (Field::HugepageLimit(_), Some(ChangedValue::Size(size))) => Some(Value::Size(size)),
        (field, Some(ChangedValue::Number(number))) if is_number(field) => {
            (number != 0).then_some(Value::Number(number))
        }
        (field, Some(ChangedValue::Text(text))) if is_text(field) => {
            (is_entry || !text.is_empty()).then_some(Value::Text(text))
        }
        (field, Some(_)) => return Err(format!("it changes {field} to a value of another type")),
    };
    Ok((field, value))
}

fn field_of(named: ChangedField, key: String) -> Option<Field> {
    Some(match named {
        ChangedField::Unspecified => return None,
        ChangedField::PodLabel => Field::PodLabel(key),
        ChangedField::PodAnnotation => Field::PodAnnotation(key),
        ChangedField::CgroupParent => Field::CgroupParent,
        ChangedField::ContainerAnnotation => Field::ContainerAnnotation(key),
        ChangedField::Env => Field::Env(key),
        ChangedField::CpuPeriod => Field::CpuPeriod,
        ChangedField::CpuQuota => Field::CpuQuota,
        ChangedField::CpuShares => Field::CpuShares,
        ChangedField::MemoryLimit => Field::MemoryLimit,
        ChangedField::OomScoreAdj => Field::OomScoreAdj,
        ChangedField::CpusetCpus => Field::CpusetCpus,
        ChangedField::CpusetMems => Field::CpusetMems,
        ChangedField::MemorySwapLimit => Field::MemorySwapLimit,
        ChangedField::HugepageLimit => Field::HugepageLimit(key),
        ChangedField::Unified => Field::Unified(key),
    })
}

/// The key of an entry of a map.
fn key_of(field: &Field) -> Option<&str> {
    match field {
        Field::PodLabel(key)
        | Field::PodAnnotation(key)
        | Field::ContainerAnnotation(key)
        | Field::Env(key)
        | Field::HugepageLimit(key)
        | Field::Unified(key) => Some(key),
        Field::CgroupParent
        | Field::CpuPeriod
        | Field::CpuQuota
        | Field::CpuShares
        | Field::MemoryLimit
        | Field::OomScoreAdj
        | Field::CpusetCpus
        | Field::CpusetMems
        | Field::MemorySwapLimit => None,
    }
}

fn is_number(field: &Field) -> bool {
    matches!(
        field,
        Field::CpuPeriod
            | Field::CpuQuota
            | Field::CpuShares
            | Field::MemoryLimit
            | Field::OomScoreAdj
            | Field::MemorySwapLimit
    )
}

fn is_text(field: &Field) -> bool {
    !is_number(field) && !matches!(field, Field::HugepageLimit(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(field: ChangedField, key: &str, value: Option<ChangedValue>) -> Answer {
        let change = Change { field: field.into(), key: key.to_owned(), value };
        answer(HookResponse { deny: None, changes: vec![change] })
    }

    #[test]
    fn a_change_sets_a_field_and_without_a_value_takes_it_away() {
        let number = Some(ChangedValue::Number(7));
        let Answer::Changes(changes) = changed(ChangedField::CpuShares, "", number) else { panic!("no changes") };
        assert_eq!(changes, [(Field::CpuShares, Some(Value::Number(7)))].into());
        let Answer::Changes(changes) = changed(ChangedField::Env, "SECRET", None) else { panic!("no changes") };
        assert_eq!(changes, [(Field::Env("SECRET".to_owned()), None)].into());
        let empty = Some(ChangedValue::Text(String::new()));
        let Answer::Changes(changes) = changed(ChangedField::PodLabel, "k", empty.clone()) else {
            panic!("no changes")
        };
        assert_eq!(changes[&Field::PodLabel("k".to_owned())], Some(Value::Text(String::new())), "a label may be empty");
        let Answer::Changes(changes) = changed(ChangedField::CpusetCpus, "", empty) else { panic!("no changes") };
        assert_eq!(changes[&Field::CpusetCpus], None);
    }

    #[test]
    fn a_denial_refuses_with_its_reason_and_no_change_counts() {
        let response =
            HookResponse { deny: Some(protocol::Deny { reason: "no batch here".to_owned() }), changes: vec![] };
        let Answer::Denied(status) = answer(response) else { panic!("not denied") };
        assert_eq!((status.code(), status.message()), (tonic::Code::PermissionDenied, "no batch here"));
    }

    #[test]
    fn nonsense_is_a_failure_that_says_what_is_wrong() {
        let reason = |answer: Answer| if let Answer::Failed(reason) = answer { reason } else { panic!("{answer:?}") };
        let text = Some(ChangedValue::Text("many".to_owned()));
        let wrong_type = reason(changed(ChangedField::CpuShares, "", text.clone()));
        assert_eq!(wrong_type, "it changes cpu_shares to a value of another type");
        assert_eq!(reason(changed(ChangedField::PodLabel, "", text)), "it changes label  without a key");
        assert_eq!(reason(changed(ChangedField::Unspecified, "", None)), "it changes field 0 that is not known");
        let newer = Change { field: 99, key: String::new(), value: None };
        assert_eq!(
            reason(answer(HookResponse { deny: None, changes: vec![newer] })),
            "it changes field 99 that is not known"
        );
    }
}
