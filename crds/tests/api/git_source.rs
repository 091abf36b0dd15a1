//! A `GitSource` with every field, and what breaks its rules.

use reeve_crds::GitSource;
use serde_json::{Value, json};

use super::case::{Case, case};
use super::subject::{Subject, conditions};

pub(super) fn subject() -> Subject {
    Subject::new::<GitSource>(
        true,
        json!({ "url": "https://github.com/acme/fleet.git", "ref": { "branch": "main" } }),
        spec(),
        status(),
        [url_cases(), ref_cases(), other_cases()].concat(),
    )
}

fn spec() -> Value {
    json!({
        "url": "https://github.com/acme/fleet.git",
        "ref": { "semver": ">=1.2.0 <2.0.0", "tagPrefix": "fleet/" },
        "path": "clusters/eu",
        "interval": "1m",
        "timeout": "1m",
        "secretRef": { "name": "fleet" },
        "proxySecretRef": { "name": "proxy" },
        "allowPlainHTTP": false,
        "verify": { "mode": "TagAndHead", "secretRef": { "name": "keys" } },
        "webhook": { "type": "GitHub", "secretRef": { "name": "hook" } },
        "notifications": [
            { "name": "chat", "secretRef": { "name": "chat" }, "format": "Slack", "events": ["Failed", "Rejected"] }
        ],
        "deletionPolicy": "Orphan",
        "suspend": false
    })
}

fn status() -> Value {
    json!({
        "observedGeneration": 1,
        "state": "Warning",
        "conditions": conditions(),
        "revision": "v1.4.2@4f1c2aa90b3d",
        "commit": {
            "id": "4f1c2aa90b3d5e6f708192a3b4c5d6e7f8091a2b",
            "author": "Platform team <platform@acme.example>",
            "subject": "Bump payments",
            "committedAt": "2026-11-16T11:58:00Z",
            "signedBy": "SHA256:abc",
            "acceptedAt": "2026-11-16T11:59:00Z"
        },
        "rejected": {
            "revision": "v1.4.3@77aa01bc42de",
            "commit": "77aa01bc42de5e6f708192a3b4c5d6e7f8091a2b",
            "reason": "Invalid",
            "message": "runtimes/eu/prod-1.yaml:14: no chart payments in version 9",
            "findings": 3,
            "since": "2026-11-16T12:00:00Z"
        },
        "runtimes": {
            "summary": "41/42", "total": 42, "ready": 41, "processing": 0, "warning": 1, "error": 0, "deleting": 0,
            "suspended": 0, "unknown": 0
        },
        "notReady": [{ "name": "eu-prod-7", "state": "Warning", "message": "quota exceeded" }],
        "webhookPath": "/hooks/fleet/github",
        "lastHandledReconcileAt": "2026-11-16T12:00:00Z"
    })
}

fn url_cases() -> Vec<Case> {
    let form = "write a URL that starts with https://, http://, ssh:// or file:///, such as https://github.com/acme/fleet.git; git@host:path is written ssh://git@host/path";
    let credentials = "remove user and password from the URL and put them into a Secret named by spec.secretRef";
    vec![
        case("a URL has a scheme that Git speaks", "spec.url", form)
            .refuses(json!({ "url": "git@github.com:acme/fleet.git" }))
            .accepts(json!({ "url": "ssh://git@github.com/acme/fleet.git" })),
        case("a URL of a file is absolute", "spec.url", form)
            .given(json!({ "secretRef": null }))
            .refuses(json!({ "url": "file://srv/fleet.git" }))
            .accepts(json!({ "url": "file:///srv/fleet.git" })),
        case("a URL carries no password", "spec.url", credentials)
            .refuses(json!({ "url": "https://user:secret@github.com/acme/fleet.git" }))
            .accepts(json!({ "url": "https://github.com/acme/fleet.git" })),
        case("a URL for ssh carries no password", "spec.url", credentials)
            .refuses(json!({ "url": "ssh://git:secret@github.com/acme/fleet.git" }))
            .accepts(json!({ "url": "ssh://git@github.com:22/acme/fleet.git" })),
        case(
            "ssh needs credentials",
            "spec",
            "add spec.secretRef: an ssh:// URL needs a Secret with the keys identity and known_hosts",
        )
        .given(json!({ "url": "ssh://git@github.com/acme/fleet.git" }))
        .refuses(json!({ "secretRef": null }))
        .accepts(json!({ "secretRef": { "name": "fleet" } })),
        case(
            "credentials do not travel in clear",
            "spec",
            "write https:// in spec.url: http:// sends the credentials of spec.secretRef in clear; on a trusted network set spec.allowPlainHTTP: true",
        )
        .given(json!({ "url": "http://git.acme/fleet.git" }))
        .refuses(json!({}))
        .accepts(json!({ "allowPlainHTTP": true })),
        case(
            "a file needs no credentials",
            "spec",
            "remove spec.secretRef: a file:// URL is read with the rights of Reeve's own process",
        )
        .given(json!({ "url": "file:///srv/fleet.git" }))
        .refuses(json!({}))
        .accepts(json!({ "secretRef": null })),
    ]
}

fn ref_cases() -> Vec<Case> {
    let one = "write exactly one of branch, tag, semver, commit and name, such as branch: main";
    let short = "write the short name, such as main or v1.4.2; a full name such as refs/heads/main goes into name";
    let only = |patch: Value| {
        let mut reference = json!({ "semver": null, "tagPrefix": null });
        reference.as_object_mut().unwrap().extend(patch.as_object().unwrap().clone());
        json!({ "ref": reference, "verify": null })
    };
    vec![
        case("two refs are one too many", "spec.ref", one)
            .refuses(json!({ "ref": { "branch": "main" } }))
            .accepts(json!({})),
        case("no ref is too few", "spec.ref", one).refuses(only(json!({}))).accepts(only(json!({ "branch": "main" }))),
        case(
            "a prefix belongs to a range of versions",
            "spec.ref",
            "write semver next to tagPrefix, such as semver: 1.x, or remove tagPrefix",
        )
        .refuses(json!({ "ref": { "semver": null, "tag": "v1.4.2" } }))
        .accepts(only(json!({ "tag": "v1.4.2" }))),
        case("a branch is named in short", "spec.ref.branch", short)
            .refuses(only(json!({ "branch": "refs/heads/main" })))
            .accepts(only(json!({ "branch": "feature/main" }))),
        case("a tag is named in short", "spec.ref.tag", short)
            .refuses(only(json!({ "tag": "v1 4" })))
            .accepts(only(json!({ "tag": "v1.4" }))),
        case(
            "a range of versions has numbers",
            "spec.ref.semver",
            "write a range of versions, such as 1.x, ~1.4 or \">=1.2.0 <2.0.0\", in quotes",
        )
        .refuses(json!({ "ref": { "semver": "latest" } }))
        .accepts(json!({ "ref": { "semver": "^1.4 || ~2.0.0-rc.1" } })),
        case(
            "a commit is given in full",
            "spec.ref.commit",
            "write the full commit id, 40 or 64 lower case hex digits, as git rev-parse prints it",
        )
        .refuses(only(json!({ "commit": "4f1c2aa" })))
        .accepts(only(json!({ "commit": "4f1c2aa90b3d5e6f708192a3b4c5d6e7f8091a2b" }))),
        case(
            "a ref is named in full",
            "spec.ref.name",
            "write the full name of the ref, such as refs/heads/main or refs/pull/420/head",
        )
        .refuses(only(json!({ "name": "pull/420/head" })))
        .accepts(only(json!({ "name": "refs/pull/420/head" }))),
    ]
}

fn other_cases() -> Vec<Case> {
    let relative = "write a path relative to the root of the repository without . or .., such as clusters/eu";
    vec![
        case("a path does not leave the repository", "spec.path", relative)
            .refuses(json!({ "path": "clusters/../../etc" }))
            .accepts(json!({ "path": "clusters/..eu" })),
        case("a path is relative", "spec.path", relative)
            .refuses(json!({ "path": "/clusters" }))
            .accepts(json!({ "path": "clusters" })),
        case(
            "only a tag can be verified as a tag",
            "spec",
            "write spec.verify.mode: Head, or follow a tag with spec.ref.tag or spec.ref.semver: a branch, commit or ref has no tag to verify",
        )
        .given(json!({ "ref": { "semver": null, "tagPrefix": null, "branch": "main" } , "verify": { "mode": "Head" } }))
        .refuses(json!({ "verify": { "mode": "Tag" } }))
        .accepts(json!({ "verify": { "mode": "Head" } })),
    ]
}
