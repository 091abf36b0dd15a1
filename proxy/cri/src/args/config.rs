//! The configuration file: the flags of the proxy by their own names, in TOML. What the command line says counts for more.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use toml::{Table, Value};

/// Flags that say something of one start, and not of the proxy.
const NOT_IN_A_FILE: [&str; 4] = ["config", "help", "take-over", "version"];

/// The file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConfigError {
    #[error("cannot read {}: {cause}", file.display())]
    Read { file: PathBuf, cause: std::io::Error },
    #[error("{}: {cause}", file.display())]
    Toml { file: PathBuf, cause: toml::de::Error },
    #[error("{}: there is no {key}; there are {known}", file.display())]
    Unknown { file: PathBuf, key: String, known: String },
    #[error("{}: {key} wants a text, a number or a list of texts", file.display())]
    Value { file: PathBuf, key: String },
}

/// What the file adds to the command line. A file that nobody named need not be there.
pub(super) fn arguments(file: &Path, command: &Command, given: &ArgMatches) -> Result<Vec<OsString>, ConfigError> {
    let named = given.value_source("config") != Some(ValueSource::DefaultValue);
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !named => return Ok(Vec::new()),
        Err(cause) => return Err(ConfigError::Read { file: file.to_owned(), cause }),
    };
    let table: Table = text.parse().map_err(|cause| ConfigError::Toml { file: file.to_owned(), cause })?;
    let mut arguments = Vec::new();
    for (key, value) in &table {
        let id = id_of(command, key).ok_or_else(|| ConfigError::Unknown {
            file: file.to_owned(),
            key: key.clone(),
            known: known(command).join(", "),
        })?;
        let text = text_of(value).ok_or_else(|| ConfigError::Value { file: file.to_owned(), key: key.clone() })?;
        if !matches!(given.value_source(&id), Some(ValueSource::CommandLine | ValueSource::EnvVariable)) {
            arguments.push(format!("--{key}={text}").into());
        }
    }
    Ok(arguments)
}

fn known(command: &Command) -> Vec<&str> {
    let mut names: Vec<&str> = command.get_arguments().filter_map(|arg| arg.get_long()).collect();
    names.retain(|name| !NOT_IN_A_FILE.contains(name) && *name != "notify-socket");
    names.sort_unstable();
    names
}

fn id_of(command: &Command, key: &str) -> Option<String> {
    let found = command.get_arguments().find(|arg| arg.get_long() == Some(key))?;
    known(command).contains(&key).then(|| found.get_id().to_string())
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            texts.map(|texts| texts.join(","))
        }
        Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) | Value::Table(_) => None,
    }
}
