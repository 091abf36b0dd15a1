//! The types of components that Dapr has, and which of their metadata is secret.

/// One type in each line: its name, then its sensitive metadata.
const TABLE: &str = include_str!("../../data/components.txt");

/// The first parts of a type.
const CATEGORIES: [&str; 12] = [
    "bindings",
    "configuration",
    "conversation",
    "crypto",
    "lock",
    "middleware",
    "nameresolution",
    "pubsub",
    "secretstores",
    "state",
    "workflow",
    "workflowbackend",
];

/// Ends of names that are secret wherever they are, for types whose metadata is not known.
const SENSITIVE: [&str; 8] =
    ["password", "secret", "secretkey", "token", "accesskey", "privatekey", "connectionstring", "apikey"];

/// How far a name may be from a known one to be taken for a slip of the pen.
const NEAR: usize = 2;

/// What is known of a type.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Known {
    /// Dapr has it.
    Yes,
    /// Dapr has one of nearly this name.
    Near(&'static str),
    /// Its category is Dapr's; a pluggable component may have this name.
    CategoryAlone,
    /// Nothing.
    No,
}

fn lines() -> impl Iterator<Item = (&'static str, std::str::SplitWhitespace<'static>)> {
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words))
    })
}

pub(super) fn find(component_type: &str) -> Known {
    if lines().any(|(name, _)| name == component_type) {
        return Known::Yes;
    }
    let near = lines().map(|(name, _)| (strsim::levenshtein(name, component_type), name)).min();
    let category = component_type.split('.').next().unwrap_or_default();
    match near {
        Some((distance, name)) if distance <= NEAR => Known::Near(name),
        Some(_) | None if CATEGORIES.contains(&category) && component_type.contains('.') => Known::CategoryAlone,
        Some(_) | None => Known::No,
    }
}

pub(super) fn is_sensitive(component_type: &str, name: &str) -> bool {
    let of_type = lines().find(|(known, _)| *known == component_type);
    let listed = of_type.is_some_and(|(_, mut fields)| fields.any(|field| field.eq_ignore_ascii_case(name)));
    let lower: String = name.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    listed || SENSITIVE.iter().any(|end| lower.ends_with(end))
}
