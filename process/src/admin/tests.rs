use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::*;

struct Fixture {
    pages: Pages,
    address: SocketAddr,
    _tasks: JoinSet<()>,
}

async fn serve() -> Fixture {
    let pages = Pages { health: Health::default(), metrics: Metrics::new("reeve") };
    let server = Server::bind("admin requests", "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = server.address().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(pages.clone().serve(server));
    Fixture { pages, address, _tasks: tasks }
}

impl Fixture {
    async fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(format!("{request} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

#[tokio::test]
async fn readyz_turns_with_the_checks_and_lists_them() {
    let server = serve().await;
    let git = server.pages.health.check("git");
    let answer = server.ask("GET /readyz?verbose").await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("[-]git: has not reported yet"), "{answer}");

    git.pass();
    let answer = server.ask("GET /readyz").await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("[+]git ok"), "{answer}");

    server.pages.health.drain();
    assert!(server.ask("GET /readyz").await.starts_with("HTTP/1.1 503 "));
    assert!(server.ask("GET /livez").await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn metrics_come_as_openmetrics() {
    let answer = serve().await.ask("GET /metrics").await;
    assert!(answer.contains(metrics_type()) && answer.contains("reeve_build_info{"), "{answer}");
}

fn metrics_type() -> &'static str {
    "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"
}

#[tokio::test]
async fn head_has_no_body_and_other_paths_and_methods_are_refused() {
    let server = serve().await;
    let head = server.ask("HEAD /metrics").await;
    assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
    assert!(server.ask("GET /").await.starts_with("HTTP/1.1 404 "));
    let refused = server.ask("POST /readyz").await;
    assert!(refused.starts_with("HTTP/1.1 405 ") && refused.contains("allow: GET, HEAD"), "{refused}");
}
