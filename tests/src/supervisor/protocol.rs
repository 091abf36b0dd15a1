//! What test and supervising process say to each other: one JSON value per line, a reply to each request.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A program to start and keep until the end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Server {
    pub name: String,
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    /// The name of a server whose network and mount namespaces it joins.
    pub inside: Option<String>,
    /// Gives it, as standard input, a socket that listens on a free loopback port of the host.
    pub listen: bool,
}

impl Server {
    pub fn new(name: &str, program: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            inside: None,
            listen: false,
        }
    }

    #[must_use]
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    #[must_use]
    pub fn inside(mut self, name: Option<&str>) -> Self {
        self.inside = name.map(str::to_owned);
        self
    }

    #[must_use]
    pub(crate) fn listen(mut self) -> Self {
        self.listen = true;
        self
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    Start(Server),
    /// A signal by number, to a server by name.
    Signal(String, i32),
    /// Kills a server and waits until it is gone.
    Kill(String),
    Status(String),
    /// A control group, the same in all hierarchies, to remove at the end.
    OwnCgroup(String),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Done,
    Started {
        pid: i32,
        listens_on: Option<SocketAddr>,
    },
    Running,
    /// How it ended, in words.
    Exited(String),
    Failed(String),
}
