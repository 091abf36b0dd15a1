//! `reeve render`: the objects of each runtime, printed as they are rendered.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

use reeve_renderer::bundle::{Bundle, BundleComponent, Object};
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::findings::Findings;
use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer::resolve;
use reeve_renderer::suggest::did_you_mean;
use reeve_renderer::value::Value;
use reeve_renderer::yaml;

use super::args::{RenderArgs, RenderFormat};
use super::failure::Failure;
use super::report::{self, Reporter};
use super::source::{Source, runtimes_of};
use super::{Status, Terminal, bundles};

pub(super) fn run(args: &RenderArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let source = Source::open(&args.path, &args.revision)?;
    let (fleet, said) = source.load(&Loader::new())?;
    let names = runtimes_of(&fleet, &args.runtimes)?;
    let mut findings = Findings::new();
    let folders = folders_of(&fleet, &names);
    let asked = &args.runtimes;
    findings.extend(said.into_iter().filter(|one| asked.is_empty() || concerns(one, &fleet, &names, folders.as_ref())));
    let mut printer = Printer::new(args, &mut terminal.out);
    printer.begin()?;
    bundles::each(&fleet, &names, |name, rendered, _| {
        match rendered {
            Ok(bundle) => {
                printer.bundle(&bundle)?;
                findings.add_for(name, bundle.warnings);
            }
            Err(said) => {
                printer.failed = true;
                findings.add_for(name, said);
            }
        }
        Ok(())
    })?;
    let (failed, unknown) = printer.end()?;
    let status = if failed || findings.has_errors() { Status::Findings } else { Status::Fine };
    let findings = findings.into_sorted();
    if !findings.is_empty() {
        terminal.out.flush()?;
        let mut report = Vec::new();
        Reporter::new(&*source.tree, terminal.error_style).write(&findings, &mut report)?;
        writeln!(report, "{}", report::tally(&findings))?;
        // Whoever closed standard error does not want to know.
        let _ = io::stderr().write_all(&report);
    }
    match unknown {
        // A component of a runtime that failed may well be there.
        Some(failure) if !failed => Err(failure),
        _ => Ok(status),
    }
}

/// The folders and archives of all charts that these runtimes get; nothing if that cannot be known of one of them.
fn folders_of(fleet: &Fleet, names: &[Arc<str>]) -> Option<BTreeSet<Arc<str>>> {
    let mut folders = BTreeSet::new();
    for name in names {
        let resolved = resolve::resolve(fleet, name)?.ok()?;
        folders.extend(resolved.components.iter().map(|component| component.chart.folder.clone()));
    }
    Some(folders)
}

/// Whether a finding of the repository concerns these runtimes: what is wrong with the file of another, or with a chart
/// that none of these gets, does not.
fn concerns(finding: &Diagnostic, fleet: &Fleet, names: &[Arc<str>], folders: Option<&BTreeSet<Arc<str>>>) -> bool {
    let Some(place) = &finding.location else { return true };
    if place.file.starts_with("runtimes/") {
        return names.iter().filter_map(|name| fleet.runtimes.get(name)).any(|runtime| runtime.file == place.file);
    }
    let is_below = |folder: &Arc<str>| {
        place.file.strip_prefix(&**folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match folders {
        Some(folders) if place.file.starts_with("charts/") => folders.iter().any(is_below),
        _ => true,
    }
}

struct Printer<'a, W: Write> {
    args: &'a RenderArgs,
    out: &'a mut W,
    printed: usize,
    /// Components seen, to tell which of those asked for is in no runtime.
    seen: BTreeSet<Arc<str>>,
    failed: bool,
}

impl<'a, W: Write> Printer<'a, W> {
    fn new(args: &'a RenderArgs, out: &'a mut W) -> Self {
        Self { args, out, printed: 0, seen: BTreeSet::new(), failed: false }
    }

    fn begin(&mut self) -> io::Result<()> {
        match self.args.output {
            RenderFormat::Json => write!(self.out, "{{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":["),
            RenderFormat::Yaml | RenderFormat::Name | RenderFormat::Digest => Ok(()),
        }
    }

    fn bundle(&mut self, bundle: &Bundle) -> io::Result<()> {
        if matches!(self.args.output, RenderFormat::Digest) && self.args.components.is_empty() {
            return writeln!(self.out, "{} {}", bundle.digest, bundle.runtime);
        }
        for component in &bundle.components {
            if !self.seen.contains(&component.name) {
                self.seen.insert(component.name.clone());
            }
            let wanted = &self.args.components;
            if wanted.is_empty() || wanted.iter().any(|name| **name == *component.name) {
                self.component(bundle, component)?;
            }
        }
        Ok(())
    }

    fn component(&mut self, bundle: &Bundle, component: &BundleComponent) -> io::Result<()> {
        if matches!(self.args.output, RenderFormat::Digest) {
            return writeln!(self.out, "{} {} {}", component.digest, bundle.runtime, component.name);
        }
        component.objects.iter().try_for_each(|object| self.object(bundle, component, object))
    }

    fn object(&mut self, bundle: &Bundle, component: &BundleComponent, object: &Object) -> io::Result<()> {
        let first = self.printed == 0;
        self.printed += 1;
        match self.args.output {
            RenderFormat::Yaml => {
                let origin = &object.origin;
                let (runtime, name) = (&bundle.runtime, &component.name);
                let mut text = if first { String::new() } else { "---\n".to_owned() };
                // Writing to text cannot fail.
                let _ = write!(text, "# runtime {runtime}, component {name}, {}", origin.file);
                if origin.document > 1 {
                    let _ = write!(text, " document {}", origin.document);
                }
                text.push('\n');
                yaml::write(&Value::Dict(object.value.clone()), &mut text);
                self.out.write_all(text.as_bytes())
            }
            RenderFormat::Json => {
                self.out.write_all(if first { b"\n" } else { b",\n" })?;
                serde_json::to_writer(&mut *self.out, &object.value).map_err(io::Error::from)
            }
            RenderFormat::Name => writeln!(self.out, "{} {} {}", bundle.runtime, component.name, object.key),
            RenderFormat::Digest => Ok(()),
        }
    }

    /// Whether a runtime failed, and the component that no runtime has.
    fn end(self) -> io::Result<(bool, Option<Failure>)> {
        if matches!(self.args.output, RenderFormat::Json) {
            self.out.write_all(b"\n]}\n")?;
        }
        let unknown = self.args.components.iter().find(|name| !self.seen.contains(name.as_str())).map(|name| {
            let help = did_you_mean(name, self.seen.iter().map(|name| &**name));
            Failure::unknown(format!("no runtime that was rendered has a component `{name}`"), help)
        });
        Ok((self.failed, unknown))
    }
}
