//! How violations are put into words: short, in the words of values files, and without what the values hold.
//!
//! Text from the values is never shown, as it may be a secret; numbers, kinds and keys are. What comes from the schema is
//! cut when it is long.

use crate::suggest;
use crate::value::{KeyPath, Step, Value};

use super::rule::{Counted, Demand, Kinds, Side};

/// Characters of a key, a name or an option that are shown.
const SHOWN: usize = 60;

/// Options or keys that are listed.
const LISTED: usize = 10;

/// A message and what to do.
pub(super) type Words = (String, Option<String>);

/// Text with no more than [`SHOWN`] characters, on one line.
pub(super) fn cut(text: &str) -> String {
    shortened(text, SHOWN)
}

pub(super) fn shortened(text: &str, most: usize) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    if text.chars().nth(most).is_none() {
        return text.chars().map(clean).collect();
    }
    text.chars().map(clean).take(most.saturating_sub(1)).chain(['…']).collect()
}

/// A path with its keys cut.
pub(super) fn short_path(steps: &[Step]) -> KeyPath {
    let short = |step: &Step| match step {
        Step::Key(key) if key.len() > SHOWN => Step::Key(cut(key).into()),
        step => step.clone(),
    };
    KeyPath(steps.iter().map(short).collect())
}

/// What a message calls the value at a path.
pub(super) fn subject(path: &[Step]) -> String {
    if path.is_empty() { "the top level".to_owned() } else { short_path(path).to_string() }
}

/// What a message calls a key.
pub(super) fn key(name: &str) -> String {
    short_path(&[Step::Key(name.into())]).to_string()
}

/// `a, b or c`, and how many more there are.
pub(super) fn listed(words: &[String], last: &str) -> String {
    if words.len() > LISTED {
        return format!("{} and {} more", words[..LISTED].join(", "), words.len() - LISTED);
    }
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., final_one] => format!("{}{last}{final_one}", first.join(", ")),
    }
}

/// A value of the schema.
fn option(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("\"{}\"", cut(text)),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => number(value),
        Value::List(list) if list.is_empty() => "[]".to_owned(),
        Value::Dict(dict) if dict.is_empty() => "{}".to_owned(),
        Value::List(_) => "a certain list".to_owned(),
        Value::Dict(_) => "a certain map".to_owned(),
    }
}

/// A number, boolean or null; of anything else its kind.
fn number(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        other => other.kind().to_owned(),
    }
}

fn plural(count: u64, counted: Counted) -> String {
    let one = match counted {
        Counted::Characters => "character",
        Counted::Items => "item",
        Counted::Keys => "key",
    };
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// Of the wrong type.
pub(super) fn kinds(subject: &str, kinds: Kinds, value: &Value) -> Words {
    let words: Vec<String> = kinds.words().into_iter().map(str::to_owned).collect();
    let text = Kinds::named("string").is_some_and(|text| kinds.0 & text.0 != 0);
    let fraction = matches!(value, Value::Float(_)) && !text;
    let found = if fraction { number(value) } else { value.kind().to_owned() };
    let help = match value {
        Value::Int(_) | Value::Float(_) | Value::Bool(_) if text => {
            Some(format!("put it in quotes: \"{}\"", number(value)))
        }
        Value::Text(text) => match text.parse::<i64>() {
            Ok(number) if kinds.include(&Value::Int(number)) => Some("remove the quotes".to_owned()),
            _ if matches!(&**text, "true" | "false") && kinds.include(&Value::Bool(true)) => {
                Some("remove the quotes".to_owned())
            }
            _ => None,
        },
        Value::Null => Some("a key without a value is null: give it one, or remove the key".to_owned()),
        _ => None,
    };
    (format!("{subject} must be {}, not {found}", listed(&words, " or ")), help)
}

/// None of the allowed values.
pub(super) fn options(subject: &str, options: &[&Value], value: &Value) -> Words {
    let words: Vec<String> = options.iter().take(LISTED + 1).map(|value| option(value)).collect();
    let message = match words.as_slice() {
        [] => format!("{subject} can have no value at all: the schema lists none"),
        [only] => format!("{subject} must be {only}"),
        _ if options.len() > LISTED => {
            format!("{subject} must be one of {} and {} more", words[..LISTED].join(", "), options.len() - LISTED)
        }
        words => format!("{subject} must be one of {}", words.join(", ")),
    };
    let texts = options.iter().take(200).filter_map(|option| option.as_text());
    let help = value.as_text().filter(|_| options.len() > 1).and_then(|text| suggest::nearest(text, texts));
    (message, help.map(|name| format!("did you mean \"{}\"?", cut(name))))
}

/// A demand on a single value that is not met.
pub(super) fn plain(subject: &str, demand: &Demand, value: &Value) -> Words {
    let message = match demand {
        Demand::Type(wanted) => return kinds(subject, *wanted, value),
        Demand::Enum(allowed) => return options(subject, &allowed.iter().collect::<Vec<_>>(), value),
        Demand::MultipleOf(step) => {
            format!("{subject} must be a multiple of {}, not {}", number(step), number(value))
        }
        Demand::Bound(side, bound) => {
            let side = match side {
                Side::AtLeast => "at least",
                Side::Above => "more than",
                Side::AtMost => "at most",
                Side::Below => "less than",
            };
            format!("{subject} must be {side} {}, not {}", number(bound), number(value))
        }
        Demand::Least(counted, least) => match counts(value) {
            0 if *least == 1 => format!("{subject} must not be empty"),
            found => format!("{subject} must have at least {}, not {found}", plural(*least, *counted)),
        },
        Demand::Most(_, 0) => format!("{subject} must be empty"),
        Demand::Most(counted, most) => {
            format!("{subject} must have at most {}, not {}", plural(*most, *counted), counts(value))
        }
        Demand::Pattern(pattern) => format!("{subject} must match {}", shortened(&pattern.source, 2 * SHOWN)),
        _ => format!("{subject} is not allowed"),
    };
    (message, None)
}

/// Characters, items or keys.
pub(super) fn counts(value: &Value) -> u64 {
    match value {
        Value::Text(text) => text.chars().count() as u64,
        Value::List(list) => list.len() as u64,
        Value::Dict(dict) => dict.len() as u64,
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => 0,
    }
}

/// What `not` excludes, in as many words as it takes.
pub(super) fn excluded(subject: &str, only: Option<&Demand>) -> String {
    match only {
        Some(Demand::Type(kinds)) => {
            let words: Vec<String> = kinds.words().into_iter().map(str::to_owned).collect();
            format!("{subject} must not be {}", listed(&words, " or "))
        }
        Some(Demand::Enum(options)) => {
            let words: Vec<String> = options.iter().map(option).collect();
            format!("{subject} must not be {}", listed(&words, " or "))
        }
        Some(Demand::Required(names)) => {
            let words: Vec<String> = names.iter().map(|name| key(name)).collect();
            match words.as_slice() {
                [only] => format!("{subject} must not have the key {only}"),
                _ => format!("{subject} must not have the keys {} together", listed(&words, " and ")),
            }
        }
        Some(Demand::Pattern(pattern)) => {
            format!("{subject} must not match {}", shortened(&pattern.source, 2 * SHOWN))
        }
        _ => format!("{subject} is of a form that the schema excludes with `not`"),
    }
}

/// A key that the schema does not know.
pub(super) fn unknown(subject: &str, name: &str, known: &[&str]) -> Words {
    let help = match suggest::nearest(name, known.iter().copied()) {
        Some(near) => Some(format!("did you mean {}?", key(near))),
        None if known.is_empty() => None,
        None => {
            let known: Vec<String> = known.iter().map(|name| key(name)).collect();
            Some(format!("known keys: {}", listed(&known, ", ")))
        }
    };
    (format!("{subject} is not a known key"), help)
}
