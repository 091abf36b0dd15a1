//! A schema as it is checked: rules in a fixed order, with references already followed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::value::Value;
use crate::yaml::Span;

use super::pattern::Pattern;

/// The number of a compiled schema.
pub(super) type Id = usize;

/// One schema.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) span: Span,
    /// The schema with an address that it belongs to.
    pub(super) resource: usize,
    pub(super) title: Option<Arc<str>>,
    pub(super) description: Option<Arc<str>>,
    pub(super) body: Body,
}

/// What a schema demands.
#[derive(Debug)]
pub(super) enum Body {
    /// Nothing, `true`.
    Anything,
    /// The impossible, `false`.
    Nothing,
    /// All of these.
    Rules(Vec<Rule>),
}

/// One demand and where it is written.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) span: Span,
    pub(super) demand: Demand,
}

/// A set of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds(pub(super) u8);

impl Kinds {
    /// The names of types in schemas, and what a message calls them.
    pub(super) const NAMES: [(&'static str, &'static str); 7] = [
        ("null", "null"),
        ("boolean", "a boolean"),
        ("integer", "a whole number"),
        ("number", "a number"),
        ("string", "text"),
        ("array", "a list"),
        ("object", "a map"),
    ];

    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().position(|(known, _)| *known == name).map(|bit| Self(1 << bit))
    }

    /// The types in either.
    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn has(self, bit: u8) -> bool {
        self.0 & (1 << bit) != 0
    }

    /// Whether a value is of one of the types.
    pub(super) fn include(self, value: &Value) -> bool {
        match value {
            Value::Null => self.has(0),
            Value::Bool(_) => self.has(1),
            Value::Int(_) | Value::Float(_) => self.has(3) || (self.has(2) && super::number::is_whole(value)),
            Value::Text(_) => self.has(4),
            Value::List(_) => self.has(5),
            Value::Dict(_) => self.has(6),
        }
    }

    /// What a message calls them.
    pub(super) fn words(self) -> Vec<&'static str> {
        let all = Self::NAMES.iter().zip(0u8..);
        // Every whole number is a number: naming both says nothing more.
        all.filter(|(_, bit)| self.has(*bit) && !(*bit == 2 && self.has(3))).map(|((_, word), _)| *word).collect()
    }
}

/// On which side of a bound a number must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    AtLeast,
    Above,
    AtMost,
    Below,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    Characters,
    Items,
    Keys,
}

/// What a value must be.
#[derive(Debug)]
pub(super) enum Demand {
    Type(Kinds),
    /// `const` is an `enum` of one.
    Enum(Vec<Value>),
    MultipleOf(Value),
    Bound(Side, Value),
    Least(Counted, u64),
    Most(Counted, u64),
    Pattern(Pattern),
    Unique,
    Required(Vec<Arc<str>>),
    DependentRequired(BTreeMap<Arc<str>, Vec<Arc<str>>>),
    DependentSchemas(BTreeMap<Arc<str>, Id>),
    Members(Members),
    Names(Id),
    Items {
        prefix: Vec<Id>,
        rest: Option<Id>,
    },
    Contains {
        item: Id,
        least: u64,
        most: Option<u64>,
        evaluates: bool,
    },
    Reference(Id),
    /// The outermost schema in force that has this dynamic anchor.
    Dynamic {
        name: Arc<str>,
        otherwise: Id,
    },
    All(Vec<Id>),
    Any(Vec<Id>),
    One(Vec<Id>),
    Not(Id),
    Condition {
        test: Id,
        then: Option<Id>,
        otherwise: Option<Id>,
    },
    UnevaluatedItems(Id),
    UnevaluatedProperties(Id),
}

/// What the keys of a map must hold.
#[derive(Debug, Default)]
pub(super) struct Members {
    pub(super) named: BTreeMap<Arc<str>, Id>,
    pub(super) patterns: Vec<(Pattern, Id)>,
    pub(super) others: Option<Id>,
}

impl Demand {
    /// The schemas that must look at the very same value.
    pub(super) fn in_place(&self) -> Vec<Id> {
        match self {
            Self::Reference(id) | Self::Not(id) => vec![*id],
            Self::All(ids) | Self::Any(ids) | Self::One(ids) => ids.clone(),
            Self::Condition { test, then, otherwise } => {
                [Some(*test), *then, *otherwise].into_iter().flatten().collect()
            }
            Self::DependentSchemas(schemas) => schemas.values().copied().collect(),
            // Where it leads is known only during a check, which is bounded by itself.
            Self::Dynamic { .. }
            | Self::Type(_)
            | Self::Enum(_)
            | Self::MultipleOf(_)
            | Self::Bound(..)
            | Self::Least(..)
            | Self::Most(..)
            | Self::Pattern(_)
            | Self::Unique
            | Self::Required(_)
            | Self::DependentRequired(_)
            | Self::Members(_)
            | Self::Names(_)
            | Self::Items { .. }
            | Self::Contains { .. }
            | Self::UnevaluatedItems(_)
            | Self::UnevaluatedProperties(_) => Vec::new(),
        }
    }
}
