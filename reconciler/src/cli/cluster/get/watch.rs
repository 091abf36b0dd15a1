//! `reeve get --watch`: each row again when it changes, for as long as someone looks.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use futures::stream::{BoxStream, StreamExt as _, select_all};
use kube::runtime::{WatchStreamExt as _, watcher};
use reeve_crds::{GitSource, Inventory, Runtime, RuntimeComponent, ScalingRule};

use super::super::cell::Cell;
use super::super::connection::Connection;
use super::super::error::broken_watch;
use super::super::governed::{Governed, Shown};
use super::super::item::{Item, View};
use super::super::warn;
use super::{Looking, Printer};
use crate::cli::args::cluster::{GetFormat, GetKind};
use crate::cli::failure::Failure;
use crate::cli::{Status, Terminal};

type Key = (u8, String, String);
type Events = BoxStream<'static, Result<(u8, watcher::Event<Item>), watcher::Error>>;

/// Goes on until it is ended from outside.
pub(super) async fn run(looking: &Looking<'_>, items: Vec<Item>, mut printer: Printer<'_>) -> Result<Status, Failure> {
    printer.terminal.out.flush()?;
    let mut known = Known::new(items, &looking.args.names);
    let mut events = select_all(streams(looking));
    let mut told = false;
    while let Some(event) = events.next().await {
        match event {
            Ok((place, event)) => {
                told = false;
                for item in known.on_event(place, event, looking.view) {
                    printer.item(&item, Connection::now())?;
                }
                printer.terminal.out.flush()?;
            }
            Err(error) => print_error(&error, &mut told, printer.terminal),
        }
    }
    Ok(Status::Fine)
}

fn print_error(error: &watcher::Error, told: &mut bool, terminal: &Terminal) {
    if !*told {
        *told = true;
        warn(terminal, &format!("the watch broke and is tried again: {}", broken_watch(error)));
    }
}

fn streams(looking: &Looking<'_>) -> Vec<Events> {
    match looking.args.kind {
        None => {
            vec![mixed::<GitSource>(looking, 0), mixed::<Runtime>(looking, 1), mixed::<RuntimeComponent>(looking, 2)]
        }
        Some(GetKind::Sources) => vec![single::<GitSource>(looking, 0)],
        Some(GetKind::Runtimes) => vec![single::<Runtime>(looking, 1)],
        Some(GetKind::Components) => vec![single::<RuntimeComponent>(looking, 2)],
        Some(GetKind::Inventory) => vec![single::<Inventory>(looking, 3)],
        Some(GetKind::Scaling) => vec![single::<ScalingRule>(looking, 4)],
    }
}

fn mixed<K: Governed>(looking: &Looking<'_>, place: u8) -> Events {
    let view = looking.view;
    stream(looking, place, move |object: K| view.mixed_item(place, object))
}

fn single<K: Shown>(looking: &Looking<'_>, place: u8) -> Events {
    let view = looking.view;
    stream(looking, place, move |object: K| view.item(place, object))
}

fn stream<K: Shown>(looking: &Looking<'_>, place: u8, item: impl Fn(K) -> Item + Send + 'static) -> Events {
    let objects = watcher(looking.connection.api::<K>(&looking.scope), watcher::Config::default());
    let events = objects.default_backoff().map(move |event| {
        Ok((
            place,
            match event? {
                watcher::Event::Apply(object) => watcher::Event::Apply(item(object)),
                watcher::Event::Delete(object) => watcher::Event::Delete(item(object)),
                watcher::Event::Init => watcher::Event::Init,
                watcher::Event::InitApply(object) => watcher::Event::InitApply(item(object)),
                watcher::Event::InitDone => watcher::Event::InitDone,
            },
        ))
    });
    events.boxed()
}

/// What was printed last of each object.
struct Known<'a> {
    items: BTreeMap<Key, Item>,
    /// Seen since the watch of a kind began anew.
    seen: BTreeSet<Key>,
    names: &'a [String],
}

impl<'a> Known<'a> {
    fn new(items: Vec<Item>, names: &'a [String]) -> Self {
        Self { items: items.into_iter().map(|item| (item.key.clone(), item)).collect(), seen: BTreeSet::new(), names }
    }

    /// What is to be printed after an event.
    fn on_event(&mut self, place: u8, event: watcher::Event<Item>, view: View) -> Vec<Item> {
        match event {
            watcher::Event::Init => {
                self.seen.retain(|(kind, _, _)| *kind != place);
                Vec::new()
            }
            watcher::Event::Apply(item) | watcher::Event::InitApply(item) => {
                self.seen.insert(item.key.clone());
                self.changed(item).into_iter().collect()
            }
            watcher::Event::Delete(item) => self.gone(&item.key, view).into_iter().collect(),
            watcher::Event::InitDone => {
                let of_kind = self.items.keys().filter(|key| key.0 == place && !self.seen.contains(*key));
                let gone: Vec<_> = of_kind.cloned().collect();
                gone.iter().filter_map(|key| self.gone(key, view)).collect()
            }
        }
    }

    fn changed(&mut self, item: Item) -> Option<Item> {
        if !self.names.is_empty() && !self.names.contains(&item.key.2) {
            return None;
        }
        let before = self.items.insert(item.key.clone(), item.clone());
        let same = before.is_some_and(|before| before.cells == item.cells && before.object == item.object);
        (!same).then_some(item)
    }

    /// The last that was known, with a word that says that it is no more.
    fn gone(&mut self, key: &Key, view: View) -> Option<Item> {
        let mut item = self.items.remove(key)?;
        if matches!(view.format, GetFormat::Table | GetFormat::Wide)
            && let Some(message) = item.cells.last_mut()
        {
            *message = Cell::Text("deleted".to_owned());
        }
        Some(item)
    }
}
