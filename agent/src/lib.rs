//! Applies a runtime's bundle from inside the runtime, then reloads or restarts exactly the Dapr workloads that need it.
//!
//! Owns the pull of bundles, the restart rules and the ledger of applied and running hashes per workload. Applying is the
//! reconciler's library; the agent never renders and never reads Git.
