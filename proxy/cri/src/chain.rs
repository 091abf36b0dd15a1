//! The plugins of one call, one after the other: who sees what, whose change counts, and what a refusal or failure means.
//!
//! Pure: it is told what plugins said and says what to do next. Whoever drives it sends and waits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tonic::{Code, Status};

use crate::field::{self, Changes, Field, Fields, Value};
use crate::hook::Hook;
use crate::registration::Registration;
use crate::settings::{ConflictPolicy, FailurePolicy, Mode, Part};

/// Kubelet knows its pods and containers by labels and annotations with this prefix.
const GUARDED: &str = "io.kubernetes.";

/// What is known of a call before the first plugin is asked.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) hook: Hook,
    /// What the call sets.
    pub(crate) fields: Fields,
    /// The cgroup parent that kubelet chose: a plugin may only go below it.
    pub(crate) cgroup_parent: String,
    /// Names of plugins whose failure never refuses it, so that a node can always start what it needs.
    pub(crate) exempt: BTreeSet<String>,
    /// When the time that plugins have together is over.
    pub(crate) deadline: Instant,
}

/// What a plugin made of being asked.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Changes(Changes),
    /// It refuses the call.
    Denied(Status),
    /// It failed, or answered nonsense.
    Failed(String),
    /// It did not answer in time.
    TimedOut(String),
}

/// What to do next.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    /// Ask this plugin, show it these fields, and wait no longer than that.
    Ask {
        plugin: usize,
        shown: Fields,
        timeout: Duration,
    },
    /// All were asked: go on with the call.
    Forward,
    Refuse(Status),
}

/// Something to record: who did what to which field, or why it was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    Changed {
        plugin: String,
        field: Field,
        old: Option<Value>,
        new: Option<Value>,
    },
    /// What a plugin in audit mode would have changed.
    Audited {
        plugin: String,
        field: Field,
        old: Option<Value>,
        new: Option<Value>,
    },
    /// Its mask does not allow it.
    NotAllowed {
        plugin: String,
        field: Field,
    },
    /// Another plugin owns the field, and keeps it.
    Kept {
        plugin: String,
        field: Field,
        owner: String,
    },
    /// It took the field over from another.
    Overruled {
        plugin: String,
        field: Field,
        owner: String,
    },
    Failed {
        plugin: String,
        reason: String,
    },
    Denied {
        plugin: String,
        reason: String,
    },
}

/// A call on its way through the plugins.
#[derive(Debug)]
pub(crate) struct Chain {
    call: Call,
    plugins: Vec<Arc<Registration>>,
    next: usize,
    changes: Changes,
    owners: BTreeMap<Field, String>,
    notes: Vec<Note>,
}

impl Chain {
    pub(crate) fn new(call: Call, plugins: Vec<Arc<Registration>>) -> Self {
        Self { call, plugins, next: 0, changes: Changes::new(), owners: BTreeMap::new(), notes: Vec::new() }
    }

    /// What the call sets now.
    pub(crate) fn fields(&self) -> &Fields {
        &self.call.fields
    }

    /// All that plugins changed.
    pub(crate) fn changes(&self) -> &Changes {
        &self.changes
    }

    pub(crate) fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Begins.
    pub(crate) fn begin(&self, now: Instant) -> Effect {
        self.proceed(now)
    }

    /// Takes the answer of the plugin that was asked last.
    pub(crate) fn step(&mut self, answer: Answer, now: Instant) -> Effect {
        let Some(plugin) = self.plugins.get(self.next).cloned() else { return Effect::Forward };
        self.next += 1;
        let verdict = match answer {
            Answer::Changes(changes) => self.merge(&plugin, changes).err(),
            Answer::Failed(reason) | Answer::TimedOut(reason) => Some(reason),
            Answer::Denied(status) => {
                self.notes.push(Note::Denied { plugin: plugin.name.clone(), reason: status.message().to_owned() });
                if plugin.mode == Mode::Enforce && !self.call.hook.is_post() {
                    return Effect::Refuse(Status::new(
                        status.code(),
                        format!("plugin {} refuses {}: {}", plugin.name, self.call.hook.name(), status.message()),
                    ));
                }
                None
            }
        };
        match verdict {
            Some(reason) => self.failed(&plugin, reason, now),
            None => self.proceed(now),
        }
    }

    fn failed(&mut self, plugin: &Registration, reason: String, now: Instant) -> Effect {
        let policy = plugin.hooks.get(&self.call.hook).map(|rule| rule.policy).unwrap_or_default();
        let message = format!("plugin {} failed on {}: {reason}", plugin.name, self.call.hook.name());
        self.notes.push(Note::Failed { plugin: plugin.name.clone(), reason });
        match policy {
            FailurePolicy::Fail if plugin.mode == Mode::Enforce && !self.call.exempt.contains(&plugin.name) => {
                Effect::Refuse(Status::new(Code::Unavailable, message))
            }
            FailurePolicy::Fail | FailurePolicy::Ignore => self.proceed(now),
        }
    }

    fn proceed(&self, now: Instant) -> Effect {
        let Some(plugin) = self.plugins.get(self.next) else { return Effect::Forward };
        let shown = self.call.fields.iter().filter_map(|(field, value)| show(plugin, field, value)).collect();
        let left = self.call.deadline.saturating_duration_since(now);
        let timeout = plugin.hooks.get(&self.call.hook).map_or(left, |rule| rule.timeout.min(left));
        Effect::Ask { plugin: self.next, shown, timeout }
    }

    /// Makes the changes of a plugin, all or, if one of them is wrong, none.
    fn merge(&mut self, plugin: &Registration, changes: Changes) -> Result<(), String> {
        // The call is over: there is nothing to change.
        if self.call.hook.is_post() {
            return Ok(());
        }
        let (mut accepted, mut notes) = (Changes::new(), Vec::new());
        for (field, new) in changes {
            let name = plugin.name.clone();
            if !plugin.may_write(Part::of(&field)) {
                notes.push(Note::NotAllowed { plugin: name, field });
                continue;
            }
            self.check(&field, new.as_ref())?;
            let old = self.call.fields.get(&field).cloned();
            if let Some(owner) = self.owners.get(&field).filter(|owner| **owner != name).cloned() {
                match plugin.conflicts {
                    ConflictPolicy::Fail => return Err(format!("{field} was set by plugin {owner} already")),
                    ConflictPolicy::First => {
                        notes.push(Note::Kept { plugin: name, field, owner });
                        continue;
                    }
                    ConflictPolicy::Last => {
                        notes.push(Note::Overruled { plugin: name.clone(), field: field.clone(), owner });
                    }
                }
            }
            notes.push(match plugin.mode {
                Mode::Enforce => Note::Changed { plugin: name, field: field.clone(), old, new: new.clone() },
                Mode::Audit => Note::Audited { plugin: name, field: field.clone(), old, new: new.clone() },
            });
            accepted.insert(field, new);
        }
        self.notes.append(&mut notes);
        if plugin.mode == Mode::Enforce {
            field::apply(&mut self.call.fields, &accepted);
            self.owners.extend(accepted.keys().map(|field| (field.clone(), plugin.name.clone())));
            self.changes.extend(accepted);
        }
        Ok(())
    }

    /// Whether anybody may change the field so, in this call.
    fn check(&self, field: &Field, new: Option<&Value>) -> Result<(), String> {
        let hook = self.call.hook;
        if !can_change(hook, field) {
            return Err(format!("{field} cannot be changed at {}", hook.name()));
        }
        match field {
            Field::PodLabel(key) | Field::PodAnnotation(key) | Field::ContainerAnnotation(key)
                if key.starts_with(GUARDED) =>
            {
                Err(format!("{field} belongs to kubelet"))
            }
            Field::CgroupParent => {
                let kubelets = &self.call.cgroup_parent;
                let Some(Value::Text(path)) = new else {
                    return Err("the cgroup parent cannot be taken away".to_owned());
                };
                if is_below(path, kubelets) {
                    Ok(())
                } else {
                    Err(format!("cgroup parent {path} is not below {kubelets}"))
                }
            }
            Field::OomScoreAdj => match new {
                Some(Value::Number(number)) if !(-1000..=1000).contains(number) => {
                    Err(format!("oom_score_adj {number} is not between -1000 and 1000"))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// Whether a control group is inside another.
pub(crate) fn is_below(path: &str, parent: &str) -> bool {
    let rest = path.strip_prefix(parent.trim_end_matches('/'));
    let is_inside = rest.is_some_and(|rest| rest.starts_with('/') && rest.len() > 1);
    !parent.is_empty() && is_inside && !path.split('/').any(|part| part == "..")
}

/// Whether the call can carry a change of the field.
fn can_change(hook: Hook, field: &Field) -> bool {
    match hook {
        Hook::PreRunPodSandbox => {
            field.is_resource() || matches!(field, Field::PodLabel(_) | Field::PodAnnotation(_) | Field::CgroupParent)
        }
        Hook::PreCreateContainer => {
            field.is_resource() || matches!(field, Field::ContainerAnnotation(_) | Field::Env(_) | Field::CgroupParent)
        }
        Hook::PreStartContainer | Hook::PreUpdatePodSandboxResources => field.is_resource(),
        Hook::PreUpdateContainerResources => field.is_resource() || matches!(field, Field::ContainerAnnotation(_)),
        Hook::PreRemovePodSandbox
        | Hook::PostStopPodSandbox
        | Hook::PostStartContainer
        | Hook::PostStopContainer
        | Hook::PostRemovePodSandbox
        | Hook::PostRemoveContainer => false,
    }
}

/// What a plugin gets to see of a field.
fn show(plugin: &Registration, field: &Field, value: &Value) -> Option<(Field, Value)> {
    if plugin.may_read(Part::of(field)) {
        return Some((field.clone(), value.clone()));
    }
    let name_only = matches!(field, Field::Env(_)) && plugin.may_read(Part::EnvNames);
    name_only.then(|| (field.clone(), Value::Text(String::new())))
}

#[cfg(test)]
mod tests;
