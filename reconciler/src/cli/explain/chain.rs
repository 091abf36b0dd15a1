//! The files that say something about a value, from the lowest to the one that decides.

use std::io::{self, Write};

use reeve_renderer::resolve::{ResolvedComponent, Setting, SourceKind};
use reeve_renderer::value::{KeyPath, Value};

use crate::cli::style::{Paint, Style};
use crate::cli::text::{harmless, padded, value, width};

/// What becomes of what a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// A later file says otherwise.
    Overridden,
    /// A map, to which later files add and in which they replace.
    Merged,
    /// It takes the value away, and no later file brings it back.
    Deletes,
    /// It is what counts.
    Decides,
}

impl Fate {
    fn word(self) -> &'static str {
        match self {
            Self::Overridden => "overridden",
            Self::Merged => "merged",
            Self::Deletes => "deletes it",
            Self::Decides => "decides",
        }
    }
}

/// The chain of a value in each component that knows it.
pub(super) fn write_values(
    components: &[&ResolvedComponent],
    path: &KeyPath,
    runtime: &str,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (at, component) in components.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        let of = format!("in component {} of runtime {runtime}", component.name);
        let shown = harmless(&path.to_string()).into_owned();
        match path.find(&Value::Dict(component.values.clone())) {
            Some(found) => writeln!(out, "{} is {} {of}", style.paint(Paint::Strong, &shown), value(found))?,
            None => writeln!(out, "{} is not set {of}", style.paint(Paint::Strong, &shown))?,
        }
        write_chain(component, path, style, "  ", out)?;
    }
    Ok(())
}

/// One line per file that says something, the last one decides.
pub(super) fn write_chain(
    component: &ResolvedComponent,
    path: &KeyPath,
    style: Style,
    indent: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let history = component.history_of(path);
    let fates = fates(&history);
    let rows: Vec<(String, String)> =
        history.iter().map(|setting| (setting.location.to_string(), who(&setting.source.kind))).collect();
    let widest = |part: fn(&(String, String)) -> &String| rows.iter().map(|row| width(part(row))).max().unwrap_or(0);
    let (places, whos) = (widest(|row| &row.0), widest(|row| &row.1));
    for ((setting, fate), (place, who)) in history.iter().zip(fates).zip(&rows) {
        let mut says = value(&setting.value);
        if setting.at != *path {
            says = format!("sets `{}` as a whole: {says}", setting.at);
        }
        let (sign, paint) = match fate {
            Fate::Overridden => (' ', Paint::Faint),
            Fate::Merged => ('+', Paint::Changed),
            Fate::Deletes => ('>', Paint::Removed),
            Fate::Decides => ('>', Paint::Added),
        };
        let line = format!("{}  {}  {says}", padded(place, places), padded(who, whos));
        writeln!(out, "{indent}{sign} {}  {}", harmless(&line), style.paint(paint, &format!("({})", fate.word())))?;
    }
    Ok(())
}

fn who(kind: &SourceKind) -> String {
    match kind {
        SourceKind::Chart => "chart".to_owned(),
        SourceKind::Fleet => "fleet.yaml".to_owned(),
        SourceKind::Layer(name) => format!("layer {name}"),
        SourceKind::Runtime => "runtime".to_owned(),
        SourceKind::Component => "component".to_owned(),
    }
}

/// Maps are merged; anything else replaces all that was said before it.
fn fates(history: &[Setting<'_>]) -> Vec<Fate> {
    let values: Vec<&Value> = history.iter().map(|setting| &setting.value).collect();
    let mut fates = fates_of(&values);
    // Null in the chart itself has nothing to delete: it is the value.
    if let (Some(fate @ Fate::Deletes), Some(SourceKind::Chart)) =
        (fates.first_mut(), history.first().map(|first| &first.source.kind))
    {
        *fate = Fate::Decides;
    }
    fates
}

fn fates_of(values: &[&Value]) -> Vec<Fate> {
    let is_map = |value: &Value| matches!(value, Value::Dict(_));
    let last_whole = values.iter().rposition(|value| !is_map(value));
    let last = values.len().saturating_sub(1);
    values
        .iter()
        .enumerate()
        .map(|(at, value)| match (last_whole, value) {
            (Some(whole), _) if at < whole || (at == whole && at < last) => Fate::Overridden,
            (_, Value::Null) => Fate::Deletes,
            (_, Value::Dict(_)) if at < last || at > 0 && last_whole != at.checked_sub(1) => Fate::Merged,
            _ => Fate::Decides,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_scalar_decides_and_maps_are_merged() {
        let (one, map, null) = (Value::Int(1), Value::empty_dict(), Value::Null);
        assert_eq!(fates_of(&[&one, &one]), [Fate::Overridden, Fate::Decides]);
        assert_eq!(fates_of(&[&map, &map]), [Fate::Merged, Fate::Merged]);
        assert_eq!(fates_of(&[&map]), [Fate::Decides]);
        assert_eq!(fates_of(&[&one, &null]), [Fate::Overridden, Fate::Deletes]);
        assert_eq!(fates_of(&[&map, &one, &map]), [Fate::Overridden, Fate::Overridden, Fate::Decides]);
        assert_eq!(fates_of(&[&one, &map, &map]), [Fate::Overridden, Fate::Merged, Fate::Merged]);
    }
}
