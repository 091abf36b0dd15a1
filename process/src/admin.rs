//! The admin pages `/livez`, `/readyz` and `/metrics`.

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Bytes;

use crate::health::{Health, Report};
use crate::metrics::{self, Metrics};
use crate::server::Server;

const PLAIN: &str = "text/plain; charset=utf-8";

/// What is served.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    pub(crate) health: Health,
    pub(crate) metrics: Metrics,
}

impl Pages {
    /// Serves for ever. A body that comes with a request is not looked at.
    pub(crate) async fn serve(self, server: Server) {
        server.serve(move |request| std::future::ready(self.answer(request.method(), request.uri().path()))).await;
    }

    /// That of a HEAD request is left without its body by hyper.
    fn answer(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        let page: fn(&Self) -> Response<Full<Bytes>> = match path {
            "/livez" => |pages| report(pages.health.livez()),
            "/readyz" => |pages| report(pages.health.readyz()),
            "/metrics" => Self::scrape,
            _ => return respond(StatusCode::NOT_FOUND, PLAIN, "there are /livez, /readyz and /metrics\n"),
        };
        if method != Method::GET && method != Method::HEAD {
            let mut refusal = respond(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET and HEAD\n");
            refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refusal;
        }
        page(self)
    }

    fn scrape(&self) -> Response<Full<Bytes>> {
        match self.metrics.encode() {
            Ok(page) => respond(StatusCode::OK, metrics::CONTENT_TYPE, page),
            Err(_) => respond(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, "cannot encode the metrics\n"),
        }
    }
}

fn report(Report { good, page }: Report) -> Response<Full<Bytes>> {
    respond(if good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, PLAIN, page)
}

fn respond(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests;
