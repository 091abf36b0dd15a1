//! Every action and removal once, and what holds for all plans.

use std::collections::BTreeMap;

use proptest::prelude::*;
use reeve_crds::runtime_component::ComponentTarget;
use reeve_renderer_objects::key::Origin;

use super::*;
use crate::owner::Release;
use crate::payload::Options;

const RUNTIME: &str = "eu";

/// A cluster and an inventory without anything else.
#[derive(Clone, Debug, Default)]
struct Model {
    entries: BTreeMap<ObjectKey, Entry>,
    objects: BTreeMap<ObjectKey, Live>,
}

impl View for Model {
    fn entry(&self, key: &ObjectKey) -> Option<Entry> {
        self.entries.get(key).cloned()
    }

    fn live(&self, key: &ObjectKey) -> Option<Live> {
        self.objects.get(key).cloned()
    }
}

fn owner(runtime: &str) -> Owner {
    Owner::new("reeve-system", runtime)
}

fn rules(drift: DriftMode, prune: bool) -> Rules {
    Rules { owner: owner(RUNTIME), drift, prune }
}

fn key(kind: &str, name: &str) -> ObjectKey {
    let group = match kind {
        "CustomResourceDefinition" => "apiextensions.k8s.io",
        "Deployment" => "apps",
        _ => "",
    };
    ObjectKey { group: group.into(), kind: kind.into(), namespace: Some("shop".into()), name: name.into() }
}

fn object(key: &ObjectKey, content: &str, options: Options) -> DesiredObject {
    DesiredObject {
        key: key.clone(),
        api_version: "v1".into(),
        stage: Stage::of(&key.group, &key.kind),
        content: content.into(),
        payload: b"{}".to_vec().into(),
        options,
        ignored: Vec::new(),
        keep: false,
        origin: Origin { file: "a.yaml".into(), document: 1, line: 1 },
    }
}

fn component(objects: Vec<DesiredObject>) -> DesiredComponent {
    DesiredComponent {
        name: "web".into(),
        chart: "web".into(),
        version: "1.0.0".into(),
        channel: None,
        namespace: "shop".into(),
        release: Release::new("shop".into(), "web".into()),
        target: ComponentTarget::Runtime,
        depends_on: Vec::new(),
        service_account: None,
        timeout: None,
        origin: String::new(),
        digest: "d".into(),
        objects,
        jobs: Vec::new(),
        health: Vec::new().into(),
        health_rules: Vec::new().into(),
    }
}

fn entry(state: EntryState, uid: Option<&str>, owned: Option<&str>) -> Entry {
    Entry {
        component: "web".into(),
        target: ComponentTarget::Runtime,
        version: "v1".into(),
        uid: uid.map(Into::into),
        state,
        owned: owned.map(Into::into),
        kept: None,
    }
}

fn live(content: &str, owned: Option<&str>) -> Live {
    Live {
        uid: "1".into(),
        resource_version: 1,
        content: Some(content.into()),
        owner: Some(owner(RUNTIME)),
        owned: owned.map(Into::into),
        legacy: false,
        leftovers: false,
        component: Some("web".into()),
        deleting: None,
        prune: Prune::Default,
        health: None,
    }
}

fn action_for(options: Options, entry: Option<Entry>, live: Option<Live>, drift: DriftMode) -> Action {
    let key = key("ConfigMap", "a");
    let mut model = Model::default();
    model.entries.extend(entry.map(|entry| (key.clone(), entry)));
    model.objects.extend(live.map(|live| (key.clone(), live)));
    let plan =
        super::component(&component(vec![object(&key, "c", options)]), [], &model, &rules(drift, true), &|_| false);
    plan.steps[0].action
}

#[test]
fn what_is_done_to_an_object_that_git_wants() {
    let applied = || Some(entry(EntryState::Applied, Some("1"), Some("o")));
    let says = |apply| Options { apply, ..Options::default() };
    let free = || Options { drift: Some(DriftMode::Ignore), ..Options::default() };
    let left = |owned| Live { leftovers: true, ..live("c", Some(owned)) };
    let going = || Live { deleting: Some("finalizer".into()), ..live("c", Some("o")) };
    let cases = [
        ("it is not there", Options::default(), applied(), None, Action::Create),
        ("it is not there, and is made once", says(Apply::IfMissing), None, None, Action::Create),
        ("it is there, and is made once", says(Apply::IfMissing), None, Some(live("old", Some("o"))), Action::Leave),
        ("it is never made", says(Apply::Never), None, None, Action::Leave),
        ("its content is another", Options::default(), applied(), Some(live("old", Some("o"))), Action::Update),
        (
            "nobody wrote down how it was",
            Options::default(),
            Some(entry(EntryState::Planned, None, None)),
            Some(live("c", Some("o"))),
            Action::Verify,
        ),
        ("there is no entry", Options::default(), None, Some(live("c", Some("o"))), Action::Verify),
        ("it is as it was", Options::default(), applied(), Some(live("c", Some("o"))), Action::Keep),
        ("fields are left that are to be ours", Options::default(), applied(), Some(left("o")), Action::Verify),
        ("the same, and who wrote what was cleared", Options::default(), applied(), Some(left("p")), Action::Verify),
        ("someone changed it", Options::default(), applied(), Some(live("c", Some("other"))), Action::Repair),
        ("someone took all of it", Options::default(), applied(), Some(live("c", None)), Action::Repair),
        ("someone changed what is free", free(), applied(), Some(live("c", Some("other"))), Action::Keep),
        ("it is going", Options::default(), applied(), Some(going()), Action::Replace),
        ("it is going, and is made once", says(Apply::IfMissing), applied(), Some(going()), Action::Replace),
    ];
    for (what, options, entry, live, wanted) in cases {
        assert_eq!(action_for(options, entry, live, DriftMode::Repair), wanted, "{what}");
    }
    let changed = || Some(live("c", Some("other")));
    assert_eq!(action_for(Options::default(), applied(), changed(), DriftMode::Report), Action::Report);
    assert_eq!(action_for(Options::default(), applied(), changed(), DriftMode::Ignore), Action::Keep);
}

#[test]
fn what_is_done_to_an_object_that_git_no_longer_wants() {
    let ours = || live("c", Some("o"));
    let with = |prune| Live { prune, ..ours() };
    let applied = || entry(EntryState::Applied, Some("1"), Some("o"));
    let cases = [
        ("ConfigMap", applied(), Some(ours()), true, Removal::Delete),
        ("ConfigMap", entry(EntryState::Deleting, Some("1"), None), Some(ours()), true, Removal::Delete),
        ("ConfigMap", entry(EntryState::Planned, None, None), Some(ours()), true, Removal::Delete),
        ("ConfigMap", entry(EntryState::Planned, None, None), None, true, Removal::Settle),
        ("ConfigMap", applied(), None, true, Removal::Forget),
        ("ConfigMap", applied(), Some(Live { owner: Some(owner("us")), ..ours() }), true, Removal::Forget),
        ("ConfigMap", applied(), Some(Live { owner: None, ..ours() }), true, Removal::Forget),
        ("ConfigMap", applied(), Some(Live { owner: Some(owner("ghost")), ..live("c", None) }), true, Removal::Delete),
        ("ConfigMap", applied(), Some(Live { uid: "2".into(), ..ours() }), true, Removal::Delete),
        ("ConfigMap", applied(), Some(Live { uid: "2".into(), owned: None, ..ours() }), true, Removal::Forget),
        ("ConfigMap", applied(), Some(with(Prune::Never)), true, Removal::Release),
        ("ConfigMap", Entry { kept: Some("c".into()), ..applied() }, Some(ours()), true, Removal::Release),
        ("ConfigMap", Entry { kept: Some("earlier".into()), ..applied() }, Some(ours()), true, Removal::Delete),
        ("ConfigMap", applied(), Some(ours()), false, Removal::Release),
        ("ConfigMap", applied(), Some(with(Prune::Always)), false, Removal::Delete),
        ("Namespace", applied(), Some(ours()), true, Removal::Release),
        ("PersistentVolumeClaim", applied(), Some(ours()), true, Removal::Release),
        ("CustomResourceDefinition", applied(), Some(ours()), true, Removal::Release),
        ("Namespace", applied(), Some(with(Prune::Always)), true, Removal::Delete),
    ];
    for (kind, entry, live, prune, wanted) in cases {
        let key = key(kind, "a");
        let what = format!("{kind} {entry:?} {live:?}");
        let mut model = Model::default();
        model.objects.extend(live.map(|live| (key.clone(), live)));
        let plan = removal([(key, entry)], &model, &rules(DriftMode::Repair, prune), &|_| false);
        assert_eq!(plan.removals[0].2, wanted, "{what}");
    }
}

#[test]
fn to_look_again_and_to_forget_is_nothing_to_do() {
    let (known, left) = (key("ConfigMap", "a"), key("ConfigMap", "b"));
    let mut model = Model::default();
    model.objects.insert(known.clone(), live("c", Some("o")));
    model.entries.insert(known.clone(), entry(EntryState::Planned, None, None));
    let desired = component(vec![object(&known, "c", Options::default())]);
    let forgotten = [(left, entry(EntryState::Applied, Some("1"), Some("o")))];
    let plan = super::component(&desired, forgotten, &model, &rules(DriftMode::Repair, true), &|_| false);
    assert_eq!(plan.steps[0].action, Action::Verify);
    assert_eq!(plan.removals[0].2, Removal::Forget);
    assert!(plan.is_empty());
    let other = component(vec![object(&known, "d", Options::default())]);
    let plan = super::component(&other, [], &model, &rules(DriftMode::Repair, true), &|_| false);
    assert!(!plan.is_empty());
}

#[test]
fn an_object_of_another_runtime_is_claimed_and_not_touched() {
    let key = key("ConfigMap", "a");
    let mut model = Model::default();
    model.objects.insert(key.clone(), Live { owner: Some(owner("us")), ..live("c", None) });
    let desired = component(vec![object(&key, "c", Options::default())]);
    let plan = super::component(&desired, [], &model, &rules(DriftMode::Repair, true), &|_| false);
    assert_eq!(plan.claimed, [(key, "component web of runtime reeve-system/us".to_owned())]);
    assert!(plan.steps.is_empty());
}

#[test]
fn an_object_that_another_component_wants_is_not_taken_away() {
    let key = key("ConfigMap", "a");
    let mut model = Model::default();
    model.objects.insert(key.clone(), live("c", Some("o")));
    let entries = [(key, entry(EntryState::Applied, Some("1"), Some("o")))];
    assert!(removal(entries, &model, &rules(DriftMode::Repair, true), &|_| true).is_empty());
}

#[test]
fn what_was_applied_last_is_taken_away_first() {
    let kinds = ["Namespace", "ConfigMap", "Deployment"];
    let entries = kinds.map(|kind| (key(kind, "a"), entry(EntryState::Applied, Some("1"), None)));
    let plan = removal(entries, &Model::default(), &rules(DriftMode::Repair, true), &|_| false);
    let order: Vec<&str> = plan.removals.iter().map(|(key, ..)| &*key.kind).collect();
    assert_eq!(order, ["Deployment", "ConfigMap", "Namespace"]);
}

impl Model {
    /// What the cluster and the books are after a plan.
    fn carry_out(&mut self, plan: &ComponentPlan, desired: &DesiredComponent) {
        for step in plan.steps.iter().filter(|step| step.action.writes()) {
            let wanted = desired.object(&step.key).expect("a step is of an object that Git wants");
            let owned = format!("owned {}", wanted.content);
            let made = Live { prune: wanted.options.prune, ..live(&wanted.content, Some(&owned)) };
            self.entries.insert(step.key.clone(), entry(EntryState::Applied, Some(&made.uid), Some(&owned)));
            self.objects.insert(step.key.clone(), made);
        }
        for (key, _, removal) in &plan.removals {
            self.entries.remove(key);
            if let Removal::Delete = removal {
                self.objects.remove(key);
            }
        }
    }
}

fn an_entry() -> impl Strategy<Value = Option<Entry>> {
    let state = prop_oneof![Just(EntryState::Planned), Just(EntryState::Applied), Just(EntryState::Deleting)];
    let some = (state, prop::option::of("[12]"), prop::option::of("[op]"));
    prop::option::of(some.prop_map(|(state, uid, owned)| entry(state, uid.as_deref(), owned.as_deref())))
}

fn an_object() -> impl Strategy<Value = Option<Live>> {
    let runtime = prop_oneof![3 => Just(Some(RUNTIME)), 1 => Just(Some("us")), 1 => Just(None)];
    let prune = prop_oneof![Just(Prune::Default), Just(Prune::Never), Just(Prune::Always)];
    let some = ("[12]", "[cd]", prop::option::of("[op]"), runtime, any::<bool>(), prune);
    prop::option::of(some.prop_map(|(uid, content, owned, runtime, deleting, prune)| Live {
        uid: uid.into(),
        owner: runtime.map(owner),
        deleting: deleting.then(|| "finalizer".into()),
        prune,
        ..live(&content, owned.as_deref())
    }))
}

fn a_wish() -> impl Strategy<Value = UserOverrides> {
    let apply = prop_oneof![3 => Just(Apply::Always), 1 => Just(Apply::IfMissing), 1 => Just(Apply::Never)];
    let drift =
        prop::option::of(prop_oneof![Just(DriftMode::Repair), Just(DriftMode::Report), Just(DriftMode::Ignore)]);
    prop::option::of(
        ("[cd]", apply, drift)
            .prop_map(|(content, apply, drift)| (content, Options { apply, drift, ..Options::default() })),
    )
}

/// What Git says of an object: its content and its annotations.
type UserOverrides = Option<(String, Options)>;

fn a_world() -> impl Strategy<Value = (Vec<(ObjectKey, UserOverrides)>, Model)> {
    let kinds = ["ConfigMap", "Deployment", "Namespace", "PersistentVolumeClaim", "CustomResourceDefinition"];
    let keys: Vec<ObjectKey> = kinds.iter().flat_map(|kind| [key(kind, "a"), key(kind, "b")]).collect();
    prop::collection::vec((a_wish(), an_entry(), an_object()), keys.len()).prop_map(move |states| {
        let mut model = Model::default();
        let mut wishes = Vec::new();
        for (key, (wish, entry, live)) in keys.iter().zip(states) {
            wishes.push((key.clone(), wish));
            model.entries.extend(entry.map(|entry| (key.clone(), entry)));
            model.objects.extend(live.map(|live| (key.clone(), live)));
        }
        (wishes, model)
    })
}

/// Whether an object is not ours by who applied it, nor, where nobody knows, by being the one that the inventory has.
fn is_foreign(live: &Live, entry: Option<&Entry>) -> bool {
    let is_same = entry.is_some_and(|entry| entry.uid.as_ref() == Some(&live.uid));
    live.owner != Some(owner(RUNTIME)) && (live.owned.is_some() || !is_same)
}

proptest! {
    #[test]
    fn a_plan_takes_away_nothing_that_is_wanted_foreign_or_precious_and_leaves_nothing_to_do(
        (wishes, mut model) in a_world(),
        prune in any::<bool>(),
    ) {
        let wanted = wishes.iter().filter_map(|(key, wish)| wish.as_ref().map(|(content, options)| object(key, content, options.clone())));
        let desired = component(wanted.collect());
        let rules = rules(DriftMode::Repair, prune);
        let make = |model: &Model| super::component(&desired, model.entries.clone(), model, &rules, &|_| false);
        let plan = make(&model);
        for (key, _, removal) in &plan.removals {
            prop_assert!(desired.object(key).is_none(), "{key} is wanted");
            if let Removal::Delete = removal {
                let live = &model.objects[key];
                let entry = model.entries.get(key);
                prop_assert!(entry.is_some(), "the inventory claims it");
                prop_assert!(!is_foreign(live, entry), "the object claims it");
                prop_assert!(!is_protected(&key.group, &key.kind) || live.prune == Prune::Always, "{} is precious", key);
                prop_assert!(live.prune != Prune::Never);
            }
        }
        for step in &plan.steps {
            let entry = model.entries.get(&step.key);
            let foreign = model.objects.get(&step.key).is_some_and(|live| live.owner.is_some() && is_foreign(live, entry));
            prop_assert!(!foreign, "{} is another runtime's", step.key);
        }
        model.carry_out(&plan, &desired);
        let again = make(&model);
        prop_assert_eq!(&again.claimed, &plan.claimed);
        prop_assert!(again.removals.is_empty(), "{:?}", again.removals);
        prop_assert!(!again.steps.iter().any(|step| step.action.writes()), "{:?}", again.steps);
    }
}
