use proptest::prelude::*;

use super::*;
use crate::registration::parse;

const HOOK: Hook = Hook::PreCreateContainer;

fn plugin(name: &str, more: &str) -> Arc<Registration> {
    let text = format!(
        r#"{{"remote-endpoint": "/run/{name}.sock", "runtime-hooks": ["PreCreateContainer", "PreStartContainer"]{more}}}"#
    );
    Arc::new(parse(&format!("{name}.json"), text.as_bytes()).unwrap().0)
}

fn call(now: Instant) -> Call {
    let fields = [(Field::CpuShares, Value::Number(2)), (Field::Env("SECRET".to_owned()), Value::Text("s".to_owned()))];
    Call {
        hook: HOOK,
        fields: fields.into(),
        cgroup_parent: "/kubepods/pod1".to_owned(),
        exempt: BTreeSet::new(),
        deadline: now + Duration::from_secs(10),
    }
}

fn shares(number: i64) -> Answer {
    Answer::Changes([(Field::CpuShares, Some(Value::Number(number)))].into())
}

fn text(field: Field, text: &str) -> Answer {
    Answer::Changes([(field, Some(Value::Text(text.to_owned())))].into())
}

/// Drives a chain with one answer for each plugin. Returns what each was shown, and the end.
fn drive(chain: &mut Chain, answers: Vec<Answer>, now: Instant) -> (Vec<Fields>, Effect) {
    let (mut seen, mut effect) = (Vec::new(), chain.begin(now));
    for answer in answers {
        let Effect::Ask { shown, .. } = effect else { break };
        seen.push(shown);
        effect = chain.step(answer, now);
    }
    (seen, effect)
}

fn status(effect: Effect) -> Status {
    let Effect::Refuse(status) = effect else { panic!("not refused: {effect:?}") };
    status
}

#[test]
fn each_plugin_sees_what_those_before_it_changed() {
    let now = Instant::now();
    let mut chain = Chain::new(call(now), vec![plugin("a", ""), plugin("b", "")]);
    let (seen, end) = drive(&mut chain, vec![shares(100), Answer::Changes(Changes::new())], now);
    assert_eq!(seen[1][&Field::CpuShares], Value::Number(100));
    assert!(matches!(end, Effect::Forward));
    assert_eq!(chain.changes(), &[(Field::CpuShares, Some(Value::Number(100)))].into());
}

#[test]
fn a_refusal_refuses_under_any_policy_with_its_code_and_the_plugins_name() {
    let now = Instant::now();
    for policy in ["", r#", "failure-policy": "Ignore""#, r#", "failure-policy": "Fail""#] {
        let mut chain = Chain::new(call(now), vec![plugin("a", policy), plugin("b", "")]);
        let (seen, end) = drive(&mut chain, vec![Answer::Denied(Status::permission_denied("no batch here"))], now);
        let status = status(end);
        assert_eq!((status.code(), seen.len()), (Code::PermissionDenied, 1));
        assert_eq!(status.message(), "plugin a refuses PreCreateContainer: no batch here");
    }
}

#[test]
fn a_failure_is_ignored_or_refuses_as_the_policy_says() {
    let now = Instant::now();
    let failed = || vec![Answer::Failed("no answer within 5 ms".to_owned()), shares(5)];
    let mut chain = Chain::new(call(now), vec![plugin("a", ""), plugin("b", "")]);
    assert!(matches!(drive(&mut chain, failed(), now).1, Effect::Forward));
    assert_eq!(chain.fields()[&Field::CpuShares], Value::Number(5));

    let closed = plugin("a", r#", "failure-policy": "Fail""#);
    let mut chain = Chain::new(call(now), vec![Arc::clone(&closed), plugin("b", "")]);
    let refused = status(drive(&mut chain, failed(), now).1);
    assert_eq!(refused.message(), "plugin a failed on PreCreateContainer: no answer within 5 ms");

    let mut chain = Chain::new(Call { exempt: ["a".to_owned()].into(), ..call(now) }, vec![closed, plugin("b", "")]);
    assert!(matches!(drive(&mut chain, failed(), now).1, Effect::Forward), "an exempt pod always starts");
}

#[test]
fn two_who_change_one_field_are_judged_by_the_policy_of_the_later() {
    let now = Instant::now();
    let outcome = |more: &str| {
        let mut chain = Chain::new(call(now), vec![plugin("a", ""), plugin("b", more)]);
        let end = drive(&mut chain, vec![shares(100), shares(200)], now).1;
        (chain.fields()[&Field::CpuShares].clone(), matches!(end, Effect::Forward), chain.notes().to_vec())
    };
    let (value, forwarded, notes) = outcome(r#", "conflicts": "First""#);
    assert_eq!((value, forwarded), (Value::Number(100), true));
    assert!(notes.contains(&Note::Kept { plugin: "b".into(), field: Field::CpuShares, owner: "a".into() }));
    let (value, forwarded, notes) = outcome(r#", "conflicts": "Last""#);
    assert_eq!((value, forwarded), (Value::Number(200), true));
    assert!(notes.contains(&Note::Overruled { plugin: "b".into(), field: Field::CpuShares, owner: "a".into() }));
    assert_eq!(
        (outcome(r#", "conflicts": "Fail""#).0, outcome(r#", "conflicts": "Fail""#).1),
        (Value::Number(100), true)
    );
    assert!(!outcome(r#", "conflicts": "Fail", "failure-policy": "Fail""#).1);
}

#[test]
fn a_mask_hides_what_may_not_be_read_and_drops_what_may_not_be_written() {
    let now = Instant::now();
    let masked = plugin("a", r#", "read": ["EnvNames"], "write": ["CpuShares"]"#);
    let mut chain = Chain::new(call(now), vec![masked]);
    let mut changes = Changes::from([(Field::CpuShares, Some(Value::Number(9)))]);
    changes.insert(Field::MemoryLimit, Some(Value::Number(1)));
    let (seen, _) = drive(&mut chain, vec![Answer::Changes(changes)], now);
    assert_eq!(seen[0], [(Field::Env("SECRET".to_owned()), Value::Text(String::new()))].into());
    assert_eq!(chain.changes(), &[(Field::CpuShares, Some(Value::Number(9)))].into());
    assert!(chain.notes().contains(&Note::NotAllowed { plugin: "a".into(), field: Field::MemoryLimit }));
}

#[test]
fn in_audit_mode_nothing_is_changed_or_refused() {
    let now = Instant::now();
    let audit = || plugin("a", r#", "mode": "Audit", "failure-policy": "Fail""#);
    for answer in [shares(9), Answer::Failed(String::new()), Answer::Denied(Status::permission_denied(""))] {
        let mut chain = Chain::new(call(now), vec![audit()]);
        assert!(matches!(drive(&mut chain, vec![answer], now).1, Effect::Forward));
        assert!(chain.changes().is_empty() && !chain.notes().is_empty());
    }
}

#[test]
fn what_belongs_to_kubelet_or_lies_outside_the_pods_cgroup_is_a_failure_and_nothing_of_it_is_done() {
    let now = Instant::now();
    for answer in [
        text(Field::ContainerAnnotation("io.kubernetes.pod.uid".to_owned()), "x"),
        text(Field::CgroupParent, "/elsewhere"),
        text(Field::CgroupParent, "/kubepods/pod1/../pod2"),
        text(Field::CgroupParent, "/kubepods/pod11"),
        text(Field::PodLabel("a".to_owned()), "a container's call has no such field"),
        Answer::Changes(
            [(Field::OomScoreAdj, Some(Value::Number(1001))), (Field::CpuQuota, Some(Value::Number(1)))].into(),
        ),
    ] {
        let mut chain = Chain::new(call(now), vec![plugin("a", r#", "failure-policy": "Fail""#)]);
        let refused = status(drive(&mut chain, vec![answer], now).1);
        assert_eq!(refused.code(), Code::Unavailable);
        assert!(chain.changes().is_empty());
    }
    let mut chain = Chain::new(call(now), vec![plugin("a", "")]);
    drive(&mut chain, vec![text(Field::CgroupParent, "/kubepods/pod1/quiet")], now);
    assert_eq!(chain.changes().len(), 1);
}

#[test]
fn a_plugin_has_its_own_time_and_never_more_than_is_left_for_all() {
    let now = Instant::now();
    let chain = Chain::new(call(now), vec![plugin("a", r#", "timeout-milliseconds": 300"#)]);
    let timeout = |at: Instant| match chain.begin(at) {
        Effect::Ask { timeout, .. } => timeout,
        effect => panic!("{effect:?}"),
    };
    assert_eq!(timeout(now), Duration::from_millis(300));
    assert_eq!(timeout(now + Duration::from_millis(9900)), Duration::from_millis(100));
    assert_eq!(timeout(now + Duration::from_secs(11)), Duration::ZERO);
}

fn answer() -> impl Strategy<Value = Answer> {
    let change = (0_usize..4, -2000_i64..2000).prop_map(|(which, number)| {
        let fields = [Field::CpuShares, Field::OomScoreAdj, Field::MemoryLimit, Field::CpuQuota];
        Answer::Changes([(fields[which].clone(), Some(Value::Number(number)))].into())
    });
    prop_oneof![
        4 => change,
        1 => Just(Answer::Failed("broken".to_owned())),
        1 => Just(Answer::Denied(Status::permission_denied("no"))),
    ]
}

fn settings() -> impl Strategy<Value = String> {
    let policy = proptest::sample::select(vec!["Fail", "Ignore"]);
    let conflicts = proptest::sample::select(vec!["Fail", "First", "Last"]);
    let mode = proptest::sample::select(vec!["Enforce", "Audit"]);
    (policy, conflicts, mode).prop_map(|(policy, conflicts, mode)| {
        format!(r#", "failure-policy": "{policy}", "conflicts": "{conflicts}", "mode": "{mode}""#)
    })
}

proptest! {
    /// Over any plugins and answers.
    #[test]
    fn a_chain_ends_changes_what_it_says_and_refuses_only_for_a_reason(
        plugins in proptest::collection::vec((settings(), answer()), 0..8), exempt in any::<bool>()
    ) {
        let now = Instant::now();
        let all = || (0..plugins.len()).map(|number| number.to_string()).collect();
        let call = Call { exempt: if exempt { all() } else { BTreeSet::new() }, ..call(now) };
        let before = call.fields.clone();
        let registrations: Vec<_> = plugins.iter().enumerate().map(|(n, (more, _))| plugin(&n.to_string(), more)).collect();
        let mut chain = Chain::new(call, registrations.clone());
        let mut effect = chain.begin(now);
        let mut asked = 0;
        while let Effect::Ask { plugin, .. } = effect {
            prop_assert_eq!(plugin, asked, "in order, each once");
            asked += 1;
            effect = chain.step(plugins[plugin].1.clone(), now);
        }
        let mut after = before;
        field::apply(&mut after, chain.changes());
        prop_assert_eq!(&after, chain.fields());
        let last = asked.checked_sub(1).map(|last| &registrations[last]);
        match effect {
            Effect::Forward => prop_assert_eq!(asked, plugins.len()),
            Effect::Refuse(status) => {
                let last = last.unwrap();
                let named = format!("plugin {} ", last.name);
                prop_assert!(status.message().contains(&named));
                prop_assert_eq!(last.mode, Mode::Enforce);
                let denied = matches!(plugins[asked - 1].1, Answer::Denied(_));
                prop_assert!(denied || (!exempt && last.hooks[&HOOK].policy == FailurePolicy::Fail));
            }
            Effect::Ask { .. } => unreachable!(),
        }
        for note in chain.notes() {
            if let Note::Changed { plugin, .. } = note {
                let by = registrations.iter().find(|registration| registration.name == *plugin).unwrap();
                prop_assert_eq!(by.mode, Mode::Enforce);
            }
        }
    }
}
