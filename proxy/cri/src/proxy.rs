//! What becomes of one call: it passes as bytes, or it goes through the hooks.

use std::path::PathBuf;
use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;

use crate::backend::{Backend, SendError};
use crate::body::Body;
use crate::call::Method;
use crate::grpc;
use crate::hooks::Hooks;

/// Where calls go.
#[derive(Clone, Debug)]
pub(crate) struct Endpoints {
    pub(crate) runtime: PathBuf,
    /// For calls of an `ImageService`, if they go elsewhere.
    pub(crate) image: Option<PathBuf>,
}

/// What one client's connection has to itself: its own connections to the backends, so that the backend sees as many
/// clients as there are.
#[derive(Debug)]
pub(crate) struct Session {
    runtime: Arc<Backend>,
    image: Option<Backend>,
    hooks: Arc<Hooks>,
}

impl Session {
    pub(crate) fn new(endpoints: &Endpoints, hooks: Arc<Hooks>) -> Self {
        let runtime = Arc::new(Backend::new(&endpoints.runtime));
        Self { runtime, image: endpoints.image.as_ref().map(Backend::new), hooks }
    }

    /// Answers a call. An error resets the stream with the reason that it carries.
    pub(crate) async fn call(&self, request: Request<Incoming>) -> Result<Response<Body>, hyper::Error> {
        let path = request.uri().path();
        if let Some(method) = Method::find(path).filter(|method| self.hooks.concern(*method)) {
            return self.hooks.call(&self.runtime, method, request).await;
        }
        let backend = self.backend_of(path);
        pass(backend, request.map(Body::request)).await
    }

    fn backend_of(&self, path: &str) -> &Backend {
        match &self.image {
            Some(image) if is_image_call(path) => image,
            _ => &self.runtime,
        }
    }
}

/// Whether the path is `/<package>.ImageService/<method>`.
fn is_image_call(path: &str) -> bool {
    let service = path.strip_prefix('/').and_then(|path| path.split_once('/')).map(|(service, _method)| service);
    service.and_then(|service| service.rsplit('.').next()) == Some("ImageService")
}

/// Sends a call on, and its answer back, as they are.
pub(crate) async fn pass(backend: &Backend, request: Request<Body>) -> Result<Response<Body>, hyper::Error> {
    match backend.send(request).await {
        Ok(response) => Ok(response.map(Body::response)),
        Err(SendError::Broken(error)) if grpc::is_reset(&error) => Err(error),
        Err(error) => Ok(grpc::refusal(&error.status())),
    }
}

#[cfg(test)]
mod tests {
    use super::is_image_call;

    #[test]
    fn calls_of_any_version_of_the_image_service_go_to_its_endpoint() {
        assert!(is_image_call("/runtime.v1.ImageService/PullImage"));
        assert!(is_image_call("/runtime.v1alpha2.ImageService/ListImages"));
        assert!(!is_image_call("/runtime.v1.RuntimeService/ImageService"));
        assert!(!is_image_call("/runtime.v1.NoImageService/ListImages"));
        assert!(!is_image_call("nonsense"));
    }
}
