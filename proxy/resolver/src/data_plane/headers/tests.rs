use http::Request;

use super::*;

fn parts(build: impl FnOnce(http::request::Builder) -> http::request::Builder) -> Parts {
    build(Request::builder().uri("/orders?x=1")).body(()).expect("a request").into_parts().0
}

fn at(address: &str, encrypted: bool) -> Sender {
    let address = address.parse().expect("an address");
    Sender { address, at: address, encrypted }
}

fn sender() -> Sender {
    at("10.1.2.3:5555", false)
}

#[test]
fn what_concerns_one_connection_goes_no_further() {
    let mut request = parts(|builder| {
        builder
            .header("host", "shop")
            .header("connection", "keep-alive, x-secret, content-length")
            .header("x-secret", "1")
            .header("content-length", "3")
            .header("keep-alive", "timeout=5")
            .header("proxy-authorization", "Basic x")
            .header("te", "trailers")
            .header("expect", "100-continue")
    });
    rewrite_request(&mut request, sender());
    let mut names: Vec<&str> = request.headers.keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["content-length", "host", "te", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"]);
}

#[test]
fn an_upgrade_is_asked_for_again_and_nothing_else_of_the_connection() {
    let mut request = parts(|builder| {
        builder.header("host", "shop").header("connection", "Upgrade, keep-alive").header("upgrade", "websocket")
    });
    rewrite_request(&mut request, sender());
    assert_eq!(request.headers[CONNECTION], "upgrade");
    assert_eq!(request.headers[UPGRADE], "websocket");
}

#[test]
fn this_hop_is_added_behind_those_before_it() {
    let mut request = parts(|builder| {
        builder
            .header("host", "shop")
            .header("x-forwarded-for", "192.0.2.1")
            .header("x-forwarded-for", "192.0.2.2")
            .header("x-forwarded-proto", "https")
            .header("forwarded", "for=192.0.2.1")
    });
    rewrite_request(&mut request, at("[2001:db8::1]:9", false));
    assert_eq!(request.headers["x-forwarded-for"], "192.0.2.1, 192.0.2.2, 2001:db8::1");
    assert_eq!(request.headers["x-forwarded-proto"], "https");
    assert_eq!(request.headers["forwarded"], "for=192.0.2.1, for=\"[2001:db8::1]\";proto=http");
}

#[test]
fn an_address_of_the_older_family_is_written_as_such() {
    let mut request = parts(|builder| builder.header("host", "shop"));
    let address = "[::ffff:10.1.2.3]:9".parse().expect("an address");
    rewrite_request(&mut request, Sender { address, at: address, encrypted: true });
    assert_eq!(request.headers["x-forwarded-for"], "10.1.2.3");
    assert_eq!(request.headers["x-forwarded-proto"], "https");
}

#[test]
fn a_target_with_an_authority_overrides_the_host() {
    let mut request = parts(|builder| builder.uri("http://shop.example/a?b").header("host", "other"));
    rewrite_request(&mut request, sender());
    assert_eq!(request.uri, "/a?b");
    assert_eq!(request.headers[HOST], "shop.example");
}

#[test]
fn http2_keeps_its_authority() {
    let mut request = parts(|builder| builder.uri("http://shop/a").version(Version::HTTP_2));
    rewrite_request(&mut request, sender());
    assert_eq!(request.uri, "http://shop/a");
    let mut request = parts(|builder| builder.uri("/a").header("host", "shop").version(Version::HTTP_2));
    rewrite_request(&mut request, sender());
    assert_eq!(request.uri, "http://shop/a");
}

#[test]
fn a_head_that_two_parsers_may_read_differently_is_refused() {
    type Build = fn(http::request::Builder) -> http::request::Builder;
    let cases: [(Build, Result<(), Malformed>); 11] = [
        (|b| b.header("host", "a"), Ok(())),
        (|b| b, Err(Malformed::Host)),
        (|b| b.version(Version::HTTP_10), Ok(())),
        (|b| b.header("host", "a").header("host", "a"), Err(Malformed::Host)),
        (|b| b.header("host", "a b"), Err(Malformed::Host)),
        (|b| b.method("CONNECT").uri("a:1").header("host", "a"), Err(Malformed::Connect)),
        (|b| b.header("host", "a").header("transfer-encoding", "chunked"), Ok(())),
        (
            |b| b.header("host", "a").header("transfer-encoding", "chunked").header("content-length", "1"),
            Err(Malformed::Framing),
        ),
        (|b| b.header("host", "a").header("transfer-encoding", "gzip, chunked"), Err(Malformed::TransferEncoding)),
        (
            |b| b.header("host", "a").header("transfer-encoding", "chunked").header("transfer-encoding", "chunked"),
            Err(Malformed::TransferEncoding),
        ),
        (
            |b| b.header("host", "a").header("content-length", "1").header("content-length", "1"),
            Err(Malformed::Framing),
        ),
    ];
    for (number, (build, wanted)) in cases.into_iter().enumerate() {
        assert_eq!(check(&parts(build)), wanted, "case {number}");
    }
}
