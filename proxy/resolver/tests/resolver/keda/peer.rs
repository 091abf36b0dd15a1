//! KEDA's own client, from inside the node.

use std::process::Stdio;

use reeve_tests::assets::{self, Peer};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::place::App;

const SCALER: &str = "192.0.2.10:9471";

fn command(app: &App, trigger: &Value) -> Command {
    let program = assets::peer(Peer::Keda).unwrap();
    let mut command = Command::from(app.place.node.command(program.to_str().unwrap()));
    command.args([format!("-address={SCALER}"), "-name=web".to_owned(), format!("-namespace={}", app.namespace)]);
    command.arg(format!("-metadata={}", trigger["metadata"])).kill_on_drop(true);
    command
}

/// One question, as KEDA puts it for this trigger.
pub(super) async fn ask(app: &App, trigger: &Value, arguments: &[&str]) -> Value {
    let output = command(app, trigger).args(arguments).output().await.unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{printed}{}", String::from_utf8_lossy(&output.stderr)))
}

/// A stream of what is pushed.
pub(super) struct Watch {
    lines: Lines<BufReader<ChildStdout>>,
    _process: Child,
}

impl Watch {
    pub(super) fn start(app: &App, trigger: &Value) -> Self {
        let mut process = command(app, trigger).arg("watch").stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { lines, _process: process }
    }

    pub(super) async fn next(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().expect("the stream has ended");
        serde_json::from_str(&line).unwrap()
    }

    /// The last line, once the stream has ended.
    pub(super) async fn last(&mut self) -> Value {
        let mut last = Value::Null;
        while let Some(line) = self.lines.next_line().await.unwrap() {
            last = serde_json::from_str(&line).unwrap();
        }
        last
    }
}
