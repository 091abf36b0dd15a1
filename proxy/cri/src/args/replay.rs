//! The commands that record hooked calls of this host, and replay them against other hooks. They print, since a person or a
//! pipeline reads them.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;

use super::sight::{SocketArgs, block_on};
use crate::hooks::{Difference, Replay, Scope};
use crate::recording::Line;
use crate::registry::{self, Places, Registry};
use crate::state::client;

/// Flags of `record`.
#[derive(Clone, Debug, clap::Args)]
pub struct RecordArgs {
    /// End after so many calls
    #[arg(long, value_name = "NUMBER")]
    pub calls: Option<u64>,

    /// End after this time
    #[arg(long = "for", value_name = "DURATION", value_parser = reeve_process::args::duration)]
    pub duration: Option<Duration>,

    #[command(flatten)]
    pub socket: SocketArgs,
}

/// Flags of `replay`.
#[derive(Clone, Debug, clap::Args)]
pub struct ReplayArgs {
    /// What `record` printed; `-` for standard input
    #[arg(value_name = "CALLS")]
    pub calls: PathBuf,

    /// Hooks to replay against: what `reeve-cri-feed hook-set` prints
    #[arg(long, value_name = "FILE", default_value = "/var/lib/reeve-cri/hooks.json")]
    pub hook_set: PathBuf,

    /// Folder with registration files to replay against, too
    #[arg(long, value_name = "FOLDER")]
    pub hooks_dir: Option<PathBuf>,

    /// As the proxy's own flag
    #[arg(long, value_name = "NAMESPACES", value_delimiter = ',', default_value = "kube-system")]
    pub exempt_namespaces: Vec<String>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What all calls came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Summary {
    calls: usize,
    same: usize,
    differing: usize,
    newly_refused: usize,
    /// Calls in which a plugin would be asked that has no answer in the recording.
    unanswered: usize,
    /// Calls in which a plugin would be shown something else.
    assumed: usize,
    missed: u64,
    differences: Vec<String>,
}

pub(super) fn record(args: &RecordArgs) -> ExitCode {
    let write = |text: &[u8]| std::io::stdout().lock().write_all(text);
    let reading = client::record(&args.socket.state_socket, args.calls, args.duration, write);
    super::sight::ended(block_on(reading))
}

/// Ends with 1 if something would be otherwise, as `diff` does.
pub(super) fn replay(args: &ReplayArgs, skip_label: (String, String)) -> ExitCode {
    match compare(args, skip_label) {
        Ok(summary) => {
            let same = summary.differing == 0 && summary.unanswered == 0;
            let written = print(&summary, args.json);
            if same && written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "reeve-cri: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn compare(args: &ReplayArgs, skip_label: (String, String)) -> anyhow::Result<Summary> {
    let mut registry = Registry::default();
    let text = std::fs::read(&args.hook_set).with_context(|| format!("cannot read {}", args.hook_set.display()))?;
    if let Some(message) = registry.update_set(Some(&Ok(text))) {
        anyhow::bail!("{}: {}", args.hook_set.display(), message.split(';').next().unwrap_or_default());
    }
    if let Some(folder) = &args.hooks_dir {
        let places = Places { folder: folder.clone(), hook_set: args.hook_set.clone() };
        registry::load(&places, &mut registry);
    }
    let scope = Scope { skip_label, exempt_namespaces: args.exempt_namespaces.clone() };
    let (replay, mut summary) = (Replay::new(&registry, scope), Summary::default());
    let reader: Box<dyn BufRead> = if args.calls.as_os_str() == "-" {
        Box::new(BufReader::new(std::io::stdin()))
    } else {
        let file = File::open(&args.calls).with_context(|| format!("cannot read {}", args.calls.display()))?;
        Box::new(BufReader::new(file))
    };
    for (number, line) in reader.lines().enumerate() {
        let at = || format!("{}, line {}", args.calls.display(), number + 1);
        let line = line.with_context(at)?;
        let line: Line = serde_json::from_str(&line).with_context(at)?;
        match line {
            Line::Missed(calls) => summary.missed += calls,
            Line::Call(call) => summary.add(replay.compare(&call)),
        }
    }
    Ok(summary)
}

impl Summary {
    fn add(&mut self, difference: Difference) {
        self.calls += 1;
        self.same += usize::from(difference.lines.is_empty());
        self.differing += usize::from(!difference.lines.is_empty());
        self.newly_refused += usize::from(difference.is_newly_refused);
        self.unanswered += usize::from(!difference.unanswered.is_empty());
        self.assumed += usize::from(!difference.assumed.is_empty());
        self.differences.extend(difference.lines);
    }
}

fn print(summary: &Summary, json: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        return writeln!(out, "{}", serde_json::to_string_pretty(summary).unwrap_or_default());
    }
    for line in &summary.differences {
        writeln!(out, "{line}")?;
    }
    let Summary { calls, same, differing, newly_refused, unanswered, assumed, missed, .. } = summary;
    writeln!(
        out,
        "calls={calls} same={same} differing={differing} refused={newly_refused} unanswered={unanswered} \
         assumed={assumed} missed={missed}"
    )
}
