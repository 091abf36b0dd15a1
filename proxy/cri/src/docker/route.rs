//! The calls of the Docker Engine API that hooks are for, in every version of it.

/// A call that a hook may be for. Containers are named as the caller names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Create,
    Start(String),
    Stop(String),
    Remove(String),
    Update(String),
}

impl Call {
    /// `None` for what no hook is for.
    pub(crate) fn find(method: &str, target: &str) -> Option<Self> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let path = decode(path)?;
        let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        if parts.first().is_some_and(|part| is_version(part)) {
            parts.remove(0);
        }
        let call = match (method, parts.as_slice()) {
            ("POST", ["containers", "create"]) => Self::Create,
            // What is started again is started.
            ("POST", ["containers", id, "start" | "restart"]) => Self::Start((*id).to_owned()),
            ("POST", ["containers", id, "stop"]) => Self::Stop((*id).to_owned()),
            ("POST", ["containers", id, "kill"]) if ends(query) => Self::Stop((*id).to_owned()),
            ("POST", ["containers", id, "update"]) => Self::Update((*id).to_owned()),
            ("DELETE", ["containers", id]) => Self::Remove((*id).to_owned()),
            _ => return None,
        };
        Some(call)
    }
}

/// Whether a signal surely ends a container. It may take any other for what it likes.
fn ends(query: &str) -> bool {
    let signal = query.split('&').find_map(|pair| pair.strip_prefix("signal="));
    signal.is_none_or(|signal| matches!(signal.to_ascii_uppercase().trim_start_matches("SIG"), "" | "KILL" | "9"))
}

/// `v1.41`
fn is_version(part: &str) -> bool {
    let rest = part.strip_prefix('v');
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

/// As dockerd reads a path. `None` if it is none.
fn decode(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = rest.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_in_every_version_of_the_api() {
        let id = || "abc".to_owned();
        for (method, target, call) in [
            ("POST", "/v1.41/containers/create?name=k8s_a", Some(Call::Create)),
            ("POST", "/containers/create", Some(Call::Create)),
            ("POST", "/v1.24/containers/%63reate", Some(Call::Create)),
            ("POST", "/v1.41/containers/abc/start", Some(Call::Start(id()))),
            ("POST", "/containers/abc/restart?t=1", Some(Call::Start(id()))),
            ("POST", "/v1.41/containers/abc/stop?t=30", Some(Call::Stop(id()))),
            ("POST", "/v1.41/containers/abc/kill", Some(Call::Stop(id()))),
            ("POST", "/v1.41/containers/abc/kill?signal=SIGKILL", Some(Call::Stop(id()))),
            ("POST", "/v1.41/containers/abc/kill?signal=HUP", None),
            ("POST", "/v1.41/containers/abc/update", Some(Call::Update(id()))),
            ("DELETE", "/v1.41/containers/abc?force=1", Some(Call::Remove(id()))),
            ("GET", "/v1.41/containers/abc/json", None),
            ("POST", "/v1.41/containers/abc/attach?stream=1", None),
            ("POST", "/v1.41/exec/abc/start", None),
            ("POST", "/v1.41/images/create", None),
            ("POST", "/%zz", None),
        ] {
            assert_eq!(Call::find(method, target), call, "{method} {target}");
        }
    }
}
