//! The floor: a loop that applies everything and knows nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use tokio::task::JoinSet;

use crate::fixture::{Fixture, until_all};
use crate::outcome::Outcome;
use crate::workload::{AFTER, BEFORE, NAMESPACE, Size, is_ready, kinds, objects};

pub(crate) async fn run(size: Size) -> Result<Outcome> {
    println!("  server-side apply in a bare loop");
    let mut fixture = Fixture::start().await?;
    let client = fixture.control_plane.client();
    let observed: Api<Deployment> = Api::namespaced(fixture.observer.clone(), NAMESPACE);
    let mut phases = Vec::new();
    for (name, mcpu) in [("install", BEFORE), ("upgrade", AFTER)] {
        let ready = until_all(observed.clone(), size.components, move |deployment| is_ready(deployment, mcpu));
        let work = async { futures::try_join!(apply_all(&client, size, mcpu), ready).map(drop) };
        phases.push(fixture.phase(name, work).await);
    }
    phases.push(fixture.phase("no-op", apply_all(&client, size, AFTER)).await);
    Ok(Outcome { who: "floor", phases, usage: None })
}

async fn apply_all(client: &Client, size: Size, mcpu: u32) -> Result<()> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..size.concurrency {
        let (client, next) = (client.clone(), next.clone());
        workers.spawn(async move {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= size.components {
                    return anyhow::Ok(());
                }
                apply(&client, index, mcpu).await?;
            }
        });
    }
    while let Some(ended) = workers.join_next().await {
        ended.context("a worker panicked")??;
    }
    Ok(())
}

async fn apply(client: &Client, index: usize, mcpu: u32) -> Result<()> {
    let params = PatchParams::apply("floor").force();
    for (object, kind) in objects(index, mcpu)?.into_iter().zip(kinds()) {
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), NAMESPACE, &kind);
        let applied = api.patch(&object.name_any(), &params, &Patch::Apply(&object)).await;
        applied.with_context(|| format!("cannot apply {} {index}", kind.kind))?;
    }
    Ok(())
}
