//! Through a proxy that asks for a password, and past one that is not wanted.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use k8s_openapi::ByteString;
use reeve_crds::Reason;
use reeve_reconciler_git::{FetchRequest, Proxy};
use reeve_tests::GitRepository;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::git::fixture::{Fixture, credentials, main, request};

/// A forward proxy for one user, which notes what it was asked for and was let through.
struct ForwardProxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    _work: JoinSet<()>,
}

impl ForwardProxy {
    async fn start(user: &str, password: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let wanted = format!("Proxy-Authorization: Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")));
        let (mut work, notes) = (JoinSet::new(), Arc::clone(&asked));
        work.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (wanted, notes) = (wanted.clone(), Arc::clone(&notes));
                connections.spawn(async move { serve(client, &wanted, &notes).await });
            }
        });
        Self { address, asked, _work: work }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn serve(mut client: TcpStream, wanted: &str, notes: &Mutex<Vec<String>>) -> Option<()> {
    let head = read_head(&mut client).await?;
    let line = head.lines().next()?.to_owned();
    let (method, rest) = line.split_once(' ')?;
    if !head.contains(wanted) {
        let api_error = "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\
                       Content-Length: 0\r\nConnection: close\r\n\r\n";
        return client.write_all(api_error.as_bytes()).await.ok();
    }
    assert_eq!(method, "CONNECT");
    let target = rest.split(' ').next()?.to_owned();
    notes.lock().unwrap().push(format!("{method} {target}"));
    let mut server = TcpStream::connect(target).await.ok()?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
    copy_bidirectional(&mut client, &mut server).await.ok().map(drop)
}

async fn read_head(client: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

fn proxy(address: SocketAddr, login: &[(&str, &str)]) -> Proxy {
    let address = format!("http://{address}");
    let pairs = login.iter().copied().chain([("address", address.as_str())]);
    let data = pairs.map(|(key, value)| (key.to_owned(), ByteString(value.as_bytes().to_vec()))).collect();
    Proxy::from_secret(&data).unwrap()
}

#[tokio::test]
async fn a_repository_is_reached_through_a_proxy_that_asks_for_a_password() {
    let git = GitRepository::create().unwrap();
    let commit = git.publish(&[("a", "1")]).unwrap();
    let https = git.serve_https(None).unwrap();
    let through = ForwardProxy::start("ann", "p@ss/word").await;
    let login = proxy(through.address, &[("username", "ann"), ("password", "p@ss/word")]);
    let credentials = credentials(&https.url(), &[("ca.crt", https.authority().unwrap())]);
    let request = FetchRequest { proxy: Some(login), credentials, ..request(&https.url(), main()) };
    assert_eq!(Fixture::new().fetch(&request).await.commit.id, commit.as_str());
    assert!(through.asked().contains(&format!("CONNECT {}", https.address())), "{:?}", through.asked());
}

#[tokio::test]
async fn a_proxy_that_refuses_is_not_gone_around() {
    let git = GitRepository::create().unwrap();
    git.publish(&[("a", "1")]).unwrap();
    let https = git.serve_https(None).unwrap();
    let through = ForwardProxy::start("ann", "correct-horse").await;
    let credentials = credentials(&https.url(), &[("ca.crt", https.authority().unwrap())]);
    let with = |proxy: Proxy, url: &str| FetchRequest {
        proxy: Some(proxy),
        credentials: credentials.clone(),
        ..request(url, main())
    };
    for login in [&[("username", "ann"), ("password", "battery-staple")][..], &[]] {
        let error = Fixture::new().refused(&with(proxy(through.address, login), &https.url())).await;
        assert_eq!(error.reason(), Reason::AuthenticationFailed, "{error}");
        assert!(!error.to_string().contains("battery-staple"), "{error}");
    }
    let nobody: SocketAddr = "127.0.0.1:1".parse().unwrap();
    let error = Fixture::new().refused(&with(proxy(nobody, &[]), &https.url())).await;
    assert_eq!(error.reason(), Reason::Unreachable, "{error}");
    assert_eq!(https.requests(), Vec::<String>::new());
    for url in ["ssh://git@127.0.0.1/x", "http://127.0.0.1/x"] {
        let error = Fixture::new().refused(&with(proxy(nobody, &[]), url)).await;
        assert_eq!(error.reason(), Reason::Unsupported, "{error}");
    }
}
