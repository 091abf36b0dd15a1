//! References to places: how one is read from where it stands (RFC 3986, section 5), and JSON pointers.
//!
//! It only computes names; nothing is ever fetched.

struct Parts<'t> {
    scheme: Option<&'t str>,
    authority: Option<&'t str>,
    path: &'t str,
    query: Option<&'t str>,
    fragment: Option<&'t str>,
}

fn parts(text: &str) -> Parts<'_> {
    let (text, fragment) = split(text, '#');
    let (text, query) = split(text, '?');
    let (scheme, rest) = match text.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
        _ => (None, text),
    };
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            (Some(authority), path)
        }
        None => (None, rest),
    };
    Parts { scheme, authority, path, query, fragment }
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(before, after)| (before, Some(after)))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// What `reference` means where `base` holds: the address without fragment, and the fragment.
pub(super) fn resolve(base: &str, reference: &str) -> (String, String) {
    let base = parts(base);
    let named = parts(reference);
    let fragment = named.fragment.unwrap_or_default().to_owned();
    let (scheme, authority, path, query) = if named.scheme.is_some() {
        (named.scheme, named.authority, without_dots(named.path), named.query)
    } else if named.authority.is_some() {
        (base.scheme, named.authority, without_dots(named.path), named.query)
    } else if named.path.is_empty() {
        (base.scheme, base.authority, base.path.to_owned(), named.query.or(base.query))
    } else if named.path.starts_with('/') {
        (base.scheme, base.authority, without_dots(named.path), named.query)
    } else {
        let folder = base.path.rfind('/').map_or("", |end| &base.path[..=end]);
        let folder = if folder.is_empty() && base.authority.is_some() { "/" } else { folder };
        (base.scheme, base.authority, without_dots(&format!("{folder}{}", named.path)), named.query)
    };
    let mut address = String::new();
    if let Some(scheme) = scheme {
        address.push_str(scheme);
        address.push(':');
    }
    if let Some(authority) = authority {
        address.push_str("//");
        address.push_str(authority);
    }
    address.push_str(&path);
    if let Some(query) = query {
        address.push('?');
        address.push_str(query);
    }
    (address, fragment)
}

/// A path with `.` and `..` followed. One that does not begin with a slash is a name, and stays as it is.
fn without_dots(path: &str) -> String {
    let Some(rooted) = path.strip_prefix('/') else { return path.to_owned() };
    let mut kept: Vec<&str> = Vec::new();
    let mut open = false;
    for segment in rooted.split('/') {
        open = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    if open {
        kept.push("");
    }
    format!("/{}", kept.join("/"))
}

/// The steps of a JSON pointer; `None` if an escape in it means nothing.
pub(super) fn pointer(text: &str) -> Option<Vec<String>> {
    text.split('/').skip(1).map(unescape).collect()
}

fn unescape(step: &str) -> Option<String> {
    let mut plain = String::with_capacity(step.len());
    let mut rest = step.chars();
    while let Some(c) = rest.next() {
        match (c, if c == '~' { rest.next() } else { None }) {
            ('~', Some('0')) => plain.push('~'),
            ('~', Some('1')) => plain.push('/'),
            ('~', _) => return None,
            (c, _) => plain.push(c),
        }
    }
    Some(plain)
}

/// Text with its `%41` read; `None` if it is no text then.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        let (high, low) = (digit(rest.next())?, digit(rest.next())?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_from_where_they_stand() {
        let cases = [
            ("http://a/b/c/d?q", "g", "http://a/b/c/g"),
            ("http://a/b/c/d?q", "/g", "http://a/g"),
            ("http://a/b/c/d?q", "../../g", "http://a/g"),
            ("http://a/b/c/d?q", "../../../g", "http://a/g"),
            ("http://a/b/c/d?q", "..", "http://a/b/"),
            ("http://a/b/c/d?q", "", "http://a/b/c/d?q"),
            ("http://a/b/c/d?q", "?y", "http://a/b/c/d?y"),
            ("http://a/b/c/d?q", "//g", "http://g"),
            ("http://a", "g", "http://a/g"),
            ("urn:x:y", "#z", "urn:x:y"),
            ("urn:x:y", "urn:z", "urn:z"),
        ];
        for (base, reference, address) in cases {
            assert_eq!(resolve(base, reference).0, address, "{base} {reference}");
        }
        assert_eq!(resolve("http://a/b", "c#d").1, "d");
    }

    #[test]
    fn pointers_and_percent_signs_are_unescaped() {
        assert_eq!(pointer("/a~1b/~01/"), Some(vec!["a/b".to_owned(), "~1".to_owned(), String::new()]));
        assert_eq!(pointer("/a~2"), None);
        assert_eq!(decoded("a%25b%C3%BC"), Some("a%bü".to_owned()));
        assert_eq!(decoded("%C3"), None);
        assert_eq!(decoded("%4"), None);
    }
}
