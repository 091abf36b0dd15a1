//! The signals that ask a process to stop.

use std::fmt;
use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// A signal that asks the process to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Terminate,
}

impl Signal {
    /// The exit status by which shells know a process that this signal ended.
    pub(crate) fn exit_status(self) -> u8 {
        match self {
            Self::Interrupt => 128 + 2,
            Self::Terminate => 128 + 15,
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        })
    }
}

/// Takes the signals over from now on, and a future that forwards them.
pub(crate) fn signals() -> io::Result<(mpsc::Receiver<Signal>, impl Future<Output = ()> + Send + use<>)> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    // The second one ends the process, so more than two are of no interest.
    let (tx, rx) = mpsc::channel(2);
    let forward = async move {
        loop {
            let signal = tokio::select! {
                Some(()) = interrupt.recv() => Signal::Interrupt,
                Some(()) = terminate.recv() => Signal::Terminate,
                else => return,
            };
            if tx.send(signal).await.is_err() {
                return;
            }
        }
    };
    Ok((rx, forward))
}
