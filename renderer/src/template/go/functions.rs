//! Which function a name means in Go's syntax.
//!
//! Most are plain functions of the library. Those that pass maps on, change them or need the engine are native to the
//! evaluator, since in Go a map is one thing however many names it has. What is left to chance, to the clock or to the
//! world gives a poisoned value, which may be thrown away and never be used.

use crate::functions::{self, Entry};
use crate::suggest;

/// A function of Go's syntax.
#[derive(Clone, Copy, Debug)]
pub(in crate::template) enum Function {
    Native(Native),
    Library(&'static Entry, Manner, Form),
    /// Its name, and what to use instead.
    Poison(&'static str, &'static str),
}

/// What a function of the library does otherwise in Go's syntax than in general.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::template) enum Manner {
    /// Nothing.
    Plain,
    /// It chooses among the items of lists, and what it chooses stays the very thing.
    Chooses,
    /// It compares, which is never done with what cannot be known.
    Compares,
    /// All numbers that it gives are floats.
    GivesFloats,
    /// It writes YAML to the letter as Helm does.
    WritesYaml,
    /// It gives a version, which has methods.
    GivesVersions,
    /// It gives a time, which has methods.
    GivesTimes,
    /// It gives whole numbers of the type of arithmetic.
    GivesWide,
    /// It gives what it found, which is a nil list if that is nothing.
    GivesFound,
    /// It takes whole numbers of the type of arithmetic, and others for none.
    TakesWide,
}

impl Manner {
    fn of(name: &str) -> Self {
        let plain = name.strip_prefix("must").unwrap_or(name).to_ascii_lowercase();
        match name {
            "eq" | "ne" | "lt" | "le" | "gt" | "ge" => Self::Compares,
            "fromYaml" | "fromYamlArray" | "fromJson" | "fromJsonArray" | "mustFromJson" | "float64" | "addf"
            | "add1f" | "subf" | "divf" | "mulf" | "maxf" | "minf" | "ceil" | "floor" | "round" => Self::GivesFloats,
            "toYaml" => Self::WritesYaml,
            "semver" => Self::GivesVersions,
            "add" | "add1" | "sub" | "mul" | "div" | "mod" | "max" | "min" | "biggest" | "int64" | "toDecimal" => {
                Self::GivesWide
            }
            "regexFindAll" | "mustRegexFindAll" => Self::GivesFound,
            "duration" | "durationRound" => Self::TakesWide,
            "toDate" | "mustToDate" | "dateModify" | "date_modify" | "mustDateModify" | "must_date_modify" => {
                Self::GivesTimes
            }
            _ if CHOOSING.contains(&&*plain) => Self::Chooses,
            _ => Self::Plain,
        }
    }
}

/// What structs of Go become when they are given to a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::template) enum Form {
    /// What `fmt` prints.
    Printed,
    /// What JSON, YAML and functions of times take.
    Encoded,
}

impl Form {
    fn of(function: &str) -> Self {
        const ENCODED: &[&str] = &[
            "ago",
            "date",
            "dateInZone",
            "dateModify",
            "date_in_zone",
            "date_modify",
            "durationRound",
            "htmlDate",
            "htmlDateInZone",
            "mustDateModify",
            "mustToJson",
            "mustToPrettyJson",
            "mustToRawJson",
            "must_date_modify",
            "toJson",
            "toPrettyJson",
            "toRawJson",
            "toToml",
            "toYaml",
            "toYamlPretty",
            "unixEpoch",
        ];
        if ENCODED.contains(&function) { Self::Encoded } else { Self::Printed }
    }
}

/// Functions that choose among the items of lists, without their `must`.
const CHOOSING: [&str; 7] = ["reverse", "slice", "uniq", "compact", "without", "chunk", "pluck"];

/// Functions that the evaluator does itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::template) enum Native {
    And,
    Or,
    Not,
    Call,
    Len,
    Index,
    Include,
    Tpl,
    Lookup,
    Required,
    Default,
    Coalesce,
    Ternary,
    Empty,
    Dict,
    List,
    Get,
    Set,
    Unset,
    HasKey,
    Keys,
    Values,
    Dig,
    Pick,
    Omit,
    Merge,
    MergeOverwrite,
    DeepCopy,
    First,
    Last,
    Rest,
    Initial,
    Append,
    Prepend,
    Concat,
    KindOf,
    KindIs,
    TypeOf,
    TypeIs,
    ToString,
    Base64,
    Hello,
}

impl Native {
    /// Whether it asks for the types of whole numbers, or passes them on.
    pub(in crate::template) fn keeps_types(self) -> bool {
        matches!(
            self,
            Self::KindOf
                | Self::KindIs
                | Self::TypeOf
                | Self::TypeIs
                | Self::Default
                | Self::Coalesce
                | Self::Ternary
                | Self::Required
                | Self::Include
                | Self::Tpl
        )
    }
}

const NATIVE: &[(&str, Native)] = &[
    ("and", Native::And),
    ("or", Native::Or),
    ("not", Native::Not),
    ("call", Native::Call),
    ("len", Native::Len),
    ("index", Native::Index),
    ("include", Native::Include),
    ("tpl", Native::Tpl),
    ("lookup", Native::Lookup),
    ("required", Native::Required),
    ("default", Native::Default),
    ("coalesce", Native::Coalesce),
    ("ternary", Native::Ternary),
    ("empty", Native::Empty),
    ("dict", Native::Dict),
    ("list", Native::List),
    ("tuple", Native::List),
    ("get", Native::Get),
    ("set", Native::Set),
    ("unset", Native::Unset),
    ("hasKey", Native::HasKey),
    ("keys", Native::Keys),
    ("values", Native::Values),
    ("dig", Native::Dig),
    ("pick", Native::Pick),
    ("omit", Native::Omit),
    ("merge", Native::Merge),
    ("mustMerge", Native::Merge),
    ("mergeOverwrite", Native::MergeOverwrite),
    ("mustMergeOverwrite", Native::MergeOverwrite),
    ("deepCopy", Native::DeepCopy),
    ("mustDeepCopy", Native::DeepCopy),
    ("first", Native::First),
    ("mustFirst", Native::First),
    ("last", Native::Last),
    ("mustLast", Native::Last),
    ("rest", Native::Rest),
    ("mustRest", Native::Rest),
    ("initial", Native::Initial),
    ("mustInitial", Native::Initial),
    ("append", Native::Append),
    ("mustAppend", Native::Append),
    ("push", Native::Append),
    ("mustPush", Native::Append),
    ("prepend", Native::Prepend),
    ("mustPrepend", Native::Prepend),
    ("concat", Native::Concat),
    ("kindOf", Native::KindOf),
    ("kindIs", Native::KindIs),
    ("typeOf", Native::TypeOf),
    ("typeIs", Native::TypeIs),
    ("typeIsLike", Native::TypeIs),
    ("toString", Native::ToString),
    ("b64enc", Native::Base64),
    ("hello", Native::Hello),
];

/// The function of this name.
pub(super) fn find(name: &str) -> Option<Function> {
    if let Some((_, native)) = NATIVE.iter().find(|(known, _)| *known == name) {
        return Some(Function::Native(*native));
    }
    if let Some(entry) = functions::find(name) {
        return Some(Function::Library(entry, Manner::of(entry.name), Form::of(entry.name)));
    }
    functions::refused::all()
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(name, instead)| Function::Poison(name, instead))
}

/// The name of a function whose result cannot be what it is in Helm.
pub(super) fn unhonoured(function: Function) -> Option<&'static str> {
    match function {
        Function::Poison(name, _) => Some(name),
        Function::Native(Native::Lookup) => Some("lookup"),
        Function::Native(_) | Function::Library(..) => None,
    }
}

/// The name that was probably meant.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let library = functions::all().into_iter().map(|entry| entry.name);
    suggest::nearest(name, library.chain(NATIVE.iter().map(|(name, _)| *name)))
}

/// What an error calls a native function.
pub(in crate::template) fn name_of(native: Native) -> &'static str {
    NATIVE.iter().find(|(_, known)| *known == native).map_or("", |(name, _)| name)
}
