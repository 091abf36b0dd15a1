//! Templates: Helm's own, and Jinja for chart writers who know Helm.
//!
//! Reads the templates of a chart once and renders them as often as wanted, within a [`Budget`]. A template sees only what
//! the [`Scope`] shows it: no clock, no network, no file that the chart does not have.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::budget::Budget;
use crate::diagnostic::Diagnostic;
use crate::suggest;
use evaluate::Evaluator;
use program::{Program, Statement};

mod builtins;
mod charts;
mod evaluate;
mod fault;
mod glob;
mod go;
mod heap;
mod item;
mod jinja;
mod operators;
mod program;
mod scope;
mod syntax;
mod written;

pub use charts::{ChartNode, GoTemplates, RenderedFile, api_versions, render_charts};
pub use scope::{ChartFiles, Facts, Scope};
pub use written::{Poisoned, Written};

/// A template as it is in the chart.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its path below `templates/`, such as `deployment.yaml.j2`.
    pub name: String,
    /// Its path in the repository.
    pub file: Arc<str>,
    /// Its text.
    pub text: Arc<str>,
}

/// The templates of a chart, ready to render. Cheap to clone and to share between threads.
#[derive(Clone, Debug)]
pub struct Templates {
    library: Arc<Library>,
}

/// All templates of a chart by name, and the macros of those that others may use.
#[derive(Debug, Default)]
struct Library {
    programs: BTreeMap<Arc<str>, Arc<Program>>,
    /// By the name of a macro: the `_*.j2` files that declare it.
    macros: BTreeMap<Arc<str>, Vec<Arc<str>>>,
}

/// A macro that `include` cannot find.
struct NoMacro {
    message: String,
    help: Option<String>,
}

impl Templates {
    /// Reads all templates; gives back everything that is wrong with any of them.
    pub fn compile(sources: &[Source]) -> Result<Self, Vec<Diagnostic>> {
        let mut library = Library::default();
        let mut problems = Vec::new();
        for source in sources {
            let name: Arc<str> = source.name.as_str().into();
            let text = syntax::Input {
                name: Arc::clone(&name),
                file: Arc::clone(&source.file),
                text: Arc::clone(&source.text),
                is_text: false,
            };
            match syntax::read(text) {
                Ok(program) => library.add(name, program),
                Err(found) => problems.extend(found),
            }
        }
        if problems.is_empty() { Ok(Self { library: Arc::new(library) }) } else { Err(problems) }
    }

    /// The names of the templates, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.library.programs.keys().map(|name| &**name)
    }

    /// The text of one template, or the first thing that is wrong with it. One whose file name begins with `_` has no
    /// output of its own.
    pub fn render(&self, name: &str, scope: &Scope<'_>, budget: &Budget) -> Result<String, Diagnostic> {
        let nothing = || Diagnostic::error("template-type", format!("`{name}` cannot be rendered"));
        let first = |found: Vec<Diagnostic>| found.into_iter().next().unwrap_or_else(nothing);
        self.write(name, scope, budget).map(|written| written.text).map_err(first)
    }

    /// The same, with which part of the template wrote each line, or with all that it uses and nobody sets.
    pub fn write(&self, name: &str, scope: &Scope<'_>, budget: &Budget) -> Result<Written, Vec<Diagnostic>> {
        let Some(program) = self.library.programs.get(name) else {
            let message = format!("the chart has no template `{name}`");
            return Err(vec![Diagnostic::error("include-missing", message)]);
        };
        if is_helper(name) {
            return Ok(Written::nothing(Arc::clone(program)));
        }
        Evaluator::new(&self.library, scope, budget, Arc::clone(program)).render()
    }
}

/// Whether Helm shows what a template writes to people, instead of applying it.
pub(crate) fn is_notes(name: &str) -> bool {
    name.ends_with("NOTES.txt")
}

/// Whether a template is there for others only.
fn is_helper(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|file| file.starts_with('_'))
}

impl Library {
    fn add(&mut self, name: Arc<str>, program: Program) {
        if is_helper(&name) {
            for statement in &program.routine.body {
                let Statement::Macro(_, number) = statement else { continue };
                let Some(found) = program.macros.get(*number as usize) else { continue };
                let files = self.macros.entry(Arc::clone(&found.name)).or_default();
                if !files.contains(&name) {
                    files.push(Arc::clone(&name));
                }
            }
        }
        self.programs.insert(name, Arc::new(program));
    }

    /// The macro that Helm's name of a template means: `chart.labels` is `chart_labels` or `labels`.
    fn find_macro(&self, name: &str) -> Result<(&Arc<Program>, &str), NoMacro> {
        let plain = |name: &str| name.replace(['.', '-', '/'], "_");
        let last = name.rsplit(['.', '/']).next().unwrap_or(name);
        let spellings = [name.to_owned(), plain(name), last.to_owned(), plain(last)];
        let found = spellings.iter().find_map(|spelling| self.macros.get_key_value(&**spelling));
        let Some((macro_name, files)) = found else {
            let near = suggest::nearest(&plain(last), self.macros.keys().map(|name| &**name));
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("write `{{% macro {}() %}}` in a `_*.j2` file", plain(last)),
            };
            return Err(NoMacro { message: format!("no `_*.j2` file declares a macro `{name}`"), help: Some(help) });
        };
        if let [first, second, ..] = files.as_slice() {
            return Err(NoMacro {
                message: format!("the macro `{macro_name}` is declared in both `{first}` and `{second}`"),
                help: Some("import it from the file you mean, or rename one of them".to_owned()),
            });
        }
        let program = files.first().and_then(|file| self.programs.get(file));
        program
            .map(|program| (program, &**macro_name))
            .ok_or_else(|| NoMacro { message: format!("the macro `{macro_name}` is gone"), help: None })
    }
}
