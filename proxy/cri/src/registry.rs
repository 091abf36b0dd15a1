//! Which plugins there are, in which order, from the files of a folder.
//!
//! Order: by file name. A file that turns bad keeps its last good version; one that is gone is gone at once.

use std::collections::BTreeMap;

use crate::registration::{Registration, parse};

mod watch;

pub(crate) use watch::{load, watch};

/// What was read of each file, or why it could not be.
pub(crate) type Files = BTreeMap<String, Result<Vec<u8>, String>>;

/// The registrations in force.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Registry {
    files: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Entry {
    /// The last version that could be used.
    good: Option<Registration>,
    /// What was told of it last, so that it is not told with every look.
    told: Vec<String>,
}

/// Something to tell about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) file: String,
    pub(crate) message: String,
}

impl Registry {
    /// Takes the folder's files as they are now. Returns what is new to be told.
    pub(crate) fn update(&mut self, files: &Files) -> Vec<Report> {
        let mut reports = Vec::new();
        self.files.retain(|name, _| files.contains_key(name));
        for (name, text) in files {
            let entry = self.files.entry(name.clone()).or_default();
            let told = match text
                .as_ref()
                .map_err(ToString::to_string)
                .and_then(|text| parse(name, text).map_err(|error| error.to_string()))
            {
                Ok((registration, warnings)) => {
                    entry.good = Some(registration);
                    warnings
                }
                Err(error) if entry.good.is_some() => vec![format!("{error}; its last good version stays in force")],
                Err(error) => vec![error],
            };
            if told != entry.told {
                reports.extend(told.iter().map(|message| Report { file: name.clone(), message: message.clone() }));
                entry.told = told;
            }
        }
        reports
    }

    /// The plugins in the order in which they are asked.
    pub(crate) fn plugins(&self) -> impl Iterator<Item = &Registration> {
        self.files.values().filter_map(|entry| entry.good.as_ref())
    }
}

#[cfg(test)]
mod tests;
