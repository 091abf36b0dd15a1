//! What a run writes down in the inventory, and when: before an object is created, after it was, and when it stays. Pure;
//! the simulation goes by the same rules.

use reeve_crds::inventory::EntryState;
use reeve_renderer_objects::key::ObjectKey;

use super::RunSpec;
use crate::desired::DesiredObject;
use crate::inventory::{Change, Entry};
use crate::live::Live;
use crate::owner::Owner;
use crate::payload::{Apply, Prune};
use crate::plan::{Action, Step, View};

impl RunSpec {
    /// The entry of an object that is about to be applied.
    pub(in crate::runtime) fn planned(&self, object: &DesiredObject) -> Entry {
        let version = object.api_version.rsplit('/').next().unwrap_or_default();
        Entry {
            component: self.desired.name.clone(),
            target: self.desired.target,
            version: version.into(),
            uid: None,
            state: EntryState::Planned,
            owned: None,
            kept: (object.keep || object.options.prune == Prune::Never).then(|| object.content.clone()),
        }
    }

    /// The entry of an object that was applied.
    pub(in crate::runtime) fn applied(&self, object: &DesiredObject, live: &Live) -> Entry {
        let (uid, owned) = (Some(live.uid.clone()), live.owned.clone());
        Entry { uid, state: EntryState::Applied, owned, ..self.planned(object) }
    }

    /// All that no runtime has yet, whatever its stage, so that the components of a runtime share one write.
    pub(in crate::runtime) fn announced(&self, view: &dyn View, owner: &Owner) -> Vec<(ObjectKey, Entry)> {
        let is_free = |key: &ObjectKey| {
            view.entry(key).is_none() && view.live(key).is_none_or(|live| live.owner.as_ref() == Some(owner))
        };
        let applied = self.desired.objects.iter().filter(|object| object.options.apply == Apply::Always);
        let free = applied.filter(|object| is_free(&object.key));
        free.map(|object| (object.key.clone(), self.planned(object))).collect()
    }

    /// What must be stored before these steps: objects that are not written down as this component's.
    pub(in crate::runtime) fn write_ahead(&self, steps: &[Step], view: &dyn View) -> Vec<(ObjectKey, Entry)> {
        let written = steps.iter().filter(|step| step.action.writes());
        let planned = written.filter_map(|step| {
            let object = self.desired.object(&step.key)?;
            let ours = view.entry(&step.key).is_some_and(|entry| entry.component == self.desired.name);
            (!ours).then(|| (step.key.clone(), self.planned(object)))
        });
        planned.collect()
    }

    /// What is not written cannot say by itself that it stays when it leaves Git, so it is forgotten as soon as Git says
    /// so, for good: to have it taken away after all, a person deletes it.
    pub(in crate::runtime) fn released(&self, steps: &[Step]) -> Vec<Change> {
        let left = steps.iter().filter(|step| step.action == Action::Leave);
        let objects = left.filter_map(|step| self.desired.object(&step.key));
        let staying = objects.filter(|object| object.keep || object.options.prune == Prune::Never);
        staying.map(|object| Change::Drop(object.key.clone())).collect()
    }
}
