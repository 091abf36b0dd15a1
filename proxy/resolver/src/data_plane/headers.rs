//! What a proxy changes in the heads of messages, and which heads it refuses. Pure.

use std::net::{IpAddr, SocketAddr};

use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, FORWARDED, HOST, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::request::Parts;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, Method, Uri, Version};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// Why a request is refused whatever it asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("a request needs exactly one host")]
    Host,
    #[error("this is no proxy to tunnel through")]
    Connect,
    #[error("content-length and transfer-encoding exclude each other")]
    Framing,
    #[error("only chunked is known as a transfer-encoding")]
    TransferEncoding,
    #[error("the target of the request must be a path")]
    Target,
}

/// What is refused in a head that hyper let pass, since another parser may read it differently.
pub(crate) fn check(request: &Parts) -> Result<(), Malformed> {
    if request.method == Method::CONNECT {
        return Err(Malformed::Connect);
    }
    let mut hosts = request.headers.get_all(HOST).iter();
    let (first, second) = (hosts.next(), hosts.next());
    let named = first.is_some() || request.uri.authority().is_some();
    if second.is_some() || (!named && request.version == Version::HTTP_11) {
        return Err(Malformed::Host);
    }
    if first.is_some_and(|host| !host.is_empty() && Authority::try_from(host.as_bytes()).is_err()) {
        return Err(Malformed::Host);
    }
    if let Some(encoding) = request.headers.get(TRANSFER_ENCODING) {
        if request.headers.contains_key(CONTENT_LENGTH) {
            return Err(Malformed::Framing);
        }
        // Anything but this one word, once, has been read in different ways by different servers.
        let single = request.headers.get_all(TRANSFER_ENCODING).iter().count() == 1;
        if !single || !encoding.as_bytes().eq_ignore_ascii_case(b"chunked") {
            return Err(Malformed::TransferEncoding);
        }
    }
    if request.headers.get_all(CONTENT_LENGTH).iter().count() > 1 {
        return Err(Malformed::Framing);
    }
    let path = request.uri.path();
    if !path.starts_with('/') && path != "*" {
        return Err(Malformed::Target);
    }
    Ok(())
}

/// The protocol that the client wants instead, if it asks for one.
pub(crate) fn upgrade_of(headers: &HeaderMap) -> Option<HeaderValue> {
    let asked = connection_options(headers).any(|option| option.eq_ignore_ascii_case("upgrade"));
    headers.get(UPGRADE).filter(|_| asked).cloned()
}

/// Whether the client waits for `100 Continue` before it sends the body.
pub(crate) fn expects_continue(headers: &HeaderMap) -> bool {
    headers.get(EXPECT).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// Removes what concerns only one connection. `te: trailers` stays, since gRPC asks for it on every hop.
pub(crate) fn remove_hop_by_hop(headers: &mut HeaderMap) {
    if headers.contains_key(CONNECTION) {
        let named: Vec<HeaderName> = connection_options(headers).filter_map(|name| name.parse().ok()).collect();
        for name in named {
            // A client cannot have us drop what says where a message ends or whom it is for.
            if name != HOST && name != CONTENT_LENGTH && name != TE {
                headers.remove(name);
            }
        }
        headers.remove(CONNECTION);
    }
    for name in [KEEP_ALIVE, PROXY_CONNECTION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
    if headers.get(TE).is_some_and(|value| !value.as_bytes().eq_ignore_ascii_case(b"trailers")) {
        headers.remove(TE);
    }
}

fn connection_options(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|option| !option.is_empty())
}

/// Who sent a request, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    pub(crate) address: SocketAddr,
    /// Where it connected to.
    pub(crate) at: SocketAddr,
    pub(crate) encrypted: bool,
}

/// Turns the head as the client sent it into the one that a pod gets.
pub(crate) fn rewrite_request(request: &mut Parts, from: Sender) {
    let upgrade = upgrade_of(&request.headers);
    let host = request.headers.get(HOST).cloned();
    let authority = request.uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    // A target with an authority overrides the header (RFC 9112, 3.2.2).
    let host = authority.or(host);
    // Trailers that are announced come; the announcement goes with them.
    let trailer = request.headers.get(TRAILER).cloned();
    remove_hop_by_hop(&mut request.headers);
    request.headers.remove(EXPECT);
    if let Some(trailer) = trailer {
        request.headers.insert(TRAILER, trailer);
    }
    if let Some(protocol) = upgrade {
        request.headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        request.headers.insert(UPGRADE, protocol);
    }
    let protocol = if from.encrypted { "https" } else { "http" };
    add_forwarded(&mut request.headers, from.address.ip(), protocol, host.as_ref());
    if request.version == Version::HTTP_2 {
        request.uri = with_authority(&request.uri, host.as_ref());
    } else {
        request.uri = origin_form(&request.uri);
        request.version = Version::HTTP_11;
        if let Some(host) = host {
            request.headers.insert(HOST, host);
        }
    }
}

fn origin_form(uri: &Uri) -> Uri {
    if uri.authority().is_none() && uri.scheme().is_none() {
        return uri.clone();
    }
    let target = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    Uri::from(target)
}

/// HTTP/2 carries the authority in the target; a client may have written the header instead.
fn with_authority(uri: &Uri, host: Option<&HeaderValue>) -> Uri {
    let mut parts = uri.clone().into_parts();
    if parts.authority.is_none() {
        parts.authority = host.and_then(|host| Authority::try_from(host.as_bytes()).ok());
    }
    parts.scheme = parts.authority.as_ref().map(|_| Scheme::HTTP);
    parts.path_and_query.get_or_insert_with(|| PathAndQuery::from_static("/"));
    Uri::from_parts(parts).unwrap_or_else(|_| uri.clone())
}

/// Adds this hop behind those before it. `Forwarded` is continued where it is used, and not begun: one of the two ways
/// to say it is enough.
fn add_forwarded(headers: &mut HeaderMap, client: IpAddr, protocol: &'static str, host: Option<&HeaderValue>) {
    let client = client.to_canonical();
    append(headers, X_FORWARDED_FOR, &client.to_string());
    if !headers.contains_key(X_FORWARDED_PROTO) {
        headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static(protocol));
    }
    if let Some(host) = host.filter(|_| !headers.contains_key(X_FORWARDED_HOST)) {
        headers.insert(X_FORWARDED_HOST, host.clone());
    }
    if headers.contains_key(FORWARDED) {
        let node = match client {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("\"[{address}]\""),
        };
        append(headers, FORWARDED, &format!("for={node};proto={protocol}"));
    }
}

fn append(headers: &mut HeaderMap, name: HeaderName, element: &str) {
    let mut joined = Vec::new();
    for value in headers.get_all(&name) {
        joined.extend_from_slice(value.as_bytes());
        joined.extend_from_slice(b", ");
    }
    joined.extend_from_slice(element.as_bytes());
    if let Ok(value) = HeaderValue::from_bytes(&joined) {
        headers.insert(name, value);
    }
}

/// About how much memory a head takes.
pub(crate) fn size_of(request: &Parts) -> u64 {
    let headers = request.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 64).sum::<usize>();
    (headers + request.uri.path_and_query().map_or(0, |path| path.as_str().len())) as u64
}

#[cfg(test)]
mod tests;
