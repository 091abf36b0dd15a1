//! `reeve events`: what Kubernetes keeps of what happened to Reeve's kinds, the newest last.

use std::collections::HashMap;
use std::io::Write as _;

use futures::stream::{StreamExt as _, select_all};
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::jiff::Timestamp;
use kube::api::ListParams;
use kube::runtime::{WatchStreamExt as _, watcher};
use reeve_crds::{GROUP, GitSource, Runtime, RuntimeComponent};

use super::age::age;
use super::connection::Connection;
use super::error::broken_watch;
use super::governed::Shown;
use super::table::{self, Table};
use super::warn;
use crate::cli::args::cluster::{EventsArgs, Format, Noun};
use crate::cli::document;
use crate::cli::failure::Failure;
use crate::cli::style::Paint;
use crate::cli::text::harmless;
use crate::cli::{Status, Terminal};

pub(super) async fn run(args: &EventsArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let connection = Connection::open(&args.connection).await?;
    let scope = connection.scope(args.all_namespaces);
    if let (Some(noun), Some(name)) = (args.noun, &args.name) {
        // Events outlive nothing: that there are none says little of a name that is wrong.
        exists(&connection, noun, name).await?;
    }
    let mut events = Vec::new();
    for selector in selectors(args) {
        events.extend(connection.select::<Event>(&scope, ListParams::default().fields(&selector)).await?);
    }
    events.retain(is_ours);
    if events.is_empty() {
        // Nothing happens where Reeve is not installed, but whoever asks should know why.
        connection.list::<GitSource>(&scope).await?;
    }
    events.sort_by_key(|event| (when(event), event.metadata.name.clone()));
    let mut printer = Printer { table: Table::new(terminal.style), args, terminal };
    printer.list(&events)?;
    if !args.watch {
        if events.is_empty() && args.output == Format::Text {
            writeln!(printer.terminal.out, "nothing is known; Kubernetes keeps events for an hour or so")?;
        }
        return Ok(Status::Fine);
    }
    printer.terminal.out.flush()?;
    let version = |event: &Event| event.metadata.resource_version.clone();
    let mut known: HashMap<_, _> = events.iter().map(|event| (event.metadata.uid.clone(), version(event))).collect();
    let watches = selectors(args).into_iter().map(|selector| {
        let config = watcher::Config::default().fields(&selector);
        watcher(connection.api::<Event>(&scope), config).default_backoff().applied_objects().boxed()
    });
    let mut stream = select_all(watches);
    let mut told = false;
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => {
                told = false;
                if is_ours(&event) && known.insert(event.metadata.uid.clone(), version(&event)) != Some(version(&event))
                {
                    printer.event(&event)?;
                    printer.terminal.out.flush()?;
                }
            }
            Err(error) if !told => {
                told = true;
                warn(printer.terminal, &format!("the watch broke and is tried again: {}", broken_watch(&error)));
            }
            Err(_) => {}
        }
    }
    Ok(Status::Fine)
}

async fn exists(connection: &Connection, noun: Noun, name: &str) -> Result<(), Failure> {
    match noun {
        Noun::Source => connection.get::<GitSource>(name).await.map(drop),
        Noun::Runtime => connection.get::<Runtime>(name).await.map(drop),
        Noun::Component => connection.get::<RuntimeComponent>(name).await.map(drop),
    }
}

/// One for each kind: the API server selects, so that a busy namespace is not read whole.
fn selectors(args: &EventsArgs) -> Vec<String> {
    let kinds: &[&str] = match args.noun {
        None => &["GitSource", "Runtime", "RuntimeComponent", "Inventory"],
        Some(Noun::Source) => &["GitSource"],
        Some(Noun::Runtime) => &["Runtime"],
        Some(Noun::Component) => &["RuntimeComponent"],
    };
    let named = args.name.as_ref().map_or_else(String::new, |name| format!(",involvedObject.name={name}"));
    kinds.iter().map(|kind| format!("involvedObject.kind={kind}{named}")).collect()
}

/// Other groups have kinds of these names too.
fn is_ours(event: &Event) -> bool {
    let version = event.involved_object.api_version.as_deref();
    version.is_some_and(|version| version.split_once('/').is_some_and(|(group, _)| group == GROUP))
}

/// When it happened last.
fn when(event: &Event) -> Option<Timestamp> {
    let series = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref()).map(|time| time.0);
    let last = event.last_timestamp.as_ref().map(|time| time.0);
    let once = event.event_time.as_ref().map(|time| time.0);
    let first = event.first_timestamp.as_ref().or(event.metadata.creation_timestamp.as_ref()).map(|time| time.0);
    series.or(last).or(once).or(first)
}

struct Printer<'a> {
    table: Table,
    args: &'a EventsArgs,
    terminal: &'a mut Terminal,
}

impl Printer<'_> {
    fn list(&mut self, events: &[Event]) -> Result<(), Failure> {
        match self.args.output {
            Format::Json if !self.args.watch => return document::json(&events, self.terminal),
            Format::Yaml if !self.args.watch => return document::yaml(&events, self.terminal),
            Format::Text | Format::Json | Format::Yaml => {}
        }
        let rows: Vec<_> = events.iter().map(|event| self.row(event)).collect();
        if self.args.output == Format::Text && !rows.is_empty() {
            let mut header = vec!["AGE", "TYPE", "REASON", "OBJECT", "MESSAGE"];
            if self.args.all_namespaces {
                header.insert(0, "NAMESPACE");
            }
            let header: Vec<table::Shown> = header.into_iter().map(|name| (name.to_owned(), None)).collect();
            self.table.fit(&header);
            for row in &rows {
                self.table.fit(row);
            }
            self.terminal.out.write_all(self.table.line(&header).as_bytes())?;
        }
        events.iter().try_for_each(|event| self.event(event))
    }

    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        match self.args.output {
            Format::Text => {
                let row = self.row(event);
                self.table.fit(&row);
                self.terminal.out.write_all(self.table.line(&row).as_bytes())?;
            }
            Format::Json => document::json_line(event, self.terminal)?,
            Format::Yaml => document::yaml(event, self.terminal)?,
        }
        Ok(())
    }

    fn row(&self, event: &Event) -> Vec<table::Shown> {
        let plain = |text: Option<&str>| (harmless(text.unwrap_or("-")).into_owned(), None);
        let ago = when(event).map_or_else(|| "-".to_owned(), |when| age(when, Connection::now()));
        let kind = match event.involved_object.kind.as_deref() {
            Some("GitSource") => GitSource::WORD,
            Some("Runtime") => Runtime::WORD,
            Some("RuntimeComponent") => RuntimeComponent::WORD,
            other => other.unwrap_or("-"),
        };
        let object = format!("{kind}/{}", event.involved_object.name.as_deref().unwrap_or("-"));
        let times =
            event.count.filter(|count| *count > 1).map_or_else(String::new, |count| format!(" ({count} times)"));
        let message = format!("{}{times}", event.message.as_deref().unwrap_or_default().trim());
        let mut kind = plain(event.type_.as_deref());
        kind.1 = (event.type_.as_deref() == Some("Warning")).then_some(Paint::Warning);
        let mut row =
            vec![(ago, None), kind, plain(event.reason.as_deref()), plain(Some(&object)), plain(Some(&message))];
        if self.args.all_namespaces {
            row.insert(0, plain(event.metadata.namespace.as_deref()));
        }
        row
    }
}
