//! The example of this room as a process: this same test binary, started with another task. So it is never out of date,
//! whichever tests were asked for.

use std::ffi::OsString;
use std::process::{ExitCode, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use reeve_tests::eventually;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

const ARGS: &str = "REEVE_TEST_ARGS";

#[test]
#[ignore = "the program that the other tests start"]
fn program() {
    let Some(args) = std::env::var_os(ARGS) else { return };
    // Also when the tests are killed, and though it may be stopped itself.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let args: Vec<String> = serde_json::from_str(args.to_str().unwrap()).unwrap();
    let code = crate::lease_holder::run(std::iter::once("lease_holder".to_owned()).chain(args).map(OsString::from));
    // An ExitCode keeps its number to itself.
    let status = (0..=u8::MAX).find(|status| ExitCode::from(*status) == code).unwrap();
    std::process::exit(i32::from(status));
}

/// A command that runs the example.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child::program", "--ignored", "--nocapture"])
        .env(ARGS, serde_json::to_string(args).unwrap())
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// The example, running.
pub(crate) struct Holder {
    pub(crate) name: String,
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
    _reader: JoinSet<()>,
}

impl Holder {
    pub(crate) fn start(name: &str, args: &[&str]) -> Self {
        let args = [args, &["--name", name, "--admin-address", "127.0.0.1:0"]].concat();
        let mut child = command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut reader = JoinSet::new();
        let into = lines.clone();
        reader.spawn(async move {
            while let Ok(Some(line)) = stderr.next_line().await {
                into.lock().unwrap().push(line);
            }
        });
        Self { name: name.to_owned(), child, lines, _reader: reader }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id().expect("it has ended")).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Its log so far; every line must be a JSON object.
    pub(crate) fn log(&self) -> Vec<Value> {
        let lines = self.lines.lock().unwrap();
        let parse = |line: &String| match serde_json::from_str(line) {
            Ok(object @ Value::Object(_)) => object,
            _ => panic!("not a JSON object: {line}"),
        };
        lines.iter().map(parse).collect()
    }

    /// All log lines with this message.
    pub(crate) fn said(&self, message: &str) -> Vec<Value> {
        self.log().into_iter().filter(|line| line["message"] == message).collect()
    }

    /// The `times`-th log line with this message, once it is there.
    pub(crate) async fn says(&self, message: &str, times: usize) -> Value {
        let look = || async {
            let found = self.said(message).into_iter().nth(times - 1);
            found.ok_or_else(|| format!("{} said {:#?}", self.name, self.lines.lock().unwrap()))
        };
        eventually(&format!("{} says {message:?} {times} times", self.name), look).await
    }

    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let ended = tokio::time::timeout(reeve_tests::PATIENCE, self.child.wait()).await;
        ended.unwrap_or_else(|_| panic!("{} does not end: {:#?}", self.name, self.lines.lock().unwrap())).unwrap()
    }
}

/// The moment on the boot-time clock that a log line names.
pub(crate) fn at(line: &Value) -> f64 {
    line["at"].as_str().unwrap().parse().unwrap()
}
