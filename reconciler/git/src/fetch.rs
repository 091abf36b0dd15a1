//! Has a repository fetched by a child process, and ends it when it takes too long.
//!
//! The child is killed at the deadline and waited for, and killed too when whoever asked goes away; should this whole
//! process end, the child sees the end of its input and goes as well.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use reeve_crds::Reason;
use reeve_crds::git_source::GitRef;
use reeve_process::secret::scrub;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use super::credentials::{Credentials, Proxy};
use super::failure::{FetchError, NO_ROOM_MESSAGE};
use super::mirror::{CommitFacts, Mirror, Mirrors};
use super::wire::{Answer, Line, Request, Stage, WireLogin, proxy_url};

/// How our own binary is told to be the child.
const SUBCOMMAND: &str = "fetch-child";
/// Bytes that the child may say, on either way.
const LONGEST_ANSWER: u64 = 64 * 1024;
/// Bytes of a message that people are shown.
const LONGEST_MESSAGE: usize = 400;
/// A disk with less room than this is full, when a fetch dies of it.
const NO_ROOM: u64 = 256 * 1024;
/// A write to a file's memory that the disk had no room for.
const SIGBUS: i32 = 7;

/// What to fetch, and how.
#[derive(Clone, Debug)]
pub struct FetchRequest {
    /// Where the repository is.
    pub url: String,
    /// Which revision of it.
    pub reference: GitRef,
    /// How to get in.
    pub credentials: Credentials,
    /// Through which proxy; without one, the variables `https_proxy`, `http_proxy` and `no_proxy` hold.
    pub proxy: Option<Proxy>,
    /// How long it may take, all in all.
    pub timeout: Duration,
    /// The commit that was found the last time.
    pub last_seen: Option<String>,
}

/// What a fetch found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The commit.
    pub commit: CommitFacts,
    /// The tag that was followed, if it was one.
    pub tag: Option<Tag>,
    /// The revision as people say it, such as `main@4f1c2aa90b3d`.
    pub revision: String,
    /// How it stands to the commit that was found the last time.
    pub moved: Moved,
    /// How many objects came over.
    pub received_objects: u64,
    /// How many bytes came over, as far as the transport counts them.
    pub received_bytes: u64,
    /// The mirror was damaged and has been made anew.
    pub rebuilt: bool,
}

/// A tag that was followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// Its short name, such as `v1.4.2`.
    pub name: String,
    /// Its own object, if it is an annotated one.
    pub id: Option<String>,
}

/// How a commit stands to the one that was found before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Moved {
    /// It is the same.
    Unchanged,
    /// It has the former one in its history.
    Forward,
    /// It does not: the branch was force-pushed, or the reference means something else now.
    Rewritten {
        /// The commit that was found before.
        from: String,
    },
    /// There was none before.
    First,
}

impl Mirrors {
    /// Brings the mirror of a repository up to date, and tells which commit the reference means now. Nothing is
    /// transferred when the mirror has it already. When this fails, what was fetched before is as readable as it was.
    pub async fn fetch(&self, request: &FetchRequest) -> Result<Fetched, FetchError> {
        let deadline = Instant::now() + request.timeout;
        let mirror = self.mirror(&request.url);
        let failed = |kind, message: &str| failure(&request.url, kind, message);
        let late = |stage: Stage| {
            let seconds = request.timeout.as_secs_f32();
            failed(Reason::TimedOut, &format!("it took longer than {seconds} s, last {}", stage.words()))
        };
        let Ok(_turn) = timeout_at(deadline, mirror.turn.lock()).await else { return Err(late(Stage::Waiting)) };
        let wire = Request {
            folder: mirror.store.folder().to_owned(),
            url: request.url.clone(),
            reference: request.reference.clone(),
            login: WireLogin::from(&request.credentials),
            authority: request.credentials.authority.clone(),
            proxy: request.proxy.as_ref().map(proxy_url),
            last_seen: request.last_seen.clone(),
            suspect: mirror.damaged.load(Ordering::Relaxed),
        };
        let started = self.start(&mirror);
        let mut child =
            started.map_err(|error| failed(Reason::FetchAborted, &format!("cannot start the fetch: {error}")))?;
        let mut stage = Stage::Waiting;
        let outcome = timeout_at(deadline, run_child(&mut child, &wire, &mut stage)).await;
        match outcome {
            Ok(Ok(Ended::Answered(Line::Done(answer)))) => Ok(mirror.fetched(answer, &request.url)),
            Ok(Ok(Ended::Answered(Line::Failed { kind, message }))) => {
                Err(failed(kind, &wire.without_secrets(&message)))
            }
            Ok(Ok(Ended::Answered(Line::Stage(_)))) => Err(failed(Reason::FetchAborted, "it gave no answer")),
            Ok(Ok(Ended::Died { status, complaint })) => {
                let (kind, message) = mirror.why_it_died(status, &complaint);
                mirror.clean_up().await;
                Err(failed(kind, &wire.without_secrets(&message)))
            }
            Ok(Err(error)) => {
                kill(&mut child).await;
                Err(failed(Reason::FetchAborted, &format!("cannot speak with the fetching process: {error}")))
            }
            Err(_elapsed) => {
                kill(&mut child).await;
                mirror.clean_up().await;
                Err(late(stage))
            }
        }
    }

    fn start(&self, mirror: &Mirror) -> io::Result<Child> {
        Command::new(&self.program)
            .arg(SUBCOMMAND)
            // Neither configuration nor keys of whoever started us; host keys are looked for there, too.
            .env("HOME", mirror.store.home())
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("SSH_AUTH_SOCK")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
    }
}

/// How the child ended.
enum Ended {
    Answered(Line),
    Died { status: ExitStatus, complaint: String },
}

/// Tells the child what to do and hears it out. Its input stays open until it has ended: the end of it is its death.
async fn run_child(child: &mut Child, request: &Request, stage: &mut Stage) -> io::Result<Ended> {
    let taken = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut input), Some(output), Some(complaints)) = taken else {
        return Err(io::Error::other("it has no input or output"));
    };
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    // A child that ended before it read everything says why.
    let sent = input.write_all(&line).await;
    let (heard, complaint) = tokio::join!(read_answer(output, stage), read_complaints(complaints));
    let status = child.wait().await?;
    match heard? {
        Some(answer) => Ok(Ended::Answered(answer)),
        None if status.success() => Err(sent.err().unwrap_or_else(|| io::Error::other("it gave no answer"))),
        None => Ok(Ended::Died { status, complaint }),
    }
}

/// The last word of the child.
async fn read_answer(output: impl AsyncRead + Unpin, stage: &mut Stage) -> io::Result<Option<Line>> {
    let mut lines = BufReader::new(output.take(LONGEST_ANSWER)).lines();
    let mut last = None;
    while let Some(line) = lines.next_line().await? {
        match serde_json::from_str(&line)? {
            Line::Stage(now) => *stage = now,
            word => last = Some(word),
        }
    }
    Ok(last)
}

async fn read_complaints(complaints: impl AsyncRead + Unpin) -> String {
    let mut text = Vec::new();
    // What cannot be read is not worth a second error.
    let _ = complaints.take(LONGEST_ANSWER).read_to_end(&mut text).await;
    String::from_utf8_lossy(&text).into_owned()
}

async fn kill(child: &mut Child) {
    // It may have ended by itself in this moment; then there is nothing to kill, and it is waited for all the same.
    let _ = child.start_kill();
    let _ = child.wait().await;
}

impl Mirror {
    fn fetched(&self, answer: Answer, url: &str) -> Fetched {
        self.damaged.store(false, Ordering::Relaxed);
        if answer.rebuilt {
            warn!(url = %scrub(url), "the mirror was damaged and has been made anew");
        }
        Fetched {
            commit: answer.commit,
            tag: answer.tag,
            revision: answer.revision,
            moved: answer.moved,
            received_objects: answer.received_objects,
            received_bytes: answer.received_bytes,
            rebuilt: answer.rebuilt,
        }
    }

    fn why_it_died(&self, status: ExitStatus, complaint: &str) -> (Reason, String) {
        use std::os::unix::process::ExitStatusExt as _;
        let room = rustix::fs::statvfs(self.store.folder()).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        let is_full = room.is_ok_and(|room| room < NO_ROOM);
        // Nobody killed it: it may have stumbled over what is on disk.
        if status.signal().is_some_and(|signal| signal != rustix::process::Signal::KILL.as_raw()) && !is_full {
            self.damaged.store(true, Ordering::Relaxed);
        }
        if is_full && status.signal() == Some(SIGBUS) {
            return (Reason::DiskFull, NO_ROOM_MESSAGE.to_owned());
        }
        (Reason::FetchAborted, format!("the fetching process ended with {status} {complaint}"))
    }

    /// Removes what a killed child has left, at once and not with the next fetch: it may fill the disk.
    async fn clean_up(&self) {
        let store = self.store.clone();
        let swept = tokio::task::spawn_blocking(move || {
            match store.try_lock() {
                Ok(_held) => store.sweep(),
                // Whoever fetches there now has done it.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
                Err(error) => Err(error),
            }
        });
        if let Ok(Err(error)) = swept.await {
            warn!(%error, folder = %self.store.folder().display(), "cannot clean up after a fetch");
        }
    }
}

fn failure(url: &str, kind: Reason, message: &str) -> FetchError {
    let scrubbed = scrub(message);
    let mut message = scrubbed.split_whitespace().collect::<Vec<_>>().join(" ");
    if message.len() > LONGEST_MESSAGE {
        message.truncate(message.floor_char_boundary(LONGEST_MESSAGE));
        message.push_str(" ...");
    }
    FetchError { reason: kind, url: scrub(url).into_owned(), message }
}
