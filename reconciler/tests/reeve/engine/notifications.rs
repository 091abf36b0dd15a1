//! Receivers of notifications, over real sockets: what they hear, and what becomes of those that fail.

use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use reeve_process::server::Server;
use reeve_tests::eventually;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::fixture::{Fixture, config};
use super::proxy::{Proxy, Rule};

/// What a receiver was sent.
#[derive(Clone, Debug)]
struct Heard {
    path: String,
    headers: HeaderMap,
    body: Value,
}

impl Heard {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

struct Receiver {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<Heard>>>,
    _serving: JoinSet<()>,
}

impl Receiver {
    /// One that answers with these codes in turn, and then always with 200.
    async fn start(answers: &[u16]) -> Self {
        let server = Server::bind("notifications", "127.0.0.1:0".parse().unwrap()).await.unwrap();
        let (address, heard) = (server.address().unwrap(), Arc::<Mutex<Vec<Heard>>>::default());
        let answers = Arc::new(Mutex::new(answers.iter().copied().collect::<VecDeque<u16>>()));
        let into = heard.clone();
        let mut serving = JoinSet::new();
        serving.spawn(server.serve(move |request: Request<hyper::body::Incoming>| {
            let (into, answers) = (into.clone(), answers.clone());
            async move {
                let (parts, body) = request.into_parts();
                let body = serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap();
                let answer = answers.lock().unwrap().pop_front().unwrap_or(200);
                into.lock().unwrap().push(Heard { path: parts.uri.to_string(), headers: parts.headers, body });
                Response::builder().status(answer).body(Full::from(parts.uri.to_string())).unwrap()
            }
        }));
        Self { address, heard, _serving: serving }
    }

    /// The first that it heard, once there are so many.
    async fn hears(&self, number: usize) -> Vec<Heard> {
        eventually(&format!("{number} notifications arrive"), || async {
            let heard = self.heard.lock().unwrap().clone();
            if heard.len() >= number { Ok(heard) } else { Err(format!("{heard:?}")) }
        })
        .await
    }
}

impl Fixture {
    /// Follows the repository and tells these: name, URL, form, and of what.
    async fn follow_and_tell(&self, receivers: &[(&str, String, &str, &[&str])]) {
        let mut notifications = Vec::new();
        for (name, url, format, events) in receivers {
            self.secret(name, json!({ "address": url, "token": "b3arer" })).await;
            notifications
                .push(json!({ "name": name, "secretRef": { "name": name }, "format": format, "events": events }));
        }
        let url = self.repository.file_url();
        self.follow_with(json!({ "url": url, "interval": "1h", "notifications": notifications })).await;
    }
}

/// The keys of the body that the docs show.
fn documented() -> BTreeSet<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operations.md");
    let page = std::fs::read_to_string(page).unwrap();
    let body = page.split("## Notifications").nth(1).unwrap().split("```json").nth(1).unwrap();
    keys(&serde_json::from_str(body.split("```").next().unwrap()).unwrap())
}

fn keys(body: &Value) -> BTreeSet<String> {
    body.as_object().unwrap().keys().cloned().collect()
}

#[tokio::test]
async fn a_runtime_in_error_is_told_as_the_docs_say_and_so_is_its_recovery() {
    let fixture = Fixture::new("told").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    fixture.push();
    let (events, chat) = (Receiver::start(&[]).await, Receiver::start(&[]).await);
    fixture
        .follow_and_tell(&[
            ("events", format!("http://{}/in?x=1", events.address), "CloudEvent", &["Failed", "Recovered"]),
            ("chat", format!("http://{}/", chat.address), "Slack", &["Failed"]),
        ])
        .await;
    let rule = Rule::Refuse { code: 500, path: format!("/namespaces/{}/", fixture.target) };
    let proxy = Proxy::start(&fixture.cluster, rule).await;
    let reeve = fixture.reeve_through(&proxy.kubeconfig(fixture.data.path()), &[]);

    let failed = events.hears(1).await.remove(0);
    assert_eq!(keys(&failed.body), documented());
    assert_eq!(
        (&failed.body["event"], &failed.body["namespace"], &failed.body["source"], &failed.body["runtime"]),
        (&json!("Failed"), &json!(fixture.namespace), &json!("fleet"), &json!(fixture.runtime))
    );
    let message = failed.body["message"].as_str().unwrap();
    assert!(message.starts_with("web: ") && message.contains("settings") && message.contains("last good"), "{message}");
    let source = format!("/namespaces/{}/gitsources/fleet", fixture.namespace);
    for (name, value) in [
        ("ce-specversion", "1.0"),
        ("ce-type", "dev.reeve.failed"),
        ("ce-source", &source),
        ("ce-subject", &fixture.runtime),
        ("ce-time", failed.body["time"].as_str().unwrap()),
        ("content-type", "application/json"),
        ("authorization", "Bearer b3arer"),
    ] {
        assert_eq!(failed.header(name), value, "{name}");
    }
    assert_eq!(failed.path, "/in?x=1");

    let told = chat.hears(1).await.remove(0);
    assert_eq!(keys(&told.body), BTreeSet::from(["text".to_owned()]));
    let text = told.body["text"].as_str().unwrap();
    assert!(text.starts_with(&format!("*Failed* runtime {}: web: ", fixture.runtime)), "{text}");
    assert_eq!(told.header("ce-type"), "");

    proxy.set(Rule::Pass);
    let recovered = events.hears(2).await.remove(1);
    assert_eq!((recovered.header("ce-type"), &recovered.body["event"]), ("dev.reeve.recovered", &json!("Recovered")));
    assert_ne!(recovered.header("ce-id"), failed.header("ce-id"));
    reeve.shows(&[(("reeve_notifications_total", &[("outcome", "Succeeded")]), 3.0)]).await;

    // What failed may also leave Git.
    fixture.component(
        "broken",
        "1.0.0",
        "apiVersion: none.example.com/v1\nkind: Nothing\nmetadata: { name: nothing }\n",
    );
    fixture.push();
    assert_eq!(events.hears(3).await[2].body["event"], json!("Failed"));
    fixture.drop_component("broken");
    fixture.push();
    assert_eq!(events.hears(4).await[3].body["event"], json!("Recovered"));
}

#[tokio::test]
async fn a_receiver_that_fails_is_told_again_the_same_and_one_that_refuses_is_not() {
    let fixture = Fixture::new("again").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    fixture.push();
    let (fails, refuses) = (Receiver::start(&[500, 503]).await, Receiver::start(&[410]).await);
    fixture
        .follow_and_tell(&[
            ("fails", format!("http://{}/", fails.address), "CloudEvent", &["Applied"]),
            ("refuses", format!("http://{}/", refuses.address), "CloudEvent", &["Applied"]),
        ])
        .await;
    let reeve = fixture.reeve();
    let heard = fails.hears(3).await;
    assert!(heard[0].header("ce-id").len() > 10);
    for again in &heard[1..] {
        assert_eq!((again.header("ce-id"), &again.body), (heard[0].header("ce-id"), &heard[0].body));
    }
    assert!(heard[0].body["revision"].as_str().unwrap().starts_with("main@"), "{heard:?}");
    reeve
        .shows(&[
            (("reeve_notifications_total", &[("outcome", "Succeeded")]), 1.0),
            (("reeve_notifications_total", &[("outcome", "Failed")]), 1.0),
        ])
        .await;
    assert_eq!((fails.hears(3).await.len(), refuses.hears(1).await.len()), (3, 1));
}

#[tokio::test]
async fn a_receiver_that_hangs_holds_up_neither_the_runtime_nor_other_receivers() {
    let fixture = Fixture::new("hanging").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    // Connections are taken by the kernel and answered by nobody.
    let silence = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let works = Receiver::start(&[]).await;
    fixture
        .follow_and_tell(&[
            ("hangs", format!("http://{}/", silence.local_addr().unwrap()), "CloudEvent", &["Applied"]),
            ("works", format!("http://{}/", works.address), "CloudEvent", &["Applied"]),
        ])
        .await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    for (number, version) in ["1.1.0", "1.2.0", "1.3.0"].iter().enumerate() {
        fixture.component("web", version, &config("settings", version));
        let commit = fixture.push();
        fixture.applied(&commit).await;
        works.hears(number + 2).await;
    }
    let page = reeve.metrics().await;
    assert_eq!(page.value("reeve_notifications_total", &[("outcome", "Failed")]), Some(0.0), "it still hangs");
    let revisions: BTreeSet<String> =
        works.hears(4).await.iter().map(|heard| heard.body["revision"].to_string()).collect();
    assert_eq!(revisions.len(), 4, "{revisions:?}");
    reeve.terminate().await;
}

#[tokio::test]
async fn a_source_that_cannot_be_fetched_is_told_of_once_and_so_is_its_recovery() {
    let fixture = Fixture::new("unfetched").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    let receiver = Receiver::start(&[]).await;
    fixture.secret("events", json!({ "address": format!("http://{}/", receiver.address) })).await;
    let notifications = json!([{ "name": "events", "secretRef": { "name": "events" } }]);
    let spec = |url: &str| json!({ "url": url, "interval": "1s", "notifications": notifications });
    let nowhere = format!("{}-nowhere", fixture.repository.file_url());
    fixture.follow_with(spec(&nowhere)).await;
    let reeve = fixture.reeve();
    let failed = receiver.hears(1).await.remove(0);
    assert_eq!((&failed.body["event"], &failed.body["reason"]), (&json!("Failed"), &json!("NotFound")));
    assert_eq!((failed.body.get("runtime"), failed.header("ce-subject")), (None, ""));
    let fetches = || async { reeve.metrics().await.value("reeve_fetches_total", &[("outcome", "NotFound")]) };
    eventually("it was tried more often than it was told", || async {
        let tried = fetches().await;
        if tried >= Some(4.0) { Ok(()) } else { Err(format!("{tried:?}")) }
    })
    .await;
    fixture.follow_with(spec(&fixture.repository.file_url())).await;
    fixture.applied(&first).await;
    let heard = receiver.hears(2).await;
    assert_eq!((heard.len(), &heard[1].body["event"]), (2, &json!("Recovered")));
}

#[tokio::test]
async fn a_secret_that_is_missing_or_has_no_address_is_named_with_what_to_do() {
    let fixture = Fixture::new("nameless").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    fixture.push();
    fixture.secret("empty", json!({ "url": "http://127.0.0.1/" })).await;
    let tell = |name: &str| json!({ "name": name, "secretRef": { "name": name }, "events": ["Applied"] });
    let notifications = json!([tell("absent"), tell("empty")]);
    let url = fixture.repository.file_url();
    fixture.follow_with(json!({ "url": url, "interval": "1h", "notifications": notifications })).await;
    let reeve = fixture.reeve();
    reeve.shows(&[(("reeve_notifications_total", &[("outcome", "Failed")]), 2.0)]).await;
    for words in ["there is no Secret absent in the namespace", "Secret empty has no key address"] {
        assert!(reeve.log().contains(words), "{}", reeve.log());
    }
}

#[tokio::test]
async fn an_address_and_its_secrets_reach_no_log_no_status_and_no_event() {
    let fixture = Fixture::new("discreet").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    let refuses = Receiver::start(&[400]).await;
    let closed = {
        let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        port.local_addr().unwrap()
    };
    let secrets = |host: &str| format!("http://s3cretuser:s3cretword@{host}/s3cretpath?key=s3cretkey");
    fixture
        .follow_and_tell(&[
            ("refuses", secrets(&refuses.address.to_string()), "Slack", &["Applied"]),
            ("closed", secrets(&closed.to_string()), "Slack", &["Applied"]),
            ("nowhere", secrets("s3crethost.invalid"), "Slack", &["Applied"]),
            ("malformed", "s3cret address".to_owned(), "Slack", &["Applied"]),
            ("scheme", "ftp://s3crethost/s3cretpath".to_owned(), "Slack", &["Applied"]),
        ])
        .await;
    let reeve = fixture.reeve_through(fixture.cluster.kubeconfig(), &["--log", "trace"]);
    fixture.applied(&first).await;
    reeve.shows(&[(("reeve_notifications_total", &[("outcome", "Failed")]), 5.0)]).await;
    let log = reeve.log();
    assert_eq!(log.matches("cannot notify").count(), 5, "{log}");
    let mut shown = vec![log];
    for kind in ["GitSource", "Runtime", "RuntimeComponent"] {
        let all = fixture.dynamic("reeve.dev/v1alpha1", kind, Some(&fixture.namespace));
        shown.push(format!("{:?}", all.list(&ListParams::default()).await.unwrap()));
    }
    shown.push(format!("{:?}", fixture.api::<Event>().list(&ListParams::default()).await.unwrap()));
    for secret in ["s3cret", "b3arer"] {
        assert!(shown.iter().all(|text| !text.contains(secret)), "{shown:?}");
    }
}
