use proptest::prelude::*;

use super::*;

async fn read(bytes: &[u8]) -> Result<(Request, Vec<u8>), HeadError> {
    let (mut from, mut buffer) = (bytes, BytesMut::new());
    let request = Request::read(&mut from, &mut buffer).await?.ok_or(HeadError::Ended)?;
    let body = request.body(&mut from, &mut buffer).await?;
    Ok((request, body))
}

#[tokio::test]
async fn a_body_is_read_by_its_length_or_chunk_by_chunk() {
    let (request, body) =
        read(b"POST /v1.41/containers/create?name=a HTTP/1.1\r\nHost: d\r\nContent-Length: 2\r\n\r\n{}rest")
            .await
            .unwrap();
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/v1.41/containers/create?name=a"));
    assert_eq!(body, b"{}");
    let chunked = b"POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: 1\r\n\r\n";
    assert_eq!(read(chunked).await.unwrap().1, b"abcde");
    assert_eq!(read(b"POST / HTTP/1.1\r\n\r\n").await.unwrap().1, b"");
}

#[tokio::test]
async fn what_could_be_read_in_two_ways_is_refused() {
    for head in [
        "Content-Length: 2\r\nTransfer-Encoding: chunked",
        "Content-Length: 2\r\nContent-Length: 3",
        "Content-Length: -1",
        "Transfer-Encoding: gzip",
    ] {
        let text = format!("POST / HTTP/1.1\r\n{head}\r\n\r\n{{}}");
        assert!(matches!(read(text.as_bytes()).await, Err(HeadError::Framing)), "{head}");
    }
    assert!(matches!(read(b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n").await, Err(HeadError::LongBody)));
    assert!(matches!(read(b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabc").await, Err(HeadError::Ended)));
}

#[tokio::test]
async fn an_attached_stream_is_told_from_an_answer() {
    for (text, is_hijacked) in [
        ("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n", true),
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n", false),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false),
    ] {
        let response = Response::read(&mut text.as_bytes(), &mut BytesMut::new()).await.unwrap();
        assert_eq!(response.is_hijacked(), is_hijacked, "{text}");
        assert_eq!(response.bytes, text.as_bytes());
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), framed in any::<bool>()) {
        let mut message = if framed { b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec() } else { Vec::new() };
        message.extend(bytes);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let _ = runtime.block_on(read(&message));
    }
}
