//! Which plugins there are, in which order, from the node's hook set and the files of a folder.
//!
//! Order: NodeHooks by order and name, then files by name. Of two registrations with one socket, that of a NodeHook counts.
//! What turns bad keeps its last good version; what is gone is gone at once.

use std::collections::{BTreeMap, BTreeSet};

use crate::hook_set::{HookSet, Limits, NodeHook};
use crate::registration::{Registration, parse};
use crate::share::Share;

mod watch;

pub(crate) use watch::{Places, load, watch};

/// What was read of each file, or why it could not be.
pub(crate) type Files = BTreeMap<String, Result<Vec<u8>, String>>;

/// The registrations in force.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Registry {
    files: BTreeMap<String, Entry>,
    set: HookSet,
    /// What is wrong with the file of the hook set.
    bad_set: Option<String>,
    /// Why this process returned from a revision of a NodeHook, by name and digest.
    returned: BTreeMap<(String, String), String>,
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

/// A registration in force, and for whom.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) registration: Registration,
    pub(crate) share: Share,
    /// What its revision must stay within, while it has not proven itself.
    pub(crate) trial: Option<Trial>,
    /// Commit that its revision comes from, if it is known.
    pub(crate) commit: Option<String>,
}

/// A revision that has not proven itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trial {
    pub(crate) hook: String,
    pub(crate) revision: String,
    pub(crate) limits: Limits,
}

impl Registry {
    /// Takes the folder's files as they are now. Returns what is new to be told.
    pub(crate) fn update_files(&mut self, files: &Files) -> Vec<Report> {
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

    /// Takes the hook set as it is now; `None` means that there is no file. Returns what is new to be told.
    pub(crate) fn update_set(&mut self, text: Option<&Result<Vec<u8>, String>>) -> Option<String> {
        let read = text.map_or_else(
            || Ok(HookSet::default()),
            |text| {
                let text = text.as_ref().map_err(ToString::to_string)?;
                HookSet::parse(text).map_err(|error| reeve_process::error_chain(&error))
            },
        );
        let before = self.bad_set.take();
        match read {
            Ok(set) => {
                self.set = set;
                let known: BTreeSet<_> =
                    self.set.hooks.iter().map(|hook| (hook.name.clone(), hook.current.digest())).collect();
                self.returned.retain(|revision, _| known.contains(revision));
            }
            Err(error) => self.bad_set = Some(format!("{error}; the hook set from before stays in force")),
        }
        self.bad_set.clone().filter(|bad| before.as_ref() != Some(bad))
    }

    /// Has all pods get the last good revision of a NodeHook. False if that is so already, or the revision is not current.
    pub(crate) fn return_to_last_good(&mut self, trial: &Trial, reason: &str) -> bool {
        let Some(hook) = self.set.hooks.iter().find(|hook| hook.name == trial.hook) else { return false };
        if hook.current.digest() != trial.revision || hook.returned.is_some() {
            return false;
        }
        let revision = (trial.hook.clone(), trial.revision.clone());
        self.returned.insert(revision, reason.to_owned()).is_none()
    }

    /// The hook set, with what this process found out about it.
    pub(crate) fn set(&self) -> HookSet {
        let mut set = self.set.clone();
        for hook in &mut set.hooks {
            let revision = (hook.name.clone(), hook.current.digest());
            hook.returned = hook.returned.take().or_else(|| self.returned.get(&revision).cloned());
        }
        set
    }

    /// The plugins in the order in which they are asked.
    pub(crate) fn members(&self) -> Vec<Member> {
        let mut members: Vec<Member> = self.set().hooks.iter().flat_map(of_node_hook).collect();
        let taken: BTreeSet<_> = members.iter().map(|member| member.registration.endpoint.clone()).collect();
        let files = self.files.values().filter_map(|entry| entry.good.as_ref());
        let of_file = |registration: &Registration| Member {
            registration: registration.clone(),
            share: Share::All,
            trial: None,
            commit: None,
        };
        members.extend(files.filter(|file| !taken.contains(&file.endpoint)).map(of_file));
        members
    }

    /// What is wrong with files, and which of them do not count.
    pub(crate) fn reports(&self) -> Vec<Report> {
        let of_hooks: Vec<Member> = self.set().hooks.iter().flat_map(of_node_hook).collect();
        let overruled = |entry: &Entry| {
            let endpoint = &entry.good.as_ref()?.endpoint;
            let owner = of_hooks.iter().find(|member| member.registration.endpoint == *endpoint)?;
            Some(format!("it does not count: plugin {} has the same socket", owner.registration.name))
        };
        let of_file = |(name, entry): (&String, &Entry)| {
            let messages: Vec<String> = entry.told.iter().cloned().chain(overruled(entry)).collect();
            (!messages.is_empty()).then(|| Report { file: name.clone(), message: messages.join("; ") })
        };
        self.files.iter().filter_map(of_file).collect()
    }

    pub(crate) fn bad_set(&self) -> Option<&str> {
        self.bad_set.as_deref()
    }
}

/// The plugins of a NodeHook: those of the revision that is being rolled out, and those that the other pods have.
fn of_node_hook(hook: &NodeHook) -> Vec<Member> {
    let (within, beyond) = match hook.percent {
        _ if hook.returned.is_some() => (None, Some(Share::All)),
        0 => (None, Some(Share::All)),
        100.. => (Some(Share::All), None),
        percent => (Some(Share::Within(percent)), Some(Share::Beyond(percent))),
    };
    let has_limits = hook.limits != Limits::default();
    let trial = (has_limits && !hook.good).then(|| Trial {
        hook: hook.name.clone(),
        revision: hook.current.digest(),
        limits: hook.limits,
    });
    let current = within.map(|share| (&hook.current, share, trial, &hook.commit));
    let last_good = beyond
        .and_then(|share| hook.last_good.as_ref().map(|revision| (revision, share, None, &hook.last_good_commit)));
    let revisions = current.into_iter().chain(last_good);
    revisions
        .flat_map(|(revision, share, trial, commit)| {
            let registrations = Registration::of_revision(&hook.name, revision);
            let member =
                move |registration| Member { registration, share, trial: trial.clone(), commit: commit.clone() };
            registrations.into_iter().map(member)
        })
        .collect()
}

#[cfg(test)]
mod tests;
