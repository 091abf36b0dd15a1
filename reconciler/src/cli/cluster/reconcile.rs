//! `reeve reconcile`: asks for a reconciliation now, and stays until it is done if asked to.

use std::io::Write as _;
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::{Patch, PatchParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use reeve_crds::{GitSource, Runtime, RuntimeComponent, State, annotation};
use serde_json::json;

use super::cell::paint;
use super::connection::Connection;
use super::error::broken_watch;
use super::governed::{Governed, reason, standing};
use super::suspend::FIELD_MANAGER;
use super::warn;
use crate::cli::args::cluster::{Noun, ReconcileArgs};
use crate::cli::failure::Failure;
use crate::cli::style::Style;
use crate::cli::text::harmless;
use crate::cli::{Status, Terminal};

mod above;

use above::{Above, Hindrance};

pub(super) async fn run(args: &ReconcileArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let connection = Connection::open(&args.connection).await?;
    let above = Above::of(&connection, args).await?;
    let asking = Asking { connection, args, token: Connection::now().to_string() };
    let all = async {
        if args.with_source && args.noun != Noun::Source {
            let Some(source) = above.source_name() else {
                return Err(Failure::unknown(format!("`{}` comes from no source", args.name), None));
            };
            match asking.of::<GitSource>(source, &Above::default(), Goal::Fetched, terminal).await? {
                Status::Fine => {}
                // What is below it would be reconciled to what was there before.
                status @ (Status::Findings | Status::Incomplete) => return Ok(status),
            }
        }
        match args.noun {
            Noun::Source => asking.of::<GitSource>(&args.name, &above, Goal::Ready, terminal).await,
            Noun::Runtime => asking.of::<Runtime>(&args.name, &above, Goal::Ready, terminal).await,
            Noun::Component => asking.of::<RuntimeComponent>(&args.name, &above, Goal::Ready, terminal).await,
        }
    };
    match tokio::time::timeout(args.timeout, all).await {
        Ok(status) => status,
        Err(_elapsed) => Err(late(args.timeout)),
    }
}

fn late(limit: Duration) -> Failure {
    let message = format!("it was not done within {} s", limit.as_secs());
    let help = "see `reeve get` and `reeve check`: is Reeve running? Or give it longer with --timeout";
    Failure::unknown(message, Some(help.to_owned()))
}

struct Asking<'a> {
    connection: Connection,
    args: &'a ReconcileArgs,
    /// New each time, so that it is seen to be new.
    token: String,
}

impl Asking<'_> {
    async fn of<K: Governed>(
        &self,
        name: &str,
        above: &Above,
        goal: Goal,
        terminal: &mut Terminal,
    ) -> Result<Status, Failure> {
        let before = self.connection.get::<K>(name).await?;
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { annotation::RECONCILE: self.token } } }));
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let api = self.connection.api::<K>(&self.connection.scope(false));
        self.connection.ask(&format!("change {} {name}", K::WORD), api.patch(name, &params, &patch)).await?;
        let hindrance = if before.is_suspended() { Some(Hindrance::own::<K>(name)) } else { above.hindrance() };
        let told = hindrance.as_ref().map_or_else(String::new, |hindrance| format!(", {}", hindrance.sentence()));
        writeln!(terminal.out, "{}/{name} asked{told}", K::WORD)?;
        terminal.out.flush()?;
        match hindrance {
            _ if !self.args.wait => Ok(Status::Fine),
            Some(hindrance) => Err(hindrance.into_failure()),
            None => self.wait(api, name, goal, terminal).await,
        }
    }

    async fn wait<K: Governed>(
        &self,
        api: kube::Api<K>,
        name: &str,
        goal: Goal,
        terminal: &mut Terminal,
    ) -> Result<Status, Failure> {
        let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
        let mut events = watcher(api, config).default_backoff().boxed();
        let mut said = String::new();
        let mut broken = false;
        while let Some(event) = events.next().await {
            match event {
                Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object)) => {
                    broken = false;
                    if object.is_suspended() {
                        return Err(Hindrance::own::<K>(name).into_failure());
                    }
                    let outcome = self.outcome(&object, goal);
                    let line = describe(&object, outcome, terminal.style);
                    if line != said {
                        writeln!(terminal.out, "{}/{name} {line}", K::WORD)?;
                        terminal.out.flush()?;
                        said = line;
                    }
                    match outcome {
                        Outcome::Unseen | Outcome::UnderWay => {}
                        Outcome::Fetched | Outcome::Ready => return Ok(Status::Fine),
                        Outcome::Failed => return Ok(Status::Findings),
                    }
                }
                Ok(watcher::Event::Delete(_)) => {
                    return Err(Failure::unknown(format!("{}/{name} was deleted meanwhile", K::WORD), None));
                }
                Err(error) if !broken => {
                    broken = true;
                    warn(terminal, &format!("the watch broke and is tried again: {}", broken_watch(&error)));
                }
                Ok(watcher::Event::Init | watcher::Event::InitDone) | Err(_) => {}
            }
        }
        Err(late(self.args.timeout))
    }

    /// What became of the request, as the object tells it now.
    fn outcome<K: Governed>(&self, object: &K, goal: Goal) -> Outcome {
        let Some(reported) = object.reported().filter(|reported| reported.handled == Some(&self.token)) else {
            return Outcome::Unseen;
        };
        match (goal, standing(object)) {
            // How the runtimes of a source are doing says nothing of the fetch.
            (Goal::Fetched, _) if reported.is_held_back() => Outcome::Failed,
            (Goal::Fetched, _) => Outcome::Fetched,
            (Goal::Ready, State::Processing) => Outcome::UnderWay,
            (Goal::Ready, State::Ready) => Outcome::Ready,
            (Goal::Ready, _) => Outcome::Failed,
        }
    }
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// The newest commit is in force.
    Fetched,
    /// Nothing is under way any more.
    Ready,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Unseen,
    UnderWay,
    Fetched,
    Ready,
    Failed,
}

fn describe<K: Governed>(object: &K, outcome: Outcome, style: Style) -> String {
    let state = standing(object);
    let (mut line, why) = match outcome {
        Outcome::Unseen => return "waits to be looked at".to_owned(),
        Outcome::Fetched => ("fetched".to_owned(), false),
        Outcome::UnderWay | Outcome::Ready | Outcome::Failed => {
            (style.paint(paint(state), &format!("{state:?}")), true)
        }
    };
    if let Some(reason) = reason(object).filter(|_| why) {
        line.extend([" (", &harmless(&reason), ")"]);
    }
    let ready = object.ready().filter(|_| why);
    line.extend([ready, object.revision()].into_iter().flatten().map(|text| format!(" {}", harmless(text))));
    if let Some(message) = object.message().filter(|_| why && state != State::Ready) {
        line.extend([": ", &harmless(message)]);
    }
    line
}
