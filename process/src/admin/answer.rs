//! What each path answers.

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Bytes;

use super::Pages;
use crate::health::Report;
use crate::metrics;

const PLAIN: &str = "text/plain; charset=utf-8";

/// A body that came with the request is not looked at. That of a HEAD request is left out by hyper.
pub(super) fn answer(method: &Method, path: &str, pages: &Pages) -> Response<Full<Bytes>> {
    let page: fn(&Pages) -> Response<Full<Bytes>> = match path {
        "/livez" => |pages| report(pages.health.livez()),
        "/readyz" => |pages| report(pages.health.readyz()),
        "/metrics" => scrape,
        _ => return respond(StatusCode::NOT_FOUND, PLAIN, "there are /livez, /readyz and /metrics\n"),
    };
    if method != Method::GET && method != Method::HEAD {
        let mut refusal = respond(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET and HEAD\n");
        refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refusal;
    }
    page(pages)
}

fn report(Report { good, page }: Report) -> Response<Full<Bytes>> {
    respond(if good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, PLAIN, page)
}

fn scrape(pages: &Pages) -> Response<Full<Bytes>> {
    match pages.metrics.encode() {
        Ok(page) => respond(StatusCode::OK, metrics::CONTENT_TYPE, page),
        Err(_) => respond(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, "cannot encode the metrics\n"),
    }
}

fn respond(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
