//! Ports at which clients or pods speak TLS, or the PROXY protocol.

use std::sync::Arc;

use http::StatusCode;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::kit::*;
use crate::data_plane::secrets::Use;
use crate::data_plane::table::PodState;
use crate::report::PROBE_HEADER;

/// A certificate that signs itself, and its key.
struct Pair {
    certificate: String,
    key: String,
}

impl Pair {
    fn new(name: &str) -> Self {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
        Self { certificate: made.cert.pem(), key: made.signing_key.serialize_pem() }
    }

    fn put(&self, shop: &Shop, name: &str) {
        shop.secret(name, Use::Certificate, &[("tls.crt", &self.certificate), ("tls.key", &self.key)]);
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.certificate.as_bytes()).expect("PEM")).expect("a certificate");
        roots
    }

    fn server(&self) -> Arc<ServerConfig> {
        let certificate = CertificateDer::from_pem_slice(self.certificate.as_bytes()).expect("PEM");
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).expect("PEM");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.expect("versions").with_no_client_auth();
        let mut config = builder.with_single_cert(vec![certificate], key).expect("a pair");
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Arc::new(config)
    }

    /// A connection of a client that trusts this certificate alone.
    async fn connect(&self, shop: &Shop, protocol: &[u8]) -> std::io::Result<TlsStream<TcpStream>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let mut config = builder.expect("versions").with_root_certificates(self.roots()).with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        let name = ServerName::try_from("shop").expect("a name");
        TlsConnector::from(Arc::new(config)).connect(name, shop.connect().await).await
    }
}

fn header<'a>(seen: &'a Value, name: &str) -> Option<&'a str> {
    let headers = seen["headers"].as_array()?;
    headers.iter().find(|header| header[0] == name)?[1].as_str()
}

async fn ask(stream: TlsStream<TcpStream>) -> Value {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("a handshake");
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { drop(connection.await) });
    let answer = sender.send_request(get("/orders")).await.expect("an answer");
    serde_json::from_str(&read(answer).await.1).expect("what the pod saw")
}

fn ports(port: Value) -> Value {
    let mut port = port;
    port["port"] = json!(80);
    json!({ "ports": [port] })
}

#[tokio::test]
async fn tls_of_clients_ends_here_with_the_latest_certificate() {
    let pod = Pod::start(Speaks::Http1, echo()).await;
    let shop = Shop::open("Proxied", ports(json!({ "tls": { "secretName": "web-tls" } })), &[&pod]).await;
    let listener = shop.plane.report().0.pop().expect("a listener");
    assert_eq!((listener.bound, listener.problem.as_deref()), (false, Some("Secret web-tls: it was not read yet")));
    shop.secret("web-tls", Use::Certificate, &[("tls.crt", "x")]);
    let problem = shop.plane.report().0.pop().and_then(|listener| listener.problem).expect("a problem");
    assert!(problem.contains("tls.crt is empty"), "{problem}");

    let (old, new) = (Pair::new("shop"), Pair::new("shop"));
    old.put(&shop, "web-tls");
    assert!(shop.plane.report().0.pop().expect("a listener").bound);
    let kept = old.connect(&shop, b"http/1.1").await.expect("TLS");
    new.put(&shop, "web-tls");
    let seen = ask(new.connect(&shop, b"http/1.1").await.expect("TLS")).await;
    assert_eq!(header(&seen, "x-forwarded-proto"), Some("https"));
    assert!(old.connect(&shop, b"http/1.1").await.is_err(), "the old one is shown to nobody any more");
    assert_eq!(ask(kept).await["target"], "/orders", "whoever has a connection keeps it");
    // What becomes unreadable is no reason to refuse clients.
    shop.secret("web-tls", Use::Certificate, &[]);
    ask(new.connect(&shop, b"http/1.1").await.expect("TLS")).await;
}

#[tokio::test]
async fn http2_is_chosen_in_the_handshake() {
    let pod = Pod::start(Speaks::Http2, echo()).await;
    let shop = Shop::open("Proxied", ports(json!({ "tls": { "secretName": "web-tls" } })), &[&pod]).await;
    let pair = Pair::new("shop");
    pair.put(&shop, "web-tls");
    let stream = pair.connect(&shop, b"h2").await.expect("TLS");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
    let (mut sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.expect("a handshake");
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { drop(connection.await) });
    let mut request = get("/orders");
    *request.uri_mut() = "https://shop/orders".parse().expect("a target");
    assert_eq!(sender.send_request(request).await.expect("an answer").status(), StatusCode::OK);
}

#[tokio::test]
async fn a_port_of_tls_answers_the_switch_in_plain_and_nobody_else() {
    let pod = Pod::start(Speaks::Http1, echo()).await;
    let shop = Shop::open("Proxied", ports(json!({ "tls": { "secretName": "web-tls" } })), &[&pod]).await;
    Pair::new("shop").put(&shop, "web-tls");
    let question =
        format!("GET /.well-known/reeve-probe HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{PROBE_HEADER}: 7\r\n\r\n");
    for (sent, wanted) in [(question.as_str(), true), ("GET /orders HTTP/1.1\r\nhost: a\r\n\r\n", false)] {
        let mut stream = shop.connect().await;
        stream.write_all(sent.as_bytes()).await.expect("written");
        let mut back = String::new();
        let _ = stream.read_to_string(&mut back).await;
        assert_eq!(back.starts_with("HTTP/1.1 200"), wanted, "{sent}: {back}");
    }
    assert_eq!(pod.requests(), 0);
}

#[tokio::test]
async fn pods_are_spoken_to_over_tls_if_their_certificate_is_theirs() {
    let pair = Pair::new("shop.web.svc");
    let pod = Pod::start_tls(pair.server(), echo()).await;
    let spec = ports(json!({ "backendTls": { "caSecretName": "pods-ca" } }));
    let shop = Shop::open("Proxied", spec, &[&pod]).await;
    shop.secret("pods-ca", Use::Authorities, &[("ca.crt", &pair.certificate)]);
    assert_eq!(shop.get("/orders").await.0.status, StatusCode::OK);
    let mut client = shop.http2().await;
    let mut request = get("/orders");
    *request.uri_mut() = "http://shop/orders".parse().expect("a target");
    let seen = read(client.sender.send_request(request).await.expect("an answer")).await.1;
    assert!(seen.contains("https://shop/orders"), "{seen}");

    let before = pod.requests();
    shop.secret("pods-ca", Use::Authorities, &[("ca.crt", &Pair::new("shop.web.svc").certificate)]);
    shop.plane.rules();
    let other = Pod::start_tls(pair.server(), echo()).await;
    let mut shop = shop;
    shop.pods(&[(other.address, PodState::Ready)]);
    assert_eq!(shop.get("/orders").await.0.status, StatusCode::BAD_GATEWAY);
    assert_eq!((pod.requests(), other.requests()), (before, 0), "nothing is said to a stranger");
}

#[tokio::test]
async fn a_header_of_the_proxy_protocol_says_who_the_client_is() {
    let pod = Pod::start(Speaks::Http1, echo()).await;
    let shop = Shop::open("Proxied", ports(json!({ "acceptProxyProtocol": true })), &[&pod]).await;
    let request = "GET /orders HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let mut stream = shop.connect().await;
    let header = "PROXY TCP4 203.0.113.7 192.0.2.1 4711 443\r\n";
    stream.write_all(format!("{header}{request}").as_bytes()).await.expect("written");
    let mut back = String::new();
    stream.read_to_string(&mut back).await.expect("an answer");
    assert!(back.contains(r#"["x-forwarded-for","203.0.113.7"]"#), "{back}");
    let mut stream = shop.connect().await;
    stream.write_all(request.as_bytes()).await.expect("written");
    let mut back = Vec::new();
    let _ = stream.read_to_end(&mut back).await;
    assert!(back.is_empty(), "who says nothing of the kind is closed");
    assert_eq!(pod.requests(), 1);
}

#[tokio::test]
async fn pods_are_told_who_the_client_is_on_a_connection_of_its_own() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let address = listener.local_addr().expect("an address");
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            let mut stream = BufReader::new(stream);
            let mut header = String::new();
            stream.read_line(&mut header).await.expect("a header");
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{header}", header.len());
            stream.write_all(answer.as_bytes()).await.expect("written");
            // Open, as if another request could come.
            std::mem::forget(stream);
        }
    });
    let mut shop = Shop::open("Proxied", ports(json!({ "sendProxyProtocol": true })), &[]).await;
    shop.pods(&[(address, PodState::Ready)]);
    let mut client = shop.http1().await;
    for _ in 0..2 {
        client.sender.ready().await.expect("open");
        let answer = client.sender.send_request(get("/")).await.expect("an answer");
        let header = read(answer).await.1;
        let words: Vec<&str> = header.split_whitespace().collect();
        assert_eq!(
            (words[0], words[2], words[3], words[5]),
            ("PROXY", "127.0.0.1", "127.0.0.1", &*shop.port.to_string())
        );
    }
}
