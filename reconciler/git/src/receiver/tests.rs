use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use reeve_crds::git_source::WebhookType;
use reeve_process::Gate;
use reeve_process::secret::Secret;
use reeve_process::server::Server;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::{Hook, Hooks};
use crate::metrics::Metrics;

const TOKEN: &str = "s3cret";

struct Scene {
    address: SocketAddr,
    hooks: Hooks,
    wake: Arc<Notify>,
    _serving: JoinSet<()>,
}

impl Scene {
    /// A receiver with one hook of GitLab's kind, `known`.
    async fn start() -> Self {
        let (hooks, wake) = (Hooks::default(), Arc::new(Notify::new()));
        hooks.set("known", hook(TOKEN, &wake));
        let server = Server::bind("webhooks", "127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = server.address().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(hooks.clone().serve(server, Gate::always_open(), Metrics::default()));
        Self { address, hooks, wake, _serving: serving }
    }

    /// The whole answer to these bytes.
    async fn send(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // A server that is done with us may reset the connection behind its answer.
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    async fn status(&self, request: &str) -> String {
        self.send(request).await.split(' ').nth(1).unwrap_or("none").to_owned()
    }

    fn woken(&self) -> bool {
        self.wake.notified().now_or_never().is_some()
    }
}

fn hook(token: &str, wake: &Arc<Notify>) -> Hook {
    Hook { kind: WebhookType::GitLab, token: Secret::new(token.to_owned()), wake: Arc::clone(wake) }
}

fn post(path: &str, token: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: x\r\nX-Gitlab-Token: {token}\r\nContent-Length: {length}\r\n\r\n{body}")
}

#[tokio::test]
async fn a_genuine_call_wakes_its_source_and_may_be_repeated() {
    let scene = Scene::start().await;
    for _ in 0..2 {
        assert!(!scene.woken());
        assert_eq!(scene.status(&post("/hooks/known", TOKEN, "{}")).await, "202");
        assert!(scene.woken());
    }
}

#[tokio::test]
async fn nobody_can_tell_an_unknown_hook_from_a_wrong_token() {
    let scene = Scene::start().await;
    let without_date = |answer: String| {
        let lines = answer.lines().filter(|line| !line.to_lowercase().starts_with("date:"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let wrong = without_date(scene.send(&post("/hooks/known", "guess", "{}")).await);
    let unknown = without_date(scene.send(&post("/hooks/unknown", TOKEN, "{}")).await);
    assert_eq!(wrong, unknown);
    assert!(wrong[0].contains("403"), "{wrong:?}");
    assert!(!scene.woken());
}

#[tokio::test]
async fn a_hook_that_was_removed_or_has_another_token_refuses_what_it_took_before() {
    let scene = Scene::start().await;
    scene.hooks.set("known", hook("new", &scene.wake));
    assert_eq!(scene.status(&post("/hooks/known", TOKEN, "{}")).await, "403");
    assert_eq!(scene.status(&post("/hooks/known", "new", "{}")).await, "202");
    scene.hooks.remove("known");
    assert_eq!(scene.status(&post("/hooks/known", "new", "{}")).await, "403");
}

#[tokio::test]
async fn other_methods_and_other_paths_have_answers_of_their_own() {
    let scene = Scene::start().await;
    let got = scene.send("GET /hooks/known HTTP/1.1\r\nHost: x\r\n\r\n").await.to_lowercase();
    assert!(got.starts_with("http/1.1 405") && got.contains("allow: post"), "{got}");
    for path in ["/", "/hooks", "/hooks/", "/hooks/known/more", "/metrics"] {
        assert_eq!(scene.status(&post(path, TOKEN, "{}")).await, "404", "{path}");
    }
    assert!(!scene.woken());
}

#[tokio::test]
async fn a_body_or_a_head_that_is_too_large_is_refused() {
    let scene = Scene::start().await;
    let announced = "POST /hooks/known HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n";
    assert_eq!(scene.status(announced).await, "413");
    let piece = format!("10000\r\n{}\r\n", "x".repeat(0x10000)).repeat(17);
    let head = "POST /hooks/known HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(scene.status(&format!("{head}{piece}0\r\n\r\n")).await, "413");
    let exactly = post("/hooks/known", TOKEN, &"x".repeat(1024 * 1024));
    assert_eq!(scene.status(&exactly).await, "202");
    let long = format!("POST /hooks/known HTTP/1.1\r\nHost: x\r\nX-Long: {}\r\n\r\n", "x".repeat(64 * 1024));
    assert_eq!(scene.status(&long).await, "431");
    let many = format!("POST /hooks/known HTTP/1.1\r\nHost: x\r\n{}\r\n", "A: b\r\n".repeat(100));
    assert_eq!(scene.status(&many).await, "431");
}

/// Waits on paused time until the other side closes.
async fn closed(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    let read = tokio::time::timeout(Duration::from_mins(5), stream.read_to_string(&mut answer)).await;
    assert!(read.is_ok(), "it was not closed");
    answer
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_does_not_go_on_is_cut() {
    let scene = Scene::start().await;
    let body = "POST /hooks/known HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{";
    for (start, answer) in [("", ""), ("POST /hooks/known HTTP/1.1\r\n", ""), (body, "HTTP/1.1 408 ")] {
        let mut stream = TcpStream::connect(scene.address).await.unwrap();
        stream.write_all(start.as_bytes()).await.unwrap();
        let got = closed(stream).await;
        assert!(got.starts_with(answer), "{start}: {got}");
    }
    assert!(!scene.woken());
}
