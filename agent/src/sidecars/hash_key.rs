//! The key that hashes of Secrets are made with: made once, kept in a Secret of the agent's own namespace.

use std::collections::BTreeMap;
use std::io::Read as _;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Api, Client};
use reeve_agent_dapr::Hash;
use tracing::info;

/// Name of the Secret.
const NAME: &str = "reeve-agent-hash-key";
/// Its key.
const KEY: &str = "key";
const LENGTH: usize = 32;
const RANDOM: &str = "/dev/urandom";

/// There is no key.
#[derive(Debug, thiserror::Error)]
pub(super) enum HashKeyError {
    #[error("cannot read the Secret {namespace}/{NAME}")]
    Read {
        namespace: String,
        #[source]
        cause: Box<kube::Error>,
    },
    #[error("cannot create the Secret {namespace}/{NAME}")]
    Create {
        namespace: String,
        #[source]
        cause: Box<kube::Error>,
    },
    #[error("the Secret {namespace}/{NAME} has no `{KEY}` of {LENGTH} bytes: delete it to have another made")]
    Invalid { namespace: String },
    #[error("cannot read {RANDOM}")]
    Random(#[source] std::io::Error),
}

/// A key. What it is is nobody's to see.
pub(super) struct HashKey([u8; LENGTH]);

impl std::fmt::Debug for HashKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HashKey({})", self.name())
    }
}

impl HashKey {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Tells it from others and tells nothing of it.
    pub(super) fn name(&self) -> Hash {
        Hash::of(&self.0)
    }
}

/// Reads the key, and makes one if there is none.
pub(super) async fn load(client: &Client, namespace: &str) -> Result<HashKey, HashKeyError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let read = |cause| HashKeyError::Read { namespace: namespace.to_owned(), cause: Box::new(cause) };
    let invalid = || HashKeyError::Invalid { namespace: namespace.to_owned() };
    if let Some(secret) = secrets.get_opt(NAME).await.map_err(read)? {
        return parse(&secret).ok_or_else(invalid);
    }
    let mut key = [0; LENGTH];
    std::fs::File::open(RANDOM).and_then(|mut random| random.read_exact(&mut key)).map_err(HashKeyError::Random)?;
    let mut secret = Secret { immutable: Some(true), ..Secret::default() };
    secret.metadata.name = Some(NAME.to_owned());
    secret.data = Some(BTreeMap::from([(KEY.to_owned(), ByteString(key.to_vec()))]));
    match secrets.create(&PostParams::default(), &secret).await {
        Ok(_) => {
            info!(secret = %format!("{namespace}/{NAME}"), "made a key for hashes of Secrets");
            Ok(HashKey(key))
        }
        // Another agent was first.
        Err(kube::Error::Api(status)) if status.code == 409 => {
            parse(&secrets.get(NAME).await.map_err(read)?).ok_or_else(invalid)
        }
        Err(cause) => Err(HashKeyError::Create { namespace: namespace.to_owned(), cause: Box::new(cause) }),
    }
}

fn parse(secret: &Secret) -> Option<HashKey> {
    let bytes = &secret.data.as_ref()?.get(KEY)?.0;
    bytes.as_slice().try_into().ok().map(HashKey)
}
