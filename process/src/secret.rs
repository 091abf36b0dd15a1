//! Keeps secrets out of logs, errors and status: a wrapper that never prints its value, and a scrubber for the text of
//! others (git's stderr, URLs as a user wrote them).

use std::fmt;

use serde::{Serialize, Serializer};

mod scrub;
pub use scrub::scrub;

/// What stands where a secret would have stood.
pub const REDACTED: &str = "[redacted]";

/// A value that is not printed: `Debug`, `Display` and `Serialize` all give `[redacted]`.
///
/// Not comparable on purpose: comparing secrets with `==` leaks by timing.
#[derive(Clone, Default)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself. The long name is for the reader's eye and for grep.
    pub const fn expose(&self) -> &T {
        &self.0
    }

    pub fn into_exposed(self) -> T {
        self.0
    }
}

impl<T> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl<T> fmt::Display for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl<T> Serialize for Secret<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(REDACTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_its_value_to_nobody_but_the_one_who_asks() {
        #[derive(Debug, Serialize)]
        struct Credentials {
            user: &'static str,
            password: Secret<String>,
        }
        let credentials = Credentials { user: "ann", password: Secret::new("hunter2".to_owned()) };

        let shown = [
            format!("{credentials:?}"),
            format!("{credentials:#?}"),
            format!("{}", credentials.password),
            serde_json::to_string(&credentials).unwrap(),
        ];

        for text in shown {
            assert!(text.contains(REDACTED) && !text.contains("hunter2"), "{text}");
        }
        assert_eq!(credentials.password.expose(), "hunter2");
    }
}
