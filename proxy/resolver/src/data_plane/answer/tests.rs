use std::collections::BTreeMap;

use http::Request;

use super::*;

fn parts(method: &str, path: &str, agent: &str) -> Parts {
    Request::builder().method(method).uri(path).header(USER_AGENT, agent).body(()).expect("a request").into_parts().0
}

fn answer(name: &str) -> Answer {
    Answer {
        name: name.to_owned(),
        path: None,
        path_prefix: None,
        methods: Vec::new(),
        headers: BTreeMap::new(),
        when: AnswerWhen::Asleep,
        response: AnswerResponse { status: 418, ..AnswerResponse::default() },
    }
}

#[test]
fn a_kubelet_and_a_scraper_are_no_demand_unless_the_rule_says_so() {
    for agent in ["kube-probe/1.35", "Prometheus/3.1.0"] {
        let request = parts("GET", "/", agent);
        assert!(matches!(StaticAnswers::of(&[], true).classify(&request, false), Class::Probe));
        assert!(matches!(StaticAnswers::of(&[], false).classify(&request, false), Class::Demand));
    }
    assert!(matches!(StaticAnswers::of(&[], true).classify(&parts("GET", "/", "curl/8"), false), Class::Demand));
}

#[test]
fn an_answer_is_given_only_while_the_target_sleeps_unless_it_is_always() {
    let health = Answer { path: Some("/healthz".to_owned()), ..answer("health") };
    let always = Answer { path_prefix: Some("/static/".to_owned()), when: AnswerWhen::Always, ..answer("static") };
    let answers = StaticAnswers::of(&[health, always], true);
    assert!(
        matches!(answers.classify(&parts("GET", "/healthz", "x"), false), Class::Answer(found) if found.status == 418)
    );
    assert!(matches!(answers.classify(&parts("GET", "/healthz", "x"), true), Class::Probe), "forwarded, but no demand");
    assert!(matches!(answers.classify(&parts("GET", "/static/a", "x"), true), Class::Answer(_)));
    assert!(matches!(answers.classify(&parts("GET", "/healthz/more", "x"), false), Class::Demand));
}

#[test]
fn all_that_an_answer_names_must_match() {
    let bot = Answer {
        methods: vec![AnswerMethod::Get],
        headers: BTreeMap::from([("User-Agent".to_owned(), ".*bot.*".to_owned())]),
        ..answer("bots")
    };
    let answers = StaticAnswers::of(&[bot], true);
    assert!(matches!(answers.classify(&parts("GET", "/", "a bot/1"), false), Class::Answer(_)));
    assert!(matches!(answers.classify(&parts("POST", "/", "a bot/1"), false), Class::Demand));
    assert!(matches!(answers.classify(&parts("GET", "/", "robin"), false), Class::Demand));
}
