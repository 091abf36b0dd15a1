//! Plans for people and for programmes.

use std::io::{self, Write};

use reeve_reconciler::plan::{Action, ComponentPlan, Removal};
use serde_json::{Value, json};

use super::Group;
use crate::cli::style::{Paint, Style};
use crate::cli::text::{harmless, in_runtimes};

/// How often what would be done.
#[derive(Default)]
struct Tally {
    create: usize,
    update: usize,
    repair: usize,
    delete: usize,
    kept: usize,
    refused: usize,
}

pub(super) fn write(groups: &[Group], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let mut tally = Tally::default();
    for group in groups {
        let mut lines = Vec::new();
        for (name, plan) in group.preview.components.iter().chain(&group.preview.removed) {
            let left = !group.preview.components.iter().any(|(wanted, _)| wanted == name);
            component(name, left, plan, style, group.runtimes.len(), &mut tally, &mut lines);
        }
        if lines.is_empty() {
            continue;
        }
        writeln!(out, "{}", style.paint(Paint::Strong, &in_runtimes(&group.runtimes)))?;
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        writeln!(out)?;
    }
    if tally.create + tally.update + tally.repair + tally.delete + tally.refused == 0 {
        return writeln!(out, "nothing to do: {} objects are as Git says", tally.kept);
    }
    let refused = if tally.refused > 0 { format!(", {} refused", tally.refused) } else { String::new() };
    let Tally { create, update, repair, delete, kept, .. } = tally;
    writeln!(
        out,
        "{create} to create, {update} to change, {repair} to repair, {delete} to delete{refused}; {kept} stay as they are"
    )
}

fn component(
    name: &str,
    left: bool,
    plan: &ComponentPlan,
    style: Style,
    runtimes: usize,
    tally: &mut Tally,
    lines: &mut Vec<String>,
) {
    let mut shown = Vec::new();
    for step in &plan.steps {
        let (count, paint, sign, note) = match step.action {
            Action::Create => (&mut tally.create, Paint::Added, '+', ""),
            Action::Update => (&mut tally.update, Paint::Changed, '~', ""),
            Action::Replace => (&mut tally.update, Paint::Changed, '~', " (made anew when the old one is gone)"),
            Action::Repair => (&mut tally.repair, Paint::Warning, '!', " (someone changed it)"),
            Action::Report => (&mut tally.kept, Paint::Warning, '!', " (someone changed it; only told)"),
            Action::Verify | Action::Keep | Action::Leave => {
                tally.kept += runtimes;
                continue;
            }
        };
        *count += runtimes;
        shown.push(format!("    {}{note}", style.paint(paint, &format!("{sign} {}", harmless(&step.key.to_string())))));
    }
    for (key, _, removal) in &plan.removals {
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
    for (key, owner) in &plan.claimed {
        tally.refused += runtimes;
        shown.push(format!("    {}", style.paint(Paint::Error, &format!("x {key} belongs to {owner}"))));
    }
    if !shown.is_empty() {
        lines.push(format!("  component {name}{}", if left { " (left Git)" } else { "" }));
        lines.append(&mut shown);
    }
}

/// The same for programmes.
pub(super) fn document(groups: &[Group]) -> Value {
    let plans = groups.iter().map(|group| {
        let components = group.preview.components.iter().chain(&group.preview.removed);
        let components: Vec<Value> = components.map(|(name, plan)| plan_document(name, plan)).collect();
        json!({
            "runtimes": group.runtimes.iter().map(|name| &**name).collect::<Vec<_>>(),
            "components": components,
        })
    });
    json!({ "plans": plans.collect::<Vec<_>>() })
}

fn plan_document(name: &str, plan: &ComponentPlan) -> Value {
    let steps = plan.steps.iter().map(|step| {
        json!({ "object": step.key.to_string(), "stage": step.stage.as_str(), "action": format!("{:?}", step.action) })
    });
    let removals = plan.removals.iter().map(|(key, stage, removal)| {
        json!({ "object": key.to_string(), "stage": stage.as_str(), "action": format!("{removal:?}") })
    });
    let claimed = plan.claimed.iter().map(|(key, owner)| json!({ "object": key.to_string(), "owner": owner }));
    json!({
        "component": name,
        "steps": steps.collect::<Vec<_>>(),
        "removals": removals.collect::<Vec<_>>(),
        "refused": claimed.collect::<Vec<_>>(),
    })
}
