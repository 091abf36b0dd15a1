//! Paths with slashes, taken as text: nothing is looked up. The `os` twins are the same, since charts are for Linux.

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::Value;

use super::Entry;
use super::arguments::{made, text};
use super::numbers::scan;

pub(super) static TABLE: &[Entry] = &[
    Entry::new("base", 1, 1, base),
    Entry::new("dir", 1, 1, dir),
    Entry::new("clean", 1, 1, clean),
    Entry::new("ext", 1, 1, ext),
    Entry::new("isAbs", 1, 1, is_abs),
    Entry::new("osBase", 1, 1, base),
    Entry::new("osDir", 1, 1, dir),
    Entry::new("osClean", 1, 1, clean),
    Entry::new("osExt", 1, 1, ext),
    Entry::new("osIsAbs", 1, 1, is_abs),
];

fn base(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let path = text(arguments, 0)?;
    scan(budget, path.len())?;
    let trimmed = path.trim_end_matches('/');
    let base = match (path.is_empty(), trimmed.is_empty()) {
        (true, _) => ".",
        (false, true) => "/",
        (false, false) => trimmed.rsplit('/').next().unwrap_or(trimmed),
    };
    made(budget, base)
}

fn dir(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let path = text(arguments, 0)?;
    let end = path.rfind('/').map_or(0, |at| at + 1);
    cleaned(budget, &path[..end])
}

fn clean(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    cleaned(budget, text(arguments, 0)?)
}

/// The shortest path that means the same: no `.`, no doubled slash, no `..` that can be resolved.
fn cleaned(budget: &Budget, path: &str) -> Result<Value, Failure> {
    budget.memory(path.len() as u64 * 9 + 1)?;
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            other => parts.push(other),
        }
    }
    let joined = parts.join("/");
    Ok(match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}").into(),
        (false, true) => ".".into(),
        (false, false) => joined.into(),
    })
}

fn ext(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let path = text(arguments, 0)?;
    let name = path.rsplit('/').next().unwrap_or(path);
    made(budget, name.rfind('.').map_or("", |at| &name[at..]))
}

fn is_abs(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(text(arguments, 0)?.starts_with('/').into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Limits;

    fn of(call: super::super::Function, path: &str) -> Value {
        call(&Budget::new(Limits::default()), &[Value::from(path)]).unwrap()
    }

    #[test]
    fn a_clean_path_never_leaves_its_root() {
        assert_eq!(of(clean, "/a/../../b//./c/"), Value::from("/b/c"));
        assert_eq!(of(clean, "a/../../b"), Value::from("../b"));
        assert_eq!(of(clean, ""), Value::from("."));
    }

    #[test]
    fn the_folder_and_the_name_make_up_the_path() {
        assert_eq!(of(dir, "/a/b.txt"), Value::from("/a"));
        assert_eq!(of(base, "/a/b.txt/"), Value::from("b.txt"));
        assert_eq!(of(ext, "a.b/c.tar.gz"), Value::from(".gz"));
        assert_eq!(of(ext, "a.b/c"), Value::from(""));
    }
}
