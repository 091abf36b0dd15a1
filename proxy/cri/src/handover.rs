//! Upgrade without a dropped call: a new process takes the listening socket over, and this one ends what it has begun.
//!
//! The socket goes as standard input, so that no descriptor has to be told by number, and the new process says on standard
//! output that it serves. Until then this one does, and it goes on if the new one fails.

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

/// How long a new process has until it serves.
const PATIENCE: Duration = Duration::from_secs(30);
const READY: &str = "serving";
/// What Linux puts behind the name of a program that was replaced.
const DELETED: &str = " (deleted)";

/// The work cannot be handed over; this process goes on with it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandoverError {
    #[error("cannot find our own program")]
    Program(#[source] std::io::Error),
    #[error("cannot share the socket")]
    Share(#[source] std::io::Error),
    #[error("cannot start {}", .0.display())]
    Start(PathBuf, #[source] std::io::Error),
    #[error("the new process does not serve: {0}")]
    NotServing(String),
}

/// Starts the program that is now where ours was, with the same arguments. Returns its process id once it serves.
pub(crate) async fn hand_over(listener: &impl AsFd) -> Result<u32, HandoverError> {
    let program = program().map_err(HandoverError::Program)?;
    let socket = listener.as_fd().try_clone_to_owned().map_err(HandoverError::Share)?;
    let arguments = std::env::args_os().skip(1).filter(|argument| argument != FLAG);
    let mut child = Command::new(&program)
        .args(arguments)
        .arg(FLAG)
        .stdin(Stdio::from(socket))
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|cause| HandoverError::Start(program.clone(), cause))?;
    let failed = |why: &str| HandoverError::NotServing(why.to_owned());
    let output = child.stdout.take().ok_or_else(|| failed("it has no output"))?;
    let mut line = String::new();
    let mut output = BufReader::new(output);
    let said = tokio::time::timeout(PATIENCE, output.read_line(&mut line)).await;
    let why = match said {
        Ok(Ok(_)) if line.trim_end() == READY => return child.id().ok_or_else(|| failed("it has ended")),
        Ok(Ok(_)) => "it has ended".to_owned(),
        Ok(Err(error)) => error.to_string(),
        Err(_elapsed) => format!("nothing was heard of it in {} s", PATIENCE.as_secs()),
    };
    let _ = child.kill().await;
    Err(HandoverError::NotServing(why))
}

/// The argument that tells a process that it takes over.
pub(crate) const FLAG: &str = "--take-over";

/// The socket that was handed to this process.
pub(crate) fn inherited() -> std::io::Result<UnixListener> {
    let socket: OwnedFd = std::io::stdin().as_fd().try_clone_to_owned()?;
    let listener = UnixListener::from(socket);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Tells the process that handed over that this one serves.
pub(crate) fn notify_ready() -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{READY}")?;
    output.flush()
}

fn program() -> std::io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    Ok(match path.to_str().and_then(|path| path.strip_suffix(DELETED)) {
        Some(replaced) => PathBuf::from(replaced),
        None => path,
    })
}
