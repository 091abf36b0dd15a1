//! Starting and ending, without a cluster where none is needed.

use std::path::Path;

use reeve_tests::eventually;
use rustix::process::Signal;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::child::{Holder, command};

/// A kubeconfig of a server that nobody serves: enough to start and to end.
struct Nowhere(tempfile::TempDir);

impl Nowhere {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = r#"{"apiVersion":"v1","kind":"Config","current-context":"x",
            "clusters":[{"name":"x","cluster":{"server":"http://127.0.0.1:1"}}],
            "users":[{"name":"x","user":{"token":"s3cret-token"}}],
            "contexts":[{"name":"x","context":{"cluster":"x","user":"x"}}]}"#;
        std::fs::write(folder.path().join("kubeconfig"), kubeconfig).unwrap();
        Self(folder)
    }

    fn start(&self, args: &[&str]) -> Holder {
        let kubeconfig = self.0.path().join("kubeconfig");
        let own = ["--kubeconfig", path(&kubeconfig)];
        Holder::start("holder", &[&own, args].concat())
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

async fn get(holder: &Holder, path: &str) -> String {
    let line = holder.says("serving /livez, /readyz and /metrics", 1).await;
    let mut stream = TcpStream::connect(line["address"].as_str().unwrap()).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn version_names_the_commit() {
    let output = command(&["--version"]).output().await.unwrap();
    let wanted = format!("lease_holder {}\n", reeve_process::version::LONG);
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().ends_with(&wanted));
}

#[tokio::test]
async fn wrong_usage_exits_with_2_and_says_why() {
    let output = command(&["--log", "reeve=loud"]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    let says = String::from_utf8(output.stderr).unwrap();
    assert!(says.contains("--log <FILTER>") && says.contains("loud"), "{says}");
}

#[tokio::test]
async fn what_cannot_start_exits_with_1_and_names_the_cause() {
    let mut holder = Holder::start("holder", &["--kubeconfig", "/nonexistent/kubeconfig"]);
    assert_eq!(holder.ended().await.code(), Some(1));
    assert!(holder.log().iter().any(|line| line["message"].as_str().unwrap().contains("/nonexistent/kubeconfig")));
}

#[tokio::test]
async fn the_admin_server_answers_and_the_log_is_json_without_secrets() {
    let nowhere = Nowhere::new();
    let mut holder = nowhere.start(&["--log", "trace"]);
    holder.says("contending", 1).await;
    assert!(get(&holder, "/livez").await.starts_with("HTTP/1.1 200 "));
    let ready = get(&holder, "/readyz").await;
    assert!(ready.starts_with("HTTP/1.1 200 ") && ready.contains("[+]configuration ok"), "{ready}");
    let metrics = get(&holder, "/metrics").await;
    let info = format!(
        r#"reeve_build_info{{version="{}",commit="{}",binary="lease-holder"}} 1"#,
        reeve_process::version::VERSION,
        reeve_process::version::COMMIT
    );
    assert!(metrics.contains(&info) && metrics.contains("reeve_leader{lease=\"lease-holder\"} 0"), "{metrics}");

    let look = || async {
        let tried =
            |line: &Value| line["message"].as_str().unwrap().starts_with("cannot read the lease lease-holder: ");
        holder.log().iter().any(tried).then_some(()).ok_or("no attempt")
    };
    eventually("it tries to read the lease", look).await;
    holder.signal(Signal::TERM);
    assert_eq!(holder.ended().await.code(), Some(0));
    let log = holder.log();
    for field in ["timestamp", "level", "target", "message"] {
        assert!(log.iter().all(|line| line[field].is_string()), "no {field} in one of {log:#?}");
    }
    assert!(!Value::from(log).to_string().contains("s3cret-token"));
}

#[tokio::test]
async fn both_signals_drain_and_readiness_goes_first() {
    for signal in [Signal::TERM, Signal::INT] {
        let nowhere = Nowhere::new();
        let mut holder = nowhere.start(&["--linger", "1h", "--shutdown-deadline", "1h"]);
        holder.says("contending", 1).await;
        holder.signal(signal);
        holder.says("stopping", 1).await;
        let ready = get(&holder, "/readyz").await;
        assert!(ready.starts_with("HTTP/1.1 503 ") && ready.contains("[-]shutdown: draining"), "{ready}");
        assert!(get(&holder, "/livez").await.starts_with("HTTP/1.1 200 "));

        holder.signal(signal);
        assert_eq!(holder.ended().await.code(), Some(128 + signal.as_raw()));
        let line = holder.says("second signal, exiting at once", 1).await;
        assert!(line["unfinished"].as_str().unwrap().contains("main"), "{line}");
    }
}

#[tokio::test]
async fn at_the_deadline_it_exits_anyway_and_names_who_did_not_finish() {
    let nowhere = Nowhere::new();
    let mut holder = nowhere.start(&["--linger", "1h", "--shutdown-deadline", "100ms"]);
    holder.says("contending", 1).await;
    holder.signal(Signal::TERM);
    assert_eq!(holder.ended().await.code(), Some(124));
    let line = holder.says("not drained in time, exiting", 1).await;
    assert_eq!(line["unfinished"], r#"["main", "lease default/lease-holder"]"#);
}
