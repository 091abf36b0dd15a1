//! Taking addresses apart and putting them together, and escaping for queries. Nothing is ever reached or resolved.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::{Dict, Value};

use super::arguments::{dict, text};
use super::{Entry, strings};

use address::Address;
use escape::Part;

mod address;
mod escape;
#[cfg(test)]
mod tests;

pub(super) static TABLE: &[Entry] = &[
    Entry::new("urlParse", 1, 1, url_parse),
    Entry::new("urlJoin", 1, 1, url_join),
    Entry::variadic("urlquery", 0, urlquery),
];

fn url_parse(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let written = text(arguments, 0)?;
    budget.memory(written.len() as u64 * 8 + 512)?;
    let address = read(written)?;
    let entries: BTreeMap<Arc<str>, Value> = BTreeMap::from([
        ("scheme".into(), address.scheme.into()),
        ("host".into(), Value::from(&*address.host)),
        ("hostname".into(), address::hostname(&address.host).into()),
        ("path".into(), address.path.into()),
        ("query".into(), address.query.into()),
        ("opaque".into(), address.opaque.into()),
        ("fragment".into(), address.fragment.into()),
        ("userinfo".into(), address.user.unwrap_or_default().into()),
    ]);
    Ok(Value::dict(entries.into())?)
}

fn read(written: &str) -> Result<Address, Failure> {
    Address::parse(written).map_err(|why| {
        let shown = &written[..written.floor_char_boundary(80)];
        Failure::argument(format!("`{shown}` is no address: {why}"))
    })
}

fn url_join(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let nothing = Dict::default();
    let parts = if arguments[0] == Value::Null { &nothing } else { dict(arguments, 0)? };
    let names = ["scheme", "host", "path", "query", "opaque", "fragment", "userinfo"];
    let mut length = 0;
    for name in names {
        length += part(parts, name)?.len() as u64;
    }
    budget.memory(length * 8 + 64)?;
    let userinfo = part(parts, "userinfo")?;
    // What stands before the `@` is read as it would be in an address, so that it is escaped once.
    let user = if userinfo.is_empty() { None } else { read(&format!("proto://{userinfo}@host"))?.user };
    let address = Address {
        scheme: part(parts, "scheme")?.to_owned(),
        user,
        host: part(parts, "host")?.to_owned(),
        path: part(parts, "path")?.to_owned(),
        query: part(parts, "query")?.to_owned(),
        opaque: part(parts, "opaque")?.to_owned(),
        fragment: part(parts, "fragment")?.to_owned(),
    };
    Ok(address.written().into())
}

fn part<'a>(parts: &'a Dict, name: &str) -> Result<&'a str, Failure> {
    match parts.get(name) {
        None => Ok(""),
        Some(Value::Text(text)) => Ok(text),
        Some(other) => Err(Failure::argument(format!("`{name}` of an address must be text, not {}", other.kind()))),
    }
}

fn urlquery(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let plain = strings::printed(budget, arguments)?;
    budget.memory(plain.len() as u64 * 3)?;
    Ok(escape::escape(&plain, Part::Query).into())
}
