//! `reeve diff`: what differs between the objects of two revisions or folders. Only runtimes that the change concerns are
//! rendered.

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use reeve_renderer::affected::affected;
use reeve_renderer::bundle::Bundle;
use reeve_renderer::cache::MemoryCache;
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::diff::{self, Group, ObjectChange};
use reeve_renderer::findings::Findings;
use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer::resolve;

use super::args::{DiffArgs, DiffFormat};
use super::failure::Failure;
use super::progress::Progress;
use super::report::{self, Reporter};
use super::source::{Source, select_runtimes};
use super::{Status, Terminal, bundles, workers};

mod json;
mod lines;
mod text;

/// What was found out about one runtime.
struct Compared {
    runtime: Arc<str>,
    changes: Vec<ObjectChange>,
    findings: Vec<Diagnostic>,
    failed: Option<Side>,
}

/// Which of the two could not be rendered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

/// The answer.
struct Answer {
    groups: Vec<Group>,
    findings: Vec<Diagnostic>,
    /// Runtimes that could not be compared, since they cannot be rendered before or after.
    failed: Vec<(Arc<str>, Side)>,
}

pub(super) fn run(args: &DiffArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let here = Path::new(".");
    let sources = (Source::named(&args.before, here)?, Source::named(&args.after, here)?);
    // One loader for both, so that what is equal in both is the same in memory.
    let loader = Loader::new();
    let (before, _) = sources.0.load(&loader)?;
    let (after, said) = sources.1.load(&loader)?;
    let mut findings = Findings::new();
    findings.extend(said);
    findings.extend(resolve::check(&after));
    let answer = compare(&before, &after, &args.runtimes, findings)?;
    let whole = answer.failed.is_empty() && !answer.findings.iter().any(Diagnostic::is_error);
    match args.output {
        DiffFormat::Text => text::write(&answer.groups, whole, terminal.style, &mut terminal.out)?,
        DiffFormat::Json => writeln!(terminal.out, "{:#}", json::document(&answer))?,
    }
    terminal.out.flush()?;
    tell(&answer, args, &sources.1, terminal)?;
    Ok(match (whole, answer.groups.is_empty()) {
        (false, _) => Status::Incomplete,
        (true, false) => Status::Findings,
        (true, true) => Status::Fine,
    })
}

fn compare(before: &Fleet, after: &Fleet, wanted: &[String], mut findings: Findings) -> Result<Answer, Failure> {
    let all = before.runtimes.keys().chain(after.runtimes.keys().filter(|name| !before.runtimes.contains_key(*name)));
    let wanted = select_runtimes(wanted, all)?;
    let wanted: HashSet<_> = wanted.into_iter().collect();
    let names: Vec<Arc<str>> =
        affected(before, after).into_iter().map(|(name, _)| name).filter(|name| wanted.contains(name)).collect();
    let cache = bundles::cache();
    let mut progress = Progress::new(names.len());
    let (mut changes, mut failed) = (Vec::new(), Vec::new());
    let work =
        |name: &Arc<str>| compared(name, rendered(before, after, &cache, name), rendered(after, before, &cache, name));
    workers::in_order(&names, work, |compared: Compared| {
        progress.step();
        findings.add_for(&compared.runtime, compared.findings);
        failed.extend(compared.failed.map(|side| (compared.runtime.clone(), side)));
        if !compared.changes.is_empty() {
            changes.push((compared.runtime, compared.changes));
        }
        Ok::<(), Failure>(())
    })?;
    drop(progress);
    Ok(Answer { groups: diff::group(changes), findings: findings.into_sorted(), failed })
}

/// One side of one runtime; nothing, if it is not there on this side.
type Rendered = Result<Option<Bundle>, Vec<Diagnostic>>;

/// A runtime that is missing on this side since its file cannot be read there is not one that was taken away.
fn rendered(fleet: &Fleet, other: &Fleet, cache: &MemoryCache, name: &Arc<str>) -> Rendered {
    let file = other.runtimes.get(name).and_then(|runtime| Path::new(&*runtime.file).file_stem()?.to_str());
    match bundles::one(fleet, cache, name) {
        None if file.is_some_and(|file| fleet.is_broken("runtimes", file)) => Err(Vec::new()),
        found => found.transpose(),
    }
}

fn compared(runtime: &Arc<str>, old: Rendered, new: Rendered) -> Compared {
    let none = |findings, failed| Compared { runtime: runtime.clone(), changes: Vec::new(), findings, failed };
    match (old, new) {
        (_, Err(findings)) => none(findings, Some(Side::After)),
        (Err(_), Ok(_)) => none(Vec::new(), Some(Side::Before)),
        (Ok(old), Ok(new)) => {
            let changes = diff::diff(old.as_ref(), new.as_ref());
            Compared { changes, ..none(new.map(|bundle| bundle.warnings).unwrap_or_default(), None) }
        }
    }
}

/// Findings of the later side, and what could not be compared, on standard error.
fn tell(answer: &Answer, args: &DiffArgs, after: &Source, terminal: &Terminal) -> Result<(), Failure> {
    let mut said = Vec::new();
    if !answer.findings.is_empty() {
        Reporter::new(&*after.tree, terminal.error_style).write(&answer.findings, &mut said)?;
        writeln!(said, "{} in {}", report::tally(&answer.findings), args.after)?;
    }
    for (side, name) in [(Side::Before, &args.before), (Side::After, &args.after)] {
        let failed: Vec<Arc<str>> =
            answer.failed.iter().filter(|(_, failed)| *failed == side).map(|(runtime, _)| runtime.clone()).collect();
        if !failed.is_empty() {
            writeln!(said, "not compared, since {name} cannot be rendered {}", super::text::in_runtimes(&failed))?;
        }
    }
    // Whoever closed standard error does not want to know.
    let _ = io::stderr().write_all(&said);
    Ok(())
}
