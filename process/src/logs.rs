//! Logs: one line per event on the standard error stream, human on a terminal and JSON elsewhere.
//!
//! Never prints what is known to carry secrets: `filter` holds back libraries that do, `writer` is the last net.

use std::io;

use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry};

mod filter;
mod writer;

pub use filter::LogFilter;
use writer::Scrubbed;

/// How log lines look, once the terminal has been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogStyle {
    Human { colour: bool },
    Json,
}

/// Another subscriber is installed already.
#[derive(Debug, thiserror::Error)]
#[error("cannot install the log subscriber")]
pub struct LogError(#[source] tracing::subscriber::SetGlobalDefaultError);

/// Makes `tracing` and panics of this process print as asked. Once per process.
pub(crate) fn install(filter: &LogFilter, style: LogStyle) -> Result<(), LogError> {
    tracing::subscriber::set_global_default(subscriber(filter, style, io::stderr)).map_err(LogError)?;
    std::panic::set_hook(Box::new(|panic| {
        let at = panic.location().map(ToString::to_string).unwrap_or_default();
        let backtrace = std::backtrace::Backtrace::capture();
        tracing::error!(at, %backtrace, "panicked: {}", panic.payload_as_str().unwrap_or("no message"));
    }));
    Ok(())
}

fn subscriber<W>(filter: &LogFilter, style: LogStyle, to: W) -> impl tracing::Subscriber + Send + Sync + use<W>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer().with_writer(Scrubbed(to));
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match style {
        LogStyle::Human { colour } => lines.with_ansi(colour).boxed(),
        LogStyle::Json => {
            lines.with_ansi(false).json().flatten_event(true).with_current_span(true).with_span_list(false).boxed()
        }
    };
    tracing_subscriber::registry().with(lines.with_filter(filter.build()))
}

#[cfg(test)]
mod tests;
