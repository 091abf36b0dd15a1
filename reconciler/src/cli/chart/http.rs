//! GET requests to registries and Helm repositories: bounded, with a deadline, credentials and redirects.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::ConfigExt as _;
use reeve_process::secret::scrub;

use super::error::ChartError;
use crate::cli::args::chart::PlaceArgs;

/// More of an answer is not read.
const LARGEST: usize = 64 << 20;
/// More redirects are not followed.
const REDIRECTS: usize = 5;

/// Who asks, and for how long.
#[derive(Clone, Debug)]
pub(super) struct Client {
    /// The header `Authorization` for whoever asks for a name and password.
    basic: Option<String>,
    within: Duration,
}

/// An answer with its body.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: http::HeaderMap,
    pub(super) body: Bytes,
}

impl Client {
    pub(super) fn new(place: &PlaceArgs) -> Self {
        let named = |user: &String| {
            let password = place.password.as_deref().unwrap_or_default();
            format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")))
        };
        Self { basic: place.username.as_ref().map(named), within: place.timeout }
    }

    /// The header that carries name and password, if there are any.
    pub(super) fn basic(&self) -> Option<&str> {
        self.basic.as_deref()
    }

    /// The body of a page that must be there.
    pub(super) async fn page(&self, url: &str, authorization: Option<&str>) -> Result<Bytes, ChartError> {
        let answer = self.get(url, authorization, None).await?;
        if answer.status.is_success() {
            return Ok(answer.body);
        }
        Err(ChartError::Refused { place: scrub(url).into_owned(), status: answer.status.as_u16() })
    }

    /// Whatever is answered. Credentials go to the first host alone.
    pub(super) async fn get(
        &self,
        url: &str,
        authorization: Option<&str>,
        accept: Option<&str>,
    ) -> Result<Answer, ChartError> {
        let mut url = url.to_owned();
        let mut authorization = authorization;
        for _ in 0..=REDIRECTS {
            let answer = self.once(&url, authorization, accept).await?;
            let location = answer.headers.get(header::LOCATION).and_then(|location| location.to_str().ok());
            let Some(location) = location.filter(|_| answer.status.is_redirection()) else { return Ok(answer) };
            let next = joined(&url, location);
            if !is_as_trusted(&next, &url) {
                authorization = None;
            }
            url = next;
        }
        Err(ChartError::Answer {
            place: scrub(&url).into_owned(),
            why: format!("it redirects more than {REDIRECTS} times"),
        })
    }

    async fn once(&self, url: &str, authorization: Option<&str>, accept: Option<&str>) -> Result<Answer, ChartError> {
        let place = || scrub(url).into_owned();
        let connect = |why: String| ChartError::Connect { place: place(), why };
        let uri: Uri = url.parse().map_err(|error: http::uri::InvalidUri| connect(error.to_string()))?;
        // Trusts what the machine trusts, as the client of a cluster without a CA of its own does.
        let connector =
            Config::new(uri.clone()).rustls_https_connector().map_err(|error| connect(error.to_string()))?;
        let client: HttpClient<_, Empty<Bytes>> = HttpClient::builder(TokioExecutor::new()).build(connector);
        let mut request = Request::get(uri).header(header::USER_AGENT, "reeve");
        if let Some(authorization) = authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        if let Some(accept) = accept {
            request = request.header(header::ACCEPT, accept);
        }
        let request = request.body(Empty::new()).map_err(|error| connect(error.to_string()))?;
        let asked = async {
            let answer: Response<_> =
                client.request(request).await.map_err(|error| connect(reeve_process::error_chain(&error)))?;
            let (parts, body) = answer.into_parts();
            let body = Limited::new(body, LARGEST).collect().await;
            let body = body.map_err(|error| ChartError::Answer { place: place(), why: error.to_string() })?;
            Ok(Answer { status: parts.status, headers: parts.headers, body: body.to_bytes() })
        };
        tokio::time::timeout(self.within, asked).await.unwrap_or_else(|_| Err(ChartError::Late { place: place() }))
    }
}

/// Whether what may be told to whoever answers at `url` may be told at `next` too: it is the same scheme, host and port.
pub(super) fn is_as_trusted(next: &str, url: &str) -> bool {
    host(next).eq_ignore_ascii_case(host(url))
}

/// Scheme and host of a URL.
fn host(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find('/').map_or(url.len(), |at| start + at);
    &url[..end]
}

/// A link as seen from a page.
pub(super) fn joined(page: &str, link: &str) -> String {
    if link.starts_with("https://") || link.starts_with("http://") {
        return link.to_owned();
    }
    if link.starts_with('/') {
        return format!("{}{link}", host(page));
    }
    let folder = page.rfind('/').filter(|at| *at >= host(page).len()).map_or(page, |at| &page[..at]);
    format!("{folder}/{link}")
}

#[cfg(test)]
mod tests {
    use super::{is_as_trusted, joined};

    #[test]
    fn credentials_are_for_the_host_wherever_on_it_an_archive_is() {
        let is_trusted = |link| is_as_trusted(link, "https://host:1/charts");
        assert!(is_trusted("https://host:1/archives/web-1.tgz"));
        assert!(is_trusted("https://HOST:1"));
        for other in ["https://host:1.example/a", "https://host:2/charts/a", "http://host:1/charts/a"] {
            assert!(!is_trusted(other), "{other}");
        }
    }

    #[test]
    fn links_are_seen_from_their_page() {
        let joined = |link| joined("https://host:1/charts/index.yaml", link);
        assert_eq!(joined("web-1.tgz"), "https://host:1/charts/web-1.tgz");
        assert_eq!(joined("/web-1.tgz"), "https://host:1/web-1.tgz");
        assert_eq!(joined("http://other/web.tgz"), "http://other/web.tgz");
        assert_eq!(super::joined("https://host", "a"), "https://host/a");
    }
}
