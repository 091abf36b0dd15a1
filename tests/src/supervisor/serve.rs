//! The supervising process: one thread that starts, reaps and ends; another that only reads requests.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal};

use super::family;
use super::protocol::{Reply, Request, Server};
use crate::cgroup;
use crate::run_folder::RunFolder;

const END_LIMIT: Duration = Duration::from_secs(20);

/// Serves requests from standard input until it closes; then ends and removes all that came of them.
pub(crate) fn serve(folder: &Path) -> Result<()> {
    let folder = RunFolder::own(folder)?;
    family::adopt_orphans().context("cannot adopt orphaned processes")?;
    let mut house = House { folder: folder.path().to_owned(), ..House::default() };

    let (tx, rx) = mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if tx.send(line).is_err() {
                break;
            }
        }
    });
    loop {
        house.reap();
        match rx.recv_timeout(Duration::from_millis(50)) {
            Ok(line) => {
                let reply = house.answer(&line).unwrap_or_else(|error| Reply::Failed(format!("{error:#}")));
                let mut out = std::io::stdout().lock();
                // A test that has gone away does not read its reply; the closed pipe is seen next.
                let _ =
                    serde_json::to_writer(&mut out, &reply).map(|()| out.write_all(b"\n").and_then(|()| out.flush()));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let ended = family::end(END_LIMIT);
    for group in &house.cgroups {
        cgroup::remove(group);
    }
    folder.remove()?;
    if !ended {
        bail!("some processes below {} did not end", std::process::id());
    }
    Ok(())
}

#[derive(Default)]
struct House {
    folder: PathBuf,
    servers: BTreeMap<String, Standing>,
    cgroups: Vec<String>,
}

enum Standing {
    Running(Pid),
    Exited(String),
}

impl House {
    fn reap(&mut self) {
        while let Some((pid, status)) = family::reap() {
            let ours = self.servers.values_mut().find(|standing| matches!(standing, Standing::Running(p) if *p == pid));
            if let Some(standing) = ours {
                *standing = Standing::Exited(family::describe(status));
            }
        }
    }

    fn answer(&mut self, line: &str) -> Result<Reply> {
        match serde_json::from_str(line).context("cannot read the request")? {
            Request::Start(server) => self.start(&server),
            Request::Signal(name, number) => {
                let signal = Signal::from_named_raw(number).context("no such signal")?;
                rustix::process::kill_process(self.pid(&name)?, signal).context("cannot signal")?;
                Ok(Reply::Done)
            }
            Request::Kill(name) => self.kill(&name),
            Request::Status(name) => match self.servers.get(&name) {
                Some(Standing::Running(_)) => Ok(Reply::Running),
                Some(Standing::Exited(how)) => Ok(Reply::Exited(how.clone())),
                None => bail!("{name} was never started"),
            },
            Request::OwnCgroup(path) => {
                self.cgroups.push(path);
                Ok(Reply::Done)
            }
        }
    }

    fn pid(&self, name: &str) -> Result<Pid> {
        match self.servers.get(name) {
            Some(Standing::Running(pid)) => Ok(*pid),
            Some(Standing::Exited(how)) => bail!("{name} {how}"),
            None => bail!("{name} was never started"),
        }
    }

    fn start(&mut self, server: &Server) -> Result<Reply> {
        if let Some(Standing::Running(_)) = self.servers.get(&server.name) {
            bail!("{} runs already", server.name);
        }
        let mut command = self.command(server)?;
        let mut listens_on = None;
        if server.listen {
            let (socket, address) = listener()?;
            command.stdin(socket);
            listens_on = Some(address);
        }
        let child = command.spawn().with_context(|| format!("cannot start {}", server.program.display()))?;
        let pid = Pid::from_child(&child);
        self.servers.insert(server.name.clone(), Standing::Running(pid));
        Ok(Reply::Started { pid: pid.as_raw_nonzero().get(), listens_on })
    }

    /// The server's own command behind `setpriv` (it dies with us, should we be killed) and, if asked, `nsenter`. Both
    /// replace themselves by what they start, so the process id is the server's.
    fn command(&self, server: &Server) -> Result<Command> {
        let log_file = self.folder.join("logs").join(format!("{}.log", server.name));
        let log = File::options()
            .create(true)
            .append(true)
            .open(&log_file)
            .with_context(|| format!("cannot write {}", log_file.display()))?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]);
        if let Some(holder) = &server.inside {
            let pid = self.pid(holder)?.as_raw_nonzero().get();
            command.args(["nsenter", "--target", &pid.to_string(), "--net", "--mount", "--"]);
        }
        command
            .arg(&server.program)
            .args(&server.args)
            .envs(server.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone().context("cannot share the log")?)
            .stderr(log);
        Ok(command)
    }

    fn kill(&mut self, name: &str) -> Result<Reply> {
        let pid = self.pid(name)?;
        rustix::process::kill_process(pid, Signal::KILL).context("cannot kill")?;
        let deadline = Instant::now() + END_LIMIT;
        while let Some(Standing::Running(_)) = self.servers.get(name) {
            if Instant::now() > deadline {
                bail!("{name} does not die");
            }
            std::thread::sleep(Duration::from_millis(2));
            self.reap();
        }
        Ok(Reply::Done)
    }
}

fn listener() -> Result<(OwnedFd, SocketAddr)> {
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen on loopback")?;
    let address = listener.local_addr().context("cannot read the port")?;
    Ok((listener.into(), address))
}
