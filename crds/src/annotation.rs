//! Annotations by which people and Reeve talk about single objects.

/// On any Reeve kind: a new value asks for a reconciliation now. The status repeats the value when it was done.
pub const RECONCILE: &str = "reeve.dev/reconcile";
/// On a Runtime whose cluster is gone: the uid of that cluster. What was in it is not looked for any more.
pub const FORGET_CLUSTER: &str = "reeve.dev/forget-cluster";
/// On a ScalingRule: a new value wakes the target now. The status repeats the value when it was done.
pub const WAKE: &str = "reeve.dev/wake";
/// On a ScalingRule: a new value lets the target sleep as soon as no request is in flight, however short it was idle. The
/// status repeats the value when it was done.
pub const SLEEP: &str = "reeve.dev/sleep";
/// On an applied object: `Always` (the default), `IfMissing` (created once, never changed) or `Never`.
pub const APPLY: &str = "reeve.dev/apply";
/// On an applied object: `Never` keeps it when it leaves Git; `Always` deletes even a CRD, a Namespace or a
/// PersistentVolumeClaim.
pub const PRUNE: &str = "reeve.dev/prune";
/// On an applied object: `Repair`, `Report` or `Ignore`, instead of what its runtime says.
pub const DRIFT: &str = "reeve.dev/drift";
/// On an applied object: JSON pointers, separated by commas, of fields that others may change.
pub const IGNORE: &str = "reeve.dev/ignore";
/// On an applied object, written by Reeve: hash of what was applied, so that nothing is written twice.
pub const CONTENT: &str = "reeve.dev/content";
/// On a Dapr resource whose secrets are in another store than Kubernetes: a new value says that one of them changed.
pub const SECRET_REVISION: &str = "reeve.dev/secret-revision";
/// On a workload with a Dapr sidecar: `Auto`, `Restart` or `HotOnly`, instead of what its runtime says.
pub const DAPR_RELOAD: &str = "reeve.dev/dapr-reload";
/// In a pod template with a Dapr sidecar, written by Reeve: what the workload was last restarted for.
pub const DAPR_RESTART: &str = "reeve.dev/dapr-restart";

/// What the names of all of them begin with.
pub const PREFIX: &str = "reeve.dev/";
/// All that an object in Git may have.
pub const KNOWN: [&str; 8] = [APPLY, PRUNE, DRIFT, IGNORE, RECONCILE, CONTENT, SECRET_REVISION, DAPR_RELOAD];
