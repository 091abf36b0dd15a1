//! The test's end of the pipe.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use rustix::process::Signal;

use super::protocol::{Reply, Request, Server};
use crate::{harness_binary, run_folder, within};

/// Servers that end, with their files, when the last clone of this is dropped or the process that holds it dies.
#[derive(Clone, Debug)]
pub struct Supervisor {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    pipe: Mutex<Pipe>,
}

#[derive(Debug)]
struct Pipe {
    child: Child,
    /// Closing it is the word to end everything.
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
}

impl Supervisor {
    /// Starts the supervising process with a fresh folder whose name begins with `name`.
    pub fn start(name: &str) -> Result<Self> {
        let harness = harness_binary::path()?;
        let folder = run_folder::create(name)?;
        let mut child = Command::new(harness)
            .arg("supervise")
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group_of_its_own()
            .spawn()
            .context("cannot start the supervising process")?;
        let requests = child.stdin.take();
        let replies = BufReader::new(child.stdout.take().context("the supervising process has no output")?);
        let pipe = Mutex::new(Pipe { child, requests, replies });
        crate::failure::watch(&folder);
        Ok(Self { inner: Arc::new(Inner { folder, pipe }) })
    }

    /// Where servers keep their data. Removed at the end.
    pub fn data(&self) -> PathBuf {
        self.inner.folder.join("data")
    }

    /// Where each server's output is, as `<name>.log`. Removed at the end unless a test failed.
    pub fn logs(&self) -> PathBuf {
        self.inner.folder.join("logs")
    }

    pub fn log_of(&self, name: &str) -> PathBuf {
        self.logs().join(format!("{name}.log"))
    }

    pub fn spawn(&self, server: Server) -> Result<Process> {
        let name = server.name.clone();
        match self.ask(&Request::Start(server))? {
            Reply::Started { pid, listens_on } => Ok(Process { supervisor: self.clone(), name, pid, listens_on }),
            other => bail!("cannot start {name}: {other:?}"),
        }
    }

    /// Does what must succeed for a test to begin at all; if it fails, the logs are kept.
    pub(crate) async fn keeping_logs<T>(&self, start: impl Future<Output = Result<T>>) -> Result<T> {
        let outcome = start.await;
        if outcome.is_err() {
            run_folder::mark_failed(&self.inner.folder);
        }
        outcome
    }

    pub(crate) fn own_cgroup(&self, path: &str) -> Result<()> {
        self.ask(&Request::OwnCgroup(path.into())).map(drop)
    }

    fn ask(&self, request: &Request) -> Result<Reply> {
        let mut pipe = self.inner.pipe.lock();
        let pipe = &mut *pipe;
        let requests = pipe.requests.as_mut().context("the supervising process was told to end")?;
        let mut line = serde_json::to_string(request).context("cannot write the request")?;
        line.push('\n');
        requests.write_all(line.as_bytes()).context("the supervising process is gone")?;
        let mut reply = String::new();
        pipe.replies.read_line(&mut reply).context("cannot read the supervising process")?;
        match serde_json::from_str(&reply).context("the supervising process is gone")? {
            Reply::Failed(why) => bail!("{why}"),
            reply => Ok(reply),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let pipe = self.pipe.get_mut();
        // Also in a thread that the test started, whose panic its watch does not see.
        if std::thread::panicking() {
            run_folder::mark_failed(&self.folder);
        }
        drop(pipe.requests.take());
        let _ = pipe.child.wait();
        crate::failure::forget(&self.folder);
    }
}

/// A server that was started; it lives on when this is dropped, and ends with its supervisor.
#[derive(Clone, Debug)]
pub struct Process {
    supervisor: Supervisor,
    name: String,
    pid: i32,
    listens_on: Option<SocketAddr>,
}

impl Process {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    pub fn log(&self) -> PathBuf {
        self.supervisor.log_of(&self.name)
    }

    /// The address of the socket that it was given, if it was given one.
    pub(crate) fn listens_on(&self) -> Option<SocketAddr> {
        self.listens_on
    }

    /// Stops it in its tracks, as a machine that hangs would.
    pub fn freeze(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    pub fn thaw(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Asks it to end.
    pub fn terminate(&self) -> Result<()> {
        self.signal(Signal::TERM)
    }

    /// SIGKILL, and waits until it is gone.
    pub fn kill(&self) -> Result<()> {
        self.supervisor.ask(&Request::Kill(self.name.clone())).map(drop)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        self.supervisor.ask(&Request::Signal(self.name.clone(), signal.as_raw())).map(drop)
    }

    /// An error that says how it ended and what it said last, if it has ended.
    pub fn check(&self) -> Result<()> {
        match self.supervisor.ask(&Request::Status(self.name.clone()))? {
            Reply::Exited(how) => {
                bail!("{} {how}: {} (log: {})", self.name, last_words(&self.log()), self.log().display())
            }
            _ => Ok(()),
        }
    }
}

/// Waits for `probe` as [`crate::within`] does, but no longer than all of `servers` run: the end of one is the answer.
pub(crate) async fn while_running<T, F>(
    servers: &[&Process],
    limit: Duration,
    what: &str,
    mut probe: impl FnMut() -> F,
) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let outcome = within(limit, what, || {
        let running = servers.iter().try_for_each(|server| server.check());
        let probe = probe();
        async {
            match running {
                Ok(()) => probe.await.map(Ok).map_err(|error| format!("{error:#}")),
                Err(error) => Ok(Err(error)),
            }
        }
    });
    outcome.await?.with_context(|| format!("{what}: no longer to be expected"))
}

/// The line of a log that most likely says why its server ended.
fn last_words(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let telling = ["address already in use", "no space left on device", "\"level\":\"fatal\"", "Error:", "panic:"];
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let found = telling.iter().find_map(|sign| lines.iter().rev().find(|line| line.contains(sign))).or(lines.last());
    let words = found.copied().unwrap_or("it said nothing");
    match words {
        _ if words.contains("address already in use") => format!("its port is used by another program: {words}"),
        _ if words.contains("no space left on device") => {
            format!("the disk of {} is full, free some space or set TMPDIR to a larger one: {words}", log.display())
        }
        _ => words.to_owned(),
    }
}

trait OwnGroup {
    fn process_group_of_its_own(&mut self) -> &mut Self;
}

impl OwnGroup for Command {
    /// Ctrl-C on the terminal ends the tests; whoever cleans up after them must not die of it too.
    fn process_group_of_its_own(&mut self) -> &mut Self {
        std::os::unix::process::CommandExt::process_group(self, 0)
    }
}
