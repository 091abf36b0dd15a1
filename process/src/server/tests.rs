use http::StatusCode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

struct Fixture {
    address: SocketAddr,
    _serving: JoinSet<()>,
}

impl Fixture {
    /// A server that says `here` to everybody, and never answers who asks for `/never`.
    async fn start() -> Self {
        let server = Server::bind("tests", "127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = server.address().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(server.serve(|request: Request<Incoming>| async move {
            if request.uri().path() == "/never" {
                std::future::pending::<()>().await;
            }
            Response::builder().status(StatusCode::OK).body(Full::from("here")).unwrap()
        }));
        Self { address, _serving: serving }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn ask(&self, head: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        until_closed(&mut stream).await
    }
}

async fn until_closed(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    // A server that is done with us may reset the connection behind its answer.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_connection_gets_one_answer_and_is_closed() {
    let fixture = Fixture::start().await;
    let request = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
    let answer = fixture.ask(&request.repeat(2)).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("here"), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1").count(), 1);
}

#[tokio::test]
async fn a_head_beyond_the_limits_is_refused() {
    let fixture = Fixture::start().await;
    let long = format!("GET /?{} HTTP/1.1\r\nhost: x\r\n\r\n", "x".repeat(MAX_HEAD_BYTES));
    assert!(!fixture.ask(&long).await.starts_with("HTTP/1.1 200 "));
    let many = format!("GET / HTTP/1.1\r\nhost: x\r\n{}\r\n", "a: b\r\n".repeat(MAX_HEADERS + 1));
    assert!(fixture.ask(&many).await.starts_with("HTTP/1.1 431 "));
}

#[tokio::test]
async fn clients_that_say_nothing_are_cut_and_others_get_their_turn() {
    let fixture = Fixture::start().await;
    let mut silent = Vec::new();
    for _ in 0..=MAX_CONNECTIONS {
        silent.push(fixture.connect().await);
    }
    // The first answer or end that the first silent client sees is the server's patience running out.
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    until_closed(&mut silent[0]).await;
    assert!(began.elapsed() <= HEAD_WITHIN, "{:?}", began.elapsed());
    tokio::time::resume();
    assert!(fixture.ask("GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_not_waited_for() {
    let fixture = Fixture::start().await;
    let mut stream = fixture.connect().await;
    stream.write_all(b"GET /never HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    tokio::time::pause();
    assert_eq!(until_closed(&mut stream).await, "");
}

#[tokio::test]
async fn an_address_in_use_is_named_with_its_purpose() {
    let fixture = Fixture::start().await;
    let error = Server::bind("tests", fixture.address).await.unwrap_err();
    assert_eq!(error.to_string(), format!("cannot listen for tests on {}", fixture.address));
}
