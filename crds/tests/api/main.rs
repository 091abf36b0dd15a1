//! The CRDs on a real API server: accepted, listed, explained, merged, and every admission rule at work.

// Tells clippy that the functions behind the tests are test code too.
#![cfg(test)]

mod case;
mod dapr_workload;
mod defaults;
mod definitions;
mod durations;
mod examples;
mod git_source;
mod inventory;
mod kubectl;
mod merging;
mod node_hook;
mod node_hook_status;
mod round_trip;
mod rules;
mod runtime;
mod runtime_component;
mod scaling_rule;
mod schemas;
mod subject;
