//! The drafts of JSON Schema and the keywords each of them knows.

use crate::suggest;

/// Which rules a schema is read by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Draft {
    Four,
    Six,
    Seven,
    /// 2019-09.
    Nineteen,
    /// 2020-12.
    Twenty,
    /// `$schema` is absent: 2020-12, and what draft 7 wrote differently is understood as well.
    Unstated,
}

impl Draft {
    /// The draft that a `$schema` names.
    pub(super) fn named(address: &str) -> Option<Self> {
        let address = address.strip_suffix('#').unwrap_or(address);
        let address = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"))?;
        match address.strip_prefix("json-schema.org/")? {
            "draft/2020-12/schema" => Some(Self::Twenty),
            "draft/2019-09/schema" => Some(Self::Nineteen),
            "draft-07/schema" => Some(Self::Seven),
            "draft-06/schema" => Some(Self::Six),
            "draft-04/schema" => Some(Self::Four),
            "schema" => Some(Self::Unstated),
            _ => None,
        }
    }

    /// What people call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Four => "draft 4",
            Self::Six => "draft 6",
            Self::Seven => "draft 7",
            Self::Nineteen => "2019-09",
            Self::Twenty | Self::Unstated => "2020-12",
        }
    }

    /// Whether a `$ref` hides the keywords next to it.
    pub(super) fn reference_hides_siblings(self) -> bool {
        self <= Self::Seven
    }

    /// The keyword that names a schema.
    pub(super) fn identifier(self) -> &'static str {
        if self == Self::Four { "id" } else { "$id" }
    }

    /// Whether `"$id": "#name"` is an anchor.
    pub(super) fn identifier_may_be_anchor(self) -> bool {
        self <= Self::Seven || self == Self::Unstated
    }

    /// Whether `items` may be a list, one schema for each place.
    pub(super) fn items_may_be_list(self) -> bool {
        self != Self::Twenty
    }

    /// Whether an item that `contains` found counts as evaluated.
    pub(super) fn contains_evaluates(self) -> bool {
        self >= Self::Twenty
    }

    /// Whether the keyword does something here.
    pub(super) fn knows(self, keyword: &str) -> bool {
        find(keyword).is_some_and(|known| known.holds_in(self))
    }
}

/// Where the schemas below a keyword are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Below {
    /// Nowhere.
    Nothing,
    /// Its value is one.
    Schema,
    /// Its value is a list of them.
    List,
    /// Its value is one or a list of them.
    SchemaOrList,
    /// Its value is a map of them.
    Map,
    /// Its value is a map of them and of lists of names.
    MapOrNames,
}

/// A keyword.
#[derive(Debug)]
pub(super) struct Keyword {
    pub(super) name: &'static str,
    pub(super) below: Below,
    first: Draft,
    last: Draft,
}

impl Keyword {
    pub(super) fn holds_in(&self, draft: Draft) -> bool {
        self.first <= draft && (draft <= self.last || draft == Draft::Unstated)
    }

    /// The drafts that know it.
    pub(super) fn since(&self) -> &'static str {
        self.first.name()
    }

    pub(super) fn is_over_in(&self, draft: Draft) -> bool {
        self.last < draft
    }
}

const fn plain(name: &'static str, first: Draft) -> Keyword {
    Keyword { name, below: Below::Nothing, first, last: Draft::Unstated }
}

const fn over(name: &'static str, below: Below, first: Draft) -> Keyword {
    Keyword { name, below, first, last: Draft::Unstated }
}

/// All keywords that decide something.
static KEYWORDS: &[Keyword] = &[
    plain("$schema", Draft::Four),
    plain("$id", Draft::Six),
    plain("$ref", Draft::Four),
    plain("$anchor", Draft::Nineteen),
    plain("$dynamicAnchor", Draft::Twenty),
    plain("$dynamicRef", Draft::Twenty),
    Keyword { name: "$recursiveAnchor", below: Below::Nothing, first: Draft::Nineteen, last: Draft::Nineteen },
    Keyword { name: "$recursiveRef", below: Below::Nothing, first: Draft::Nineteen, last: Draft::Nineteen },
    over("$defs", Below::Map, Draft::Four),
    over("definitions", Below::Map, Draft::Four),
    plain("type", Draft::Four),
    plain("enum", Draft::Four),
    plain("const", Draft::Six),
    plain("multipleOf", Draft::Four),
    plain("minimum", Draft::Four),
    plain("maximum", Draft::Four),
    plain("exclusiveMinimum", Draft::Four),
    plain("exclusiveMaximum", Draft::Four),
    plain("minLength", Draft::Four),
    plain("maxLength", Draft::Four),
    plain("pattern", Draft::Four),
    over("items", Below::SchemaOrList, Draft::Four),
    over("prefixItems", Below::List, Draft::Twenty),
    Keyword { name: "additionalItems", below: Below::Schema, first: Draft::Four, last: Draft::Nineteen },
    over("contains", Below::Schema, Draft::Six),
    plain("minContains", Draft::Nineteen),
    plain("maxContains", Draft::Nineteen),
    plain("minItems", Draft::Four),
    plain("maxItems", Draft::Four),
    plain("uniqueItems", Draft::Four),
    over("properties", Below::Map, Draft::Four),
    over("patternProperties", Below::Map, Draft::Four),
    over("additionalProperties", Below::Schema, Draft::Four),
    over("propertyNames", Below::Schema, Draft::Six),
    plain("required", Draft::Four),
    plain("minProperties", Draft::Four),
    plain("maxProperties", Draft::Four),
    plain("dependentRequired", Draft::Nineteen),
    over("dependentSchemas", Below::Map, Draft::Nineteen),
    over("dependencies", Below::MapOrNames, Draft::Four),
    over("allOf", Below::List, Draft::Four),
    over("anyOf", Below::List, Draft::Four),
    over("oneOf", Below::List, Draft::Four),
    over("not", Below::Schema, Draft::Four),
    over("if", Below::Schema, Draft::Seven),
    over("then", Below::Schema, Draft::Seven),
    over("else", Below::Schema, Draft::Seven),
    over("unevaluatedItems", Below::Schema, Draft::Nineteen),
    over("unevaluatedProperties", Below::Schema, Draft::Nineteen),
];

/// Keywords that only describe.
static ANNOTATIONS: &[&str] = &[
    "$comment",
    "$vocabulary",
    "title",
    "description",
    "default",
    "deprecated",
    "example",
    "examples",
    "readOnly",
    "writeOnly",
    "format",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
];

/// The keyword of this name.
pub(super) fn find(name: &str) -> Option<&'static Keyword> {
    KEYWORDS.iter().find(|keyword| keyword.name == name)
}

/// The keyword that an unknown one was probably meant to be.
pub(super) fn meant(unknown: &str) -> Option<&'static str> {
    // Short words are near to everything, and `x-` is how people mark their own.
    if unknown.len() < 4 || unknown.starts_with("x-") || ANNOTATIONS.contains(&unknown) {
        return None;
    }
    let long = KEYWORDS.iter().map(|keyword| keyword.name).filter(|name| name.len() >= 4);
    suggest::nearest(unknown, long).filter(|_| suggest::nearest(unknown, ANNOTATIONS.iter().copied()).is_none())
}
