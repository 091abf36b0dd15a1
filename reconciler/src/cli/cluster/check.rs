//! `reeve check`: whether Reeve can be installed in a cluster, and how an installation is doing.

use std::io::Write as _;

use serde::Serialize;

use super::connection::Connection;
use super::install::NAMESPACE;
use super::kinds::Kinds;
use crate::cli::args::cluster::{CheckArgs, Format};
use crate::cli::document;
use crate::cli::failure::Failure;
use crate::cli::style::Paint;
use crate::cli::text::harmless;
use crate::cli::{Status, Terminal};

mod installed;
mod required;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    /// It works, and someone should look all the same.
    Warn,
    Fail,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
struct Check {
    what: String,
    result: Verdict,
    found: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

impl Check {
    fn ok(what: &str, found: impl Into<String>) -> Self {
        Self { what: what.to_owned(), result: Verdict::Ok, found: found.into(), help: None }
    }

    fn warn(what: &str, found: impl Into<String>, help: impl Into<String>) -> Self {
        Self { what: what.to_owned(), result: Verdict::Warn, found: found.into(), help: Some(help.into()) }
    }

    fn fail(what: &str, found: impl Into<String>, help: impl Into<String>) -> Self {
        Self { what: what.to_owned(), result: Verdict::Fail, found: found.into(), help: Some(help.into()) }
    }
}

pub(super) async fn run(args: &CheckArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let connection = Connection::open(&args.connection).await?;
    let namespace = args.connection.namespace.as_deref().unwrap_or(NAMESPACE);
    let mut checks = vec![required::version(&connection).await?];
    if args.pre {
        checks.extend(required::groups(&Kinds::discover(&connection).await?));
        checks.extend(required::rights(&connection, namespace).await?);
    } else {
        checks.push(installed::kinds(&connection).await?);
        checks.push(installed::deployment(&connection, namespace).await?);
        checks.push(installed::lease(&connection, namespace, Connection::now()).await?);
        checks.extend(installed::sources(&connection).await?);
    }
    match args.output {
        Format::Text => checks.iter().try_for_each(|check| write(check, terminal))?,
        Format::Json => document::json(&checks, terminal)?,
        Format::Yaml => document::yaml(&checks, terminal)?,
    }
    let failed = checks.iter().any(|check| check.result == Verdict::Fail);
    Ok(if failed { Status::Findings } else { Status::Fine })
}

fn write(check: &Check, terminal: &mut Terminal) -> std::io::Result<()> {
    let (paint, word) = match check.result {
        Verdict::Ok => (Paint::Added, "ok  "),
        Verdict::Warn => (Paint::Warning, "warn"),
        Verdict::Fail => (Paint::Error, "fail"),
    };
    let style = terminal.style;
    writeln!(terminal.out, "{} {}: {}", style.paint(paint, word), check.what, harmless(&check.found))?;
    match &check.help {
        Some(help) => writeln!(terminal.out, "     {} {}", style.paint(Paint::Help, "help:"), harmless(help)),
        None => Ok(()),
    }
}
