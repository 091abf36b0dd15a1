//! Names as Kubernetes takes them.

/// A DNS label: what runtimes, components, namespaces and the like are called.
pub fn is_label(name: &str) -> bool {
    name.len() <= 63 && is_part(name)
}

/// DNS labels joined by dots: what most objects are called.
pub fn is_subdomain(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut before = b'.';
    let each = name.bytes().all(|byte| {
        let before = std::mem::replace(&mut before, byte);
        inner(byte) || (byte == b'-' && before != b'.') || (byte == b'.' && inner(before))
    });
    each && inner(before) && name.len() <= 253
}

fn is_part(part: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = part.as_bytes();
    bytes.first().is_some_and(|byte| inner(*byte))
        && bytes.last().is_some_and(|byte| inner(*byte))
        && bytes.iter().all(|byte| inner(*byte) || *byte == b'-')
}

/// A name that only has to fit into a path: roles and their bindings.
pub fn is_path_segment(name: &str) -> bool {
    !name.is_empty() && name.len() <= 253 && !matches!(name, "." | "..") && !name.contains(['/', '%'])
}

/// The key of a label or an annotation: a name, with the domain of its owner before it.
pub fn is_qualified(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    prefix.is_none_or(is_subdomain) && !name.is_empty() && is_label_value(name)
}

/// The value of a label.
pub fn is_label_value(value: &str) -> bool {
    let edge = |byte: &u8| byte.is_ascii_alphanumeric();
    let bytes = value.as_bytes();
    bytes.is_empty()
        || (bytes.len() <= 63
            && bytes.first().is_some_and(edge)
            && bytes.last().is_some_and(edge)
            && bytes.iter().all(|byte| edge(byte) || matches!(byte, b'-' | b'_' | b'.')))
}

/// A group and a version, such as `apps/v1`, or the version alone.
pub fn is_api_version(text: &str) -> bool {
    match text.split_once('/') {
        Some((group, version)) => is_subdomain(group) && is_label(version),
        None => is_label(text),
    }
}

/// The kind of an object.
pub fn is_kind(kind: &str) -> bool {
    kind.len() <= 63
        && kind.as_bytes().first().is_some_and(u8::is_ascii_uppercase)
        && kind.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The rule of [`is_label`], for people.
pub const LABEL_RULE: &str =
    "use lower-case letters, digits and '-', at most 63, beginning and ending with a letter or digit";

/// The rule of [`is_subdomain`], for people.
pub const SUBDOMAIN_RULE: &str =
    "use lower-case letters, digits, '-' and '.', at most 253, beginning and ending with a letter or digit";

/// The rule of [`is_label_value`], for people.
pub const LABEL_VALUE_RULE: &str =
    "use letters, digits, '-', '_' and '.', at most 63, beginning and ending with a letter or digit";

/// The rule of [`is_qualified`], for people.
pub const QUALIFIED_RULE: &str = "use a name such as `team` or a prefixed one such as `example.com/team`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_as_kubernetes_takes_them() {
        assert!(
            is_label("a-1") && is_label("1") && !is_label("A") && !is_label("-a") && !is_label("a.b") && !is_label("")
        );
        assert!(is_subdomain("a.b-c.d") && !is_subdomain("a..b") && !is_subdomain(&"a".repeat(254)));
        assert!(
            is_qualified("example.com/Team_x") && is_qualified("a") && !is_qualified("/a") && !is_qualified("a/b/c")
        );
        assert!(is_label_value("") && is_label_value("A.b") && !is_label_value("a b") && !is_label_value("_a"));
        assert!(
            is_api_version("v1") && is_api_version("apps/v1") && !is_api_version("apps/v1/x") && !is_api_version("")
        );
        assert!(is_kind("Deployment") && !is_kind("deployment") && !is_kind("A b"));
        assert!(is_path_segment("system:node") && !is_path_segment("..") && !is_path_segment("a/b"));
    }
}
