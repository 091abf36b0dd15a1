//! A proxy and its client, started for one test.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use reeve_tests::assets::{self, Peer};
pub(crate) use reeve_tests::{HookPlugin as Plugin, listening};
use reeve_tests::{Process, Server, Supervisor};
use serde_json::{Value, json};

/// Starts `reeve-cri` as koord-runtime-proxy would be started. Returns its process and socket.
pub(crate) fn start_proxy(
    supervisor: &Supervisor,
    name: &str,
    inside: Option<&str>,
    backend: &Path,
    hooks: &Path,
) -> (Process, PathBuf) {
    start_proxy_as(supervisor, name, inside, backend, hooks, "Containerd")
}

/// As `start_proxy`, before a backend of this mode.
pub(crate) fn start_proxy_as(
    supervisor: &Supervisor,
    name: &str,
    inside: Option<&str>,
    backend: &Path,
    hooks: &Path,
    mode: &str,
) -> (Process, PathBuf) {
    let socket = supervisor.data().join(format!("{name}.sock"));
    let server = Server::new(name, env!("CARGO_BIN_EXE_reeve-cri"))
        .args([
            format!("--koord-runtimeproxy-endpoint={}", socket.display()),
            format!("--remote-runtime-service-endpoint={}", backend.display()),
            format!("--backend-runtime-mode={mode}"),
            format!("--hooks-dir={}", hooks.display()),
            format!("--hook-set={}", hook_set(supervisor).display()),
            format!("--state-socket={}", supervisor.data().join(format!("{name}.state")).display()),
        ])
        .args(["--admin-address=none", "--log=info", "--v=4", "--logtostderr"])
        .inside(inside);
    (supervisor.spawn(server).unwrap(), socket)
}

/// The file with the hook set of a test's proxies.
pub(crate) fn hook_set(supervisor: &Supervisor) -> PathBuf {
    supervisor.data().join("hook-set").join("hooks.json")
}

/// Runs the peer `cri` and returns what it prints.
pub(crate) async fn peer(arguments: &[&str]) -> String {
    let program = assets::peer(Peer::Cri).unwrap();
    let output = tokio::process::Command::new(program).args(arguments).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A client of the CRI.
pub(crate) struct Client {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// What a call came to.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) response: Value,
}

impl Outcome {
    /// A field of the response, of a call that succeeded.
    pub(crate) fn field(&self, name: &str) -> String {
        assert_eq!(self.code, "OK", "{}", self.message);
        self.response[name].as_str().unwrap_or_else(|| panic!("no {name} in {}", self.response)).to_owned()
    }
}

impl Client {
    pub(crate) fn dial(socket: &Path) -> Self {
        let mut child = Command::new(assets::peer(Peer::Cri).unwrap())
            .args(["call", "-socket"])
            .arg(socket)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let requests = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, requests, answers }
    }

    pub(crate) fn call(&mut self, method: &str, request: &Value) -> Outcome {
        let line = json!({"method": method, "request": request});
        writeln!(self.requests.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        let answer: Value =
            serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{method}: {error}: {answer:?}"));
        let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        Outcome { code: text("code"), message: text("message"), response: answer["response"].clone() }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.requests.take());
        let _ = self.child.wait();
    }
}
