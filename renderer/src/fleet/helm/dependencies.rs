//! Which of the charts below a chart take part, under which name, and what values they hand up.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::HelmChart;
use super::metadata::Requirement;
use super::values::{ValuesError, at_path, below_path, coalesce, coalesce_tables, names, table_at};
use crate::value::{Dict, Value};
use reeve_renderer_objects::version::Range;

/// How many charts may take part, the one on top among them: each alias of a chart is one more, and so is all below it.
pub(super) const MOST_CHARTS: usize = 500;

/// A chart that takes part, with those below it.
#[derive(Clone, Debug)]
pub struct Enabled {
    /// The chart.
    pub chart: Arc<HelmChart>,
    /// Its name, or its alias.
    pub name: Arc<str>,
    /// Its defaults, with the values that charts below hand up.
    pub defaults: Dict,
    /// The charts below it.
    pub children: Vec<Enabled>,
    /// Whether its requirements were looked at: Helm stops at a chart that declares none.
    pub(super) is_switched: bool,
    /// Its requirements that are met and switched on, by the names that they are known as.
    pub(super) requirements: Vec<Requirement>,
}

/// The charts that take part when these values are given, and the values of all of them.
pub fn resolve(chart: &Arc<HelmChart>, given: &Dict) -> Result<(Enabled, Dict), ValuesError> {
    let mut root = all_of(chart, &chart.name);
    let mut switching = Switching { left: MOST_CHARTS, seen: BTreeSet::new() };
    switch(&mut root, given, "", &mut switching)?;
    import(&mut root, &mut BTreeSet::new())?;
    let values = coalesce(&root, given, false)?;
    Ok((root, values))
}

impl Enabled {
    /// The paths of all charts below that take part.
    pub fn names(&self) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        names(self, "", &mut all);
        all
    }
}

fn all_of(chart: &Arc<HelmChart>, name: &Arc<str>) -> Enabled {
    Enabled {
        chart: Arc::clone(chart),
        name: Arc::clone(name),
        defaults: chart.defaults(),
        children: chart.children.iter().map(|child| all_of(child, &child.name)).collect(),
        requirements: chart.requirements.clone(),
        is_switched: false,
    }
}

/// What is known while charts are switched on and off.
struct Switching {
    /// How many more charts may take part.
    left: usize,
    /// The folders of charts whose requirements were looked at.
    seen: BTreeSet<Arc<str>>,
}

fn is_in_range(range: &str, version: &str) -> bool {
    Range::parse(range).is_some_and(|range| range.highest([(version, ())]).is_some())
}

/// Gives charts their aliases and leaves out those that conditions or tags switch off.
fn switch(chart: &mut Enabled, given: &Dict, path: &str, switching: &mut Switching) -> Result<(), ValuesError> {
    switching.left = switching.left.checked_sub(1).ok_or(ValuesError::TooManyCharts)?;
    if !chart.chart.declares {
        return Ok(());
    }
    chart.is_switched = true;
    // Helm gives a requirement the name of its alias for good: a chart that is there under two names has no chart of the
    // plain name for it the second time.
    let is_first = switching.seen.insert(Arc::clone(&chart.chart.folder));
    let meets = |child: &Enabled, requirement: &Requirement| {
        let name = if is_first { &requirement.name } else { requirement.known_as() };
        child.chart.name == *name && is_in_range(&requirement.version, &child.chart.version)
    };
    let (known, mut children): (Vec<Enabled>, Vec<Enabled>) = std::mem::take(&mut chart.children)
        .into_iter()
        .partition(|child| chart.requirements.iter().any(|requirement| meets(child, requirement)));
    for requirement in &chart.requirements {
        if let Some(child) = known.iter().find(|child| meets(child, requirement)) {
            children.push(Enabled { name: Arc::clone(requirement.known_as()), ..child.clone() });
        }
    }
    chart.children = children;
    let values = coalesce(chart, given, false)?;
    let is_off = |requirement: &&Requirement| !is_enabled(requirement, &values, path);
    let off: BTreeSet<Arc<str>> =
        chart.requirements.iter().filter(is_off).map(|one| Arc::clone(one.known_as())).collect();
    chart.children.retain(|child| !off.contains(&child.name));
    chart.requirements.retain(|requirement| !off.contains(requirement.known_as()));
    for child in &mut chart.children {
        let below = format!("{path}{}.", child.name);
        switch(child, &values, &below, switching)?;
    }
    Ok(())
}

fn is_enabled(requirement: &Requirement, values: &Dict, path: &str) -> bool {
    let conditions = requirement.condition.trim().split(',').filter(|condition| !condition.is_empty());
    for condition in conditions {
        if let Some(Value::Bool(enabled)) = at_path(values, &format!("{path}{condition}")) {
            return *enabled;
        }
    }
    let Some(tags) = table_at(values, "tags") else { return true };
    let said: Vec<bool> = requirement
        .tags
        .iter()
        .filter_map(|tag| match tags.get(tag) {
            Some(Value::Bool(said)) => Some(*said),
            _ => None,
        })
        .collect();
    said.is_empty() || said.contains(&true)
}

/// Puts what charts below hand up among the defaults of the chart above them. A chart that is there under two names gets it
/// the first time only: Helm writes the requirement anew in a form that it does not read again.
fn import(chart: &mut Enabled, seen: &mut BTreeSet<Arc<str>>) -> Result<(), ValuesError> {
    for child in &mut chart.children {
        import(child, seen)?;
    }
    if chart.requirements.is_empty() {
        return Ok(());
    }
    let values = coalesce(chart, &Dict::default(), true)?;
    let is_first = seen.insert(Arc::clone(&chart.chart.folder));
    let mut imported = Dict::default();
    for requirement in chart.requirements.iter().filter(|_| is_first) {
        let name = if chart.is_switched { requirement.known_as() } else { &requirement.name };
        for import in &requirement.import_values {
            let (from, to) = match import {
                Value::Text(from) => (format!("exports.{from}"), ".".to_owned()),
                Value::Dict(import) => {
                    let text = |key: &str| import.get(key).and_then(Value::as_text).unwrap_or("<nil>").to_owned();
                    (text("child"), text("parent"))
                }
                _ => continue,
            };
            if let Some(table) = table_at(&values, &format!("{name}.{from}")) {
                imported = coalesce_tables(&imported, &below_path(&to, table)?, true)?;
            }
        }
    }
    chart.defaults = coalesce_tables(&values, &imported, true)?;
    Ok(())
}
