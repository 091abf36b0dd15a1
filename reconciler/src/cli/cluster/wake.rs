//! `reeve wake` and `reeve sleep`: asks the resolver by an annotation of the rule, and stays until it is done if asked to.

use std::io::Write as _;

use futures::StreamExt as _;
use kube::api::{Patch, PatchParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use reeve_crds::scaling_rule::RuleMode;
use reeve_crds::scaling_rule::status::TrafficMode;
use reeve_crds::{ScalingRule, annotation};
use serde_json::json;

use super::connection::Connection;
use super::error::broken_watch;
use super::suspend::FIELD_MANAGER;
use super::warn;
use crate::cli::args::cluster::RulesArgs;
use crate::cli::failure::Failure;
use crate::cli::{Status, Terminal};

/// What a rule is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ask {
    Wake,
    Sleep,
}

/// What became of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Outcome {
    Waiting,
    Done,
    /// Too busy to sleep.
    Declined,
}

pub(super) async fn run(args: &RulesArgs, ask: Ask, terminal: &mut Terminal) -> Result<Status, Failure> {
    let connection = Connection::open(&args.connection).await?;
    // All must be there before any is asked.
    let mut rules = Vec::new();
    for name in &args.names {
        rules.push((name, connection.get::<ScalingRule>(name).await?));
    }
    let token = Connection::now().to_string();
    let mut status = Status::Fine;
    let mut asked = Vec::new();
    for (name, rule) in rules {
        if let Some(why) = idle(&rule) {
            writeln!(terminal.out, "scalingrule/{name} {why}")?;
            status = Status::Findings;
            continue;
        }
        let annotation = match ask {
            Ask::Wake => annotation::WAKE,
            Ask::Sleep => annotation::SLEEP,
        };
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { annotation: token } } }));
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let api = connection.api::<ScalingRule>(&connection.scope(false));
        connection.ask(&format!("change scaling rule {name}"), api.patch(name, &params, &patch)).await?;
        let word = if ask == Ask::Wake { "wake" } else { "sleep" };
        writeln!(terminal.out, "scalingrule/{name} asked to {word}")?;
        asked.push(name);
    }
    terminal.out.flush()?;
    if !args.wait {
        return Ok(status);
    }
    let all = async {
        for name in asked {
            if wait(&connection, name, ask, &token, terminal).await? == Outcome::Declined {
                status = Status::Findings;
            }
        }
        Ok(status)
    };
    match tokio::time::timeout(args.timeout, all).await {
        Ok(status) => status,
        Err(_elapsed) => {
            let message = format!("it was not done within {} s", args.timeout.as_secs());
            let help = "see `reeve get scaling -o wide`: does the resolver run, and what keeps the target awake?";
            Err(Failure::unknown(message, Some(help.to_owned())))
        }
    }
}

/// Why a rule would do nothing.
fn idle(rule: &ScalingRule) -> Option<&'static str> {
    if rule.spec.suspend {
        return Some("is suspended: it scales nothing");
    }
    (rule.spec.mode == RuleMode::Observe).then_some("only observes: it scales nothing")
}

async fn wait(
    connection: &Connection,
    name: &str,
    ask: Ask,
    token: &str,
    terminal: &mut Terminal,
) -> Result<Outcome, Failure> {
    let api = connection.api::<ScalingRule>(&connection.scope(false));
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut events = watcher(api, config).default_backoff().boxed();
    let mut broken = false;
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Apply(rule) | watcher::Event::InitApply(rule)) => {
                broken = false;
                let outcome = outcome(&rule, ask, token);
                let told = match (outcome, ask) {
                    (Outcome::Waiting, _) => continue,
                    (Outcome::Done, Ask::Wake) => "is awake",
                    (Outcome::Done, Ask::Sleep) => "sleeps",
                    (Outcome::Declined, _) => "is too busy to sleep",
                };
                writeln!(terminal.out, "scalingrule/{name} {told}")?;
                return Ok(outcome);
            }
            Ok(watcher::Event::Delete(_)) => {
                return Err(Failure::unknown(format!("scalingrule/{name} was deleted meanwhile"), None));
            }
            Err(error) if !broken => {
                broken = true;
                warn(terminal, &format!("the watch broke and is tried again: {}", broken_watch(&error)));
            }
            Ok(watcher::Event::Init | watcher::Event::InitDone) | Err(_) => {}
        }
    }
    Err(Failure::unknown(format!("the watch of scalingrule/{name} ended"), None))
}

/// What the status says of what was asked.
fn outcome(rule: &ScalingRule, ask: Ask, token: &str) -> Outcome {
    let Some(status) = &rule.status else { return Outcome::Waiting };
    let mode = status.mode.as_ref().and_then(|mode| mode.known().copied());
    let handled = match ask {
        Ask::Wake => &status.last_handled_wake_at,
        Ask::Sleep => &status.last_handled_sleep_at,
    };
    if handled.as_deref() != Some(token) {
        return Outcome::Waiting;
    }
    match (ask, mode) {
        // Woken, but no pod is ready.
        (Ask::Wake, Some(TrafficMode::Waking | TrafficMode::Asleep)) => Outcome::Waiting,
        (Ask::Wake, _) | (Ask::Sleep, Some(TrafficMode::Asleep | TrafficMode::Waking)) => Outcome::Done,
        (Ask::Sleep, _) => Outcome::Declined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(status: &serde_json::Value) -> ScalingRule {
        let rule = json!({
            "apiVersion": "reeve.dev/v1alpha1", "kind": "ScalingRule", "metadata": { "name": "web" },
            "spec": { "services": [{ "name": "web" }] }, "status": status,
        });
        serde_json::from_value(rule).unwrap()
    }

    #[test]
    fn a_wake_is_done_when_a_pod_can_be_reached() {
        let told =
            |mode, handled| outcome(&rule(&json!({ "mode": mode, "lastHandledWakeAt": handled })), Ask::Wake, "now");
        assert_eq!(told("Proxied", "before"), Outcome::Waiting, "somebody else's");
        assert_eq!(told("Waking", "now"), Outcome::Waiting);
        assert_eq!(told("Proxied", "now"), Outcome::Done);
    }

    #[test]
    fn a_sleep_is_done_when_it_sleeps_or_refused_when_it_is_busy() {
        let told =
            |mode, handled| outcome(&rule(&json!({ "mode": mode, "lastHandledSleepAt": handled })), Ask::Sleep, "now");
        assert_eq!(told("Draining", "before"), Outcome::Waiting);
        assert_eq!(told("Asleep", "now"), Outcome::Done);
        assert_eq!(told("Direct", "now"), Outcome::Declined);
    }
}
