use super::*;

#[test]
fn every_key_of_the_runtime_wins_and_maps_are_merged_key_by_key() {
    let fleet = Policy {
        interval: Some("1m".into()),
        prune: Some(true),
        drift: DriftPolicy {
            mode: Some(DriftMode::Report),
            ignore: Some(vec![IgnoredFields { paths: vec!["/spec/replicas".into()], ..IgnoredFields::default() }]),
            ..DriftPolicy::default()
        },
        dapr: DaprPolicy { reload: Some(DaprReload::HotOnly), ..DaprPolicy::default() },
        ..Policy::default()
    };
    let runtime = Policy {
        prune: Some(false),
        concurrency: Some(4),
        drift: DriftPolicy { full_check_interval: Some("2h".into()), ignore: Some(Vec::new()), mode: None },
        dapr: DaprPolicy { max_restarts_per_hour: Some(2), ..DaprPolicy::default() },
        adoption: Some(Adoption::Always),
        ..Policy::default()
    };
    assert_eq!(
        serde_json::Value::from(&runtime.or(&fleet).to_value()),
        serde_json::json!({
            "interval": "1m",
            "concurrency": 4,
            "prune": false,
            "drift": {"mode": "Report", "fullCheckInterval": "2h", "ignore": []},
            "adoption": "Always",
            "dapr": {"reload": "HotOnly", "maxRestartsPerHour": 2},
        })
    );
    assert_eq!(fleet.or(&Policy::default()), fleet);
    assert_eq!(Policy::default().or(&fleet), fleet);
}

#[test]
fn a_policy_that_says_nothing_is_nothing() {
    assert_eq!(serde_json::Value::from(&Policy::default().to_value()), serde_json::json!({}));
}
