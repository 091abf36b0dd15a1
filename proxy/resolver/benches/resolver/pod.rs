//! A server that stands for a pod: one kibibyte for every request.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

static BODY: [u8; 1024] = [b'x'; 1024];

pub(crate) async fn serve(address: SocketAddr) {
    let listener = TcpListener::bind(address).await.expect("a free port");
    let mut clients = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        stream.set_nodelay(true).expect("an option");
        let service = service_fn(|_: Request<Incoming>| async {
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(&BODY))))
        });
        clients.spawn(async move { drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await) });
        while clients.try_join_next().is_some() {}
    }
}
