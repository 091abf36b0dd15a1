//! The way to a field as a JSON pointer.

use std::fmt;
use std::str::FromStr;

/// Fields without which an object is no longer this object.
const IDENTITY: [&str; 5] = ["/apiVersion", "/kind", "/metadata", "/metadata/name", "/metadata/namespace"];

/// Why a text is not a pointer to a field that may be ignored.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PointerError {
    #[error("{0:?} is not a JSON pointer: write one that starts with /, such as /spec/replicas")]
    NotAPointer(String),
    #[error("{0:?} is not a JSON pointer: write ~0 for ~ and ~1 for /")]
    BadEscape(String),
    #[error("{0} names the object and cannot be ignored")]
    Identity(String),
}

/// The way to a field of an object, such as `/spec/replicas`; into a list by place, such as `/spec/ports/0`.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Pointer(Vec<String>);

impl Pointer {
    /// The way through fields of these names.
    pub(super) fn of(names: &[&str]) -> Self {
        Self(names.iter().map(|name| (*name).to_owned()).collect())
    }

    pub(super) fn tokens(&self) -> &[String] {
        &self.0
    }
}

impl FromStr for Pointer {
    type Err = PointerError;

    fn from_str(text: &str) -> Result<Self, PointerError> {
        let Some(way) = text.strip_prefix('/').filter(|way| !way.is_empty()) else {
            return Err(PointerError::NotAPointer(text.to_owned()));
        };
        if IDENTITY.contains(&text) {
            return Err(PointerError::Identity(text.to_owned()));
        }
        let token = |written: &str| {
            let is_escaped = written.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
            is_escaped.then(|| written.replace("~1", "/").replace("~0", "~"))
        };
        let tokens: Option<Vec<String>> = way.split('/').map(token).collect();
        tokens.map(Self).ok_or_else(|| PointerError::BadEscape(text.to_owned()))
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|token| write!(f, "/{}", token.replace('~', "~0").replace('/', "~1")))
    }
}
