//! A Helm repository: files over HTTP, for all or for those who know the password.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

pub(super) struct Shelf {
    address: SocketAddr,
    is_closed: Arc<AtomicBool>,
}

impl Shelf {
    /// Serves these files by their paths.
    pub(super) fn open(files: Vec<(String, Vec<u8>)>, door: Option<(&str, &str)>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let files: BTreeMap<String, Vec<u8>> = files.into_iter().collect();
        let wanted = door.map(|(user, password)| {
            format!("authorization: basic {}", BASE64_STANDARD.encode(format!("{user}:{password}"))).to_lowercase()
        });
        let is_closed = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&is_closed);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if closed.load(Ordering::SeqCst) {
                    return;
                }
                // A client that goes away is none of ours.
                let _ = answer(&stream.unwrap(), &files, wanted.as_deref());
            }
        });
        Self { address, is_closed }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

fn answer(stream: &TcpStream, files: &BTreeMap<String, Vec<u8>>, wanted: Option<&str>) -> std::io::Result<()> {
    let lines = BufReader::new(stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let lines: Vec<String> = lines.collect();
    let path = lines.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    let knows = wanted.is_none_or(|wanted| lines.iter().any(|line| line.to_lowercase() == wanted));
    let (status, body) = match files.get(path) {
        _ if !knows => ("401 Unauthorized", &b""[..]),
        Some(body) => ("200 OK", body.as_slice()),
        None => ("404 Not Found", &b""[..]),
    };
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len())?;
    stream.write_all(body)
}
