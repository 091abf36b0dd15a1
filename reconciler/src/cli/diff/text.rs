//! Differences for people.

use std::io::{self, Write};

use reeve_crds::runtime::policy::DeletionPolicy;
use reeve_renderer::diff::{ChangeKind, FieldChange, ObjectChange};
use reeve_renderer::value::Value;
use reeve_renderer::yaml;

use super::lines::{Line, lines};
use super::{Answer, EndedRuntime};
use crate::cli::style::{Paint, Style};
use crate::cli::text::{count, harmless, in_runtimes, value};

/// Writes all groups, with an empty line between them, and a line that sums them up. That there is no difference is only
/// said of what could be compared in full.
pub(super) fn write(answer: &Answer, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let groups = &answer.groups;
    answer.ended.iter().try_for_each(|ended| end(ended, style, out))?;
    for group in groups {
        writeln!(out, "{}", style.paint(Paint::Strong, &in_runtimes(&group.runtimes)))?;
        for change in &group.changes {
            object(change, style, out)?;
        }
        writeln!(out)?;
    }
    if groups.is_empty() {
        return if answer.is_whole() && answer.ended.is_empty() { writeln!(out, "no difference") } else { Ok(()) };
    }
    let runtimes = groups.iter().map(|group| group.runtimes.len()).sum();
    let mut counts = [0usize; 4];
    for group in groups {
        for change in &group.changes {
            let at = match change.kind {
                ChangeKind::Added(_) => 0,
                ChangeKind::Changed(_) => 1,
                ChangeKind::Removed(_) => 2,
                ChangeKind::Refused { .. } => 3,
            };
            counts[at] += group.runtimes.len();
        }
    }
    let [added, changed, removed, refused] = counts;
    let refused = if refused > 0 { format!(", {refused} refused") } else { String::new() };
    writeln!(out, "{}: {added} added, {changed} changed, {removed} removed{refused}", count(runtimes, "runtime"))
}

/// A runtime whose file left Git. Those of its objects that go are shown as differences.
fn end(ended: &EndedRuntime, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let objects = match (ended.policy, ended.stay) {
        (DeletionPolicy::Delete, 0) => "its objects are deleted".to_owned(),
        (DeletionPolicy::Delete, stay) => format!("its objects are deleted but for {stay}"),
        (DeletionPolicy::Orphan, 1) => "its object stays".to_owned(),
        (DeletionPolicy::Orphan, stay) => format!("its {stay} objects stay"),
    };
    let name = style.paint(Paint::Removed, &format!("- runtime {}", ended.runtime));
    writeln!(out, "{name} (its file left Git: {objects})")
}

fn object(change: &ObjectChange, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let (paint, sign) = match change.kind {
        ChangeKind::Added(_) => (Paint::Added, '+'),
        ChangeKind::Changed(_) => (Paint::Changed, '~'),
        ChangeKind::Removed(_) => (Paint::Removed, '-'),
        ChangeKind::Refused { .. } => (Paint::Error, 'x'),
    };
    let name = style.paint(paint, &format!("{sign} {}", change.key));
    writeln!(out, "  {name} {}", style.paint(Paint::Faint, &format!("(component {})", change.component)))?;
    match &change.kind {
        ChangeKind::Added(object) => {
            let mut text = String::new();
            yaml::write(&Value::Dict(object.clone()), &mut text);
            text.lines().try_for_each(|line| {
                let line = format!("+ {}", harmless(line));
                writeln!(out, "      {}", style.paint(Paint::Added, &line))
            })
        }
        ChangeKind::Removed(_) => Ok(()),
        ChangeKind::Refused { reason, message } => {
            writeln!(out, "      {}", style.paint(Paint::Error, &format!("{reason}: {}", harmless(message))))
        }
        ChangeKind::Changed(fields) => fields.iter().try_for_each(|change| field(change, style, out)),
    }
}

fn field(change: &FieldChange, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let path = harmless(&change.path.to_string()).into_owned();
    let (added, removed) =
        (|text: &str| style.paint(Paint::Added, text), |text: &str| style.paint(Paint::Removed, text));
    match (&change.before, &change.after) {
        (Some(Value::Text(old)), Some(Value::Text(new))) if have_lines_that_differ(old, new) => {
            writeln!(out, "      {path}:")?;
            lines(old, new).into_iter().try_for_each(|line| match line {
                Line::Same(text) => writeln!(out, "          {}", harmless(text)),
                Line::Removed(text) => writeln!(out, "        {}", removed(&format!("- {}", harmless(text)))),
                Line::Added(text) => writeln!(out, "        {}", added(&format!("+ {}", harmless(text)))),
                Line::Hidden(many) => {
                    writeln!(out, "          {}", style.paint(Paint::Faint, &format!("... {}", count(many, "line"))))
                }
            })
        }
        (Some(old), Some(new)) => writeln!(out, "      {path}: {} -> {}", removed(&value(old)), added(&value(new))),
        (None, Some(new)) => writeln!(out, "      {}", added(&format!("+ {path}: {}", value(new)))),
        (Some(old), None) => writeln!(out, "      {}", removed(&format!("- {path}: {}", value(old)))),
        (None, None) => Ok(()),
    }
}

/// A change of nothing but the line break at the end cannot be seen in lines.
fn have_lines_that_differ(old: &str, new: &str) -> bool {
    (old.contains('\n') || new.contains('\n')) && old.lines().ne(new.lines())
}
