//! What a caller gets while the target sleeps or wakes.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::duration::{self, Duration};
use crate::schema::{LABEL, closed_set, label_rule, rule};

/// How requests wait while the target wakes.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Hold {
    /// How long a request waits at most; then it is answered 504. A shorter deadline that the request itself carries, in
    /// grpc-timeout or X-Request-Timeout, counts first.
    #[schemars(extend("x-kubernetes-validations" = duration::between("100ms", "1h")))]
    pub timeout: Duration,
    /// How many requests of this rule may wait in each resolver; one more is answered 503 with Retry-After.
    #[schemars(range(min = 1, max = 100_000))]
    pub max_requests: i32,
    /// How many of them one client may have, by its address; one more is answered 503 with Retry-After. 0 means that
    /// clients are not told apart.
    #[schemars(range(min = 0, max = 100_000))]
    pub max_requests_per_client: i32,
    /// How much memory, in MiB, the waiting requests of this rule may take in each resolver.
    #[schemars(range(min = 1, max = 4096))]
    #[serde(rename = "maxMemoryMiB")]
    pub max_memory_mib: i32,
    /// How many requests one new replica gets at once when the held are let go; the rest follow as it answers. 0 means
    /// all of them.
    #[schemars(range(min = 0, max = 100_000))]
    pub release_per_replica: i32,
    /// What browsers and others get at once instead of waiting, where spec.traffic says Page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<Response>,
}

impl Default for Hold {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            max_requests: 1000,
            max_requests_per_client: 0,
            max_memory_mib: 64,
            release_per_replica: 0,
            page: None,
        }
    }
}

/// What callers get while the target sleeps, by where they are.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Traffic {
    /// Callers whose address is no pod's of this cluster: load balancers, ingresses on the host network, nodes.
    pub outside: TrafficAction,
    /// Callers that are pods of this cluster.
    pub inside: TrafficAction,
}

/// What a caller gets while the target sleeps.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum TrafficAction {
    /// its request wakes the target and waits for it.
    #[default]
    Hold,
    /// its request wakes the target and is answered with hold.page at once, or 503 with Retry-After if there is none.
    Page,
    /// its request is answered 503 with Retry-After and wakes nothing.
    Refuse,
}

/// A request that is answered without waking the target. All that is given must match.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [rule(
    "has(self.path) || has(self.pathPrefix) || (has(self.methods) && self.methods.size() > 0) || (has(self.headers) && self.headers.size() > 0)",
    "write at least one of path, pathPrefix, methods and headers: an answer that matches every request would never wake the target",
), rule(
    "!has(self.path) || !has(self.pathPrefix)",
    "write either path or pathPrefix",
)]))]
pub struct Answer {
    /// Name of the answer, unique in this rule.
    #[schemars(length(min = 1, max = LABEL), extend("x-kubernetes-validations" = [label_rule()]))]
    pub name: String,
    /// Path that the request must have, such as /healthz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024), extend("x-kubernetes-validations" = [absolute_path()]))]
    pub path: Option<String>,
    /// Begin of the path that the request must have, such as /static/.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024), extend("x-kubernetes-validations" = [absolute_path()]))]
    pub path_prefix: Option<String>,
    /// Methods that the request may have. Empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 9), extend("x-kubernetes-list-type" = "set"))]
    pub methods: Vec<Method>,
    /// Headers that the request must have, name and regular expression of the value, such as User-Agent: .*bot.*
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "headers")]
    pub headers: BTreeMap<String, String>,
    /// When the answer is given.
    #[serde(default)]
    pub when: AnswerWhen,
    /// What is answered.
    #[serde(default)]
    pub response: Response,
}

/// Method of a request.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// GET.
    Get,
    /// HEAD.
    Head,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// PATCH.
    Patch,
    /// DELETE.
    Delete,
    /// OPTIONS.
    Options,
    /// TRACE.
    Trace,
    /// CONNECT.
    Connect,
}

/// When an answer is given.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum AnswerWhen {
    /// only while the target sleeps or wakes.
    #[default]
    Asleep,
    /// as long as the resolver is in the path.
    Always,
}

/// What is answered.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Response {
    /// HTTP status.
    #[schemars(range(min = 200, max = 599))]
    pub status: i32,
    /// Headers, such as Content-Type: text/html.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "headers")]
    pub headers: BTreeMap<String, String>,
    /// Body.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 32768))]
    pub body: String,
}

impl Default for Response {
    fn default() -> Self {
        Self { status: 200, headers: BTreeMap::new(), body: String::new() }
    }
}

fn headers(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 16,
        "additionalProperties": { "type": "string", "maxLength": 1024 },
        "x-kubernetes-validations": [rule(
            "self.all(name, name.size() <= 128 && name.matches('^[A-Za-z0-9!#$%&*+.^_|~-]+$'))",
            "write names of headers of at most 128 characters without spaces or colons, such as Content-Type",
        )]
    })
}

fn absolute_path() -> serde_json::Value {
    rule("self.startsWith('/')", "write a path that starts with /, such as /healthz")
}
