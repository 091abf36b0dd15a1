//! What an object says about itself in annotations.

use reeve_crds::annotation::{APPLY, DRIFT, IGNORE, KNOWN, PREFIX, PRUNE};
use reeve_crds::runtime::policy::DriftMode;
use reeve_renderer_objects::suggest::did_you_mean;
use serde_json::Value;

use super::{Pointer, PointerError};

/// Why an annotation is not understood.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum OptionsError {
    #[error("annotation {annotation} is not known: {help}")]
    Unknown { annotation: String, help: String },
    #[error("annotation {annotation} says {value:?}: write {words}")]
    UnknownWord { annotation: &'static str, value: String, words: &'static str },
    #[error("annotation {annotation} is not a text: put it in quotes")]
    NotText { annotation: &'static str },
    #[error("annotation {annotation} is not a list of fields")]
    BadPointer {
        annotation: &'static str,
        #[source]
        cause: PointerError,
    },
}

/// When an object is written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Apply {
    /// whenever it differs.
    #[default]
    Always,
    /// once, if it is not there.
    IfMissing,
    /// never.
    Never,
}

/// Whether an object is deleted when it leaves Git.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Prune {
    /// as its kind is: all but CRDs, namespaces and claims of volumes.
    #[default]
    Default,
    /// never.
    Never,
    /// always, whatever its kind.
    Always,
}

/// What an object says about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    pub apply: Apply,
    pub prune: Prune,
    /// Instead of what its runtime says.
    pub drift: Option<DriftMode>,
    /// Fields that others may change.
    pub ignore: Vec<Pointer>,
}

/// Reads the annotations of an object.
pub fn options(desired: &Value) -> Result<Options, OptionsError> {
    refuse_unknown(desired)?;
    let apply = word(desired, APPLY, "Always, IfMissing or Never", |word| match word {
        "Always" => Some(Apply::Always),
        "IfMissing" => Some(Apply::IfMissing),
        "Never" => Some(Apply::Never),
        _ => None,
    })?;
    let prune = word(desired, PRUNE, "Never or Always", |word| match word {
        "Never" => Some(Prune::Never),
        "Always" => Some(Prune::Always),
        _ => None,
    })?;
    let drift = word(desired, DRIFT, "Repair, Report or Ignore", |word| match word {
        "Repair" => Some(DriftMode::Repair),
        "Report" => Some(DriftMode::Report),
        "Ignore" => Some(DriftMode::Ignore),
        _ => None,
    })?;
    let pointers = text(desired, IGNORE)?.unwrap_or_default().split(',').map(str::trim).filter(|one| !one.is_empty());
    let ignore: Result<Vec<Pointer>, PointerError> = pointers.map(str::parse).collect();
    let ignore = ignore.map_err(|cause| OptionsError::BadPointer { annotation: IGNORE, cause })?;
    Ok(Options { apply: apply.unwrap_or_default(), prune: prune.unwrap_or_default(), drift, ignore })
}

/// An annotation for us that we do not know is one that somebody counts on in vain.
fn refuse_unknown(desired: &Value) -> Result<(), OptionsError> {
    let annotations = desired.pointer("/metadata/annotations").and_then(Value::as_object);
    let mut ours = annotations.into_iter().flat_map(|all| all.keys()).filter(|name| name.starts_with(PREFIX));
    let Some(unknown) = ours.find(|name| !KNOWN.contains(&name.as_str())) else { return Ok(()) };
    // What all of them begin with would make any two of them near.
    let known = KNOWN.map(|name| name.trim_start_matches(PREFIX));
    let near = did_you_mean(unknown.trim_start_matches(PREFIX), known);
    let help = near.map(|near| near.replacen('`', &format!("`{PREFIX}"), 1));
    let help = help.unwrap_or_else(|| format!("there are {}", KNOWN[..4].join(", ")));
    Err(OptionsError::Unknown { annotation: unknown.clone(), help })
}

fn word<T>(
    desired: &Value,
    annotation: &'static str,
    words: &'static str,
    known: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, OptionsError> {
    let Some(value) = text(desired, annotation)? else { return Ok(None) };
    match known(value) {
        Some(meaning) => Ok(Some(meaning)),
        None => Err(OptionsError::UnknownWord { annotation, value: value.to_owned(), words }),
    }
}

fn text<'a>(desired: &'a Value, annotation: &'static str) -> Result<Option<&'a str>, OptionsError> {
    match desired.pointer("/metadata/annotations").and_then(|annotations| annotations.get(annotation)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(OptionsError::NotText { annotation }),
    }
}
