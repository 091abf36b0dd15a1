//! The way to a cluster: found as kubectl finds it, with a bound on the time of every request.

use std::future::Future;
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::jiff::Timestamp;
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Api, Client, Config, Resource};
use reeve_crds::GROUP;
use reeve_renderer::suggest::did_you_mean;
use serde::de::DeserializeOwned;

use super::error::{ClusterError, innermost, said};
use super::governed::Shown;
use crate::cli::args::cluster::ConnectionArgs;
use crate::cli::failure::Failure;

/// Objects that one answer of a list holds at most.
const PAGE: u32 = 500;

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Namespace(String),
    All,
}

/// A cluster that can be asked.
pub(super) struct Connection {
    pub(super) client: Client,
    /// The namespace that was asked for, or that of the context.
    pub(super) namespace: String,
    /// What the server is called in messages.
    pub(super) server: String,
    limit: Duration,
}

impl Connection {
    pub(super) async fn open(args: &ConnectionArgs) -> Result<Self, ClusterError> {
        let mut config = configure(args).await?;
        config.connect_timeout = Some(args.request_timeout);
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let namespace = args.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let client = Client::try_from(config)
            .map_err(|error| ClusterError::Kubeconfig { file: args.kubeconfig.clone(), cause: innermost(&error) })?;
        Ok(Self { client, namespace, server, limit: args.request_timeout })
    }

    /// The namespace, or all of them.
    pub(super) fn scope(&self, all: bool) -> Scope {
        if all { Scope::All } else { Scope::Namespace(self.namespace.clone()) }
    }

    pub(super) fn api<K>(&self, scope: &Scope) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        match scope {
            Scope::Namespace(namespace) => Api::namespaced(self.client.clone(), namespace),
            Scope::All => Api::all(self.client.clone()),
        }
    }

    /// Waits for one answer, no longer than a request may take. `doing` goes on after "cannot".
    pub(super) async fn ask<T>(
        &self,
        doing: &str,
        answer: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, ClusterError> {
        match tokio::time::timeout(self.limit, answer).await {
            Ok(answer) => answer.map_err(|error| ClusterError::from_request(error, doing, &self.server)),
            Err(_elapsed) => {
                Err(ClusterError::Slow { server: self.server.clone(), doing: doing.to_owned(), limit: self.limit })
            }
        }
    }

    /// Waits for an answer of something behind the API server, no longer than a request may take.
    pub(super) async fn in_time<T>(&self, doing: &str, answer: impl Future<Output = T>) -> Result<T, ClusterError> {
        let slow = || ClusterError::Slow { server: self.server.clone(), doing: doing.to_owned(), limit: self.limit };
        tokio::time::timeout(self.limit, answer).await.map_err(|_elapsed| slow())
    }

    /// All objects of a kind, in the order of their namespaces and names.
    pub(super) async fn list<K>(&self, scope: &Scope) -> Result<Vec<K>, ClusterError>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + std::fmt::Debug + DeserializeOwned,
    {
        self.select(scope, ListParams::default()).await
    }

    /// As `list`, of those that the parameters select.
    pub(super) async fn select<K>(&self, scope: &Scope, params: ListParams) -> Result<Vec<K>, ClusterError>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + std::fmt::Debug + DeserializeOwned,
    {
        let api = self.api::<K>(scope);
        let doing = format!("list {}", K::plural(&()));
        let mut params = params.limit(PAGE);
        let mut found = Vec::new();
        loop {
            // The API server says it the same way whether a kind or an object is missing; a list misses only a kind.
            let page = self.ask(&doing, missing_kind(api.list(&params))).await?;
            let Some(page) = page else {
                return if K::group(&()) == GROUP {
                    Err(ClusterError::NotInstalled { server: self.server.clone() })
                } else {
                    Ok(found)
                };
            };
            found.extend(page.items);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params.continue_token = Some(token),
                None => break,
            }
        }
        found.sort_by(|a, b| {
            let key = |object: &K| (object.meta().namespace.clone(), object.meta().name.clone());
            key(a).cmp(&key(b))
        });
        Ok(found)
    }

    /// One object of ours, or which ones there are instead.
    pub(super) async fn get<K: Shown>(&self, name: &str) -> Result<K, Failure> {
        let scope = self.scope(false);
        let doing = format!("read {} {name}", K::WORD);
        if let Some(object) = self.ask(&doing, missing_kind(self.api::<K>(&scope).get(name))).await? {
            return Ok(object);
        }
        // That not even the kind is there, the list will say.
        Err(missing(name, &self.list::<K>(&scope).await?, &self.namespace))
    }

    /// The time, for ages and for what must be new.
    pub(super) fn now() -> Timestamp {
        Timestamp::now()
    }
}

/// That there is no object of this name, with the name that was probably meant.
pub(super) fn missing<K: Shown>(name: &str, known: &[K], namespace: &str) -> Failure {
    let names = known.iter().filter_map(|object| object.meta().name.as_deref());
    let help = did_you_mean(name, names.clone()).or_else(|| {
        let listed = names.take(5).collect::<Vec<_>>().join(", ");
        Some(if listed.is_empty() {
            "there are none in this namespace; name another with -n, or look in all with `reeve get -A`".to_owned()
        } else {
            format!("there are {listed}{}", if known.len() > 5 { " and more" } else { "" })
        })
    });
    Failure::unknown(format!("there is no {} `{name}` in namespace `{namespace}`", K::WORD), help)
}

async fn missing_kind<T>(answer: impl Future<Output = Result<T, kube::Error>>) -> Result<Option<T>, kube::Error> {
    match answer.await {
        Ok(answer) => Ok(Some(answer)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

pub(in crate::cli) async fn configure(args: &ConnectionArgs) -> Result<Config, ClusterError> {
    let options = KubeConfigOptions { context: args.context.clone(), ..KubeConfigOptions::default() };
    let read = match &args.kubeconfig {
        Some(file) => Kubeconfig::read_from(file),
        None => Kubeconfig::read(),
    };
    if let (Ok(kubeconfig), Some(context)) = (&read, &args.context) {
        has_context(kubeconfig, context, args)?;
    }
    if let Ok(kubeconfig) = &read {
        has_addresses(kubeconfig, args)?;
    }
    let found = match read {
        Ok(kubeconfig) if is_empty(&kubeconfig) => Err(KubeconfigError::FindPath),
        Ok(kubeconfig) => Config::from_custom_kubeconfig(kubeconfig, &options).await,
        Err(error) => Err(error),
    };
    found.or_else(|error| match ClusterError::from_kubeconfig(&error, args.kubeconfig.clone()) {
        Some(error) => Err(error),
        None => Config::incluster().map_err(|_not_a_pod| ClusterError::NoKubeconfig {
            file: match error {
                KubeconfigError::ReadConfig(_, path) => Some(path),
                _ => None,
            },
        }),
    })
}

/// Refuses a context that is not in the file, with the name that was probably meant.
fn has_context(kubeconfig: &Kubeconfig, wanted: &str, args: &ConnectionArgs) -> Result<(), ClusterError> {
    let known: Vec<&str> = kubeconfig.contexts.iter().map(|context| &*context.name).collect();
    if known.contains(&wanted) {
        return Ok(());
    }
    let meant = did_you_mean(wanted, known.iter().copied()).unwrap_or_else(|| match &known[..] {
        [] => "it has none".to_owned(),
        known => format!("it has {}", known.join(", ")),
    });
    let cause = said(&format!("there is no context `{wanted}`: {meant}"));
    Err(ClusterError::Kubeconfig { file: args.kubeconfig.clone(), cause })
}

/// Refuses a server or proxy of the cluster in use that is no address: kube takes any text for one and breaks off when
/// it is used.
fn has_addresses(kubeconfig: &Kubeconfig, args: &ConnectionArgs) -> Result<(), ClusterError> {
    let used = args.context.as_ref().or(kubeconfig.current_context.as_ref());
    let context = kubeconfig.contexts.iter().find(|context| Some(&context.name) == used);
    let used = context.and_then(|context| context.context.as_ref()).map(|context| &context.cluster);
    let clusters = kubeconfig.clusters.iter().filter(|cluster| Some(&cluster.name) == used);
    for (name, cluster) in clusters.filter_map(|cluster| Some((&cluster.name, cluster.cluster.as_ref()?))) {
        for (field, given) in [("server", &cluster.server), ("proxy-url", &cluster.proxy_url)] {
            let Some(given) = given.as_deref().filter(|given| !given.is_empty()) else { continue };
            let parsed = given.parse::<http::Uri>();
            if !parsed.is_ok_and(|address| address.scheme().is_some() && address.host().is_some()) {
                let cause = format!(
                    "{field} of the cluster `{name}` is `{given}`: write an address such as https://10.0.0.1:6443"
                );
                return Err(ClusterError::Kubeconfig { file: args.kubeconfig.clone(), cause: said(&cause) });
            }
        }
    }
    Ok(())
}

/// A file such as /dev/null, by which people say that there is none.
fn is_empty(kubeconfig: &Kubeconfig) -> bool {
    kubeconfig.clusters.is_empty() && kubeconfig.contexts.is_empty()
}
