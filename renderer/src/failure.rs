//! Why a function of the library gave no result.

use crate::budget::Exceeded;
use crate::value::TooDeep;

/// A function's refusal, without location: the engine knows where it was called.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Failure {
    /// The arguments make no sense: what is wrong with them.
    #[error("{0}")]
    Argument(String),
    /// The chart itself gave up, with `fail` or `required`: its own words.
    #[error("{0}")]
    Chart(String),
    /// A function that cannot be hermetic, and what to use instead.
    #[error("`{name}` is not available: {instead}")]
    Refused {
        /// The function.
        name: &'static str,
        /// Why, and what to use.
        instead: &'static str,
    },
    /// A limit was reached.
    #[error(transparent)]
    Exceeded(#[from] Exceeded),
    /// A value was nested too deep.
    #[error(transparent)]
    TooDeep(#[from] TooDeep),
}

impl Failure {
    /// Arguments that make no sense.
    pub fn argument(message: impl Into<String>) -> Self {
        Self::Argument(message.into())
    }
}
