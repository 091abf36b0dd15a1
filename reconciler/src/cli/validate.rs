//! `reeve validate`: every runtime, all findings, each once.

use std::io::Write as _;

use reeve_reconciler::dapr;
use reeve_reconciler_engine::desired;
use reeve_renderer::diagnostic::{Diagnostic, Severity};
use reeve_renderer::findings::Findings;
use reeve_renderer::fleet::Loader;
use reeve_renderer::{released, resolve};

use super::args::{ReportFormat, ValidateArgs};
use super::chart::changed;
use super::failure::Failure;
use super::progress::Progress;
use super::report::{self, Counts, Reporter};
use super::source::Source;
use super::{Status, Terminal, bundles};

mod shared;

use shared::Shared;

pub(super) fn run(args: &ValidateArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let source = Source::open(&args.path, &args.revision)?;
    let (mut findings, counts) = check(&source, args)?;
    if args.warnings_as_errors {
        for finding in &mut findings {
            finding.severity = Severity::Error;
        }
    }
    let out = &mut terminal.out;
    match args.output {
        ReportFormat::Text => {
            Reporter::new(&*source.tree, terminal.style).write(&findings, out)?;
            writeln!(out, "{}", report::summary(&findings, counts, terminal.style))?;
        }
        ReportFormat::Json => writeln!(out, "{:#}", report::json::document(&findings, counts))?,
        ReportFormat::Github => report::github::write(&findings, &source.prefix(), out)?,
        ReportFormat::Sarif => writeln!(out, "{:#}", report::sarif::document(&findings, &source.prefix()))?,
    }
    Ok(if findings.iter().any(Diagnostic::is_error) { Status::Findings } else { Status::Fine })
}

fn check(source: &Source, args: &ValidateArgs) -> Result<(Vec<Diagnostic>, Counts), Failure> {
    // Opened first, so that a slip in its name costs no render.
    let before = args.against.as_ref().map(|name| Source::beside(name, &args.path, &args.revision)).transpose()?;
    let (fleet, said) = source.load(&Loader::new())?;
    let mut findings = Findings::new();
    findings.extend(said);
    findings.extend(resolve::check(&fleet));
    findings.extend(changed::findings(&*source.tree)?);
    if let Some(before) = before {
        findings.extend(released::check(&*before.tree, &*source.tree, &fleet)?);
    }
    let names: Vec<_> = fleet.runtimes.keys().cloned().collect();
    let mut counts = Counts { runtimes: names.len(), ..Counts::default() };
    let mut progress = Progress::new(names.len());
    let mut shared = Shared::default();
    bundles::each(&fleet, &names, |name, rendered, in_cluster| {
        progress.step();
        match rendered {
            Ok(bundle) => {
                counts.components += bundle.components.len();
                counts.objects += bundle.components.iter().map(|component| component.objects.len()).sum::<usize>();
                findings.add_for(name, desired::check(&bundle));
                findings.add_for(name, dapr::check(&bundle));
                findings.add_for(name, shared.check(name, &bundle, in_cluster));
                findings.add_for(name, bundle.warnings);
            }
            Err(said) => findings.add_for(name, said),
        }
        Ok(())
    })?;
    Ok((findings.into_sorted(), counts))
}
