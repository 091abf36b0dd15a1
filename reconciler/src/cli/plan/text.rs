//! Plans for people and for programmes.

use std::io::{self, Write};

use reeve_crds::runtime::policy::DeletionPolicy;
use reeve_crds::runtime_component::JobPhase;
use reeve_reconciler_engine::plan::{Action, Removal};
use serde_json::{Map, Value, json};

use super::Group;
use super::outlook::{Deed, Outlook, Part, Still};
use crate::cli::style::{Paint, Style};
use crate::cli::text::{count, harmless, in_runtimes};

/// How often what would be done.
#[derive(Default)]
struct Tally {
    create: usize,
    take_over: usize,
    update: usize,
    repair: usize,
    delete: usize,
    jobs: usize,
    kept: usize,
    refused: usize,
    ended: usize,
    suspended: usize,
}

pub(super) fn write(groups: &[Group], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let mut tally = Tally::default();
    for Group { runtimes, outlook } in groups {
        let mut lines = Vec::new();
        for part in &outlook.parts {
            component(part, style, runtimes.len(), &mut tally, &mut lines);
        }
        tally.runtime(outlook, runtimes.len());
        let whole = whole(outlook);
        if lines.is_empty() && whole.is_none() {
            continue;
        }
        let whole = whole.map(|whole| format!(" ({})", harmless(&whole))).unwrap_or_default();
        writeln!(out, "{}{whole}", style.paint(Paint::Strong, &in_runtimes(runtimes)))?;
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        writeln!(out)?;
    }
    writeln!(out, "{}", tally.sentence())
}

impl Tally {
    fn runtime(&mut self, outlook: &Outlook, runtimes: usize) {
        self.ended += if outlook.ended.is_some() { runtimes } else { 0 };
        match &outlook.still {
            Some(Still::Suspended(_)) => self.suspended += runtimes,
            Some(Still::Refused(_)) => self.refused += runtimes,
            Some(Still::Unsupported(_) | Still::Waits(_)) | None => {}
        }
    }

    fn sentence(&self) -> String {
        let Self { create, take_over, update, repair, delete, jobs, kept, refused, ended, suspended } = *self;
        let also = |many: usize, what: &str| if many > 0 { format!(", {many} {what}") } else { String::new() };
        let suspended = also(suspended, "suspended");
        if create + take_over + update + repair + delete + jobs + refused + ended == 0 {
            let are = if kept == 1 { "is" } else { "are" };
            return format!("nothing to do: {} {are} as Git says{suspended}", count(kept, "object"));
        }
        let jobs = if jobs > 0 { format!(", {} to run", count(jobs, "Job")) } else { String::new() };
        let ended = if ended > 0 { format!(", {} to end", count(ended, "runtime")) } else { String::new() };
        format!(
            "{create} to create{}, {update} to change, {repair} to repair, {delete} to delete{jobs}{ended}{}{suspended}; \
             {kept} stay as they are",
            also(take_over, "to take over"),
            also(refused, "refused"),
        )
    }
}

/// What is to be said of a whole runtime.
fn whole(outlook: &Outlook) -> Option<String> {
    match (&outlook.still, outlook.ended) {
        (Some(still), _) => Some(standing(still)),
        (None, Some(DeletionPolicy::Delete)) => Some("its file left Git: it is deleted with its objects".to_owned()),
        (None, Some(DeletionPolicy::Orphan)) => Some("its file left Git: it is deleted, its objects stay".to_owned()),
        (None, None) => None,
    }
}

fn standing(still: &Still) -> String {
    match still {
        Still::Suspended(what) => format!("suspended: nothing is done until {what} is resumed"),
        Still::Unsupported(message) => format!("unsupported: {message}; nothing is applied"),
        Still::Refused(message) => format!("refused: {message}"),
        Still::Waits(names) => format!("waits for {}, which does not become ready", names.join(", ")),
    }
}

fn component(part: &Part, style: Style, runtimes: usize, tally: &mut Tally, lines: &mut Vec<String>) {
    let mut shown = Vec::new();
    jobs(part, JobPhase::Before, style, &mut shown);
    deeds(part, style, runtimes, tally, &mut shown);
    jobs(part, JobPhase::After, style, &mut shown);
    tally.jobs += part.jobs.len() * runtimes;
    for (key, _, removal) in &part.removals {
        let (count, sign, note) = match removal {
            Removal::Delete | Removal::Settle => (&mut tally.delete, '-', ""),
            Removal::Release => (&mut tally.kept, ' ', " (left Git, but stays)"),
            Removal::Forget => continue,
        };
        *count += runtimes;
        shown.push(format!(
            "    {}{note}",
            style.paint(Paint::Removed, &format!("{sign} {}", harmless(&key.to_string())))
        ));
    }
    for refusal in &part.refusals {
        tally.refused += runtimes;
        let line = format!("x {} {}", refusal.key, refusal.message);
        shown.push(format!("    {}", style.paint(Paint::Error, &harmless(&line))));
    }
    if !shown.is_empty() || part.still.is_some() {
        let still = part.still.as_ref().map(|still| format!(" ({})", standing(still))).unwrap_or_default();
        lines.push(format!("  component {}{}{still}", part.component, if part.left { " (left Git)" } else { "" }));
        lines.append(&mut shown);
    }
}

fn jobs(part: &Part, phase: JobPhase, style: Style, shown: &mut Vec<String>) {
    let when = match phase {
        JobPhase::Before => "runs before the rest is applied",
        JobPhase::After => "runs when all is healthy",
    };
    for (key, _) in part.jobs.iter().filter(|(_, at)| *at == phase) {
        let line = style.paint(Paint::Added, &format!("> {}", harmless(&key.to_string())));
        shown.push(format!("    {line} ({when})"));
    }
}

fn deeds(part: &Part, style: Style, runtimes: usize, tally: &mut Tally, shown: &mut Vec<String>) {
    for (key, _, deed) in &part.deeds {
        let (count, paint, sign, note) = match deed {
            Deed::Plan(Action::Create) => (&mut tally.create, Paint::Added, '+', ""),
            Deed::Plan(Action::Update) => (&mut tally.update, Paint::Changed, '~', ""),
            Deed::Plan(Action::Replace) => {
                (&mut tally.update, Paint::Changed, '~', " (made anew when the old one is gone)")
            }
            Deed::Plan(Action::Repair) => (&mut tally.repair, Paint::Warning, '!', " (someone changed it)"),
            Deed::Plan(Action::Report) => (&mut tally.kept, Paint::Warning, '!', " (someone changed it; only told)"),
            Deed::Plan(Action::Verify | Action::Keep | Action::Leave) => {
                tally.kept += runtimes;
                continue;
            }
            Deed::Anew => {
                let note = " (deleted and made anew, since a field cannot change)";
                (&mut tally.update, Paint::Changed, '~', note)
            }
            Deed::TakeOver(appliers) => (&mut tally.take_over, Paint::Changed, '~', &*stranger(appliers)),
        };
        *count += runtimes;
        let name = style.paint(paint, &format!("{sign} {}", harmless(&key.to_string())));
        shown.push(format!("    {name}{}", harmless(note)));
    }
}

fn stranger(appliers: &[String]) -> String {
    match appliers {
        [] => " (is there already, and is taken over)".to_owned(),
        names => format!(
            " (is there already, and is taken over unless what {} applies differs: `reeve diff --live` tells)",
            names.join(", ")
        ),
    }
}

/// The same for programmes.
pub(super) fn document(groups: &[Group]) -> Value {
    let plans = groups.iter().map(|Group { runtimes, outlook }| {
        let mut plan = Map::new();
        plan.insert("runtimes".to_owned(), runtimes.iter().map(|name| &**name).collect());
        if let Some(policy) = outlook.ended {
            plan.insert("ended".to_owned(), json!({ "deletionPolicy": policy }));
        }
        still(outlook.still.as_ref(), &mut plan);
        plan.insert("components".to_owned(), outlook.parts.iter().map(part_document).collect());
        Value::Object(plan)
    });
    json!({ "plans": plans.collect::<Vec<_>>() })
}

fn still(still: Option<&Still>, plan: &mut Map<String, Value>) {
    let (key, value) = match still {
        None => return,
        Some(Still::Suspended(what)) => ("suspended", json!(what)),
        Some(Still::Unsupported(message)) => ("unsupported", json!(message)),
        Some(Still::Refused(message)) => ("refused", json!(message)),
        Some(Still::Waits(names)) => ("waitsFor", names.iter().map(|name| &**name).collect()),
    };
    plan.insert(key.to_owned(), value);
}

fn part_document(part: &Part) -> Value {
    let steps = part.deeds.iter().map(|(key, stage, deed)| {
        let action = match deed {
            Deed::Plan(action) => format!("{action:?}"),
            Deed::Anew => "Anew".to_owned(),
            Deed::TakeOver(_) => "TakeOver".to_owned(),
        };
        json!({ "object": key.to_string(), "stage": stage.as_str(), "action": action })
    });
    let removals = part.removals.iter().map(|(key, stage, removal)| {
        json!({ "object": key.to_string(), "stage": stage.as_str(), "action": format!("{removal:?}") })
    });
    let jobs = part.jobs.iter().map(|(key, phase)| json!({ "object": key.to_string(), "phase": phase }));
    let refused = part.refusals.iter().map(
        |refusal| json!({ "object": refusal.key.to_string(), "reason": refusal.reason, "message": refusal.message }),
    );
    let mut document = json!({
        "component": &*part.component,
        "steps": steps.collect::<Vec<_>>(),
        "removals": removals.collect::<Vec<_>>(),
        "jobs": jobs.collect::<Vec<_>>(),
        "refused": refused.collect::<Vec<_>>(),
    });
    if let Value::Object(fields) = &mut document {
        still(part.still.as_ref(), fields);
    }
    document
}
