//! The pages of inventories as the clusters have them.

use std::sync::Arc;

use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::Api;
use kube::api::ObjectMeta;
use kube::core::PartialObjectMeta;
use reeve_crds::runtime_component::ComponentTarget;
use reeve_crds::{Inventory as InventoryPage, InventorySpec, Reason};
use reeve_process::gate::GatedClientError;
use reeve_renderer_objects::bundle::RUNTIME_LABEL;

use super::{Inventory, InventoryError, Stored};
use crate::FIELD_MANAGER;
use crate::api_error::ApiError;
use crate::cluster::{Cluster, JSON, METADATA_ONLY};
use crate::owner::Owner;

/// What the pages in a cluster say that another runtime has there, wherever its Runtime is.
pub async fn pages_of(cluster: &Cluster, owner: &Owner) -> Result<Inventory, ApiError> {
    let runtime: Arc<str> = owner.runtime().into();
    let pages = cluster.pages(owner.namespace(), &runtime).await?;
    Ok(Inventory::load(runtime, pages.into_iter().map(stored)))
}

fn stored(page: InventoryPage) -> (InventorySpec, Stored) {
    (page.spec, page.metadata.into())
}

/// Where the pages of the runtimes of a namespace are: in the cluster that their objects are in.
#[derive(Clone, Debug)]
pub struct Stores(Vec<Store>);

/// The pages that one cluster has.
#[derive(Clone, Debug)]
pub struct Store {
    cluster: Cluster,
    namespace: Arc<str>,
    api: Api<InventoryPage>,
    of: &'static [ComponentTarget],
}

impl Store {
    /// The pages of these targets, of all runtimes of a namespace.
    pub fn new(cluster: &Cluster, namespace: &str, of: &'static [ComponentTarget]) -> Result<Self, GatedClientError> {
        let api = Api::namespaced(cluster.own()?, namespace);
        Ok(Self { cluster: cluster.clone(), namespace: namespace.into(), api, of })
    }
}

impl FromIterator<Store> for Stores {
    fn from_iter<T: IntoIterator<Item = Store>>(stores: T) -> Self {
        Self(stores.into_iter().collect())
    }
}

impl Stores {
    /// The pages of a runtime.
    pub(super) async fn list(&self, runtime: &Arc<str>) -> Result<Vec<(InventorySpec, Stored)>, ApiError> {
        let mut pages = Vec::new();
        for Store { cluster, namespace, of, .. } in &self.0 {
            let listed = cluster.pages(namespace, runtime).await?;
            pages.extend(listed.into_iter().filter(|page| of.contains(&page.spec.target)).map(stored));
        }
        Ok(pages)
    }

    /// The one for pages of a target.
    pub fn of(&self, target: ComponentTarget) -> &Api<InventoryPage> {
        let store = self.0.iter().find(|store| store.of.contains(&target));
        &store.unwrap_or(&self.0[0]).api
    }
}

/// Where pages are stored.
#[derive(Clone, Debug)]
pub struct Pages {
    /// In which clusters.
    pub stores: Stores,
    /// The runtime.
    pub runtime: Arc<str>,
    /// Who writes.
    pub writer: String,
}

impl Pages {
    pub(super) async fn write(
        &self,
        name: &str,
        mut spec: InventorySpec,
        version: Option<String>,
    ) -> Result<Stored, InventoryError> {
        spec.writer = Some(self.writer.clone());
        let api = self.stores.of(spec.target);
        let mut page = InventoryPage::new(name, spec);
        page.metadata = ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some([(RUNTIME_LABEL.to_owned(), self.runtime.to_string())].into()),
            resource_version: version.clone(),
            // Whoever replaces a page owns all of it: books of it would only cost the API server time.
            managed_fields: Some(vec![ManagedFieldsEntry::default()]),
            ..ObjectMeta::default()
        };
        let replaced = match version {
            Some(_) => Some(send(api, Method::PUT, &format!("/{name}"), &page).await),
            None => None,
        };
        let written = match replaced {
            // Somebody deleted it; what it said is known here, and whoever took over would have kept it.
            Some(Err(kube::Error::Api(status))) if status.code == 404 => {
                page.metadata.resource_version = None;
                let made = send(api, Method::POST, "", &page).await;
                match &made {
                    Ok(_) => tracing::warn!(page = name, "the inventory page was deleted, and was made anew"),
                    // It went with its namespace, and so does all that it could ever be needed for.
                    Err(error) if ApiError::of(error).reason == Reason::NamespaceTerminating => {
                        return Ok(Stored::default());
                    }
                    Err(_) => {}
                }
                made
            }
            Some(replaced) => replaced,
            None => send(api, Method::POST, "", &page).await,
        };
        match written {
            Ok(stored) => Ok(stored.metadata.into()),
            Err(error) => {
                let (is_other, api_error) = (is_other_page(&error), ApiError::of(&error));
                // A kind that is not served has no pages of others: what is known is written when it is served again.
                if is_other && api_error.reason != Reason::MissingKind {
                    return Err(InventoryError::Fenced { page: name.to_owned() });
                }
                Err(InventoryError::Write { page: name.to_owned(), api_error })
            }
        }
    }
}

/// Sends a page, and gets back no more of it than its metadata.
async fn send(
    api: &Api<InventoryPage>,
    method: Method,
    path: &str,
    page: &InventoryPage,
) -> Result<PartialObjectMeta<InventoryPage>, kube::Error> {
    let uri = format!("{}{path}?fieldManager={FIELD_MANAGER}", api.resource_url());
    let request = http::Request::builder().method(method).uri(uri);
    let request = request.header(CONTENT_TYPE, JSON).header(ACCEPT, METADATA_ONLY);
    let body = serde_json::to_vec(page).map_err(kube::Error::SerdeError)?;
    let request = request.body(body).map_err(kube::Error::HttpError)?;
    api.clone().into_client().request(request).await
}

/// Whether a page is not the one that is known: it was changed, or it is gone.
fn is_other_page(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 404 | 409))
}
