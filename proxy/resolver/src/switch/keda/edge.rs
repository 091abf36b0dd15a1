//! Writes what a plan says; every write may be repeated.

use kube::api::DeleteParams;
use kube::{Api, Client, ResourceExt};

use super::objects::{ScaledJob, ScaledObject};
use super::plan::Plan;
use crate::scaler::KEDA;
use crate::switch::execute::{SwitchError, failed, is_missing, params};

/// Carries out one step of a plan, over the object that was decided about.
pub(in crate::switch) async fn carry_out(client: &Client, namespace: &str, plan: &Plan) -> Result<(), SwitchError> {
    let objects: Api<ScaledObject> = Api::namespaced(client.clone(), namespace);
    match plan {
        Plan::Keep(_) => {}
        Plan::Create(object) => {
            let created = objects.create(&params(), object).await;
            created.map_err(failed("create the ScaledObject", object.name_any()))?;
        }
        Plan::Replace(object) => {
            let replaced = objects.replace(&object.name_any(), &params(), object).await;
            replaced.map_err(failed("write the ScaledObject", object.name_any()))?;
        }
        Plan::ReplaceJob(job) => {
            let jobs: Api<ScaledJob> = Api::namespaced(client.clone(), namespace);
            let replaced = jobs.replace(&job.name_any(), &params(), job).await;
            replaced.map_err(failed("write the ScaledJob", job.name_any()))?;
        }
        Plan::Delete(name) => {
            let deleted = objects.delete(name, &DeleteParams::default()).await;
            if !is_missing(&deleted) {
                deleted.map_err(failed("delete the ScaledObject", name))?;
            }
        }
    }
    Ok(())
}

/// Whether the API server serves KEDA's kinds.
pub(in crate::switch) async fn is_installed(client: &Client) -> Result<bool, SwitchError> {
    let served = client.list_api_group_resources(KEDA).await;
    if is_missing(&served) {
        return Ok(false);
    }
    served.map(|_| true).map_err(failed("find the kinds of", KEDA))
}
