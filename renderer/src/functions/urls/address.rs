//! An address and its parts, read and written as Go does.

use std::net::Ipv6Addr;

use super::escape::{Part, escape, unescape};

/// An address; path and fragment are not escaped, the user is.
#[derive(Clone, Debug, Default)]
pub(super) struct Address {
    pub(super) scheme: String,
    pub(super) user: Option<String>,
    pub(super) host: String,
    pub(super) path: String,
    pub(super) query: String,
    /// What follows the scheme when no slash does.
    pub(super) opaque: String,
    pub(super) fragment: String,
}

impl Address {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        if text.bytes().any(|byte| byte.is_ascii_control()) {
            return Err("it holds control characters".into());
        }
        let fragment = unescape(fragment, Part::Fragment)?;
        if text == "*" {
            return Ok(Self { path: "*".into(), fragment, ..Self::default() });
        }
        let (scheme, rest) = scheme(text)?;
        let scheme = scheme.to_ascii_lowercase();
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let address = Self { scheme, query: query.to_owned(), fragment, ..Self::default() };
        if !rest.starts_with('/') {
            if !address.scheme.is_empty() {
                return Ok(Self { opaque: rest.to_owned(), ..address });
            }
            if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return Err("what stands before the first `:` is no scheme".into());
            }
        }
        let after_slashes = rest.strip_prefix("//").filter(|more| !address.scheme.is_empty() || !more.starts_with('/'));
        let Some(after_slashes) = after_slashes else {
            return Ok(Self { path: unescape(rest, Part::Path)?, ..address });
        };
        let (authority, path) = after_slashes.split_at(after_slashes.find('/').unwrap_or(after_slashes.len()));
        let (userinfo, host) = match authority.rsplit_once('@') {
            Some((userinfo, host)) => (Some(userinfo), host),
            None => (None, authority),
        };
        let host = read_host(&address.scheme, host)?;
        let user = userinfo.map(read_user).transpose()?;
        Ok(Self { user, host, path: unescape(path, Part::Path)?, ..address })
    }

    pub(super) fn written(&self) -> String {
        let mut out = String::new();
        if !self.scheme.is_empty() {
            out.push_str(&self.scheme);
            out.push(':');
        }
        if self.opaque.is_empty() {
            self.write_hierarchy(&mut out);
        } else {
            out.push_str(&self.opaque);
        }
        if !self.query.is_empty() {
            out.push('?');
            out.push_str(&self.query);
        }
        if !self.fragment.is_empty() {
            out.push('#');
            out.push_str(&escape(&self.fragment, Part::Fragment));
        }
        out
    }

    fn write_hierarchy(&self, out: &mut String) {
        let named = !self.host.is_empty() || self.user.is_some();
        if named || !self.scheme.is_empty() && !self.path.is_empty() {
            out.push_str("//");
        }
        if let Some(user) = &self.user {
            out.push_str(user);
            out.push('@');
        }
        out.push_str(&escape(&self.host, Part::Host));
        let path = if self.path == "*" { self.path.clone() } else { escape(&self.path, Part::Path) };
        if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
            out.push('/');
        }
        // A colon in the first segment would make a scheme of what stands before it.
        if out.is_empty() && path.split('/').next().is_some_and(|segment| segment.contains(':')) {
            out.push_str("./");
        }
        out.push_str(&path);
    }
}

/// The scheme, if there is one, and what follows its colon.
fn scheme(text: &str) -> Result<(&str, &str), String> {
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && !"+-.".contains(letter));
    let Some(end) = end.filter(|end| text[*end..].starts_with(':')) else { return Ok(("", text)) };
    match text.chars().next() {
        Some(':') => Err("there is nothing before its `:`".into()),
        Some(first) if first.is_ascii_alphabetic() => Ok((&text[..end], &text[end + 1..])),
        _ => Ok(("", text)),
    }
}

/// The user and the password, escaped anew.
fn read_user(userinfo: &str) -> Result<String, String> {
    if !userinfo.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(letter)) {
        return Err("what stands before its `@` is no user".into());
    }
    let escaped = |part: &str| unescape(part, Part::User).map(|plain| escape(&plain, Part::User));
    match userinfo.split_once(':') {
        Some((name, password)) => Ok(format!("{}:{}", escaped(name)?, escaped(password)?)),
        None => escaped(userinfo),
    }
}

fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn read_host(scheme: &str, host: &str) -> Result<String, String> {
    let bad_port = || "its port is no number".to_owned();
    match host.rfind('[') {
        Some(0) => {
            let (inside, port) = host[1..].rsplit_once(']').ok_or("a `]` is missing")?;
            if !is_port(port) {
                return Err(bad_port());
            }
            return Ok(format!("[{}]{port}", read_ipv6(inside)?));
        }
        Some(_) => return Err("a `[` stands inside its host".into()),
        None => {}
    }
    // Lists of hosts are known from databases; the web has one.
    let colon = if matches!(scheme, "http" | "https") { host.find(':') } else { host.rfind(':') };
    if colon.is_some_and(|at| !is_port(&host[at..])) {
        return Err(bad_port());
    }
    unescape(host, Part::Host)
}

fn read_ipv6(text: &str) -> Result<String, String> {
    let (address, zone) = match text.find("%25") {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let address = unescape(address, Part::Host)?;
    let zone = unescape(zone, Part::Zone)?;
    if address.parse::<Ipv6Addr>().is_err() || zone == "%" {
        return Err("what stands in its brackets is no IPv6 address".into());
    }
    Ok(address + &zone)
}

/// The host without its port and brackets.
pub(super) fn hostname(host: &str) -> &str {
    let name = match host.rfind(':') {
        Some(colon) if is_port(&host[colon..]) => &host[..colon],
        _ => host,
    };
    name.strip_prefix('[').and_then(|inside| inside.strip_suffix(']')).unwrap_or(name)
}
