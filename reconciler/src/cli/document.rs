//! Answers for programmes: one JSON document, one line of JSON, or YAML.

use std::io::{self, Write as _};

use reeve_renderer::value::Value;
use reeve_renderer::yaml;
use serde::Serialize;

use super::Terminal;
use super::failure::Failure;

/// One document over many lines.
pub(super) fn json(value: &impl Serialize, terminal: &mut Terminal) -> Result<(), Failure> {
    serde_json::to_writer_pretty(&mut terminal.out, value).map_err(io::Error::from)?;
    Ok(writeln!(terminal.out)?)
}

/// One document on one line.
pub(super) fn json_line(value: &impl Serialize, terminal: &mut Terminal) -> Result<(), Failure> {
    serde_json::to_writer(&mut terminal.out, value).map_err(io::Error::from)?;
    Ok(writeln!(terminal.out)?)
}

/// One document after a line of three dashes. Every text reads back as text, with readers of YAML 1.1 too.
pub(super) fn yaml(value: &impl Serialize, terminal: &mut Terminal) -> Result<(), Failure> {
    let value = serde_json::to_value(value).map_err(io::Error::from)?;
    let mut text = "---\n".to_owned();
    yaml::write(&Value::try_from(value).map_err(io::Error::other)?, &mut text);
    Ok(terminal.out.write_all(text.as_bytes())?)
}
