//! What the fuzz targets feed bytes to, with the laws that must hold of any bytes.

use prost::Message;

use crate::call::{self, Method, Request};
use crate::chain::Answer;
use crate::field::{self, Changes, Fields};
use crate::hook_set::HookSet;
use crate::message::hook::{ContainerResourceHookResponse, PodSandboxHookResponse};
use crate::protocol::HookResponse;
use crate::registration::parse;
use crate::registry::Registry;
use crate::settings::Merge;
use crate::splice::splice;
use crate::subject::{Container, Pod};
use crate::{koordinator, reeve};

/// Any bytes as a request, and any bytes as what a plugin says to it: nothing panics, no change leaves the bytes as they are,
/// and decoding what was spliced is changing what was decoded.
///
/// # Panics
///
/// If a law is broken.
pub fn splice_law(request: &[u8], answer: &[u8]) {
    for method in [Method::RunPodSandbox, Method::CreateContainer, Method::UpdateContainerResources] {
        let Some(decoded) = Request::decode(method, request) else { continue };
        let Some(before) = fields_of(&decoded) else { continue };
        assert_eq!(splice(request, &[]).as_deref(), Ok(request), "without a change nothing changes");
        for changes in changes_of(method, &before, answer) {
            let edits = call::edits(method, &changes);
            let Ok(spliced) = splice(request, &edits) else { continue };
            let after = Request::decode(method, &spliced).and_then(|request| fields_of(&request));
            let mut expected = before.clone();
            field::apply(&mut expected, &changes);
            assert_eq!(after.as_ref(), Some(&expected), "{method:?} {changes:?}");
        }
    }
}

/// What plugins may see of a request.
fn fields_of(request: &Request) -> Option<Fields> {
    match request.clone() {
        Request::RunPod(request) => Some(Pod::of(request.config.unwrap_or_default(), String::new()).fields()),
        Request::Create(request) => {
            let parent = Pod::of(request.sandbox_config.unwrap_or_default(), String::new()).cgroup_parent;
            Some(Container::of(String::new(), request.config.unwrap_or_default()).fields(&parent))
        }
        Request::Update(request) => {
            let mut fields = request.linux.as_ref().map(field::of_resources).unwrap_or_default();
            fields.extend(field::of_map(&request.annotations, field::Field::ContainerAnnotation));
            Some(fields)
        }
        Request::StopPod(_)
        | Request::RemovePod(_)
        | Request::Start(_)
        | Request::Stop(_)
        | Request::Remove(_)
        | Request::UpdatePod(_)
        | Request::Restore => None,
    }
}

/// What the bytes change as an answer of either protocol, as far as the call can carry it.
fn changes_of(method: Method, shown: &Fields, answer: &[u8]) -> Vec<Changes> {
    let mut all = Vec::new();
    for merge in [Merge::Echo, Merge::Sparse] {
        if method == Method::RunPodSandbox {
            let said = PodSandboxHookResponse::decode(answer).ok();
            all.extend(said.map(|said| koordinator::pod_changes(shown, said, merge)));
        } else {
            let said = ContainerResourceHookResponse::decode(answer).ok();
            all.extend(said.map(|said| koordinator::container_changes(shown, said, merge)));
        }
    }
    if let Ok(Answer::Changes(changes)) = HookResponse::decode(answer).map(reeve::answer) {
        all.push(changes);
    }
    let is_carried = |field: &field::Field| !call::edits(method, &[(field.clone(), None)].into()).is_empty();
    for changes in &mut all {
        changes.retain(|field, _| is_carried(field));
    }
    all
}

/// Any bytes as a registration file, and as a hook set: what cannot be used leaves what is in force as it is.
///
/// # Panics
///
/// If it does not.
pub fn registrations(text: &[u8]) {
    let _ = parse("fuzz.json", text);
    let mut registry = Registry::default();
    let good = br#"{"remote-endpoint": "/a", "runtime-hooks": ["PreStartContainer"]}"#.to_vec();
    registry.update_files(&[("a.json".to_owned(), Ok(good))].into());
    let before = registry.members();
    if registry.update_set(Some(&Ok(text.to_vec()))).is_some() {
        assert_eq!(registry.members(), before);
    }
    if let Ok(set) = HookSet::parse(text) {
        assert_eq!(HookSet::parse(&set.to_text()).ok(), Some(set), "what is written is what is read");
    }
}
