//! Which function a name means: Helm's library first, then Jinja's own, then the few that need the engine.
//!
//! Owns the order in which they are asked. What they do is elsewhere.

use super::jinja;
use crate::functions::{self, Entry};
use crate::suggest;

/// A function that templates need not declare.
#[derive(Clone, Copy, Debug)]
pub(super) enum Builtin {
    /// Helm's and Sprig's: the piped value is the last argument.
    Library(&'static Entry),
    /// Jinja's: the piped value is the first argument.
    Jinja(&'static jinja::Function),
    /// What needs the engine.
    Special(Special),
}

/// Functions that need the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    Include,
    Tpl,
    Namespace,
    Dict,
}

const SPECIALS: &[(&str, Special)] =
    &[("include", Special::Include), ("tpl", Special::Tpl), ("namespace", Special::Namespace), ("dict", Special::Dict)];

/// Jinja's names for functions of the library.
const ALIASES: &[(&str, &str)] = &[("d", "default")];

const ESCAPING: &str = "nothing is ever escaped here; write the value as it is, or with `quote` or `toJson`";

/// Names of Jinja that are not offered, and why.
const REFUSED: &[(&str, &str)] = &[
    ("safe", ESCAPING),
    ("escape", ESCAPING),
    ("e", ESCAPING),
    ("forceescape", ESCAPING),
    ("cycler", "use `loop.cycle(..)`"),
    ("joiner", "use `join`, or `if not loop.last`"),
    ("super", "templates do not inherit; write a macro in a `_*.j2` file"),
    ("debug", "use `toJson`"),
    ("pprint", "use `toYaml` or `toPrettyJson`"),
];

impl Builtin {
    /// Whether the piped value comes first.
    pub(super) fn takes_piped_first(self) -> bool {
        match self {
            Self::Library(_) | Self::Special(Special::Include | Special::Tpl | Special::Dict) => false,
            Self::Jinja(_) | Self::Special(Special::Namespace) => true,
        }
    }
}

/// The function of this name.
pub(super) fn find(name: &str) -> Option<Builtin> {
    if let Some((_, special)) = SPECIALS.iter().find(|(special, _)| *special == name) {
        return Some(Builtin::Special(*special));
    }
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    functions::find(name).map(Builtin::Library).or_else(|| jinja::find(name).map(Builtin::Jinja))
}

/// Why a known name is not offered.
pub(super) fn refused(name: &str) -> Option<String> {
    let ours = REFUSED.iter().find(|(refused, _)| *refused == name);
    let ours = ours.map(|(name, instead)| format!("`{name}` is not available: {instead}"));
    ours.or_else(|| functions::refused::refused(name).map(|failure| failure.to_string()))
}

/// The name that was probably meant.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let library = functions::all().into_iter().map(|entry| entry.name);
    suggest::nearest(name, library.chain(jinja::names()).chain(SPECIALS.iter().map(|(name, _)| *name)))
}
