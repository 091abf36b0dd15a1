//! A command that goes on, read line by line.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout};

use crate::cli_cluster::fixture::CliFixture;

/// A command that goes on; it ends with this.
pub(crate) struct Watching {
    lines: Lines<BufReader<ChildStdout>>,
    child: Child,
}

impl Watching {
    pub(crate) fn start(fixture: &CliFixture, args: &[&str]) -> Self {
        let mut child = fixture.command(args).stdout(Stdio::piped()).spawn().unwrap();
        Self { lines: BufReader::new(child.stdout.take().unwrap()).lines(), child }
    }

    /// The next line, for which there must be a reason by now.
    pub(crate) async fn line(&mut self) -> String {
        let line = tokio::time::timeout(reeve_tests::PATIENCE, self.lines.next_line());
        line.await.expect("no line came").unwrap().expect("it ended")
    }

    /// The status it ends with by itself.
    pub(crate) async fn end(mut self) -> i32 {
        let end = tokio::time::timeout(reeve_tests::PATIENCE, self.child.wait());
        end.await.expect("it does not end").unwrap().code().unwrap()
    }
}
