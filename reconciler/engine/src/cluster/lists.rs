//! Lists what is stored of runtimes: once for all that ask at about the same time, as they do when a process begins.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

use futures::future::join_all;
use kube::api::ListParams;
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use parking_lot::Mutex;
use reeve_crds::{Inventory, RuntimeComponent};
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use crate::api_error::ApiError;

/// As many runtimes are asked for one by one. For more than these everything in their namespace is listed.
const ONE_BY_ONE: usize = 16;
const PAGE: u32 = 500;

/// What is stored of a runtime in an object of its own.
pub(crate) trait OfRuntime:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned
{
    /// The runtime's name.
    fn runtime(&self) -> &str;
}

impl OfRuntime for Inventory {
    fn runtime(&self) -> &str {
        &self.spec.runtime
    }
}

impl OfRuntime for RuntimeComponent {
    fn runtime(&self) -> &str {
        &self.spec.runtime
    }
}

/// The objects of one kind, by namespace.
#[derive(Debug)]
pub(super) struct Lists<K>(Mutex<HashMap<String, Arc<Namespace<K>>>>);

#[derive(Debug)]
struct Namespace<K> {
    waiting: Mutex<Vec<Asked<K>>>,
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Asked<K> {
    runtime: Arc<str>,
    answer: oneshot::Sender<Result<Vec<K>, ApiError>>,
}

impl<K> Default for Lists<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: OfRuntime> Lists<K> {
    /// The objects of a runtime as they are after this was called.
    pub(super) async fn of(&self, client: &Client, namespace: &str, runtime: &Arc<str>) -> Result<Vec<K>, ApiError> {
        let shared = self.namespace(namespace);
        loop {
            let (answer, mut answered) = oneshot::channel();
            shared.waiting.lock().push(Asked { runtime: runtime.clone(), answer });
            // Whoever has the turn lists for all who wait by then.
            let turn = shared.turn.lock().await;
            match answered.try_recv() {
                Ok(listed) => return listed,
                // Whoever listed was given up.
                Err(TryRecvError::Closed) => continue,
                Err(TryRecvError::Empty) => {}
            }
            let asked = std::mem::take(&mut *shared.waiting.lock());
            answer_all(&Api::namespaced(client.clone(), namespace), asked).await;
            drop(turn);
            if let Ok(listed) = answered.try_recv() {
                return listed;
            }
        }
    }

    fn namespace(&self, name: &str) -> Arc<Namespace<K>> {
        let made = || Arc::new(Namespace { waiting: Mutex::default(), turn: tokio::sync::Mutex::default() });
        self.0.lock().entry(name.to_owned()).or_insert_with(made).clone()
    }
}

async fn answer_all<K: OfRuntime>(api: &Api<K>, asked: Vec<Asked<K>>) {
    if asked.len() <= ONE_BY_ONE {
        join_all(asked.into_iter().map(async |Asked { runtime, answer }| {
            let listed = api.list(&ListParams::default().fields(&format!("spec.runtime={runtime}"))).await;
            // Whoever gave up asking needs no answer.
            let _ = answer.send(listed.map(|list| list.items).map_err(|error| ApiError::of(&error)));
        }))
        .await;
        return;
    }
    let listed = list_all(api, asked.iter().map(|asked| asked.runtime.clone())).await;
    let mut listed = listed.map_err(|error| ApiError::of(&error));
    for Asked { runtime, answer } in asked {
        // A runtime whose last worker was given up while it asked is asked for twice.
        let of = |listed: &mut HashMap<Arc<str>, Vec<K>>| listed.get(&runtime).cloned().unwrap_or_default();
        let _ = answer.send(listed.as_mut().map(of).map_err(|error| error.clone()));
    }
}

/// All objects of a namespace that are of these runtimes.
async fn list_all<K: OfRuntime>(
    api: &Api<K>,
    runtimes: impl Iterator<Item = Arc<str>>,
) -> Result<HashMap<Arc<str>, Vec<K>>, kube::Error> {
    let mut found: HashMap<Arc<str>, Vec<K>> = runtimes.map(|runtime| (runtime, Vec::new())).collect();
    let mut params = ListParams::default().limit(PAGE);
    loop {
        let page = api.list(&params).await?;
        for object in page.items {
            if let Some(of_runtime) = found.get_mut(object.runtime()) {
                of_runtime.push(object);
            }
        }
        match page.metadata.continue_.filter(|next| !next.is_empty()) {
            Some(next) => params.continue_token = Some(next),
            None => return Ok(found),
        }
    }
}
