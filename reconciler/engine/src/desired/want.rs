//! In which way a runtime wants an object, as another runtime has to know that has it.

use std::collections::HashMap;
use std::sync::Arc;

use reeve_crds::runtime_component::ComponentTarget;
use reeve_renderer_objects::key::ObjectKey;

use super::{Desired, DesiredComponent};
use crate::payload::Apply;

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
    /// In which way each object is wanted, and where.
    pub fn wants(&self) -> HashMap<ObjectKey, (Want, ComponentTarget)> {
        let of = |component: &Arc<DesiredComponent>| {
            let jobs = component.jobs.iter().map(|job| (job.object.key.clone(), Want::Remakes));
            let objects = component.objects.iter().map(|object| {
                let want = match object.options.apply {
                    Apply::Always => Want::TakesOver,
                    Apply::IfMissing | Apply::Never => Want::Leaves,
                };
                (object.key.clone(), want)
            });
            let target = component.target;
            jobs.chain(objects).map(move |(key, want)| (key, (want, target))).collect::<Vec<_>>()
        };
        self.components.iter().flat_map(of).collect()
    }
}
