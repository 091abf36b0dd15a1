//! `git http-backend` as a CGI program (RFC 3875): one process per request, both bodies streamed.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use futures::stream;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, BodyStream, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;

use super::Git;

const CHUNK: usize = 16 * 1024;

pub(super) type Answer = Response<BoxBody<Bytes, io::Error>>;

/// What is served, and where its complaints go.
pub(super) struct Backend {
    /// The folder that a request's path is below.
    pub(super) root: PathBuf,
    pub(super) log: File,
}

pub(super) fn text(status: StatusCode, text: &str) -> Answer {
    let body = Full::new(Bytes::copy_from_slice(text.as_bytes())).map_err(|never| match never {}).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}

pub(super) async fn answer(
    git: &Git,
    backend: &Backend,
    user: Option<&str>,
    request: Request<Incoming>,
) -> Result<Answer> {
    let (head, body) = request.into_parts();
    let mut command = git.command(&backend.root);
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", &backend.root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .envs(variables(&head))
        .envs(user.map(|user| ("REMOTE_USER", user)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(backend.log.try_clone().context("cannot share the log")?);
    let mut child = Command::from(command).kill_on_drop(true).spawn().context("cannot start git http-backend")?;
    let input = child.stdin.take().context("git http-backend has no input")?;
    let mut output = BufReader::new(child.stdout.take().context("git http-backend has no output")?);
    let mut feeder = JoinSet::new();
    feeder.spawn(feed(body, input));

    let mut response = Response::new(());
    read_head(&mut output, &mut response).await?;
    let running = Running { output, child, _feeder: feeder };
    Ok(response.map(|()| BodyExt::boxed(StreamBody::new(stream::unfold(running, Running::next)))))
}

fn variables(head: &Parts) -> Vec<(&'static str, String)> {
    let given = [
        ("CONTENT_TYPE", header::CONTENT_TYPE),
        // Without it, as with a chunked body, git reads to the end of its input.
        ("CONTENT_LENGTH", header::CONTENT_LENGTH),
        ("HTTP_CONTENT_ENCODING", header::CONTENT_ENCODING),
        ("GIT_PROTOCOL", HeaderName::from_static("git-protocol")),
    ];
    let mut variables = vec![
        ("REQUEST_METHOD", head.method.to_string()),
        ("PATH_INFO", head.uri.path().to_owned()),
        ("QUERY_STRING", head.uri.query().unwrap_or_default().to_owned()),
        ("REMOTE_ADDR", "127.0.0.1".to_owned()),
    ];
    variables.extend(given.into_iter().filter_map(|(variable, name)| {
        let value = head.headers.get(name)?.to_str().ok()?;
        Some((variable, value.to_owned()))
    }));
    variables
}

/// A process that ends before it has read everything has said why in its answer.
async fn feed(body: Incoming, mut input: ChildStdin) {
    let mut frames = BodyStream::new(body);
    while let Some(Ok(frame)) = frames.next().await {
        let Ok(bytes) = frame.into_data() else { continue };
        if input.write_all(&bytes).await.is_err() {
            break;
        }
    }
}

async fn read_head(output: &mut BufReader<ChildStdout>, response: &mut Response<()>) -> Result<()> {
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).await.context("cannot read from git http-backend")? == 0 {
            bail!("git http-backend ended without an answer");
        }
        let line = line.trim_end_matches(['\r', '\n']);
        if line.is_empty() {
            return Ok(());
        }
        let (name, value) = line.split_once(':').with_context(|| format!("not a header: {line}"))?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("status") {
            let code = value.split_whitespace().next().unwrap_or_default();
            *response.status_mut() = code.parse().with_context(|| format!("not a status: {value}"))?;
        } else {
            let name: HeaderName = name.parse().with_context(|| format!("not a header: {line}"))?;
            let value: HeaderValue = value.parse().with_context(|| format!("not a header: {line}"))?;
            response.headers_mut().append(name, value);
        }
    }
}

/// A process that is still answering. It is killed when the client hangs up.
struct Running {
    output: BufReader<ChildStdout>,
    child: Child,
    _feeder: JoinSet<()>,
}

impl Running {
    async fn next(mut self) -> Option<(io::Result<Frame<Bytes>>, Self)> {
        let mut bytes = Vec::with_capacity(CHUNK);
        match self.output.read_buf(&mut bytes).await {
            // Whether it failed is said in what it wrote: web servers do not look at the status either.
            Ok(0) => self.child.wait().await.err().map(|error| (Err(error), self)),
            Ok(_) => Some((Ok(Frame::data(bytes.into())), self)),
            Err(error) => Some((Err(error), self)),
        }
    }
}
