//! A proxy, its plugins and its client, started for one test.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use reeve_tests::assets::{self, Peer};
use reeve_tests::{Process, Server, Supervisor, eventually};
use serde_json::{Value, json};

/// Starts `reeve-cri` as koord-runtime-proxy would be started. Returns its process and socket.
pub(crate) fn start_proxy(
    supervisor: &Supervisor,
    name: &str,
    inside: Option<&str>,
    backend: &Path,
    hooks: &Path,
) -> (Process, PathBuf) {
    let socket = supervisor.data().join(format!("{name}.sock"));
    let server = Server::new(name, env!("CARGO_BIN_EXE_reeve-cri"))
        .args([
            format!("--koord-runtimeproxy-endpoint={}", socket.display()),
            format!("--remote-runtime-service-endpoint={}", backend.display()),
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

pub(crate) async fn listening(socket: &Path) {
    eventually(&format!("{} is served", socket.display()), || async {
        tokio::net::UnixStream::connect(socket).await.map(drop)
    })
    .await;
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

/// A plugin that speaks Koordinator's protocol, registered by file.
pub(crate) struct Plugin {
    pub(crate) process: Process,
    name: String,
    rules: PathBuf,
    record: PathBuf,
    socket: PathBuf,
}

impl Plugin {
    pub(crate) async fn start(supervisor: &Supervisor, name: &str) -> Self {
        let data = supervisor.data();
        let [rules, record, socket] = ["rules", "record", "sock"].map(|end| data.join(format!("{name}.{end}")));
        let server = Server::new(name, assets::peer(Peer::Koordinator).unwrap()).args([
            format!("-listen={}", socket.display()),
            format!("-rules={}", rules.display()),
            format!("-record={}", record.display()),
        ]);
        let process = supervisor.spawn(server).unwrap();
        listening(&socket).await;
        Self { process, name: name.to_owned(), rules, record, socket }
    }

    /// Says what to answer, by hook.
    pub(crate) fn answer(&self, rules: &Value) {
        std::fs::write(&self.rules, rules.to_string()).unwrap();
    }

    /// Registers it as Koordinator's plugins do, with more fields.
    pub(crate) fn register(&self, folder: &Path, hooks: &[&str], more: &Value) {
        let mut file = json!({"remote-endpoint": self.socket, "runtime-hooks": hooks});
        file.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join(format!("{}.json", self.name)), file.to_string()).unwrap();
    }

    /// What it was asked, as hook and request.
    pub(crate) fn asked(&self) -> Vec<(String, Value)> {
        let text = std::fs::read_to_string(&self.record).unwrap_or_default();
        text.lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .map(|line| (line["hook"].as_str().unwrap_or_default().to_owned(), line["request"].clone()))
            .collect()
    }
}
