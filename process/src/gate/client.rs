//! A Kubernetes client of one term.

use std::path::PathBuf;

use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use tower::retry::RetryLayer;
use tower::{BoxError, ServiceBuilder};

use super::Term;
use super::connection::GatedConnector;
use super::credentials::{AuthStatus, CredentialsLayer};

/// A gated client cannot be made from this configuration.
#[derive(Debug, thiserror::Error)]
pub enum GatedClientError {
    #[error("cannot put a client that uses a proxy behind the gate")]
    Proxy,
    #[error("cannot read the token in {}", .file.display())]
    Token {
        file: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("cannot make a client for {cluster}")]
    Client {
        cluster: http::Uri,
        #[source]
        cause: Box<kube::Error>,
    },
}

impl Term {
    /// A client whose requests start only while this term lasts: reads and writes alike, so keep watches that should
    /// outlive a term on a client of their own.
    ///
    /// - No byte is handed to the kernel once the right to act has run out on the boot-time clock; the check is the last
    ///   thing before the socket, so this holds for requests that were queued, connecting or being retried when the
    ///   process was stopped. Only the few instructions between check and system call are left.
    /// - A request without an answer at the end of the term is dropped and fails with [`NotLeader`](super::NotLeader).
    ///   Whether the server carried it out is unknown, as with any lost answer.
    /// - What a server has received it may carry out late, and a proxy in between may deliver late. Writes of several
    ///   steps are therefore fenced by a resourceVersion as well.
    pub fn client(&self, config: &Config) -> Result<Client, GatedClientError> {
        self.client_with_auth_status(config, &AuthStatus::default())
    }

    /// As [`Term::client`], and keeps `auth_status` up to date with whether its credentials are accepted.
    pub fn client_with_auth_status(
        &self,
        config: &Config,
        auth_status: &AuthStatus,
    ) -> Result<Client, GatedClientError> {
        if config.proxy_url.is_some() {
            return Err(GatedClientError::Proxy);
        }
        let mut config = config.clone();
        let credentials = CredentialsLayer::new(&mut config.auth_info, auth_status.clone())
            .map_err(|(file, cause)| GatedClientError::Token { file, cause })?;
        let namespace = config.default_namespace.clone();
        let failed = |cause| GatedClientError::Client { cluster: config.cluster_url.clone(), cause: Box::new(cause) };

        let tls = config.rustls_https_connector_with_connector(GatedConnector::new(self.clone())).map_err(failed)?;
        let mut connector = TimeoutConnector::new(tls);
        connector.set_connect_timeout(config.connect_timeout);
        connector.set_read_timeout(config.read_timeout);
        connector.set_write_timeout(config.write_timeout);
        connector.set_reset_reader_on_write(config.reset_reader_on_write);
        let client: legacy::Client<_, Body> = legacy::Builder::new(TokioExecutor::new()).build(connector);

        let service = ServiceBuilder::new()
            .layer(self.layer())
            .layer(config.base_uri_layer())
            .option_layer(config.default_retry.then(|| RetryLayer::new(RetryPolicy::server_retry())))
            .option_layer(config.auth_layer().map_err(failed)?)
            .layer(credentials)
            .layer(config.extra_headers_layer().map_err(failed)?)
            .layer(self.request_metrics())
            .map_err(BoxError::from)
            .service(client);
        Ok(Client::new(service, namespace))
    }
}
