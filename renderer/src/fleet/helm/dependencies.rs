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
    /// Its requirements that are met and switched on, by the names that they are known as.
    pub(super) requirements: Vec<Requirement>,
}

/// The charts that take part when these values are given, and the values of all of them.
pub fn resolve(chart: &Arc<HelmChart>, given: &Dict) -> Result<(Enabled, Dict), ValuesError> {
    let mut root = all_of(chart, &chart.name);
    let mut left = MOST_CHARTS;
    switch(&mut root, given, "", &mut left)?;
    import(&mut root)?;
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
    }
}

fn is_in_range(range: &str, version: &str) -> bool {
    Range::parse(range).is_some_and(|range| range.highest([(version, ())]).is_some())
}

/// Gives charts their aliases and leaves out those that conditions or tags switch off.
fn switch(chart: &mut Enabled, given: &Dict, path: &str, left: &mut usize) -> Result<(), ValuesError> {
    *left = left.checked_sub(1).ok_or(ValuesError::TooManyCharts)?;
    if !chart.chart.declares {
        return Ok(());
    }
    let meets = |child: &Enabled, requirement: &Requirement| {
        child.chart.name == requirement.name && is_in_range(&requirement.version, &child.chart.version)
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
        switch(child, &values, &below, left)?;
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

/// Puts what charts below hand up among the defaults of the chart above them.
fn import(chart: &mut Enabled) -> Result<(), ValuesError> {
    for child in &mut chart.children {
        import(child)?;
    }
    if chart.requirements.is_empty() {
        return Ok(());
    }
    let values = coalesce(chart, &Dict::default(), true)?;
    let mut imported = Dict::default();
    for requirement in &chart.requirements {
        let name = requirement.known_as();
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
