//! What Reeve found in a repository, and what became of it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::{self, Condition};
use crate::schema::{DIGEST, MESSAGE, OBJECT_NAME, PATH, REVISION, WORD};
use crate::state::State;

/// What Reeve knows of the repository.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GitSourceStatus {
    /// metadata.generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// How the source and its runtimes are doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Details of the state: Ready, Fetched, Verified, Validated, Published.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list")]
    pub conditions: Vec<Condition>,
    /// The revision in force as people say it, such as main@4f1c2aa90b3d. It stays at the last good one while the
    /// repository cannot be reached or a newer commit is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = REVISION))]
    pub revision: Option<String>,
    /// The commit in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<Commit>,
    /// A newer revision that is not applied because something is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Rejected>,
    /// How the runtimes of this source are doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtimes: Option<RuntimeCounts>,
    /// Up to ten runtimes that are not Ready, the worst first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10), extend("x-kubernetes-list-type" = "atomic"))]
    pub not_ready: Vec<NotReady>,
    /// Path to register as a webhook at the Git server, below the address of Reeve's receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = PATH))]
    pub webhook_path: Option<String>,
    /// Value of the annotation reeve.dev/reconcile that was last acted upon.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = WORD))]
    pub last_handled_reconcile_at: Option<String>,
}

/// A commit.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Commit {
    /// Full id of the commit.
    #[schemars(length(max = DIGEST))]
    pub id: String,
    /// Who wrote it, as Git has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub author: Option<String>,
    /// First line of its message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MESSAGE))]
    pub subject: Option<String>,
    /// When it was committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub committed_at: Option<Time>,
    /// Key that signed it or its tag, if spec.verify asks for signatures: kind, fingerprint, and in brackets what the
    /// Secret calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub signed_by: Option<String>,
    /// When Reeve took it over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Time>,
}

/// A revision that is not applied.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rejected {
    /// The revision as people say it, such as main@77aa01bc42de.
    #[schemars(length(max = REVISION))]
    pub revision: String,
    /// Full id of its commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = DIGEST))]
    pub commit: Option<String>,
    /// What stopped it, in one word: Unsigned, Invalid, OverBudget, ReleasedChartChanged and the like.
    #[schemars(length(max = WORD))]
    pub reason: String,
    /// What stopped it, with file and line where there is one.
    #[schemars(length(max = MESSAGE))]
    pub message: String,
    /// How many findings there are in all; reeve validate prints them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub findings: Option<i32>,
    /// When it was refused first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// How many runtimes are in which state.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RuntimeCounts {
    /// Ready and all in one word, such as 41/42.
    #[schemars(length(max = WORD))]
    pub summary: String,
    /// All runtimes of the source.
    #[schemars(range(min = 0))]
    pub total: i32,
    /// Those in state Ready.
    #[schemars(range(min = 0))]
    pub ready: i32,
    /// Those in state Processing.
    #[schemars(range(min = 0))]
    pub processing: i32,
    /// Those in state Warning.
    #[schemars(range(min = 0))]
    pub warning: i32,
    /// Those in state Error.
    #[schemars(range(min = 0))]
    pub error: i32,
    /// Those in state Deleting.
    #[schemars(range(min = 0))]
    pub deleting: i32,
    /// Those in state Suspended.
    #[schemars(range(min = 0))]
    pub suspended: i32,
    /// Those in state Unknown.
    #[schemars(range(min = 0))]
    pub unknown: i32,
}

/// A runtime that is not Ready.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NotReady {
    /// Name of the Runtime.
    #[schemars(length(max = OBJECT_NAME))]
    pub name: String,
    /// Its state.
    pub state: State,
    /// Why.
    #[schemars(length(max = MESSAGE))]
    pub message: String,
}
