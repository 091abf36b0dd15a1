//! Writes one object by server-side apply, with all that may stand in the way.

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client, Resource as _};
use reeve_crds::Reason;
use reeve_crds::runtime::policy::{Adoption, Recreate};
use reeve_renderer_objects::key::ObjectKey;
use serde::Deserialize as _;
use serde_json::Value;

use crate::api_error::ApiError;
use crate::clock::Clock;
use crate::cluster::{APPLY_PATCH, Account, Cluster, JSON, Kind, METADATA_ONLY};
use crate::desired::DesiredObject;
use crate::fields::Conflicts;
use crate::health::needs_whole;
use crate::live::{Live, WatchCache};
use crate::owner::{Claimant, Owner, Release};
use crate::payload;

mod contend;
mod dry_run;
mod error;
mod redact;
mod remove;

use contend::{UNSERVED_VERSION, fenced};
pub use dry_run::{DryRun, dry_run};
pub use error::ApplyError;
use redact::redact;
pub use remove::Gone;

/// How long the API server may take to answer: longer than it lets a request and its webhooks take.
const ANSWER_WITHIN: Duration = Duration::from_secs(70);

/// What became of a write.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The object as it is now.
    pub live: Live,
    /// Whether its version moved.
    pub changed: bool,
}

/// Writes objects of one component.
#[derive(Clone, Debug)]
pub struct Applier {
    /// The cluster.
    pub cluster: Cluster,
    /// What is known of its objects.
    pub watch_cache: WatchCache,
    /// As whom.
    pub account: Account,
    /// For which runtime.
    pub owner: Owner,
    /// The Helm release that the component takes the place of.
    pub release: Option<Release>,
    /// What to do about objects that exist already.
    pub adoption: Adoption,
    /// What to do about fields that cannot change.
    pub recreate: Recreate,
    /// For pauses.
    pub clock: Clock,
}

impl Applier {
    /// Applies an object. `known` says that the inventory has its uid, so that it is ours; `freed` names a runtime that
    /// is known to have no claim to it, although it may bear its marks.
    ///
    /// The API server is the judge of whose an object is: nothing is forced but against what was read a moment before.
    pub async fn apply(
        &self,
        object: &DesiredObject,
        known: bool,
        freed: Option<&Owner>,
    ) -> Result<Applied, ApplyError> {
        let kind = self.kind(object).await?;
        let client = self.client()?;
        let before = self.watch_cache.get(&object.key);
        if self.adoption == Adoption::Never && !known && before.is_none() {
            self.refuse_if_there(&client, object, &kind).await?;
        }
        let body = self.body(&client, object, &kind, before.is_some()).await?;
        let write = Write { client: &client, object, kind: &kind, body: &body };
        let (mut forced, mut made_room, mut renewed): (Option<String>, bool, bool) = (None, false, false);
        for _ in 0..ROUNDS {
            let fence = forced.take();
            match self.send(&write, fence.as_deref()).await {
                Ok(sent) => {
                    if self.take_over_fields(&write, &sent.metadata, freed).await? {
                        continue;
                    }
                    let live = sent.live;
                    let changed = before.is_none_or(|before| before.resource_version != live.resource_version);
                    return Ok(Applied { live, changed });
                }
                Err(Sending::Conflict(conflict)) => forced = self.give_way(&write, conflict, freed).await?,
                Err(Sending::Refused(api_error)) if api_error.reason == Reason::Immutable && !made_room => {
                    self.make_room(&write, &api_error, freed).await?;
                    made_room = true;
                }
                Err(Sending::Refused(api_error)) if !renewed && api_error.message.contains(UNSERVED_VERSION) => {
                    self.renew_versions(&write, api_error).await?;
                    renewed = true;
                }
                // Somebody wrote since it was read: whose it is has to be seen anew.
                Err(Sending::Refused(api_error)) if fence.is_some() && api_error.reason == Reason::Conflict => {}
                Err(sending) => return Err(sending.about(object)),
            }
        }
        Err(ApplyError::Unsteady { object: object.key.clone() })
    }

    /// The kind of an object, which must live where the object says it does.
    pub async fn kind(&self, object: &DesiredObject) -> Result<Kind, ApplyError> {
        let kinds = self.cluster.kinds();
        let fits = |kind: &Kind| kind.namespaced == object.key.namespace.is_some();
        let missing = |cause| ApplyError::Kind { object: object.key.clone(), cause };
        let mut kind = kinds.find(&object.api_version, &object.key.kind).await.map_err(missing)?;
        if !fits(&kind) {
            // It may have been made anew since.
            kinds.forget(&object.api_version);
            kind = kinds.find(&object.api_version, &object.key.kind).await.map_err(missing)?;
        }
        if fits(&kind) {
            return Ok(kind);
        }
        let wanted = if kind.namespaced { "a namespace" } else { "no namespace" };
        Err(ApplyError::WrongScope { object: object.key.clone(), wanted })
    }

    fn claimant<'a>(&'a self, freed: Option<&'a Owner>) -> Claimant<'a> {
        Claimant { owner: &self.owner, freed, release: self.release.as_ref(), adoption: self.adoption }
    }

    fn client(&self) -> Result<Client, ApplyError> {
        self.cluster.client(&self.account).map_err(|cause| ApplyError::Client { account: self.account.clone(), cause })
    }

    /// The object as it is, whole; `None` if it is not there.
    pub async fn get(&self, key: &ObjectKey, kind: &Kind) -> Result<Option<Value>, ApplyError> {
        let api = api(self.client()?, kind, key);
        let got = self.answered(self.in_time(api.get_opt(&key.name)).await);
        let got = got.map_err(|api_error| ApplyError::Refused { object: key.clone(), api_error })?;
        Ok(got.and_then(|object| serde_json::to_value(object).ok()))
    }

    /// Whether Helm has a record of the release that the component takes the place of. Who may not look sees none.
    pub async fn is_installed_by_helm(&self) -> Result<bool, ApplyError> {
        let Some(release) = &self.release else { return Ok(false) };
        let records: Api<Secret> = Api::namespaced(self.client()?, release.namespace());
        let selected = ListParams::default().labels(&release.record()).limit(1);
        match self.answered(self.in_time(records.list_metadata(&selected)).await) {
            Ok(found) => Ok(!found.items.is_empty()),
            Err(api_error) if api_error.reason == Reason::Forbidden => Ok(false),
            Err(api_error) => Err(ApplyError::Release { release: release.clone(), api_error }),
        }
    }

    async fn refuse_if_there(&self, client: &Client, object: &DesiredObject, kind: &Kind) -> Result<(), ApplyError> {
        let got = api(client.clone(), kind, &object.key).get_metadata_opt(&object.key.name).await;
        match self.answered(got).map_err(|api_error| ApplyError::Refused { object: object.key.clone(), api_error })? {
            None => Ok(()),
            Some(_) => Err(ApplyError::Exists { object: object.key.clone() }),
        }
    }

    /// What is sent: the payload, less what others may change.
    async fn body(
        &self,
        client: &Client,
        object: &DesiredObject,
        kind: &Kind,
        is_there: bool,
    ) -> Result<Arc<[u8]>, ApplyError> {
        if object.ignored.is_empty() || !is_there {
            return Ok(object.payload.clone());
        }
        let got = api(client.clone(), kind, &object.key).get_opt(&object.key.name).await;
        let got =
            self.answered(got).map_err(|api_error| ApplyError::Refused { object: object.key.clone(), api_error })?;
        let live = got.and_then(|live| serde_json::to_value(live).ok());
        Ok(body(object, live.as_ref(), &self.owner))
    }

    /// Sends it, and takes in what came of it also if whoever asked for it has given up: what was sent may be done. With a
    /// version it is forced, and only if the object still has that version.
    async fn send(&self, write: &Write<'_>, version: Option<&str>) -> Result<Sent, Sending> {
        let (this, client, object) = (self.clone(), write.client.clone(), write.object.clone());
        let kind = write.kind.clone();
        let body = version.map_or_else(|| write.body.clone(), |version| fenced(write.body, version));
        let force = version.is_some();
        let key = object.key.clone();
        let write = async move {
            let accept = if wants_whole(&kind) { JSON } else { METADATA_ONLY };
            let options = format!("force={force}");
            let value = this.patch(&client, &object, &kind, (APPLY_PATCH, accept), &options, &body).await?;
            let (metadata, live) = this.read(&kind, &value);
            this.watch_cache.written(object.key.clone(), live.clone());
            Ok(Sent { metadata, live })
        };
        let broke_off = || kube::Error::Service(std::io::Error::other("the write broke off").into());
        self.cluster
            .in_flight()
            .spawn(&key, write)
            .await
            .unwrap_or_else(|_| Err(Sending::Refused(ApiError::of(&broke_off()))))
    }

    /// Sends a patch as our field manager, of and for these types.
    async fn patch(
        &self,
        client: &Client,
        object: &DesiredObject,
        kind: &Kind,
        (content_type, accept): (&str, &str),
        options: &str,
        body: &[u8],
    ) -> Result<Value, Sending> {
        let path = DynamicObject::url_path(&kind.resource, object.key.namespace.as_deref());
        let uri = format!("{path}/{}?fieldManager={}&{options}", object.key.name, self.owner.manager());
        let request = http::Request::patch(uri).header(CONTENT_TYPE, content_type).header(ACCEPT, accept);
        let request = request.body(body.to_vec());
        let request = request.map_err(|error| Sending::Refused(ApiError::of(&kube::Error::HttpError(error))))?;
        let answer = self.in_time(client.request::<Value>(request)).await;
        if let Some(conflict) = answer.as_ref().err().and_then(conflicts) {
            return Err(Sending::Conflict(conflict));
        }
        self.answered(answer).map_err(Sending::Refused)
    }

    /// A request of its own task holds a slot: a server that says nothing must not have it for ever.
    async fn in_time<T>(&self, answer: impl Future<Output = Result<T, kube::Error>>) -> Result<T, kube::Error> {
        tokio::select! {
            answer = answer => answer,
            () = self.clock.sleep(ANSWER_WITHIN) => {
                Err(kube::Error::Service(std::io::Error::from(std::io::ErrorKind::TimedOut).into()))
            }
        }
    }

    /// Tells the breaker how it went.
    fn answered<T>(&self, result: Result<T, kube::Error>) -> Result<T, ApiError> {
        let api_error = match result {
            Ok(value) => {
                self.cluster.breaker().answered();
                return Ok(value);
            }
            Err(error) => ApiError::of(&error),
        };
        if api_error.server_down {
            self.cluster.breaker().failed(self.clock.now());
        } else {
            self.cluster.breaker().answered();
        }
        Err(api_error)
    }

    /// Lets everybody know an object that no watch shows.
    pub fn record_live(&self, key: &ObjectKey, kind: &Kind, value: &Value) {
        self.watch_cache.written(key.clone(), self.read(kind, value).1);
    }

    fn read(&self, kind: &Kind, value: &Value) -> (ObjectMeta, Live) {
        let metadata = ObjectMeta::deserialize(&value["metadata"]).unwrap_or_default();
        let health = wants_whole(kind).then(|| self.watch_cache.assess(value, &metadata));
        let live = Live::of(&metadata, health);
        (metadata, live)
    }
}

/// How often an object is tried that others write at the same time.
const ROUNDS: usize = 5;

/// One object on its way.
struct Write<'a> {
    client: &'a Client,
    object: &'a DesiredObject,
    kind: &'a Kind,
    body: &'a Arc<[u8]>,
}

/// What the API server answered.
struct Sent {
    metadata: ObjectMeta,
    live: Live,
}

/// Why a request failed.
enum Sending {
    Conflict(Conflicts),
    Refused(ApiError),
}

impl Sending {
    fn about(self, object: &DesiredObject) -> ApplyError {
        let key = object.key.clone();
        match self {
            Self::Conflict(conflict) => ApplyError::Conflict { object: key, conflict },
            Self::Refused(api_error) => {
                let message = redact(&api_error.message, &key, &object.value());
                ApplyError::Refused { object: key, api_error: ApiError { message, ..api_error } }
            }
        }
    }
}

/// What is sent for an object of ours, given what lives.
fn body(object: &DesiredObject, live: Option<&Value>, owner: &Owner) -> Arc<[u8]> {
    if object.ignored.is_empty() {
        return object.payload.clone();
    }
    let body = payload::without(&object.value(), live, &object.ignored, &owner.manager());
    serde_json::to_vec(&body).unwrap_or_default().into()
}

/// Whether the answer must be the whole object, since its health is in it.
fn wants_whole(kind: &Kind) -> bool {
    needs_whole(&kind.resource.group, &kind.resource.kind)
}

fn conflicts(error: &kube::Error) -> Option<Conflicts> {
    match error {
        kube::Error::Api(status) => Conflicts::of(status),
        _ => None,
    }
}

/// How to reach the objects of a kind.
fn api(client: Client, kind: &Kind, key: &ObjectKey) -> Api<DynamicObject> {
    match &key.namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &kind.resource),
        None => Api::all_with(client, &kind.resource),
    }
}
