//! `reeve diff`: what differs between the objects of two revisions or folders, or of a repository and a cluster. Between
//! revisions only runtimes that the change concerns are rendered.

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use reeve_crds::runtime::policy::DeletionPolicy;
use reeve_renderer::affected::affected;
use reeve_renderer::bundle::Bundle;
use reeve_renderer::cache::MemoryCache;
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::diff::{self, Group, ObjectChange};
use reeve_renderer::findings::Findings;
use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer::tree::Tree;

use super::args::diff::{DiffArgs, DiffFormat};
use super::desired_runtime::load;
use super::failure::Failure;
use super::progress::Progress;
use super::report::{self, Reporter};
use super::source::{Source, select_runtimes};
use super::text::{count, in_runtimes};
use super::{Status, Terminal, bundles, workers};

mod json;
mod lines;
mod live;
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
    /// Objects of which the API server did not say what would become of them.
    unknown: usize,
    /// Runtimes of a cluster whose file left Git.
    ended: Vec<EndedRuntime>,
}

/// A runtime of a cluster whose file left Git.
struct EndedRuntime {
    runtime: Arc<str>,
    policy: DeletionPolicy,
    /// How many of its objects stay.
    stay: usize,
}

impl Answer {
    /// Whether all was compared.
    fn is_whole(&self) -> bool {
        self.failed.is_empty() && self.unknown == 0 && !self.findings.iter().any(Diagnostic::is_error)
    }
}

pub(super) fn run(args: &DiffArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let (answer, before, after) = if args.live {
        let path = args.before.as_deref().unwrap_or(".");
        let source = Source::open(Path::new(path), &args.revision)?;
        (live::compare(&source, args, terminal)?, None, source)
    } else {
        let here = Path::new(".");
        let named = |name: &Option<String>| Source::named(name.as_deref().unwrap_or_default(), here);
        let (before, after) = (named(&args.before)?, named(&args.after)?);
        (revisions(&before, &after, &args.runtimes)?, Some(before), after)
    };
    let whole = answer.is_whole();
    match args.output {
        DiffFormat::Text => text::write(&answer, terminal.style, &mut terminal.out)?,
        DiffFormat::Json => writeln!(terminal.out, "{:#}", json::document(&answer))?,
    }
    terminal.out.flush()?;
    print_answer(&answer, before.as_ref(), &after, terminal)?;
    Ok(match (whole, answer.groups.is_empty() && answer.ended.is_empty()) {
        (false, _) => Status::Incomplete,
        (true, false) => Status::Findings,
        (true, true) => Status::Fine,
    })
}

/// Shows what differs between two fleets at hand: one of a repository, and what it would be with more files in it.
pub(super) fn fleets(
    before: &Fleet,
    after: &Fleet,
    said: Vec<Diagnostic>,
    source: &Source,
    tree: &dyn Tree,
    terminal: &mut Terminal,
) -> Result<Status, Failure> {
    let mut findings = Findings::new();
    findings.extend(said);
    let answer = compare(before, after, &[], findings)?;
    text::write(&answer, terminal.style, &mut terminal.out)?;
    if !answer.findings.is_empty() {
        Reporter::new(tree, terminal.style).write(&answer.findings, &mut terminal.out)?;
        writeln!(terminal.out, "{} in {}", report::tally(&answer.findings), source.shown)?;
    }
    Ok(match (answer.is_whole(), answer.groups.is_empty()) {
        (false, _) => Status::Incomplete,
        (true, false) => Status::Findings,
        (true, true) => Status::Fine,
    })
}

fn revisions(before: &Source, after: &Source, wanted: &[String]) -> Result<Answer, Failure> {
    // One loader for both, so that what is equal in both is the same in memory.
    let loader = Loader::new();
    let (before, _) = before.load(&loader)?;
    let (after, findings) = load(after, &loader)?;
    compare(&before, &after, wanted, findings)
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
    Ok(Answer { groups: diff::group(changes), findings: findings.into_sorted(), failed, unknown: 0, ended: Vec::new() })
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
fn print_answer(answer: &Answer, before: Option<&Source>, after: &Source, terminal: &Terminal) -> Result<(), Failure> {
    let mut said = Vec::new();
    if !answer.findings.is_empty() {
        Reporter::new(&*after.tree, terminal.error_style).write(&answer.findings, &mut said)?;
        writeln!(said, "{} in {}", report::tally(&answer.findings), after.shown)?;
    }
    for (side, source) in [(Side::Before, before), (Side::After, Some(after))] {
        let failed: Vec<Arc<str>> =
            answer.failed.iter().filter(|(_, failed)| *failed == side).map(|(runtime, _)| runtime.clone()).collect();
        if let Some(source) = source.filter(|_| !failed.is_empty()) {
            let place = in_runtimes(&failed);
            writeln!(said, "not compared, since {} cannot be rendered {place}", source.shown)?;
        }
    }
    if answer.unknown > 0 {
        writeln!(said, "not compared, since the API server did not say: {}", count(answer.unknown, "object"))?;
    }
    // Whoever closed standard error does not want to know.
    let _ = io::stderr().write_all(&said);
    Ok(())
}
