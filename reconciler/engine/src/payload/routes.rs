//! Routes that the resolver has captured: Git's own, with the doors of their Services for hosts.
//!
//! The list of routes is one whole to the API server, so whoever changes a host in it has all of it. What Git changes
//! meanwhile counts all the same: it is sent with the hosts led as those that live are.

use reeve_crds::scaling_rule::switch::{destinations, door_host, is_door_host};
use serde_json::Value;

use super::Pointer;

const HTTP: &str = "/spec/http";

/// What Git wants while its routes are captured as those that live are, and what of it is then left to others. Nothing if
/// no route is delegated.
pub(super) fn lead(desired: &Value, live: &Value, paths: &[Pointer]) -> Option<(Value, Vec<Pointer>)> {
    let (hosts, mut left): (Vec<&Pointer>, Vec<&Pointer>) = paths.iter().partition(|path| is_host(path));
    if hosts.is_empty() {
        return None;
    }
    let mut led = desired.clone();
    if destinations(live.pointer(HTTP)).iter().any(|one| is_door_host(one.host)) {
        for path in hosts {
            if let Some(Value::String(host)) = led.pointer_mut(&path.to_string()) {
                *host = door_host(host);
            }
        }
    }
    // They are the resolver's for as long as they are what Git says, and all of them are sent once they are not.
    let whole = Pointer::of(&["spec", "http"]);
    if led.pointer(HTTP) == live.pointer(HTTP) {
        left.push(&whole);
    }
    let left = left.into_iter().cloned().collect();
    Some((led, left))
}

/// Whether it leads to the host of a destination.
fn is_host(path: &Pointer) -> bool {
    let tokens: Vec<&str> = path.tokens().iter().map(String::as_str).collect();
    matches!(tokens[..], ["spec", "http", _, "route", _, "destination", "host"])
}
