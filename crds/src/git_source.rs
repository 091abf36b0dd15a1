//! `GitSource`: which repository to follow, which revision of it, and with which credentials.
//!
//! Written by a person in the control plane. It uses only Secrets and Runtimes of its own namespace. What Reeve found
//! there is in `git_source::status`.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration::{self, Duration};
use crate::reference::SecretRef;
use crate::schema::{LABEL, PATH, closed_set, label_rule, relative_path, rule};

pub mod status;

pub use status::GitSourceStatus;

/// Which repository to follow, which revision of it, and with which credentials.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "reeve.dev",
    version = "v1alpha1",
    kind = "GitSource",
    plural = "gitsources",
    shortname = "gsrc",
    category = "reeve",
    namespaced,
    status = "GitSourceStatus",
    derive = "PartialEq",
    doc = "A Git repository that Reeve follows: the desired state of every Runtime that its files describe.",
    selectable = ".spec.url",
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        description = "Why the state is what it is, in one word"
    ),
    printcolumn(name = "Revision", type_ = "string", json_path = ".status.revision"),
    printcolumn(
        name = "Runtimes",
        type_ = "string",
        json_path = ".status.runtimes.summary",
        description = "Runtimes ready, of all"
    ),
    printcolumn(
        name = "Rejected",
        type_ = "string",
        json_path = ".status.rejected.revision",
        description = "Newer revision that is not applied because something is wrong with it"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "URL", type_ = "string", json_path = ".spec.url", priority = 1),
    printcolumn(name = "Path", type_ = "string", json_path = ".spec.path", priority = 1),
    printcolumn(name = "Suspended", type_ = "boolean", json_path = ".spec.suspend", priority = 1),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    rule(
        "!self.url.startsWith('ssh://') || has(self.secretRef)",
        "add spec.secretRef: an ssh:// URL needs a Secret with the keys identity and known_hosts",
    ),
    rule(
        "!self.url.startsWith('http://') || !has(self.secretRef) || self.allowPlainHTTP",
        "write https:// in spec.url: http:// sends the credentials of spec.secretRef in clear; on a trusted network set spec.allowPlainHTTP: true",
    ),
    rule(
        "!self.url.startsWith('file://') || !has(self.secretRef)",
        "remove spec.secretRef: a file:// URL is read with the rights of Reeve's own process",
    ),
    rule(
        "!has(self.verify) || self.verify.mode == 'Head' || has(self.ref.tag) || has(self.ref.semver)",
        "write spec.verify.mode: Head, or follow a tag with spec.ref.tag or spec.ref.semver: a branch, commit or ref has no tag to verify",
    ),
]))]
pub struct GitSourceSpec {
    /// Where the repository is: https://, http://, ssh:// or file://, such as
    /// https://github.com/acme/fleet.git. Credentials never go into the URL.
    #[schemars(
        length(min = 1, max = 2048),
        extend("x-kubernetes-validations" = [
            rule(
                "self.matches('^(https?|ssh)://[^-[:cntrl:] /][^[:cntrl:] /]*/[^[:cntrl:] ]+$') || self.matches('^file:///[^[:cntrl:] ]+$')",
                "write a URL that starts with https://, http://, ssh:// or file:///, such as https://github.com/acme/fleet.git; git@host:path is written ssh://git@host/path",
            ),
            rule(
                "!self.matches('^https?://[^/]*@') && !self.matches('^ssh://[^/]*:[^/]*@')",
                "remove user and password from the URL and put them into a Secret named by spec.secretRef",
            ),
        ])
    )]
    pub url: String,
    /// Which revision to follow.
    #[serde(rename = "ref")]
    pub reference: GitRef,
    /// Folder of the repository that holds fleet.yaml, such as clusters/eu. Empty means the root.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(
        length(max = PATH),
        extend("x-kubernetes-validations" = [relative_path()])
    )]
    pub path: String,
    /// How often to look for a new commit. Pushes are seen at once when spec.webhook is set.
    #[serde(default = "default_interval")]
    #[schemars(extend("x-kubernetes-validations" = duration::between("1s", "24h")))]
    pub interval: Duration,
    /// How long one fetch may take before it is ended and tried again later.
    #[serde(default = "default_timeout")]
    #[schemars(extend("x-kubernetes-validations" = duration::between("1s", "1h")))]
    pub timeout: Duration,
    /// Secret with the credentials. Keys for https: username and password, or bearerToken; optionally ca.crt for a
    /// private authority, tls.crt and tls.key for a client certificate. Keys for ssh: identity, known_hosts, and
    /// password if the key has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretRef>,
    /// Secret with the proxy to go through. Keys: address, such as http://proxy.acme:3128, and optionally username
    /// and password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_secret_ref: Option<SecretRef>,
    /// Whether credentials may travel over http:// unencrypted.
    #[serde(default, rename = "allowPlainHTTP")]
    pub allow_plain_http: bool,
    /// Which signatures a commit must carry before it is applied. Without it signatures are not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
    /// How the Git server tells Reeve of a push. Without it only the interval counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<Webhook>,
    /// Whom to tell what happens to the runtimes of this source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub notifications: Vec<Notification>,
    /// What becomes of the Runtimes of this source when it is deleted.
    #[serde(default)]
    pub deletion_policy: SourceDeletion,
    /// Stop following the repository. What was applied stays in force and is no longer repaired.
    #[serde(default)]
    pub suspend: bool,
}

/// Which revision to follow. Exactly one of branch, tag, semver, commit and name.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    rule(
        "[has(self.branch), has(self.tag), has(self.semver), has(self.commit), has(self.name)].filter(given, given).size() == 1",
        "write exactly one of branch, tag, semver, commit and name, such as branch: main",
    ),
    rule(
        "!has(self.tagPrefix) || has(self.semver)",
        "write semver next to tagPrefix, such as semver: 1.x, or remove tagPrefix",
    ),
]))]
pub struct GitRef {
    /// Follow the head of a branch, such as main.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255), extend("x-kubernetes-validations" = [short_name()]))]
    pub branch: Option<String>,
    /// Stay at a tag, such as v1.4.2. If the tag moves, so does the revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255), extend("x-kubernetes-validations" = [short_name()]))]
    pub tag: Option<String>,
    /// Follow the highest tag in a range of versions, such as 1.x or ">=1.2.0 <2.0.0", in quotes. Pre-releases only count if the
    /// range names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 128),
        extend("x-kubernetes-validations" = [rule(
            "self.matches('^[<>=!~^ ]*[vV]?[0-9xX*][0-9A-Za-z.*<>=!~^|, +-]*$')",
            "write a range of versions, such as 1.x, ~1.4 or \">=1.2.0 <2.0.0\", in quotes",
        )])
    )]
    pub semver: Option<String>,
    /// What stands in front of the version in a tag, such as fleet/ for fleet/v1.4.2. Only with semver; a single v
    /// needs no mention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub tag_prefix: Option<String>,
    /// Stay at a commit, given by its full id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 64),
        extend("x-kubernetes-validations" = [rule(
            "self.matches('^([0-9a-f]{40}|[0-9a-f]{64})$')",
            "write the full commit id, 40 or 64 lower case hex digits, as git rev-parse prints it",
        )])
    )]
    pub commit: Option<String>,
    /// Follow any ref by its full name, such as refs/pull/420/head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 255),
        extend("x-kubernetes-validations" = [rule(
            "self.matches('^refs/[^[:cntrl:] ~^:?*]+$') && !self.contains('..')",
            "write the full name of the ref, such as refs/heads/main or refs/pull/420/head",
        )])
    )]
    pub name: Option<String>,
}

/// Which signatures a commit must carry before it is applied.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verify {
    /// What must be signed.
    #[serde(default)]
    pub mode: VerifyMode,
    /// Secret with the public keys that are trusted: PGP keys under names that end in .asc, SSH keys under names
    /// that end in .sshpub.
    pub secret_ref: SecretRef,
}

/// What must be signed.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum VerifyMode {
    /// the commit.
    #[default]
    Head,
    /// the tag that names the commit.
    Tag,
    /// both.
    TagAndHead,
}

/// How the Git server tells Reeve of a push; the path to register there is in status.webhookPath.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    /// Whose form the call has.
    #[serde(rename = "type")]
    pub kind: WebhookType,
    /// Secret with the key token: what signs the call, or for GitLab is sent with it.
    pub secret_ref: SecretRef,
}

/// Whose form a webhook call has.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum WebhookType {
    /// GitHub, signed in X-Hub-Signature-256.
    GitHub,
    /// GitLab, token in X-Gitlab-Token.
    GitLab,
    /// Gitea and Forgejo, signed in X-Gitea-Signature.
    Gitea,
    /// anything that sends the HMAC-SHA256 of the body in X-Signature.
    Generic,
}

/// Whom to tell, of what, in which form.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notification {
    /// Name of the notification, unique in this source.
    #[schemars(length(min = 1, max = LABEL), extend("x-kubernetes-validations" = [label_rule()]))]
    pub name: String,
    /// Secret with the key address, the URL to post to, and optionally token, sent as a bearer token.
    pub secret_ref: SecretRef,
    /// Form of the message.
    #[serde(default)]
    pub format: NotificationFormat,
    /// What to tell of.
    #[serde(default = "default_events")]
    #[schemars(length(min = 1, max = 8), extend("x-kubernetes-list-type" = "set"))]
    pub events: Vec<NotificationEvent>,
}

/// Form of a notification.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum NotificationFormat {
    /// a CloudEvent with a JSON body.
    #[default]
    CloudEvent,
    /// a text that Slack and what is compatible with it shows.
    Slack,
}

/// What a notification tells of.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum NotificationEvent {
    /// a runtime took over a new revision.
    Applied,
    /// a runtime or the source failed repeatedly.
    Failed,
    /// what had failed is well again.
    Recovered,
    /// someone changed what Reeve owns.
    Drifted,
    /// a revision was refused.
    // Stored objects may have the word of an earlier version, as a default.
    #[serde(alias = "Held")]
    Rejected,
}

/// What becomes of the Runtimes of a source that is deleted.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum SourceDeletion {
    /// the Runtimes and all that was applied to them stay as they are.
    #[default]
    Orphan,
    /// the Runtimes are deleted too, each by its own spec.deletionPolicy.
    Delete,
}

fn short_name() -> serde_json::Value {
    rule(
        "self.matches('^[^-[:cntrl:] ~^:?*][^[:cntrl:] ~^:?*]*$') && !self.startsWith('refs/') && !self.contains('..')",
        "write the short name, such as main or v1.4.2; a full name such as refs/heads/main goes into name",
    )
}

fn default_interval() -> Duration {
    Duration::from_secs(60)
}

fn default_timeout() -> Duration {
    Duration::from_secs(60)
}

fn default_events() -> Vec<NotificationEvent> {
    vec![NotificationEvent::Failed, NotificationEvent::Recovered, NotificationEvent::Rejected]
}
