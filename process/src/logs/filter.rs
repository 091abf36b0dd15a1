//! What is logged. A plain level is meant for Reeve: libraries are held at `info` unless their target is named, and the
//! one target that prints whole response bodies is held below its own warnings whatever is asked.

use std::fmt;
use std::str::FromStr;

use tracing::{Level, Metadata};
use tracing_subscriber::filter::{EnvFilter, FilterExt, FilterFn, ParseError, filter_fn};
use tracing_subscriber::layer::Filter;

const DEFAULT: &str = "info";

/// Noise below `info`, some of it with headers. `TARGET=LEVEL` given by the user replaces a line of these.
const LIBRARIES: [&str; 10] =
    ["h2", "hyper", "hyper_util", "kube_client", "kube_runtime", "mio", "rustls", "tokio", "tonic", "tower"];

/// kube prints the text of a response that it cannot read, which may be a Secret, at `warn` from here
/// (kube-client 5.0 `src/client/mod.rs`, `Client::request`), and of refusals at `debug`.
const PRINTS_BODIES: &str = "kube_client::client";

/// A log filter in the syntax of `RUST_LOG`, known to be well formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilter(String);

impl LogFilter {
    pub(super) fn build<S>(&self) -> impl Filter<S> + use<S>
    where
        S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a> + Send + Sync + 'static,
    {
        let never: FilterFn<fn(&Metadata<'_>) -> bool> = filter_fn(|meta| !prints_bodies(meta));
        // `FromStr` has tried the same text, so the fallback is never seen.
        let asked = parse(&self.0).unwrap_or_else(|_| EnvFilter::new(DEFAULT));
        asked.and(never)
    }
}

fn prints_bodies(meta: &Metadata<'_>) -> bool {
    meta.is_event() && meta.target() == PRINTS_BODIES && *meta.level() > Level::ERROR
}

fn parse(asked: &str) -> Result<EnvFilter, ParseError> {
    let mut directives: Vec<String> = LIBRARIES.iter().map(|library| format!("{library}=info")).collect();
    if !asked.contains("kube_client") {
        // Calls every failed request an error, without its cause; whoever made the request says more.
        directives.push("kube_client::client::builder=off".to_owned());
    }
    if !asked.contains("kube_runtime") {
        // Warns at every try; whoever follows the watch tells each failure once.
        directives.push("kube_runtime::watcher=off".to_owned());
    }
    // Later directives replace earlier ones of the same target.
    directives.push(asked.to_owned());
    EnvFilter::builder().parse(directives.join(","))
}

impl FromStr for LogFilter {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // An empty RUST_LOG means unset, not silence.
        let text = if text.trim().is_empty() { DEFAULT } else { text };
        parse(text)?;
        Ok(Self(text.to_owned()))
    }
}

impl Default for LogFilter {
    fn default() -> Self {
        Self(DEFAULT.to_owned())
    }
}

impl fmt::Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
