//! What a cluster knows of a repository: the source that follows it, its Runtimes and their components. Nothing is
//! written.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use kube::api::ListParams;
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource, ResourceExt as _};
use reeve_crds::{GitSource, Runtime, RuntimeComponent};
use reeve_reconciler_engine::api_error::ApiError;
use reeve_renderer::fleet::Fleet;
use serde::de::DeserializeOwned;

use super::cluster::{ClusterAccess, refused, warn};
use super::failure::Failure;
use super::source::Source;
use super::{Terminal, text};

mod address;

/// The objects of one namespace by which Reeve follows a repository.
pub(super) struct Following {
    sources: Vec<GitSource>,
    runtimes: Vec<Runtime>,
    components: Vec<RuntimeComponent>,
    /// The name of the source that follows the repository, if one is known to.
    source: Option<String>,
}

/// Which source follows a repository.
enum Followed<'a> {
    ByNone,
    /// Its URL says so.
    By(&'a GitSource),
    /// It has runtimes of the same names.
    Alike(&'a GitSource),
    ByMany(Vec<String>),
}

impl Following {
    /// Reads them, and tells people which source is held to be the one that follows the repository if that is not plain.
    pub(super) async fn read(
        access: &ClusterAccess,
        source: &Source,
        fleet: &Fleet,
        terminal: &Terminal,
    ) -> Result<Self, Failure> {
        let (sources, runtimes, components) = (all(access).await?, all(access).await?, all(access).await?);
        let mut this = Self { sources, runtimes, components, source: None };
        let (addresses, folder) = source.addresses();
        this.source = match this.followed(fleet, &addresses, &folder) {
            Followed::By(source) => Some(source.name_any()),
            Followed::Alike(source) => {
                let name = source.name_any();
                let url = reeve_process::secret::scrub(&source.spec.url).into_owned();
                warn(
                    terminal,
                    &format!("GitSource {name} of {url} is held to follow this repository, since it has its runtimes"),
                );
                Some(name)
            }
            Followed::ByNone => {
                let has =
                    if this.sources.is_empty() { "no GitSource" } else { "no GitSource that follows this repository" };
                warn(terminal, &format!("namespace {} has {has}: name its namespace with -n", access.namespace));
                None
            }
            Followed::ByMany(names) => {
                let names = names.join(", ");
                warn(
                    terminal,
                    &format!("several GitSources follow this repository: {names}; which runtimes left Git is not told"),
                );
                None
            }
        };
        Ok(this)
    }

    fn followed(&self, fleet: &Fleet, addresses: &[String], folder: &str) -> Followed<'_> {
        let places: BTreeSet<String> = addresses.iter().map(|address| address::place(address)).collect();
        let follows = |source: &&GitSource| {
            places.contains(&address::place(&source.spec.url)) && steps(&source.spec.path).eq(steps(folder))
        };
        let by_url: Vec<&GitSource> = self.sources.iter().filter(follows).collect();
        if let [source] = by_url[..] {
            return Followed::By(source);
        }
        let of_fleet = self.runtimes.iter().filter(|runtime| fleet.runtimes.contains_key(runtime.name_any().as_str()));
        let named: BTreeSet<&str> = of_fleet.filter_map(source_of).collect();
        let unknown = by_url.is_empty();
        let candidates: Vec<&GitSource> = if by_url.is_empty() { self.sources.iter().collect() } else { by_url };
        let alike: Vec<&GitSource> =
            candidates.iter().copied().filter(|source| named.contains(source.name_any().as_str())).collect();
        match alike[..] {
            [source] => Followed::Alike(source),
            [] if unknown => Followed::ByNone,
            _ => Followed::ByMany(candidates.iter().map(|source| source.name_any()).collect()),
        }
    }

    /// Runtimes that come from the repository and that it no longer has.
    pub(super) fn ended(&self, fleet: &Fleet) -> Vec<(Arc<str>, &Runtime)> {
        let Some(source) = self.source.as_deref() else { return Vec::new() };
        let ours = self.runtimes.iter().filter(|runtime| source_of(runtime) == Some(source));
        let named = ours.map(|runtime| (Arc::from(runtime.name_any()), runtime));
        named.filter(|(name, _): &(Arc<str>, _)| !fleet.runtimes.contains_key(name)).collect()
    }

    /// Why nothing is done to a runtime, if somebody suspended it.
    pub(super) fn suspended(&self, runtime: &str) -> Option<String> {
        let of = |name: &str| self.sources.iter().find(|source| source.name_any() == name);
        let there = self.runtimes.iter().find(|there| there.name_any() == runtime);
        let source = there.and_then(source_of).or(self.source.as_deref()).and_then(of);
        if let Some(source) = source.filter(|source| source.spec.suspend) {
            return Some(format!("GitSource {}", source.name_any()));
        }
        there.filter(|there| there.spec.suspend == Some(true)).map(|_| format!("Runtime {runtime}"))
    }

    /// Why the source may not have this runtime, if it comes from another that is there.
    pub(super) fn taken(&self, runtime: &str) -> Option<String> {
        let there = self.runtimes.iter().find(|there| there.name_any() == runtime)?;
        let other = source_of(there).filter(|other| self.source.as_deref().is_some_and(|source| source != *other))?;
        let exists = self.sources.iter().any(|source| source.name_any() == other);
        exists.then(|| format!("Runtime {runtime} comes from GitSource {other}: rename it in one of the two"))
    }

    /// How a component of a runtime is doing.
    pub(super) fn component(&self, runtime: &str, component: &str) -> Option<&RuntimeComponent> {
        self.components.iter().find(|there| there.spec.runtime == runtime && there.spec.component == component)
    }
}

/// The folders on the way to a path.
fn steps(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|step| !matches!(*step, "" | "."))
}

fn source_of(runtime: &Runtime) -> Option<&str> {
    runtime.spec.source_ref.as_ref().map(|source| source.name.as_str())
}

/// All objects of a kind; none, if the kind is not there.
async fn all<K>(access: &ClusterAccess) -> Result<Vec<K>, Failure>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    let client = access.cluster.own().map_err(|error| refused("make a client", &error))?;
    let api: Api<K> = Api::namespaced(client, &access.namespace);
    let doing = format!("list {}", text::count(2, &K::kind(&())).trim_start_matches("2 "));
    let params = ListParams::default();
    let list = async || api.list(&params).await;
    match access.patiently(&doing, list, |error| ApiError::of(error).retry_after).await? {
        Ok(list) => Ok(list.items),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => {
            let api_error = ApiError::of(&error);
            Err(access.blind(api_error.reason.as_str(), &api_error.message))
        }
    }
}
