//! In which way a runtime wants an object, as another runtime has to know that has it.

use std::collections::HashMap;
use std::sync::Arc;

use reeve_crds::runtime_component::ComponentTarget;
use reeve_renderer_objects::key::ObjectKey;

use super::{Desired, DesiredComponent};
use crate::payload::Apply;

/// What a runtime wants of an object.
#[derive(Clone, Debug)]
pub struct WantedObject {
    /// In which way.
    pub want: Want,
    /// In which of its clusters.
    pub target: ComponentTarget,
    /// The account that its component names.
    pub account: Option<Arc<str>>,
}

/// In which way a runtime wants an object. The greatest counts.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Want {
    /// A Job, which is made for each run.
    Remakes,
    /// It needs the object and does not write it where it is: it never takes it over.
    Leaves,
    /// It applies the object, and takes it over as it is.
    TakesOver,
}

impl Desired {
    /// What is wanted of each object.
    pub fn wants(&self) -> HashMap<ObjectKey, WantedObject> {
        let of = |component: &Arc<DesiredComponent>| {
            let jobs = component.jobs.iter().map(|job| (job.object.key.clone(), Want::Remakes));
            let objects = component.objects.iter().map(|object| {
                let want = match object.options.apply {
                    Apply::Always => Want::TakesOver,
                    Apply::IfMissing | Apply::Never => Want::Leaves,
                };
                (object.key.clone(), want)
            });
            let wanted = |(key, want)| {
                let account = component.service_account.clone();
                (key, WantedObject { want, target: component.target, account })
            };
            jobs.chain(objects).map(wanted).collect::<Vec<_>>()
        };
        self.components.iter().flat_map(of).collect()
    }
}
