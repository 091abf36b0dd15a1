//! Asks the repository, with the credentials that there are at that moment.

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use reeve_crds::Reason;
use reeve_process::secret::scrub;
use reeve_reconciler_engine::api_error::ApiError;
use reeve_reconciler_engine::clock::since;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_git::{Credentials, FetchError, FetchRequest, Fetched, Proxy};
use tracing::warn;

use super::Source;

impl Source {
    /// What the repository has now, with what the source's Secrets let us in with.
    pub(super) async fn fetch(&mut self) -> Result<Fetched, ReconcileError> {
        let spec = self.object.spec.clone();
        let secret = self.secret(spec.secret_ref.as_ref().map(|secret| secret.name.as_str())).await?;
        let credentials = match &secret {
            Some(secret) => Credentials::from_secret(&secret.data.clone().unwrap_or_default(), &spec.url)
                .map_err(|error| ReconcileError::terminal(error.reason(), error.to_string()))?,
            None => Credentials::default(),
        };
        let proxy = match self.secret(spec.proxy_secret_ref.as_ref().map(|secret| secret.name.as_str())).await? {
            Some(secret) => Some(
                Proxy::from_secret(&secret.data.unwrap_or_default())
                    .map_err(|error| ReconcileError::terminal(error.reason(), error.to_string()))?,
            ),
            None => None,
        };
        // Whoever cannot be called still looks.
        self.report.webhook_failure = self.register_webhook().await.err();
        let request = FetchRequest {
            url: spec.url.clone(),
            reference: spec.reference.clone(),
            credentials,
            proxy,
            timeout: spec.timeout.into(),
            last_seen: self.last_seen.clone().filter(|(of, _)| *of == spec.reference).map(|(_, commit)| commit),
        };
        let began = self.with.engine.clock.now();
        let fetched = self.with.mirrors.fetch(&request).await;
        let outcome = fetched.as_ref().map_or_else(FetchError::reason, |_| Reason::Succeeded);
        self.with.metrics.git.fetched(outcome, since(self.with.engine.clock.now(), began));
        let fetched = fetched.map_err(|error| {
            ReconcileError::new(error.reason(), scrub(&reeve_process::error_chain(&error)).into_owned())
        })?;
        if fetched.rebuilt {
            let message = "the mirror on disk was damaged and has been made anew".to_owned();
            self.event(true, Reason::MirrorRebuilt, message).await;
        }
        // The highest version may be on another branch than the one before.
        if let reeve_reconciler_git::Moved::Rewritten { from } = &fetched.moved
            && spec.reference.semver.is_none()
        {
            warn!(from, to = %fetched.revision, "the history was rewritten");
            self.event(
                true,
                Reason::Rewritten,
                format!("{} does not follow {from}: the history was rewritten", fetched.revision),
            )
            .await;
        }
        self.last_seen = Some((spec.reference, fetched.commit.id.clone()));
        Ok(fetched)
    }

    /// A Secret of the source's own namespace, read anew each time so that a change counts at once.
    pub(super) async fn secret(&self, name: Option<&str>) -> Result<Option<Secret>, ReconcileError> {
        let Some(name) = name else { return Ok(None) };
        let own = self
            .with
            .engine
            .cluster
            .own()
            .map_err(|error| ReconcileError::transient(Reason::Unreachable, reeve_process::error_chain(&error)))?;
        let api: Api<Secret> = Api::namespaced(own, &self.namespace);
        match api.get_opt(name).await {
            Ok(Some(secret)) => Ok(Some(secret)),
            Ok(None) => Err(ReconcileError::terminal(
                Reason::SecretNotFound,
                format!("there is no Secret {name} in {}: create it", self.namespace),
            )),
            Err(error) => {
                let api_error = ApiError::of(&error);
                let message = format!("cannot read Secret {name}: {}", api_error.message);
                Err(ReconcileError::of_request(message, api_error))
            }
        }
    }
}
