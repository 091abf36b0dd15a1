//! A running `reeve-agent`, ended with its test.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub(crate) struct Agent {
    child: Child,
    log: PathBuf,
}

impl Agent {
    pub(crate) fn start(kubeconfig: &Path, folder: &Path, args: &[String]) -> Self {
        let log = (1..1000).map(|run| folder.join(format!("agent-{run}.log"))).find(|log| !log.exists()).unwrap();
        let output = File::create(&log).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_reeve-agent"))
            .args(["--no-pull", "--admin-address=none", "--log=debug,hyper=info,tower=info,kube=info"])
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .args(args)
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

    /// As a power failure would end it.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            eprintln!("the last lines of reeve-agent:\n{}", lines[lines.len().saturating_sub(60)..].join("\n"));
        }
    }
}
