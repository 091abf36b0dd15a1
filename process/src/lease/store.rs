//! Where the Lease is: the API server.

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::{Api, Client};

/// A write or a read of the Lease did not go through.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// Another writer was first, or the Lease is gone: look again.
    #[error("the lease was changed by someone else")]
    Changed,
    #[error("cannot {verb} the lease {lease}")]
    Request {
        verb: &'static str,
        lease: String,
        #[source]
        cause: kube::Error,
    },
}

/// Reads and writes one Lease. A replace must fail unless the `resourceVersion` is still that of the server.
pub(crate) trait Store: Send + Sync + 'static {
    fn read(&self) -> impl Future<Output = Result<Option<Lease>, StoreError>> + Send;
    fn create(&self, lease: &Lease) -> impl Future<Output = Result<Lease, StoreError>> + Send;
    fn replace(&self, lease: &Lease) -> impl Future<Output = Result<Lease, StoreError>> + Send;
}

pub(crate) struct KubeStore {
    leases: Api<Lease>,
    name: String,
}

impl KubeStore {
    pub(super) fn new(client: Client, namespace: &str, name: &str) -> Self {
        Self { leases: Api::namespaced(client, namespace), name: name.to_owned() }
    }

    fn failed(&self, verb: &'static str, cause: kube::Error) -> StoreError {
        match cause {
            // 409 says both AlreadyExists and Conflict.
            kube::Error::Api(status) if status.code == 409 => StoreError::Changed,
            // Of a replace it says that the Lease was deleted, of a create that its namespace does not exist.
            kube::Error::Api(status) if status.code == 404 && verb == "replace" => StoreError::Changed,
            cause => StoreError::Request { verb, lease: self.name.clone(), cause },
        }
    }
}

impl Store for KubeStore {
    async fn read(&self) -> Result<Option<Lease>, StoreError> {
        self.leases.get_opt(&self.name).await.map_err(|cause| self.failed("read", cause))
    }

    async fn create(&self, lease: &Lease) -> Result<Lease, StoreError> {
        self.leases.create(&PostParams::default(), lease).await.map_err(|cause| self.failed("create", cause))
    }

    async fn replace(&self, lease: &Lease) -> Result<Lease, StoreError> {
        let replaced = self.leases.replace(&self.name, &PostParams::default(), lease).await;
        replaced.map_err(|cause| self.failed("replace", cause))
    }
}
