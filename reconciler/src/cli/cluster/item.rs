//! One object as a row of `reeve get`, whatever its kind.

use reeve_crds::State;
use serde_json::Value;

use super::cell::Cell;
use super::governed::{Governed, Shown, created, reason};
use crate::cli::args::cluster::GetFormat;
use crate::cli::text::cut;

/// A message longer than this is cut, unless the table is wide.
const LONGEST_MESSAGE: usize = 80;

/// How rows are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// Whether several kinds are in one table.
    pub(super) mixed: bool,
    /// Whether several namespaces are.
    pub(super) namespaces: bool,
    pub(super) format: GetFormat,
}

/// One object.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// Tells objects apart: the place of the kind, namespace, name.
    pub(super) key: (u8, String, String),
    pub(super) standing: Option<State>,
    pub(super) cells: Vec<Cell>,
    /// Kind and name as kubectl writes them.
    pub(super) full_name: String,
    /// The whole of it, if it is to be printed so.
    pub(super) object: Option<Value>,
}

const MIXED: &[&str] = &["STATE", "REASON", "READY", "REVISION"];

impl View {
    /// The columns of objects of this kind.
    pub(super) fn header<K: Shown>(self) -> Vec<&'static str> {
        let mut header = if self.namespaces { vec!["NAMESPACE"] } else { Vec::new() };
        header.push("NAME");
        header.extend(if self.mixed { MIXED } else { K::COLUMNS });
        header.push("AGE");
        if self.format == GetFormat::Wide && !self.mixed {
            header.extend(K::WIDE);
        }
        header.push("MESSAGE");
        header
    }

    /// An object of a kind that is listed by itself.
    pub(super) fn item<K: Shown>(self, place: u8, object: K) -> Item {
        let cells = object.cells();
        self.make(place, object, cells)
    }

    /// An object among those of other kinds.
    pub(super) fn mixed_item<K: Governed>(self, place: u8, object: K) -> Item {
        let cells = vec![
            Cell::State(object.standing()),
            Cell::text(reason(&object)),
            Cell::text(object.ready()),
            Cell::text(object.revision()),
        ];
        self.make(place, object, cells)
    }

    fn make<K: Shown>(self, place: u8, mut object: K, own: Vec<Cell>) -> Item {
        let name = object.meta().name.clone().unwrap_or_default();
        let namespace = object.meta().namespace.clone().unwrap_or_default();
        let mut cells = if self.namespaces { vec![Cell::Text(namespace.clone())] } else { Vec::new() };
        cells.push(Cell::Text(if self.mixed { format!("{}/{name}", K::WORD) } else { name.clone() }));
        cells.extend(own);
        cells.push(Cell::Age(created(&object)));
        if self.format == GetFormat::Wide && !self.mixed {
            cells.extend(object.wide());
        }
        cells.push(Cell::Text(self.message(&object)));
        let whole = matches!(self.format, GetFormat::Json | GetFormat::Yaml);
        let standing = object.standing();
        // Who wrote which field is nothing that people look for here, and most of the text.
        object.meta_mut().managed_fields = None;
        let object = whole.then(|| serde_json::to_value(&object).unwrap_or_default());
        let full_name = format!("{}.{}/{name}", K::kind(&()).to_lowercase(), K::group(&()));
        Item { key: (place, namespace, name), standing, cells, full_name, object }
    }

    /// Why something is as it is; nothing if it is well, unless all is to be told.
    fn message<K: Shown>(self, object: &K) -> String {
        let message = object.message().unwrap_or_default();
        if self.format == GetFormat::Wide {
            return message.to_owned();
        }
        match object.standing() {
            None | Some(State::Ready) => String::new(),
            Some(_) => cut(message, LONGEST_MESSAGE).into_owned(),
        }
    }
}
