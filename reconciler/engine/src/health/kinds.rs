//! Single kinds with a rule of their own.

use serde_json::Value;

use super::{Condition, Health, text};

pub(super) fn claim(object: &Value) -> Health {
    match text(object, "/status/phase") {
        Some("Bound") => Health::current(""),
        Some("Lost") => Health::failed("its volume is lost"),
        Some(phase) => Health::in_progress(format!("not bound yet: {phase}")),
        None => Health::in_progress("not bound yet"),
    }
}

/// An address of a load balancer is not waited for: many clusters never give one.
pub(super) fn service(object: &Value) -> Health {
    let is_balanced = text(object, "/spec/type") == Some("LoadBalancer");
    let has_address = text(object, "/spec/clusterIP").is_some_and(|address| !address.is_empty());
    if is_balanced && !has_address { Health::in_progress("no cluster IP yet") } else { Health::current("") }
}

pub(super) fn definition(object: &Value) -> Health {
    if let Some(names) = Condition::find(object, "NamesAccepted").filter(Condition::is_false) {
        return Health::failed(names.sentence());
    }
    match Condition::find(object, "Established") {
        Some(established) if established.is_true() => Health::current(""),
        Some(established) if established.is_false() && established.reason != "Installing" => {
            Health::failed(established.sentence())
        }
        Some(established) => Health::in_progress(established.sentence()),
        None => Health::in_progress("not established yet"),
    }
}

pub(super) fn api_service(object: &Value) -> Health {
    match Condition::find(object, "Available") {
        Some(available) if available.is_true() => Health::current(""),
        Some(available) => Health::in_progress(available.sentence()),
        None => Health::in_progress("not available yet"),
    }
}
