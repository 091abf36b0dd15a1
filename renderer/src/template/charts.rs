//! The templates of a chart in Helm's syntax, with those of the charts below it: who is called what, and in which order.
//!
//! As in Helm, all charts share one set of named templates, deeper ones first, so that a chart's own declarations win; and
//! they run in that order with one set of values, so that what one template changes in them the next one sees.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use super::evaluate::Evaluator;
use super::heap::{Heap, MapId, Shape};
use super::item::{FileSet, Item, Tracked};
use super::program::Program;
use super::scope::{ChartFiles, Root, Scope};
use super::syntax::{Input, location};
use super::written::Written;
use super::{Source, go, is_helper, is_notes};
use crate::budget::Budget;
use crate::diagnostic::{Diagnostic, Location};
use crate::value::{Dict, Step, Value};

mod built_in;

pub use built_in::api_versions;

/// The templates of one chart in Helm's syntax.
#[derive(Clone, Debug, Default)]
pub struct GoTemplates {
    /// By their path in the chart, such as `templates/service.yaml`.
    programs: Vec<(Arc<str>, Arc<Program>)>,
}

impl GoTemplates {
    /// Reads all templates; gives back everything that is wrong with any of them.
    pub fn compile(sources: &[Source]) -> Result<Self, Vec<Diagnostic>> {
        let mut programs = Vec::new();
        let mut problems = Vec::new();
        for source in sources {
            let name: Arc<str> = format!("templates/{}", source.name).into();
            let (file, text) = (Arc::clone(&source.file), Arc::clone(&source.text));
            match go::read(Input { name: Arc::clone(&name), file, text, is_text: false }) {
                Ok(program) => programs.push((name, Arc::new(program))),
                Err(mut found) => problems.append(&mut found),
            }
        }
        if problems.is_empty() { Ok(Self { programs }) } else { Err(problems) }
    }

    /// Calls whose result cannot be what it is in Helm: the name of each function, and where.
    pub fn unhonoured(&self) -> impl Iterator<Item = (&'static str, Location)> {
        // What notes say is thrown away, so in them everything is honoured.
        self.programs.iter().filter(|(name, _)| !is_notes(name)).flat_map(|(_, program)| {
            let place = |(name, span): &(&'static str, _)| (*name, location(&program.file, &program.text, *span));
            program.unhonoured.iter().map(place)
        })
    }

    /// The groups, versions and kinds that are asked for by name, and where.
    pub fn asked(&self) -> impl Iterator<Item = (&str, Location)> {
        self.programs.iter().flat_map(|(_, program)| {
            let place = |(_, span): &(Arc<str>, _)| location(&program.file, &program.text, *span);
            program.asked.iter().map(move |one| (&*one.0, place(one)))
        })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.programs.len()
    }
}

/// A chart that takes part in a render, with the charts below it.
#[derive(Clone)]
pub struct ChartNode<'a> {
    /// Its name, or its alias.
    pub name: Arc<str>,
    /// Its name without an alias.
    pub plain_name: Arc<str>,
    /// Whether the charts below it are its own. If not, Helm calls their templates by the plain names of all charts above,
    /// so that under two names of one chart they are there once.
    pub is_switched: bool,
    /// What its templates see as `.Chart`.
    pub metadata: Value,
    /// Its templates.
    pub templates: &'a GoTemplates,
    /// Its files.
    pub files: &'a dyn ChartFiles,
    /// Whether only its named templates count.
    pub is_library: bool,
    /// The charts below it.
    pub children: Vec<ChartNode<'a>>,
}

impl std::fmt::Debug for ChartNode<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChartNode").field("name", &self.name).field("children", &self.children).finish_non_exhaustive()
    }
}

/// What became of one template.
#[derive(Debug)]
pub struct RenderedFile {
    /// Its path in the repository.
    pub file: Arc<str>,
    /// What it wrote, or all that is wrong with it.
    pub result: Result<Written, Vec<Diagnostic>>,
}

/// All named templates of a chart and the charts below it.
#[derive(Debug, Default)]
pub(super) struct Library {
    /// A template of a file, or the file itself.
    templates: HashMap<Arc<str>, (Arc<Program>, Option<u32>)>,
}

impl Library {
    pub(super) fn find(&self, name: &str) -> Option<(Arc<Program>, Option<u32>)> {
        self.templates.get(name).cloned()
    }

    /// The names in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.templates.keys().map(|name| &**name).collect::<BTreeSet<_>>().into_iter()
    }

    fn add(&mut self, name: &Arc<str>, program: &Arc<Program>) {
        self.templates.insert(Arc::clone(name), (Arc::clone(program), None));
        for define in &program.defines {
            if define.is_empty && self.templates.contains_key(&define.name) {
                continue;
            }
            self.templates.insert(Arc::clone(&define.name), (Arc::clone(program), Some(define.number)));
        }
    }
}

/// A template with the name that Helm gives it.
struct Named<'a> {
    name: Arc<str>,
    program: &'a Arc<Program>,
    chart: usize,
}

/// A chart on the way from the root to those below.
struct Charted<'n, 'a> {
    node: &'n ChartNode<'a>,
    path: String,
    plain_path: String,
    parent: Option<usize>,
}

static NO_MACROS: LazyLock<super::Library> = LazyLock::new(super::Library::default);

/// Renders the templates of a chart and of those below it; with `only`, those of one file of the repository.
pub fn render_charts(
    root: &ChartNode<'_>,
    scope: &Scope<'_>,
    budget: &Budget,
    only: Option<&str>,
) -> Vec<RenderedFile> {
    let (path, plain_path) = (root.name.to_string(), root.name.to_string());
    let mut charts = vec![Charted { node: root, path, plain_path, parent: None }];
    let mut at = 0;
    while let Some(parent) = charts.get(at) {
        let (node, plain_path) = (parent.node, parent.plain_path.clone());
        let path = if node.is_switched { parent.path.clone() } else { plain_path.clone() };
        let below = node.children.iter();
        charts.extend(below.map(|node| Charted {
            node,
            path: format!("{path}/charts/{}", node.name),
            plain_path: format!("{plain_path}/charts/{}", node.plain_name),
            parent: Some(at),
        }));
        at += 1;
    }
    let named = in_order(&charts);
    let mut library = Library::default();
    for one in &named {
        library.add(&one.name, one.program);
    }
    run(&charts, &named, &library, scope, budget, only)
}

fn run(
    charts: &[Charted<'_, '_>],
    named: &[Named<'_>],
    library: &Library,
    scope: &Scope<'_>,
    budget: &Budget,
    only: Option<&str>,
) -> Vec<RenderedFile> {
    let mut heap = Heap::default();
    let contexts = contexts(&mut heap, charts, scope);
    let mut rendered = Vec::new();
    for one in named {
        let is_wanted = only.is_none_or(|file| &*one.program.file == file);
        let (Some(chart), Some(context)) = (charts.get(one.chart), contexts.get(one.chart)) else { continue };
        if is_helper(&one.name) || chart.node.is_library || !is_wanted {
            continue;
        }
        let about = BTreeMap::from([
            (Arc::from("Name"), Item::Data(Value::Text(Arc::clone(&one.name)))),
            (Arc::from("BasePath"), Item::Data(Value::from(format!("{}/templates", chart.path)))),
        ]);
        let about = heap.add_map(about);
        heap.replace_quietly(*context, "Template", Item::Map(about));
        let evaluator = Evaluator::new(&NO_MACROS, scope, budget, Arc::clone(one.program)).with_charts(library, heap);
        let (result, after) = evaluator.render_with(Item::Map(*context));
        heap = after;
        rendered.push(RenderedFile { file: Arc::clone(&one.program.file), result });
    }
    rendered
}

/// All templates in Helm's order: the longest paths first, and backwards by name.
fn in_order<'a>(charts: &[Charted<'_, 'a>]) -> Vec<Named<'a>> {
    let mut named = Vec::new();
    for (at, chart) in charts.iter().enumerate() {
        for (name, program) in &chart.node.templates.programs {
            if !chart.node.is_library || is_helper(name) {
                named.push(Named { name: format!("{}/{name}", chart.path).into(), program, chart: at });
            }
        }
    }
    // Of one name the last one counts.
    let mut seen = HashSet::new();
    named.reverse();
    named.retain(|one: &Named<'_>| seen.insert(Arc::clone(&one.name)));
    let steps = |name: &str| name.bytes().filter(|byte| *byte == b'/').count();
    named.sort_by(|a, b| steps(&b.name).cmp(&steps(&a.name)).then_with(|| b.name.cmp(&a.name)));
    named
}

/// What the templates of each chart see as their dot.
fn contexts<'a>(heap: &mut Heap<'a>, charts: &[Charted<'_, 'a>], scope: &Scope<'a>) -> Vec<MapId> {
    let release = built_in::release(heap, scope);
    let capabilities = built_in::capabilities(heap, scope);
    let mut contexts: Vec<MapId> = Vec::new();
    let mut values_of: Vec<MapId> = Vec::new();
    for chart in charts {
        let values = match chart.parent.and_then(|parent| values_of.get(parent)) {
            Some(parent) => open_entry(heap, *parent, &chart.node.name),
            None => root_values(heap, scope),
        };
        let metadata = match &chart.node.metadata {
            Value::Dict(dict) => heap.open(dict),
            _ => heap.add_map(BTreeMap::new()),
        };
        set_shape(heap, metadata, Shape::Chart);
        let below = heap.add_map(BTreeMap::new());
        let files = Item::ChartFiles(Rc::new(FileSet { files: chart.node.files, selected: None }));
        let entries = BTreeMap::from([
            (Arc::from("Chart"), Item::Map(metadata)),
            (Arc::from("Files"), files),
            (Arc::from("Release"), Item::Map(release)),
            (Arc::from("Capabilities"), Item::Map(capabilities)),
            (Arc::from("Values"), Item::Map(values)),
            (Arc::from("Subcharts"), Item::Map(below)),
        ]);
        let context = heap.add_map(entries);
        if let Some(parent) = chart.parent.and_then(|parent| contexts.get(parent)).copied()
            && let Some(Item::Map(siblings)) = heap.map(parent).and_then(|map| map.contents.get("Subcharts"))
        {
            heap.replace_quietly(siblings, &chart.node.name, Item::Map(context));
        }
        contexts.push(context);
        values_of.push(values);
    }
    contexts
}

fn set_shape(heap: &mut Heap<'_>, id: MapId, shape: Shape) {
    if let Some(map) = heap.map_mut(id) {
        map.shape = shape;
    }
}

/// Facts and what they hold, or plain data.
fn root<'a>(scope: &Scope<'a>, name: &'static str) -> (Dict, Option<Tracked<'a>>) {
    match scope.find(name) {
        Some(Root::Data(Value::Dict(dict))) => (dict.clone(), None),
        Some(Root::Facts(facts)) => {
            let value = facts.value().clone();
            let dict = value.as_dict().cloned().unwrap_or_default();
            (dict, Some(Tracked { facts, root: name.into(), path: Vec::new(), value }))
        }
        _ => (Dict::default(), None),
    }
}

fn root_values<'a>(heap: &mut Heap<'a>, scope: &Scope<'a>) -> MapId {
    let (dict, origin) = root(scope, "Values");
    let id = heap.open(&dict);
    if let Some(map) = heap.map_mut(id) {
        map.shape = Shape::Values;
        map.origin = origin.map(Rc::new);
    }
    id
}

/// The map that a map has under a key, as the values of a chart below.
fn open_entry(heap: &mut Heap<'_>, parent: MapId, key: &str) -> MapId {
    let found = heap.map(parent).and_then(|map| map.contents.get(key));
    let origin = heap.map(parent).and_then(|map| map.origin.clone());
    match found {
        Some(Item::Map(id)) => id,
        Some(Item::Data(Value::Dict(dict))) => {
            let id = heap.open(&dict);
            if let Some(map) = heap.map_mut(id) {
                map.shape = Shape::Values;
                map.origin = origin.map(|origin| {
                    let mut path = origin.path.clone();
                    path.push(Step::Key(key.into()));
                    let (facts, root) = (origin.facts, Arc::clone(&origin.root));
                    Rc::new(Tracked { facts, root, path, value: Value::Dict(dict) })
                });
            }
            heap.replace_opened(parent, key, Item::Map(id));
            id
        }
        _ => heap.add_shaped(BTreeMap::new(), Shape::Values),
    }
}
