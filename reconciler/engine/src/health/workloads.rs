//! Kinds that keep a number of pods.

use serde_json::Value;

use super::{Condition, Health, integer, text};

/// How many there are, of how many there should be.
struct Count {
    have: i64,
    want: i64,
    what: &'static str,
}

impl Count {
    fn of(object: &Value, pointer: &str, want: i64, what: &'static str) -> Self {
        Self { have: integer(object, pointer).unwrap_or(0), want, what }
    }

    fn missing(&self) -> Option<Health> {
        (self.have < self.want)
            .then(|| Health::in_progress(format!("{} of {} {}", self.have, self.want, replicas(self.want, self.what))))
    }
}

fn replicas(count: i64, what: &str) -> String {
    format!("replica{} {what}", if count == 1 { "" } else { "s" })
}

/// The first of what is missing, in the order in which it comes about.
fn first_missing(counts: &[Count]) -> Option<Health> {
    counts.iter().find_map(Count::missing)
}

fn too_many(have: i64, want: i64) -> Option<Health> {
    let extra = have - want;
    (extra > 0).then(|| Health::in_progress(format!("{extra} old {}", replicas(extra, "to end"))))
}

/// The API server fills it in; an object that never was there has none.
fn wanted(object: &Value) -> i64 {
    integer(object, "/spec/replicas").unwrap_or(1)
}

pub(super) fn deployment(object: &Value) -> Health {
    let want = wanted(object);
    let have = integer(object, "/status/replicas").unwrap_or(0);
    let updated = integer(object, "/status/updatedReplicas").unwrap_or(0);
    let progressing = Condition::find(object, "Progressing");
    if let Some(condition) = progressing.as_ref().filter(|it| it.reason == "ProgressDeadlineExceeded") {
        return Health::failed(condition.sentence());
    }
    let created = [
        Count::of(object, "/status/replicas", want, "created"),
        Count::of(object, "/status/updatedReplicas", want, "updated"),
    ];
    let served = [
        Count::of(object, "/status/availableReplicas", updated, "available"),
        Count::of(object, "/status/readyReplicas", want, "ready"),
    ];
    let missing = first_missing(&created).or_else(|| too_many(have, want)).or_else(|| first_missing(&served));
    if let Some(health) = missing {
        return health;
    }
    // Without a deadline the controller does not say how it progresses.
    let has_deadline =
        integer(object, "/spec/progressDeadlineSeconds").is_some_and(|seconds| seconds != i64::from(i32::MAX));
    let is_done = progressing.as_ref().is_some_and(|it| it.is_true() && it.reason == "NewReplicaSetAvailable");
    if has_deadline && !is_done {
        return Health::in_progress(
            progressing.map_or_else(|| "its replica set is not there yet".to_owned(), |it| it.sentence()),
        );
    }
    match Condition::find(object, "Available") {
        Some(condition) if condition.is_true() => Health::current(format!("{want} {}", replicas(want, "available"))),
        Some(condition) => Health::in_progress(condition.sentence()),
        None => Health::in_progress("its controller has not said that it is available"),
    }
}

pub(super) fn stateful_set(object: &Value) -> Health {
    if text(object, "/spec/updateStrategy/type") == Some("OnDelete") {
        return Health::current("pods are updated when they are deleted");
    }
    let want = wanted(object);
    let have = integer(object, "/status/replicas").unwrap_or(0);
    let first = [
        Count::of(object, "/status/replicas", want, "created"),
        Count::of(object, "/status/readyReplicas", want, "ready"),
    ];
    if let Some(health) = first_missing(&first).or_else(|| too_many(have, want)) {
        return health;
    }
    let partition = integer(object, "/spec/updateStrategy/rollingUpdate/partition").unwrap_or(0);
    if partition > 0 {
        let above = (want - partition).max(0);
        return Count::of(object, "/status/updatedReplicas", above, "of the partition updated")
            .missing()
            .unwrap_or_else(|| Health::current(format!("{above} {}", replicas(above, "of the partition updated"))));
    }
    if let Some(health) = Count::of(object, "/status/currentReplicas", want, "updated").missing() {
        return health;
    }
    if text(object, "/status/currentRevision") != text(object, "/status/updateRevision") {
        return Health::in_progress("the new revision is not complete");
    }
    Health::current(format!("{want} {}", replicas(want, "ready")))
}

pub(super) fn daemon_set(object: &Value) -> Health {
    let seen = integer(object, "/status/observedGeneration");
    let Some(want) = seen.and_then(|_| integer(object, "/status/desiredNumberScheduled")) else {
        return Health::in_progress("its controller has not seen it");
    };
    // Pods of this strategy are updated only when somebody deletes them.
    let updated_by_itself = text(object, "/spec/updateStrategy/type") != Some("OnDelete");
    let mut counts = vec![Count::of(object, "/status/currentNumberScheduled", want, "scheduled")];
    if updated_by_itself {
        counts.push(Count::of(object, "/status/updatedNumberScheduled", want, "updated"));
    }
    counts.push(Count::of(object, "/status/numberAvailable", want, "available"));
    counts.push(Count::of(object, "/status/numberReady", want, "ready"));
    first_missing(&counts).unwrap_or_else(|| Health::current(format!("{want} {}", replicas(want, "available"))))
}

pub(super) fn replica_set(object: &Value) -> Health {
    if let Some(condition) = Condition::find(object, "ReplicaFailure").filter(Condition::is_true) {
        return Health::in_progress(condition.sentence());
    }
    let want = wanted(object);
    let counts = [
        Count::of(object, "/status/fullyLabeledReplicas", want, "labelled"),
        Count::of(object, "/status/availableReplicas", want, "available"),
        Count::of(object, "/status/readyReplicas", want, "ready"),
    ];
    first_missing(&counts)
        .or_else(|| too_many(integer(object, "/status/replicas").unwrap_or(0), want))
        .unwrap_or_else(|| Health::current(format!("{want} {}", replicas(want, "available"))))
}
