//! By which rules a runtime is kept to Git. Each key has the name and the meaning that it has in the kind `Runtime`;
//! whoever applies knows the defaults, so that what no file says stays unsaid.

use std::sync::Arc;

use crate::value::Value;

mod read;
#[cfg(test)]
mod tests;

/// `policy` of a runtime, or `defaults.policy` of the fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// How often whoever applies shows that it lives.
    pub interval: Option<Arc<str>>,
    /// How long a component may take to become healthy.
    pub timeout: Option<Arc<str>>,
    /// Longest pause between two tries of what fails.
    pub max_backoff: Option<Arc<str>>,
    /// How many writes may be under way at once.
    pub concurrency: Option<u8>,
    /// Whether objects that left Git are deleted.
    pub prune: Option<bool>,
    /// What to do about changes by others.
    pub drift: DriftPolicy,
    /// What to do about objects that exist already.
    pub adoption: Option<Adoption>,
    /// What to do when a change touches a field that cannot change.
    pub recreate: Option<Recreate>,
    /// What becomes of the objects when the runtime goes.
    pub deletion_policy: Option<DeletionPolicy>,
    /// How workloads with a Dapr sidecar take over a change.
    pub dapr: DaprPolicy,
}

/// What to do about changes by others to what Reeve owns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriftPolicy {
    /// What to do when a field was changed or removed.
    pub mode: Option<DriftMode>,
    /// How often to compare everything.
    pub full_check_interval: Option<Arc<str>>,
    /// Fields that others may change. An empty list is an answer too.
    pub ignore: Option<Vec<IgnoredFields>>,
}

/// Fields of some objects that others may change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IgnoredFields {
    /// JSON pointers of the fields.
    pub paths: Vec<Arc<str>>,
    /// API group of the objects; every group if there is none.
    pub group: Option<Arc<str>>,
    /// Kind of the objects; every kind if there is none.
    pub kind: Option<Arc<str>>,
    /// Namespace of the objects; every namespace if there is none.
    pub namespace: Option<Arc<str>>,
    /// Name of the objects; every name if there is none.
    pub name: Option<Arc<str>>,
}

/// How workloads with a Dapr sidecar take over a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DaprPolicy {
    /// How a sidecar gets a change.
    pub reload: Option<DaprReload>,
    /// How long to wait for more changes before anything restarts.
    pub settle_time: Option<Arc<str>>,
    /// How long a hot reload may go without proof.
    pub proof_timeout: Option<Arc<str>>,
    /// How many workloads may be restarting at once.
    pub max_concurrent_restarts: Option<u16>,
    /// How often one workload may be restarted within an hour.
    pub max_restarts_per_hour: Option<u8>,
}

/// A closed set of words, each called in files as it is here.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$meaning:meta])* $word:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$meaning])* $word,)+ }

        impl $name {
            const WORDS: &[(&'static str, Self)] = &[$((stringify!($word), Self::$word)),+];

            /// The word in files.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$word => stringify!($word),)+ }
            }
        }
    };
}

words! {
    /// What to do about drift.
    DriftMode {
        /// Put it right.
        Repair,
        /// Tell who did it, change nothing.
        Report,
        /// Do not look.
        Ignore,
    }
}

words! {
    /// What to do about objects that exist already.
    Adoption {
        /// Take them over unless another tool applies them.
        Unowned,
        /// Take them over.
        Always,
        /// Refuse.
        Never,
    }
}

words! {
    /// What to do when a change touches a field that cannot change.
    Recreate {
        /// Fail.
        Never,
        /// Delete the object and create it anew.
        OnImmutable,
    }
}

words! {
    /// What becomes of the objects of a runtime that goes.
    DeletionPolicy {
        /// They stay.
        Orphan,
        /// They are deleted.
        Delete,
    }
}

words! {
    /// How a sidecar gets a change.
    DaprReload {
        /// Hot where the sidecar can, else by a restart.
        Auto,
        /// Always by a restart.
        Restart,
        /// Hot only.
        HotOnly,
        /// Not at all until a person agrees.
        Manual,
    }
}

impl Policy {
    /// This policy where it says something, and the other where it does not.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let text = |own: &Option<Arc<str>>, other: &Option<Arc<str>>| own.as_ref().or(other.as_ref()).cloned();
        Self {
            interval: text(&self.interval, &other.interval),
            timeout: text(&self.timeout, &other.timeout),
            max_backoff: text(&self.max_backoff, &other.max_backoff),
            concurrency: self.concurrency.or(other.concurrency),
            prune: self.prune.or(other.prune),
            drift: DriftPolicy {
                mode: self.drift.mode.or(other.drift.mode),
                full_check_interval: text(&self.drift.full_check_interval, &other.drift.full_check_interval),
                ignore: self.drift.ignore.as_ref().or(other.drift.ignore.as_ref()).cloned(),
            },
            adoption: self.adoption.or(other.adoption),
            recreate: self.recreate.or(other.recreate),
            deletion_policy: self.deletion_policy.or(other.deletion_policy),
            dapr: DaprPolicy {
                reload: self.dapr.reload.or(other.dapr.reload),
                settle_time: text(&self.dapr.settle_time, &other.dapr.settle_time),
                proof_timeout: text(&self.dapr.proof_timeout, &other.dapr.proof_timeout),
                max_concurrent_restarts: self.dapr.max_concurrent_restarts.or(other.dapr.max_concurrent_restarts),
                max_restarts_per_hour: self.dapr.max_restarts_per_hour.or(other.dapr.max_restarts_per_hour),
            },
        }
    }

    /// The policy as data under the keys of the file, without what it does not say.
    pub fn to_value(&self) -> Value {
        let drift = map([
            ("mode", word(self.drift.mode.map(DriftMode::as_str))),
            ("fullCheckInterval", text(self.drift.full_check_interval.as_ref())),
            ("ignore", self.drift.ignore.as_ref().map(|all| list(all.iter().map(IgnoredFields::to_value)))),
        ]);
        let dapr = map([
            ("reload", word(self.dapr.reload.map(DaprReload::as_str))),
            ("settleTime", text(self.dapr.settle_time.as_ref())),
            ("proofTimeout", text(self.dapr.proof_timeout.as_ref())),
            ("maxConcurrentRestarts", number(self.dapr.max_concurrent_restarts)),
            ("maxRestartsPerHour", number(self.dapr.max_restarts_per_hour)),
        ]);
        map([
            ("interval", text(self.interval.as_ref())),
            ("timeout", text(self.timeout.as_ref())),
            ("maxBackoff", text(self.max_backoff.as_ref())),
            ("concurrency", number(self.concurrency)),
            ("prune", self.prune.map(Value::Bool)),
            ("drift", Some(drift).filter(Value::is_truthy)),
            ("adoption", word(self.adoption.map(Adoption::as_str))),
            ("recreate", word(self.recreate.map(Recreate::as_str))),
            ("deletionPolicy", word(self.deletion_policy.map(DeletionPolicy::as_str))),
            ("dapr", Some(dapr).filter(Value::is_truthy)),
        ])
    }
}

impl IgnoredFields {
    fn to_value(&self) -> Value {
        map([
            ("paths", Some(list(self.paths.iter().cloned().map(Value::Text)))),
            ("group", text(self.group.as_ref())),
            ("kind", text(self.kind.as_ref())),
            ("namespace", text(self.namespace.as_ref())),
            ("name", text(self.name.as_ref())),
        ])
    }
}

fn text(text: Option<&Arc<str>>) -> Option<Value> {
    text.cloned().map(Value::Text)
}

fn word(word: Option<&'static str>) -> Option<Value> {
    word.map(Value::from)
}

fn number(number: Option<impl Into<i64>>) -> Option<Value> {
    number.map(|number| Value::Int(number.into()))
}

// Four levels are far from too deep.
fn list(items: impl Iterator<Item = Value>) -> Value {
    Value::list(items.collect()).unwrap_or(Value::Null)
}

fn map<const N: usize>(entries: [(&str, Option<Value>); N]) -> Value {
    let said = entries.into_iter().filter_map(|(key, value)| Some((Arc::from(key), value?)));
    Value::dict(said.collect()).unwrap_or(Value::Null)
}
