//! Requests that are answered without waking the target: probes, scrapes, and what a rule names. Pure.

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use reeve_crds::scaling_rule::traffic::{Answer, AnswerWhen, Method as AnswerMethod, Response as AnswerResponse};
use regex::Regex;

/// How the programs name themselves that look whether something lives, or scrape it. None of them is demand.
const PROBES: [&str; 10] = [
    "kube-probe/",
    "Prometheus/",
    "vmagent",
    "GoogleHC/",
    "GoogleStackdriverMonitoring",
    "ELB-HealthChecker/",
    "Amazon-Route53-Health-Check-Service",
    "Envoy/HC",
    "Blackbox Exporter/",
    "OpenTelemetry Collector",
];

/// All answers of a rule.
#[derive(Clone, Debug)]
pub(crate) struct StaticAnswers {
    answers: Vec<StaticAnswer>,
    probes: bool,
}

#[derive(Clone, Debug)]
struct StaticAnswer {
    path: Option<String>,
    path_prefix: Option<String>,
    methods: Vec<Method>,
    headers: Vec<(HeaderName, Regex)>,
    always: bool,
    response: FixedResponse,
}

/// A response that is known beforehand.
#[derive(Clone, Debug)]
pub(crate) struct FixedResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// What a request is to the rule.
#[derive(Debug)]
pub(crate) enum Class<'a> {
    /// It is answered.
    Answer(&'a FixedResponse),
    /// It looks whether something lives; while pods are ready it is forwarded, and never counts.
    Probe,
    /// It is demand.
    Demand,
}

impl StaticAnswers {
    /// An answer with a header name or an expression that cannot be read never matches: the API server admits only
    /// those whose names can be, and an expression that cannot be compiled is no reason to lose the whole rule.
    pub(crate) fn of(answers: &[Answer], probes: bool) -> Self {
        Self { answers: answers.iter().filter_map(StaticAnswer::of).collect(), probes }
    }

    /// `awake`: a pod is ready to answer itself.
    pub(crate) fn classify(&self, request: &Parts, awake: bool) -> Class<'_> {
        let found = self.answers.iter().find(|answer| answer.matches(request));
        match found {
            Some(answer) if answer.always || !awake => return Class::Answer(&answer.response),
            Some(_) => return Class::Probe,
            None => {}
        }
        if self.probes && is_probe(&request.headers) { Class::Probe } else { Class::Demand }
    }
}

/// What a probe gets while nobody is awake: it lives, in its way.
pub(crate) fn probe_response() -> FixedResponse {
    FixedResponse { status: StatusCode::OK, headers: HeaderMap::new(), body: Bytes::new() }
}

fn is_probe(headers: &HeaderMap) -> bool {
    let Some(agent) = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()) else { return false };
    PROBES.iter().any(|name| agent.starts_with(name))
}

impl StaticAnswer {
    fn of(answer: &Answer) -> Option<Self> {
        let headers = answer.headers.iter().map(|(name, pattern)| {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            // The whole value, as the examples of the kind are written.
            Some((name, Regex::new(&format!("^(?:{pattern})$")).ok()?))
        });
        Some(Self {
            path: answer.path.clone(),
            path_prefix: answer.path_prefix.clone(),
            methods: answer.methods.iter().map(|name| method(*name)).collect(),
            headers: headers.collect::<Option<Vec<_>>>()?,
            always: answer.when == AnswerWhen::Always,
            response: FixedResponse::of(&answer.response),
        })
    }

    fn matches(&self, request: &Parts) -> bool {
        let path = request.uri.path();
        self.path.as_deref().is_none_or(|wanted| wanted == path)
            && self.path_prefix.as_deref().is_none_or(|prefix| path.starts_with(prefix))
            && (self.methods.is_empty() || self.methods.contains(&request.method))
            && self.headers.iter().all(|(name, pattern)| {
                let mut values = request.headers.get_all(name).iter();
                values.any(|value| value.to_str().is_ok_and(|value| pattern.is_match(value)))
            })
    }
}

impl FixedResponse {
    pub(crate) fn of(response: &AnswerResponse) -> Self {
        let status = u16::try_from(response.status).ok().and_then(|status| StatusCode::from_u16(status).ok());
        let mut headers = HeaderMap::new();
        for (name, value) in &response.headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
                headers.insert(name, value);
            }
        }
        // Framing is hyper's to write.
        for name in [http::header::CONTENT_LENGTH, http::header::TRANSFER_ENCODING, http::header::CONNECTION] {
            headers.remove(name);
        }
        Self { status: status.unwrap_or(StatusCode::OK), headers, body: Bytes::from(response.body.clone()) }
    }
}

fn method(name: AnswerMethod) -> Method {
    match name {
        AnswerMethod::Get => Method::GET,
        AnswerMethod::Head => Method::HEAD,
        AnswerMethod::Post => Method::POST,
        AnswerMethod::Put => Method::PUT,
        AnswerMethod::Patch => Method::PATCH,
        AnswerMethod::Delete => Method::DELETE,
        AnswerMethod::Options => Method::OPTIONS,
        AnswerMethod::Trace => Method::TRACE,
        AnswerMethod::Connect => Method::CONNECT,
    }
}

#[cfg(test)]
mod tests;
