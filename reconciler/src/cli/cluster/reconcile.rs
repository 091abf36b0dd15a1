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

pub(super) async fn run(args: &ReconcileArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let connection = Connection::open(&args.connection).await?;
    let asking = Asking { connection, args, token: Connection::now().to_string() };
    let source = match args.noun {
        Noun::Source => Some(args.name.clone()),
        Noun::Runtime => source_of(&asking.connection.get::<Runtime>(&args.name).await?),
        Noun::Component => {
            let component = asking.connection.get::<RuntimeComponent>(&args.name).await?;
            if args.with_source {
                source_of(&asking.connection.get::<Runtime>(&component.spec.runtime).await?)
            } else {
                None
            }
        }
    };
    let all = async {
        match (args.noun, source) {
            (Noun::Source, _) => asking.of::<GitSource>(&args.name, terminal).await,
            (_, None) if args.with_source => {
                Err(Failure::unknown(format!("`{}` comes from no source", args.name), None))
            }
            (noun, Some(source)) if args.with_source => {
                match asking.of::<GitSource>(&source, terminal).await? {
                    Status::Fine => asking.of_noun(noun, terminal).await,
                    // What is below it would be reconciled to what was there before.
                    status @ (Status::Findings | Status::Incomplete) => Ok(status),
                }
            }
            (noun, _) => asking.of_noun(noun, terminal).await,
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

fn source_of(runtime: &Runtime) -> Option<String> {
    runtime.spec.source_ref.as_ref().map(|source| source.name.clone())
}

struct Asking<'a> {
    connection: Connection,
    args: &'a ReconcileArgs,
    /// New each time, so that it is seen to be new.
    token: String,
}

impl Asking<'_> {
    async fn of_noun(&self, noun: Noun, terminal: &mut Terminal) -> Result<Status, Failure> {
        match noun {
            Noun::Source => self.of::<GitSource>(&self.args.name, terminal).await,
            Noun::Runtime => self.of::<Runtime>(&self.args.name, terminal).await,
            Noun::Component => self.of::<RuntimeComponent>(&self.args.name, terminal).await,
        }
    }

    async fn of<K: Governed>(&self, name: &str, terminal: &mut Terminal) -> Result<Status, Failure> {
        let before = self.connection.get::<K>(name).await?;
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { annotation::RECONCILE: self.token } } }));
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let api = self.connection.api::<K>(&self.connection.scope(false));
        self.connection.ask(&format!("change {} {name}", K::WORD), api.patch(name, &params, &patch)).await?;
        let suspended =
            if before.is_suspended() { ", which is suspended: nothing happens until it is resumed" } else { "" };
        writeln!(terminal.out, "{}/{name} asked{suspended}", K::WORD)?;
        terminal.out.flush()?;
        if !self.args.wait {
            return Ok(Status::Fine);
        }
        if before.is_suspended() {
            let help = format!("`reeve resume {} {name}`, and it is reconciled at once", K::WORD);
            return Err(Failure::unknown(
                format!("{}/{name} is suspended: there is nothing to wait for", K::WORD),
                Some(help),
            ));
        }
        self.wait(api, name, terminal).await
    }

    async fn wait<K: Governed>(
        &self,
        api: kube::Api<K>,
        name: &str,
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
                    let handled = object.reported().and_then(|reported| reported.handled) == Some(&self.token);
                    let state = standing(&object);
                    let line = describe(&object, handled, terminal.style);
                    if line != said {
                        writeln!(terminal.out, "{}/{name} {line}", K::WORD)?;
                        terminal.out.flush()?;
                        said = line;
                    }
                    if handled && state != State::Processing {
                        return Ok(if state == State::Ready { Status::Fine } else { Status::Findings });
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
}

fn describe<K: Governed>(object: &K, handled: bool, style: Style) -> String {
    if !handled {
        return "waits to be looked at".to_owned();
    }
    let state = standing(object);
    let mut line = style.paint(paint(state), &format!("{state:?}"));
    if let Some(reason) = reason(object) {
        line.extend([" (", &harmless(&reason), ")"]);
    }
    line.extend([object.ready(), object.revision()].into_iter().flatten().map(|text| format!(" {}", harmless(text))));
    if let Some(message) = object.message().filter(|_| state != State::Ready) {
        line.extend([": ", &harmless(message)]);
    }
    line
}
