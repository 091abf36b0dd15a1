//! Lets requests through while a term lasts, and drops those that are under way at its end.

use std::task::{Context, Poll};

use futures::future::{BoxFuture, FutureExt};
use tower::{BoxError, Layer, Service};

use super::{NotLeader, Term};

/// Puts a service behind the gate for one term.
///
/// The outermost layer, so that whatever waits inside (a retry, a token being read) ends with the term. It does not
/// replace the check at the connection: see [`Term::client`](super::Term::client).
#[derive(Clone, Debug)]
pub struct GateLayer(Term);

impl Term {
    /// For a stack other than that of [`Term::client`].
    pub fn layer(&self) -> GateLayer {
        GateLayer(self.clone())
    }
}

impl<S> Layer<S> for GateLayer {
    type Service = GateService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        GateService { inner, term: self.0.clone() }
    }
}

/// A service behind the gate.
#[derive(Clone, Debug)]
pub struct GateService<S> {
    inner: S,
    term: Term,
}

impl<S, R> Service<R> for GateService<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
    S::Response: Send + 'static,
    S::Error: Into<BoxError>,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: R) -> Self::Future {
        if self.term.check().is_err() {
            return async { Err(NotLeader.into()) }.boxed();
        }
        let term = self.term.clone();
        let response = self.inner.call(request);
        async move { term.run(response).await?.map_err(Into::into) }.boxed()
    }
}
