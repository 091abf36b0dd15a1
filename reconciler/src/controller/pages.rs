//! Which inventory pages there are, to notice when one goes, be it while nobody looked. Of a page only its metadata is read.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kube::ResourceExt as _;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::Event;
use reeve_crds::Inventory;
use reeve_renderer::bundle::RUNTIME_LABEL;

use super::{Id, id_of};

/// A page whose object is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) namespace: Arc<str>,
    pub(super) runtime: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) uid: String,
}

/// The pages that there are.
#[derive(Debug, Default)]
pub(super) struct Pages {
    known: HashMap<Id, (Arc<str>, String)>,
    /// Those of a list that is being read.
    seen: HashSet<Id>,
}

impl Pages {
    /// Takes in what happens to pages, and says which were lost.
    pub(super) fn on_event(&mut self, event: Event<PartialObjectMeta<Inventory>>) -> Vec<Lost> {
        match event {
            Event::Apply(page) => self.on_page(&page).into_iter().collect(),
            Event::InitApply(page) => {
                self.seen.insert(id_of(&page));
                self.on_page(&page).into_iter().collect()
            }
            Event::Delete(page) => self.on_page_gone(&id_of(&page)).into_iter().collect(),
            Event::Init => {
                self.seen.clear();
                Vec::new()
            }
            Event::InitDone => {
                let seen = std::mem::take(&mut self.seen);
                let gone: Vec<Id> = self.known.keys().filter(|id| !seen.contains(id)).cloned().collect();
                gone.iter().filter_map(|id| self.on_page_gone(id)).collect()
            }
        }
    }

    /// The page that had its name before, if that was another one.
    fn on_page(&mut self, page: &PartialObjectMeta<Inventory>) -> Option<Lost> {
        let runtime = page.labels().get(RUNTIME_LABEL)?.as_str().into();
        let (id, uid) = (id_of(page), page.uid()?);
        let is_another = self.known.get(&id).is_some_and(|(_, before)| *before != uid);
        let lost = if is_another { self.on_page_gone(&id) } else { None };
        self.known.insert(id, (runtime, uid));
        lost
    }

    fn on_page_gone(&mut self, id: &Id) -> Option<Lost> {
        let (runtime, uid) = self.known.remove(id)?;
        Some(Lost { namespace: id.0.clone(), runtime, name: id.1.clone(), uid })
    }
}

#[cfg(test)]
mod tests {
    use kube::api::ObjectMeta;
    use kube::core::PartialObjectMetaExt as _;

    use super::*;

    fn page(name: &str, uid: &str) -> PartialObjectMeta<Inventory> {
        let metadata = ObjectMeta {
            namespace: Some("fleet".to_owned()),
            name: Some(name.to_owned()),
            uid: Some(uid.to_owned()),
            labels: Some([(RUNTIME_LABEL.to_owned(), "eu".to_owned())].into()),
            ..ObjectMeta::default()
        };
        metadata.into_response_partial()
    }

    fn lost(name: &str, uid: &str) -> Vec<Lost> {
        vec![Lost { namespace: "fleet".into(), runtime: "eu".into(), name: name.into(), uid: uid.to_owned() }]
    }

    #[test]
    fn a_page_that_goes_is_lost_also_while_nobody_looks_and_one_that_is_written_is_not() {
        let mut pages = Pages::default();
        for event in
            [Event::Init, Event::InitApply(page("eu.0", "1")), Event::InitDone, Event::Apply(page("eu.1", "2"))]
        {
            assert_eq!(pages.on_event(event), []);
        }
        assert_eq!(pages.on_event(Event::Apply(page("eu.0", "1"))), []);
        assert_eq!(pages.on_event(Event::Delete(page("eu.0", "1"))), lost("eu.0", "1"));
        assert_eq!(pages.on_event(Event::Delete(page("eu.0", "1"))), []);
        assert_eq!(pages.on_event(Event::Apply(page("eu.0", "3"))), []);

        assert_eq!(pages.on_event(Event::Init), []);
        assert_eq!(pages.on_event(Event::InitApply(page("eu.0", "4"))), lost("eu.0", "3"), "another of its name");
        assert_eq!(pages.on_event(Event::InitDone), lost("eu.1", "2"));
    }
}
