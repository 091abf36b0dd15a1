//! Finds credentials in text that others wrote: user information and telling parameters of URLs, and bearer tokens.
//!
//! A net below the trapeze, not a licence: it knows these shapes and no others. What is known to be secret is wrapped
//! in [`Secret`](super::Secret) instead.

use std::borrow::Cow;

use super::REDACTED;

/// Replaces credentials in `text`: `https://user:token@host/x` becomes `https://[redacted]@host/x`, the value of
/// `?access_token=...` and what follows `Bearer` go the same way. The user name of `ssh://git@host/x` stays.
pub fn scrub(text: &str) -> Cow<'_, str> {
    let mut clean = String::new();
    let mut rest = text;
    while let Some((before, found, after)) = next_suspect(rest) {
        clean.push_str(before);
        let end = match found {
            Suspect::Url { web } => {
                let (url, _) = after.split_at(url_end(after));
                push_url(&mut clean, url, web);
                url.len()
            }
            Suspect::Bearer => {
                clean.push_str(REDACTED);
                token_end(after)
            }
        };
        rest = &after[end..];
    }
    if clean.is_empty() {
        return Cow::Borrowed(text);
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

enum Suspect {
    Url { web: bool },
    Bearer,
}

/// What comes up to and with the mark, which mark, and what follows it.
fn next_suspect(text: &str) -> Option<(&str, Suspect, &str)> {
    let url = text.find("://").map(|at| {
        let web = text[..at].to_ascii_lowercase();
        (at + 3, Suspect::Url { web: web.ends_with("http") || web.ends_with("https") })
    });
    let bearer = find_bearer(text).map(|at| (at, Suspect::Bearer));
    let (at, suspect) = match (url, bearer) {
        (Some(url), Some(bearer)) => std::cmp::min_by_key(url, bearer, |found| found.0),
        (one, other) => one.or(other)?,
    };
    let (before, after) = text.split_at(at);
    Some((before, suspect, after))
}

fn find_bearer(text: &str) -> Option<usize> {
    const MARKS: [&[u8]; 2] = [b"bearer ", b"authorization: basic "];
    let after = |mark: &[u8]| {
        let at = text.as_bytes().windows(mark.len()).position(|window| window.eq_ignore_ascii_case(mark))?;
        Some(at + mark.len())
    };
    MARKS.into_iter().filter_map(after).min()
}

fn url_end(text: &str) -> usize {
    let ends = |c: char| c.is_whitespace() || c.is_control() || "\"'`<>\\{}|^".contains(c);
    text.find(ends).unwrap_or(text.len())
}

fn token_end(text: &str) -> usize {
    let within = |c: char| c.is_ascii_alphanumeric() || "-._~+/=".contains(c);
    text.find(|c| !within(c)).unwrap_or(text.len())
}

/// `url` is what follows `://`.
fn push_url(clean: &mut String, url: &str, web: bool) {
    let (user, rest) = split_user(url);
    match user {
        // On the web a user name alone is often the token itself.
        Some(user) if web || user.contains(':') => {
            clean.push_str(REDACTED);
            clean.push('@');
        }
        Some(user) => {
            clean.push_str(user);
            clean.push('@');
        }
        None => {}
    }
    let Some((path, query)) = rest.split_once('?') else {
        clean.push_str(rest);
        return;
    };
    clean.push_str(path);
    let mut separator = '?';
    for parameter in query.split('&') {
        clean.push(separator);
        separator = '&';
        match parameter.split_once('=') {
            Some((name, _)) if is_telling(name) => {
                clean.push_str(name);
                clean.push('=');
                clean.push_str(REDACTED);
            }
            _ => clean.push_str(parameter),
        }
    }
}

/// The last `@` of the authority ends the user information. A password with a bare `/`, `?` or `#` in it ends the
/// authority too early; that shows as a port that is no number, and then the last `@` of all is taken.
fn split_user(url: &str) -> (Option<&str>, &str) {
    let authority = &url[..url.find(['/', '?', '#']).unwrap_or(url.len())];
    let at = authority.rfind('@').or_else(|| {
        let (_, port) = authority.rsplit_once(':')?;
        let is_port = port.bytes().all(|byte| byte.is_ascii_digit()) || port.ends_with(']');
        if is_port { None } else { url.rfind('@') }
    });
    match at {
        Some(at) => (Some(&url[..at]), &url[at + 1..]),
        None => (None, url),
    }
}

fn is_telling(name: &str) -> bool {
    const TELLING: [&str; 8] = ["token", "secret", "passw", "sig", "key", "credential", "auth", "code"];
    let name = name.to_ascii_lowercase();
    TELLING.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests;
