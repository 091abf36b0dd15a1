//! Plans for people and for programmes.

use std::io::{self, Write};

use reeve_crds::runtime::policy::DeletionPolicy;
use reeve_crds::runtime_component::JobPhase;
use reeve_reconciler_engine::plan::{Action, Removal};
use serde_json::{Map, Value, json};

use super::Group;
use super::runtime_plan::{Part, PlannedAction, RuntimePlan, SkipReason, Stranger};
use crate::cli::style::{Paint, Style};
use crate::cli::text::{count, harmless, in_runtimes};

/// How often what would be done.
#[derive(Default)]
struct Tally {
    create: usize,
    take_over: usize,
    moves: usize,
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
    for Group { runtimes, runtime_plan } in groups {
        let mut lines = Vec::new();
        for part in &runtime_plan.parts {
            component(part, style, runtimes.len(), &mut tally, &mut lines);
        }
        tally.runtime(runtime_plan, runtimes.len());
        let whole = whole(runtime_plan);
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
    fn runtime(&mut self, runtime_plan: &RuntimePlan, runtimes: usize) {
        self.ended += if runtime_plan.ended.is_some() { runtimes } else { 0 };
        match &runtime_plan.skipped {
            Some(SkipReason::Suspended(_)) => self.suspended += runtimes,
            Some(SkipReason::Refused(_)) => self.refused += runtimes,
            Some(SkipReason::Unsupported(_) | SkipReason::Elsewhere | SkipReason::Waits(_)) | None => {}
        }
    }

    fn sentence(&self) -> String {
        let Self { create, take_over, moves, update, repair, delete, jobs, kept, refused, ended, suspended } = *self;
        let also = |many: usize, what: &str| if many > 0 { format!(", {many} {what}") } else { String::new() };
        let suspended = also(suspended, "suspended");
        if create + take_over + moves + update + repair + delete + jobs + refused + ended == 0 {
            let are = if kept == 1 { "is" } else { "are" };
            return format!("nothing to do: {} {are} as Git says{suspended}", count(kept, "object"));
        }
        let jobs = if jobs > 0 { format!(", {} to run", count(jobs, "Job")) } else { String::new() };
        let ended = if ended > 0 { format!(", {} to end", count(ended, "runtime")) } else { String::new() };
        format!(
            "{create} to create{}{}, {update} to change, {repair} to repair, {delete} to delete{jobs}{ended}{}{suspended}; \
             {kept} stay as they are",
            also(take_over, "to take over"),
            also(moves, "to move"),
            also(refused, "refused"),
        )
    }
}

/// What is to be said of a whole runtime.
fn whole(runtime_plan: &RuntimePlan) -> Option<String> {
    match (&runtime_plan.skipped, runtime_plan.ended) {
        (Some(SkipReason::Elsewhere), Some(DeletionPolicy::Delete)) => {
            Some("its file left Git: it is deleted with its objects, which are in another cluster".to_owned())
        }
        (Some(SkipReason::Elsewhere), Some(DeletionPolicy::Orphan)) => {
            Some("its file left Git: it is deleted, its objects stay in the other cluster".to_owned())
        }
        (Some(skipped), _) => Some(standing(skipped)),
        (None, Some(DeletionPolicy::Delete)) => Some("its file left Git: it is deleted with its objects".to_owned()),
        (None, Some(DeletionPolicy::Orphan)) => Some("its file left Git: it is deleted, its objects stay".to_owned()),
        (None, None) => None,
    }
}

fn standing(skipped: &SkipReason) -> String {
    match skipped {
        SkipReason::Suspended(what) => format!("suspended: nothing is done until {what} is resumed"),
        SkipReason::Unsupported(message) => format!("unsupported: {message}; nothing is applied"),
        SkipReason::Elsewhere => "not planned: it is in another cluster, which only the controller looks at; what Git \
                                  changes is told by two revisions of it"
            .to_owned(),
        SkipReason::Refused(message) => format!("refused: {message}"),
        SkipReason::Waits(names) => format!("waits for {}, which does not become ready", names.join(", ")),
    }
}

fn component(part: &Part, style: Style, runtimes: usize, tally: &mut Tally, lines: &mut Vec<String>) {
    let mut shown = Vec::new();
    jobs(part, JobPhase::Before, style, &mut shown);
    actions(part, style, runtimes, tally, &mut shown);
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
    for (key, _, to) in &part.handed_over {
        let name = style.paint(Paint::Changed, &format!("~ {}", harmless(&key.to_string())));
        shown.push(format!("    {name} (moves to runtime {to}, as it is)"));
    }
    for api_error in &part.refusals {
        tally.refused += runtimes;
        let line = format!("x {} {}", api_error.key, api_error.message);
        shown.push(format!("    {}", style.paint(Paint::Error, &harmless(&line))));
    }
    if !shown.is_empty() || part.skipped.is_some() {
        let skipped = part.skipped.as_ref().map(|skipped| format!(" ({})", standing(skipped))).unwrap_or_default();
        lines.push(format!("  component {}{}{skipped}", part.component, if part.left { " (left Git)" } else { "" }));
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

fn actions(part: &Part, style: Style, runtimes: usize, tally: &mut Tally, shown: &mut Vec<String>) {
    for (key, _, deed) in &part.actions {
        let (count, paint, sign, note) = match deed {
            PlannedAction::Plan(Action::Create) => (&mut tally.create, Paint::Added, '+', ""),
            PlannedAction::Plan(Action::Update) => (&mut tally.update, Paint::Changed, '~', ""),
            PlannedAction::Plan(Action::Replace) => {
                (&mut tally.update, Paint::Changed, '~', " (made anew when the old one is gone)")
            }
            PlannedAction::Plan(Action::Repair) => (&mut tally.repair, Paint::Warning, '!', " (someone changed it)"),
            PlannedAction::Plan(Action::Report) => {
                (&mut tally.kept, Paint::Warning, '!', " (someone changed it; only told)")
            }
            PlannedAction::Plan(Action::Verify | Action::Keep | Action::Leave) => {
                tally.kept += runtimes;
                continue;
            }
            PlannedAction::Anew => {
                let note = " (deleted and made anew, since a field cannot change)";
                (&mut tally.update, Paint::Changed, '~', note)
            }
            PlannedAction::TakeOver(from) => (&mut tally.take_over, Paint::Changed, '~', &*stranger(from)),
            PlannedAction::Move(from) => {
                (&mut tally.moves, Paint::Changed, '~', &*format!(" (moves here from runtime {from}, as it is)"))
            }
        };
        *count += runtimes;
        let name = style.paint(paint, &format!("{sign} {}", harmless(&key.to_string())));
        shown.push(format!("    {name}{}", harmless(note)));
    }
}

fn stranger(Stranger { appliers, release }: &Stranger) -> String {
    let of = release.as_ref().map(|release| format!(" as part of Helm release {release}")).unwrap_or_default();
    match appliers.as_slice() {
        [] => format!(" (is there already{of}, and is taken over)"),
        names => format!(
            " (is there already{of}, and is taken over unless what {} applies differs: `reeve diff --live` tells)",
            names.join(", ")
        ),
    }
}

/// The same for programmes.
pub(super) fn document(groups: &[Group]) -> Value {
    let plans = groups.iter().map(|Group { runtimes, runtime_plan }| {
        let mut plan = Map::new();
        plan.insert("runtimes".to_owned(), runtimes.iter().map(|name| &**name).collect());
        if let Some(policy) = runtime_plan.ended {
            plan.insert("ended".to_owned(), json!({ "deletionPolicy": policy }));
        }
        skipped(runtime_plan.skipped.as_ref(), &mut plan);
        plan.insert("components".to_owned(), runtime_plan.parts.iter().map(part_document).collect());
        Value::Object(plan)
    });
    json!({ "plans": plans.collect::<Vec<_>>() })
}

fn skipped(skipped: Option<&SkipReason>, plan: &mut Map<String, Value>) {
    let (key, value) = match skipped {
        None => return,
        Some(SkipReason::Suspended(what)) => ("suspended", json!(what)),
        Some(SkipReason::Unsupported(message)) => ("unsupported", json!(message)),
        Some(SkipReason::Elsewhere) => ("elsewhere", json!(true)),
        Some(SkipReason::Refused(message)) => ("refused", json!(message)),
        Some(SkipReason::Waits(names)) => ("waitsFor", names.iter().map(|name| &**name).collect()),
    };
    plan.insert(key.to_owned(), value);
}

fn part_document(part: &Part) -> Value {
    let steps = part.actions.iter().map(|(key, stage, deed)| {
        let action = match deed {
            PlannedAction::Plan(action) => format!("{action:?}"),
            PlannedAction::Anew => "Anew".to_owned(),
            PlannedAction::TakeOver(_) => "TakeOver".to_owned(),
            PlannedAction::Move(from) => {
                let (object, stage) = (key.to_string(), stage.as_str());
                return json!({ "object": object, "stage": stage, "action": "Move", "from": &**from });
            }
        };
        json!({ "object": key.to_string(), "stage": stage.as_str(), "action": action })
    });
    let removals = part.removals.iter().map(|(key, stage, removal)| {
        json!({ "object": key.to_string(), "stage": stage.as_str(), "action": format!("{removal:?}") })
    });
    let handed_over = part.handed_over.iter().map(
        |(key, stage, to)| json!({ "object": key.to_string(), "stage": stage.as_str(), "action": "Move", "to": &**to }),
    );
    let jobs = part.jobs.iter().map(|(key, phase)| json!({ "object": key.to_string(), "phase": phase }));
    let refused = part.refusals.iter().map(
        |api_error| json!({ "object": api_error.key.to_string(), "reason": api_error.reason, "message": api_error.message }),
    );
    let mut document = json!({
        "component": &*part.component,
        "steps": steps.collect::<Vec<_>>(),
        "removals": removals.chain(handed_over).collect::<Vec<_>>(),
        "jobs": jobs.collect::<Vec<_>>(),
        "refused": refused.collect::<Vec<_>>(),
    });
    if let Value::Object(fields) = &mut document {
        skipped(part.skipped.as_ref(), fields);
    }
    document
}
