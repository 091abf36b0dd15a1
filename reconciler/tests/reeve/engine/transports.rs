//! The lifecycle over HTTP, SSH and webhooks.

use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use reeve_crds::{GitSource, State};
use reeve_tests::{BasicAuth, GitHttp, eventually, until};
use serde_json::{Value, json};

use super::fixture::{Fixture, config};
use super::reeve::Reeve;

impl Fixture {
    pub(super) async fn secret(&self, name: &str, data: Value) {
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": data });
        self.api::<Secret>()
            .patch(name, &PatchParams::apply("somebody").force(), &Patch::Apply(&secret))
            .await
            .unwrap();
    }

    /// Installs, upgrades and reverts from where the source says.
    async fn goes_down_the_road(&self) {
        self.component("web", "1.0.0", &config("settings", "one"));
        let first = self.push();
        let _reeve = self.reeve();
        self.applied(&first).await;
        self.component("web", "1.1.0", &config("settings", "two"));
        let second = self.push();
        self.applied(&second).await;
        assert_eq!(self.says("settings").await.unwrap(), "two");
        self.repository.git(&["revert", "--no-edit", "HEAD"]).unwrap();
        self.repository.push().unwrap();
        self.applied(&self.repository.head().unwrap()).await;
        assert_eq!(self.says("settings").await.unwrap(), "one");
    }
}

#[tokio::test]
async fn over_http_with_a_password_that_may_change() {
    let fixture = Fixture::new("http").await;
    let server = fixture.repository.serve_http(Some(BasicAuth::new("reeve", "s3cret"))).unwrap();
    fixture.secret("login", json!({ "username": "reeve", "password": "wrong" })).await;
    fixture
        .follow_with(
            json!({ "url": server.url(), "interval": "1s", "allowPlainHTTP": true, "secretRef": { "name": "login" } }),
        )
        .await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    fixture.push();
    let reeve = fixture.reeve();
    let is_refused = |source: &GitSource| {
        let status = source.status.clone().unwrap_or_default();
        status.conditions.iter().any(|condition| condition.type_ == "Fetched" && condition.status == "False")
    };
    let source = until(&fixture.api::<GitSource>(), "fleet", "the password is refused", is_refused).await;
    assert!(!format!("{source:?}{}", reeve.log()).contains("wrong"), "secrets are not told");
    reeve.kill();
    fixture.secret("login", json!({ "username": "reeve", "password": "s3cret" })).await;
    fixture.goes_down_the_road().await;
}

#[tokio::test]
async fn a_password_that_runs_out_keeps_what_is_in_force_and_a_new_one_is_taken_up_without_a_restart() {
    let fixture = Fixture::new("runs-out").await;
    let server = fixture.repository.serve_http(Some(BasicAuth::new("reeve", "s3cret"))).unwrap();
    let secret = |password: &str| fixture.secret("login", json!({ "username": "reeve", "password": password }));
    secret("s3cret").await;
    let login = json!({ "name": "login" });
    fixture
        .follow_with(json!({ "url": server.url(), "interval": "1s", "allowPlainHTTP": true, "secretRef": login }))
        .await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    secret("0ld-s3cret").await;
    let is_refused = |source: &GitSource| {
        let status = source.status.clone().unwrap_or_default();
        status.conditions.iter().any(|condition| condition.type_ == "Fetched" && condition.status == "False")
    };
    let source = until(&fixture.api::<GitSource>(), "fleet", "the password is refused", is_refused).await;
    let in_force = source.status.unwrap().commit.unwrap();
    assert_eq!(in_force.id, first.as_str());
    fixture.component("web", "1.1.0", &config("settings", "two"));
    let second = fixture.push();
    fixture.meddle("settings", "hand").await;
    fixture.comes_to_say("settings", "one").await;
    secret("s3cret").await;
    fixture.applied(&second).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "two");
}

#[tokio::test]
async fn over_ssh_with_a_key() {
    let fixture = Fixture::new("ssh").await;
    let server = fixture.repository.serve_ssh().await.unwrap();
    let text = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap();
    fixture
        .secret("key", json!({ "identity": text(server.private_key()), "known_hosts": text(server.known_hosts()) }))
        .await;
    fixture.follow_with(json!({ "url": server.url(), "interval": "1s", "secretRef": { "name": "key" } })).await;
    fixture.goes_down_the_road().await;
}

/// A repository that is asked once an hour, and has a webhook. The path is known once the source is ready.
async fn hooked(prefix: &str) -> (Fixture, GitHttp) {
    let fixture = Fixture::new(prefix).await;
    let server = fixture.repository.serve_http(None).unwrap();
    fixture.secret("hook", json!({ "token": "0123456789abcdef0123456789abcdef" })).await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    fixture.push();
    let webhook = json!({ "type": "Generic", "secretRef": { "name": "hook" } });
    fixture.follow_with(json!({ "url": server.url(), "interval": "1h", "webhook": webhook })).await;
    (fixture, server)
}

async fn webhook_path(fixture: &Fixture) -> String {
    let has_path = |source: &GitSource| {
        source.status.as_ref().is_some_and(|status| status.webhook_path.is_some() && status.state == Some(State::Ready))
    };
    let source = until(&fixture.api::<GitSource>(), "fleet", "the webhook has a path", has_path).await;
    source.status.unwrap().webhook_path.unwrap()
}

/// Calls a webhook; the status of the answer.
fn call(url: &str, signature: &str, header: &str) -> String {
    let signed = format!("X-Signature: sha256={signature}");
    let call = ["--silent", "--show-error", "-o", "/dev/null", "-w", "%{http_code}", "-X", "POST", "-d", "{}"];
    let sent = std::process::Command::new("curl").args(call).args(["-H", &signed, "-H", header, url]).output().unwrap();
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    String::from_utf8(sent.stdout).unwrap()
}

#[tokio::test]
async fn a_webhook_tells_of_a_push_long_before_the_next_poll() {
    let (fixture, _server) = hooked("webhook").await;
    let reeve = fixture.reeve_through(fixture.cluster.kubeconfig(), &["--webhook-address", "127.0.0.1:0"]);
    let path = webhook_path(&fixture).await;
    fixture.component("web", "1.1.0", &config("settings", "two"));
    let second = fixture.push();
    let url = format!("http://{}{path}", reeve.address("listening for webhooks").await);
    assert_eq!(call(&url, &signature("{}"), "X-A: b"), "202");
    fixture.applied(&second).await;
}

#[tokio::test]
async fn a_webhook_call_that_reaches_a_standby_is_handed_over_to_whoever_leads() {
    let (fixture, _server) = hooked("standby").await;
    let namespace = &*fixture.namespace;
    let args = ["--lease-namespace", namespace, "--watch-namespace", namespace];
    let args = [&args[..], &["--webhook-address", "127.0.0.1:0", "--pod-address", "127.0.0.1"]].concat();
    let _leader = Reeve::run(fixture.cluster.kubeconfig(), fixture.data.path(), &args);
    let path = webhook_path(&fixture).await;
    let data = tempfile::tempdir().unwrap();
    let standby = Reeve::run(fixture.cluster.kubeconfig(), data.path(), &args);
    let url = format!("http://{}{path}", standby.address("listening for webhooks").await);
    fixture.component("web", "1.1.0", &config("settings", "two"));
    let second = fixture.push();
    let signature = signature("{}");
    eventually("the standby finds the leader", || async {
        let answer = call(&url, &signature, "X-A: b");
        if answer == "202" { Ok(()) } else { Err(answer) }
    })
    .await;
    fixture.applied(&second).await;
    assert_eq!(call(&url, "0000", "X-A: b"), "403", "the leader judges it");
    assert_eq!(call(&url, &signature, "X-Reeve-Handed-Over: 1"), "503", "it is handed over once");
}

/// What a sender who knows the token signs a body with.
fn signature(body: &str) -> String {
    use std::fmt::Write as _;

    use hmac::{KeyInit as _, Mac as _};
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(b"0123456789abcdef0123456789abcdef").unwrap();
    mac.update(body.as_bytes());
    let mut text = String::new();
    for byte in mac.finalize().into_bytes() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[tokio::test]
async fn a_webhook_without_its_secret_is_told_and_pushes_are_seen_with_the_interval() {
    let fixture = Fixture::new("deaf").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    fixture.push();
    let webhook = json!({ "type": "Generic", "secretRef": { "name": "typo" } });
    let url = fixture.repository.serve_http(None).unwrap();
    fixture.follow_with(json!({ "url": url.url(), "interval": "1s", "webhook": webhook })).await;
    let _reeve = fixture.reeve();
    fixture.comes_to_say("settings", "one").await;
    let is_told = |source: &GitSource| {
        let conditions = source.status.iter().flat_map(|status| &status.conditions);
        let mut ready = conditions.filter(|condition| condition.type_ == "Ready");
        ready.any(|ready| ready.reason == "SecretNotFound" && ready.message.contains("spec.webhook"))
    };
    until(&fixture.api::<GitSource>(), "fleet", "the webhook is told of", is_told).await;
    fixture.component("web", "1.1.0", &config("settings", "two"));
    fixture.push();
    fixture.comes_to_say("settings", "two").await;
}
