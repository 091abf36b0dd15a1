//! A plugin of node hooks, over Koordinator's released protocol.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::assets::{self, Peer};
use crate::supervisor::{Process, Server, Supervisor};
use crate::wait::eventually;

/// Waits until somebody serves a unix socket.
pub async fn listening(socket: &Path) {
    eventually(&format!("{} is served", socket.display()), || async {
        tokio::net::UnixStream::connect(socket).await.map(drop)
    })
    .await;
}

/// A plugin that speaks Koordinator's protocol. It notes what it is asked, and answers as it is told.
#[derive(Debug)]
pub struct HookPlugin {
    pub process: Process,
    name: String,
    rules: PathBuf,
    record: PathBuf,
    pub socket: PathBuf,
}

impl HookPlugin {
    /// Starts it, and waits until it listens.
    pub async fn start(supervisor: &Supervisor, name: &str) -> Self {
        let data = supervisor.data();
        let [rules, record, socket] = ["rules", "record", "sock"].map(|end| data.join(format!("{name}.{end}")));
        let server = Server::new(name, assets::peer(Peer::Koordinator).expect("no hook server")).args([
            format!("-listen={}", socket.display()),
            format!("-rules={}", rules.display()),
            format!("-record={}", record.display()),
        ]);
        let process = supervisor.spawn(server).expect("cannot start a plugin");
        listening(&socket).await;
        Self { process, name: name.to_owned(), rules, record, socket }
    }

    /// Says what to answer, by hook.
    pub fn answer(&self, rules: &Value) {
        std::fs::write(&self.rules, rules.to_string()).expect("cannot write what a plugin answers");
    }

    /// Registers it as Koordinator's plugins do, with more fields.
    pub fn register(&self, folder: &Path, hooks: &[&str], more: &Value) {
        let mut file = json!({"remote-endpoint": self.socket, "runtime-hooks": hooks});
        for (key, value) in more.as_object().into_iter().flatten() {
            file[key] = value.clone();
        }
        std::fs::create_dir_all(folder).expect("cannot create the folder of registrations");
        std::fs::write(folder.join(format!("{}.json", self.name)), file.to_string()).expect("cannot register a plugin");
    }

    /// What it was asked, as hook and request.
    pub fn asked(&self) -> Vec<(String, Value)> {
        let text = std::fs::read_to_string(&self.record).unwrap_or_default();
        text.lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .map(|line| (line["hook"].as_str().unwrap_or_default().to_owned(), line["request"].clone()))
            .collect()
    }
}
