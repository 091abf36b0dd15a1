//! `reeve get`: what there is and how it is doing, as rows, documents or names.

use std::io::Write as _;

use k8s_openapi::jiff::Timestamp;
use reeve_crds::{GitSource, Inventory, Runtime, RuntimeComponent, ScalingRule, State};
use serde_json::json;

use super::cell::severity;
use super::connection::{Connection, Scope, missing};
use super::governed::{Governed, Shown};
use super::item::{Item, View};
use super::table::{self, Table};
use crate::cli::args::cluster::{GetArgs, GetFormat, GetKind, Sorting, width};
use crate::cli::document;
use crate::cli::failure::Failure;
use crate::cli::{Status, Terminal};

mod watch;

pub(super) async fn run(args: &GetArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let connection = Connection::open(&args.connection).await?;
    let looking = Looking {
        scope: connection.scope(args.all_namespaces),
        view: View { mixed: args.kind.is_none(), namespaces: args.all_namespaces, format: args.output },
        connection,
        args,
    };
    let mut items = looking.items().await?;
    if args.sort == Sorting::State {
        items.sort_by_key(|item| item.standing.map(severity));
    }
    let mut printer = Printer::new(looking.header(), looking.view, args.watch, terminal);
    printer.list(&items, Connection::now())?;
    if args.watch {
        return watch::run(&looking, items, printer).await;
    }
    if items.is_empty() && matches!(args.output, GetFormat::Table | GetFormat::Wide) {
        writeln!(terminal.out, "{}", nothing(&looking))?;
    }
    let fine = items.iter().all(|item| item.standing.is_none_or(|state| state == State::Ready));
    Ok(if fine { Status::Fine } else { Status::Findings })
}

fn nothing(looking: &Looking<'_>) -> String {
    let what = match looking.args.kind {
        None => "sources, runtimes or components",
        Some(GetKind::Sources) => "sources",
        Some(GetKind::Runtimes) => "runtimes",
        Some(GetKind::Components) => "components",
        Some(GetKind::Inventory) => "inventory",
        Some(GetKind::Scaling) => "scaling rules",
    };
    match &looking.scope {
        Scope::Namespace(namespace) => format!("no {what} in namespace {namespace}"),
        Scope::All => format!("no {what}"),
    }
}

/// What is looked for, and where.
struct Looking<'a> {
    connection: Connection,
    scope: Scope,
    view: View,
    args: &'a GetArgs,
}

impl Looking<'_> {
    fn header(&self) -> Vec<&'static str> {
        match self.args.kind {
            None | Some(GetKind::Sources) => self.view.header::<GitSource>(),
            Some(GetKind::Runtimes) => self.view.header::<Runtime>(),
            Some(GetKind::Components) => self.view.header::<RuntimeComponent>(),
            Some(GetKind::Inventory) => self.view.header::<Inventory>(),
            Some(GetKind::Scaling) => self.view.header::<ScalingRule>(),
        }
    }

    async fn items(&self) -> Result<Vec<Item>, Failure> {
        match self.args.kind {
            None => {
                let mut items = self.mixed::<GitSource>(0).await?;
                items.extend(self.mixed::<Runtime>(1).await?);
                items.extend(self.mixed::<RuntimeComponent>(2).await?);
                Ok(items)
            }
            Some(GetKind::Sources) => self.of_kind::<GitSource>(0).await,
            Some(GetKind::Runtimes) => self.of_kind::<Runtime>(1).await,
            Some(GetKind::Components) => self.of_kind::<RuntimeComponent>(2).await,
            Some(GetKind::Inventory) => self.of_kind::<Inventory>(3).await,
            Some(GetKind::Scaling) => self.of_kind::<ScalingRule>(4).await,
        }
    }

    async fn mixed<K: Governed>(&self, place: u8) -> Result<Vec<Item>, Failure> {
        let objects = self.connection.list::<K>(&self.scope).await?;
        Ok(objects.into_iter().map(|object| self.view.mixed_item(place, object)).collect())
    }

    /// All of a kind, or those that are named; each of these must be there.
    async fn of_kind<K: Shown>(&self, place: u8) -> Result<Vec<Item>, Failure> {
        let objects = self.connection.list::<K>(&self.scope).await?;
        let named = |name: &String, object: &K| object.meta().name.as_ref() == Some(name);
        for name in &self.args.names {
            if !objects.iter().any(|object| named(name, object)) {
                return Err(missing(name, &objects, &self.connection.namespace));
            }
        }
        let wanted = objects.into_iter().filter(|object| self.is_wanted(object));
        Ok(wanted.map(|object| self.view.item(place, object)).collect())
    }

    fn is_wanted<K: Shown>(&self, object: &K) -> bool {
        let name = object.meta().name.as_ref();
        self.args.names.is_empty() || self.args.names.iter().any(|wanted| Some(wanted) == name)
    }
}

/// Writes items as they are asked for.
struct Printer<'a> {
    header: Vec<&'static str>,
    table: Table,
    view: View,
    /// Whether more rows will come.
    goes_on: bool,
    terminal: &'a mut Terminal,
}

impl<'a> Printer<'a> {
    fn new(header: Vec<&'static str>, view: View, goes_on: bool, terminal: &'a mut Terminal) -> Self {
        let screen = if view.format == GetFormat::Table { width() } else { None };
        let mut table = Table::new(terminal.style).on_screen(screen);
        if goes_on {
            table.fit(&typical(&header, view.mixed));
        }
        Self { header, table, view, goes_on, terminal }
    }

    /// All that there is at first.
    fn list(&mut self, items: &[Item], now: Timestamp) -> Result<(), Failure> {
        match self.view.format {
            GetFormat::Table | GetFormat::Wide => {
                let rows: Vec<_> = items.iter().map(|item| row(item, now)).collect();
                let header: Vec<table::Shown> = self.header.iter().map(|name| ((*name).to_owned(), None)).collect();
                if !rows.is_empty() || self.goes_on {
                    self.table.fit(&header);
                    for row in &rows {
                        self.table.fit(row);
                    }
                    let has_message = |row: &Vec<table::Shown>| row.last().is_some_and(|(text, _)| !text.is_empty());
                    let tailed = self.goes_on || rows.iter().any(has_message);
                    let shown =
                        if tailed { &header[..] } else { header.split_last().map_or(&[][..], |(_, rest)| rest) };
                    self.terminal.out.write_all(self.table.line(shown).as_bytes())?;
                }
                rows.iter().try_for_each(|row| self.terminal.out.write_all(self.table.line(row).as_bytes()))?;
            }
            GetFormat::Json if !self.goes_on => {
                let objects: Vec<_> = items.iter().filter_map(|item| item.object.as_ref()).collect();
                let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
                document::json(&list, self.terminal)?;
            }
            GetFormat::Json | GetFormat::Yaml | GetFormat::Name => {
                items.iter().try_for_each(|item| self.item(item, now))?;
            }
        }
        Ok(())
    }

    /// One that changed.
    fn item(&mut self, item: &Item, now: Timestamp) -> Result<(), Failure> {
        match self.view.format {
            GetFormat::Table | GetFormat::Wide => {
                let row = row(item, now);
                self.table.fit(&row);
                self.terminal.out.write_all(self.table.line(&row).as_bytes())?;
            }
            GetFormat::Json => document::json_line(&item.object, self.terminal)?,
            GetFormat::Yaml => document::yaml(&item.object, self.terminal)?,
            GetFormat::Name => writeln!(self.terminal.out, "{}", item.full_name)?,
        }
        Ok(())
    }
}

/// Room for what rows will say later, so that columns stay below each other.
fn typical(header: &[&str], mixed: bool) -> Vec<table::Shown> {
    let text = |name: &&str| match *name {
        "NAME" if mixed => "component/eu-1.hello".to_owned(),
        "STATE" => "Processing".to_owned(),
        "REASON" => "RuntimeNotReady".to_owned(),
        "REVISION" => "main@0123456789ab".to_owned(),
        "AGE" => "119s".to_owned(),
        other => other.to_owned(),
    };
    header.iter().map(|name| (text(name), None)).collect()
}

fn row(item: &Item, now: Timestamp) -> Vec<table::Shown> {
    item.cells.iter().map(|cell| cell.show(now)).collect()
}
