//! Who we say we are, and whether the API server believes it.
//!
//! A token in a file is replaced before it runs out, or after: kube reads it again once a minute, which is late for the
//! latter. Here a refusal has it read again before the next request.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response, StatusCode};
use kube::config::AuthInfo;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::Instant;
use tower::{Layer, Service};

/// How long a token is used before its file is read again.
const REREAD_EVERY: Duration = Duration::from_secs(30);

/// Whether the API server accepts our credentials, by its last response. Clones are the same.
#[derive(Clone, Debug)]
pub struct AuthStatus(Arc<watch::Sender<bool>>);

impl Default for AuthStatus {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(true)))
    }
}

impl AuthStatus {
    /// Resolves when our credentials are accepted, or when they are not.
    pub async fn wait_for(&self, accepted: bool) {
        // The sender is our own.
        let _ = self.0.subscribe().wait_for(|now| *now == accepted).await;
    }

    /// Whether our credentials were accepted last.
    pub fn is_accepted(&self) -> bool {
        *self.0.borrow()
    }

    fn on_response(&self, status: StatusCode) {
        // A server in trouble may not have come to look.
        if status.is_server_error() {
            return;
        }
        let accepted = status != StatusCode::UNAUTHORIZED;
        self.0.send_if_modified(|before| std::mem::replace(before, accepted) != accepted);
    }
}

/// A token in a file.
#[derive(Debug)]
struct TokenFile {
    path: PathBuf,
    read: Mutex<Read>,
}

#[derive(Debug)]
struct Read {
    header: HeaderValue,
    reread_at: Instant,
}

impl TokenFile {
    fn open(path: PathBuf) -> Result<Self, std::io::Error> {
        let header = read(&path)?;
        Ok(Self { path, read: Mutex::new(Read { header, reread_at: Instant::now() + REREAD_EVERY }) })
    }

    /// What to send. One that cannot be read any more is used until it is refused, and then on.
    fn header(&self) -> HeaderValue {
        let now = Instant::now();
        let mut last = self.lock();
        if now >= last.reread_at {
            last.reread_at = now + REREAD_EVERY;
            if let Ok(header) = read(&self.path) {
                last.header = header;
            }
        }
        last.header.clone()
    }

    fn reread_next(&self) {
        self.lock().reread_at = Instant::now();
    }

    fn lock(&self) -> MutexGuard<'_, Read> {
        self.read.lock()
    }
}

fn read(path: &Path) -> Result<HeaderValue, std::io::Error> {
    let text = std::fs::read_to_string(path)?;
    let header = HeaderValue::from_str(&format!("Bearer {}", text.trim()));
    let mut header = header.map_err(|_| std::io::Error::other("it holds no token"))?;
    header.set_sensitive(true);
    Ok(header)
}

/// Sends the token of a file with every request, and hears whether it is accepted.
#[derive(Clone, Debug)]
pub(super) struct CredentialsLayer {
    file: Option<Arc<TokenFile>>,
    auth_status: AuthStatus,
}

impl CredentialsLayer {
    /// Takes the token file out of the configuration, if that is what would be used of it.
    pub(super) fn new(info: &mut AuthInfo, auth_status: AuthStatus) -> Result<Self, (PathBuf, std::io::Error)> {
        let other = info.token.is_some() || info.auth_provider.is_some() || info.username.is_some();
        let path = if other { None } else { info.token_file.take().map(PathBuf::from) };
        let file = path.map(|path| TokenFile::open(path.clone()).map_err(|cause| (path, cause))).transpose()?;
        Ok(Self { file: file.map(Arc::new), auth_status })
    }
}

impl<S> Layer<S> for CredentialsLayer {
    type Service = CredentialsService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        CredentialsService { inner, with: self.clone() }
    }
}

/// A service whose requests carry the token of a file.
#[derive(Clone, Debug)]
pub(super) struct CredentialsService<S> {
    inner: S,
    with: CredentialsLayer,
}

impl<S, A, B> Service<Request<A>> for CredentialsService<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<A>) -> Self::Future {
        if let Some(file) = &self.with.file {
            request.headers_mut().insert(AUTHORIZATION, file.header());
        }
        let (answer, with) = (self.inner.call(request), self.with.clone());
        async move {
            let answer = answer.await?;
            if let Some(file) = with.file.filter(|_| answer.status() == StatusCode::UNAUTHORIZED) {
                file.reread_next();
            }
            with.auth_status.on_response(answer.status());
            Ok(answer)
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use tower::service_fn;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_token_that_is_refused_is_read_anew_and_one_that_is_not_after_a_while() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let write = |token: &str| std::fs::write(file.path(), format!("{token}\n")).unwrap();
        write("old");
        let path = file.path().display().to_string();
        let mut info = AuthInfo { token_file: Some(path), ..AuthInfo::default() };
        let auth_status = AuthStatus::default();
        let layer = CredentialsLayer::new(&mut info, auth_status.clone()).unwrap();
        assert_eq!(info.token_file, None);
        let expired = Arc::new(Mutex::new("nothing".to_owned()));
        let server = {
            let expired = expired.clone();
            service_fn(move |request: Request<()>| {
                let token = request.headers()[AUTHORIZATION].to_str().unwrap().trim_start_matches("Bearer ").to_owned();
                let status = if *expired.lock() == token { 401 } else { 200 };
                async move { Ok::<_, Infallible>(Response::builder().status(status).body(token).unwrap()) }
            })
        };
        let mut client = layer.layer(server);
        let mut ask = async || client.call(Request::new(())).await.unwrap().into_parts();

        assert_eq!(ask().await.1, "old");
        write("new");
        assert_eq!(ask().await.1, "old", "it is good yet");
        *expired.lock() = "old".to_owned();
        assert_eq!(ask().await.0.status, 401);
        auth_status.wait_for(false).await;
        assert_eq!(ask().await.1, "new");
        auth_status.wait_for(true).await;
        write("newer");
        tokio::time::advance(REREAD_EVERY).await;
        assert_eq!(ask().await.1, "newer");
    }

    #[test]
    fn a_token_file_that_would_not_be_used_stays_where_it_is() {
        let mut info = AuthInfo { token_file: Some("/nowhere".to_owned()), ..AuthInfo::default() };
        info.token = Some("inline".to_owned().into());
        CredentialsLayer::new(&mut info, AuthStatus::default()).unwrap();
        assert_eq!(info.token_file.as_deref(), Some("/nowhere"));
        info.token = None;
        assert!(CredentialsLayer::new(&mut info, AuthStatus::default()).is_err());
    }
}
