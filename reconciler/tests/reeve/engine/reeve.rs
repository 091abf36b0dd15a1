//! The controller as a child process, ended with its test.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::page::Page;

/// A running `reeve run`. Its log is shown if the test fails.
pub(crate) struct Reeve {
    child: Child,
    log: PathBuf,
}

impl Reeve {
    /// Starts it for one namespace, reaching the cluster as the kubeconfig says.
    pub(crate) fn start(kubeconfig: &Path, namespace: &str, data: &Path, args: &[&str]) -> Self {
        Self::run(kubeconfig, data, &[&["--no-lease", "--watch-namespace", namespace], args].concat())
    }

    /// As [`start`](Self::start), with a lease unless the arguments say otherwise.
    pub(crate) fn run(kubeconfig: &Path, data: &Path, args: &[&str]) -> Self {
        Self::run_program(Path::new(env!("CARGO_BIN_EXE_reeve")), kubeconfig, data, args)
    }

    /// As [`run`](Self::run), with another binary.
    pub(crate) fn run_program(program: &Path, kubeconfig: &Path, data: &Path, args: &[&str]) -> Self {
        let log = (1..1000).map(|run| data.join(format!("run-{run}.log"))).find(|log| !log.exists()).unwrap();
        let output = File::create(&log).unwrap();
        let child = Command::new(program)
            .args(["run", "--data-folder"])
            .arg(data.join("mirrors"))
            .args(if args.contains(&"--admin-address") { &[][..] } else { &["--admin-address", "127.0.0.1:0"] })
            .args(args)
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .spawn()
            .unwrap();
        Self { child, log }
    }

    /// What it has said so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Where it says it.
    pub(crate) fn log_file(&self) -> PathBuf {
        self.log.clone()
    }

    /// The address in its log line that says this.
    pub(crate) async fn address(&self, line: &str) -> String {
        reeve_tests::eventually(&format!("it says {line}"), || async {
            let log = self.log();
            let lines = log.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
            let found = lines.into_iter().find(|said| said["message"] == line);
            found.and_then(|said| said["address"].as_str().map(str::to_owned)).ok_or(log)
        })
        .await
    }

    /// What a scrape of its metrics gets.
    pub(crate) async fn metrics(&self) -> Page {
        let address = self.address("serving /livez, /readyz and /metrics").await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        Page::read(answer.split_once("\r\n\r\n").unwrap().1)
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// As a power failure would end it.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// As Kubernetes ends it; returns when it has.
    pub(crate) async fn terminate(mut self) {
        let pid = rustix::process::Pid::from_raw(self.pid()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let ended = reeve_tests::eventually("the process ends", || {
            let ended = self.child.try_wait().unwrap();
            async move { ended.ok_or("it runs") }
        });
        assert!(ended.await.success());
    }
}

impl Drop for Reeve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            eprintln!("the last lines of reeve run:\n{}", lines[lines.len().saturating_sub(40)..].join("\n"));
        }
    }
}
