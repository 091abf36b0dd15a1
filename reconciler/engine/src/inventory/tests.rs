use super::*;

fn key(name: &str) -> ObjectKey {
    ObjectKey { group: "".into(), kind: "ConfigMap".into(), namespace: Some("shop".into()), name: name.into() }
}

fn entry(component: &str) -> Entry {
    Entry {
        component: component.into(),
        target: ComponentTarget::Runtime,
        version: "v1".into(),
        uid: None,
        state: EntryState::Planned,
        owned: None,
        kept: None,
    }
}

fn stored(inventory: &Inventory) -> Vec<(InventorySpec, Stored)> {
    (0..inventory.pages.len()).map(|at| (inventory.page(at).1, inventory.pages[at].stored.clone())).collect()
}

#[test]
fn what_is_stored_is_what_is_loaded() {
    let mut inventory = Inventory::load("eu".into(), []);
    for name in ["b", "a"] {
        assert!(inventory.change(Change::Put(key(name), entry("web"))));
    }
    let applied = Entry { uid: Some("1".into()), state: EntryState::Applied, owned: Some("h".into()), ..entry("web") };
    inventory.change(Change::Put(key("a"), applied.clone()));
    let again = Inventory::load("eu".into(), stored(&inventory));
    assert_eq!(again.iter().collect::<Vec<_>>(), inventory.iter().collect::<Vec<_>>());
    assert_eq!(again.get(&key("a")), Some(&applied));
    assert!(again.dirty().is_empty());
    let (name, spec, _) = inventory.page(0);
    assert_eq!((name.as_str(), spec.counts.planned, spec.counts.applied), ("eu.0", 1, 1));
}

#[test]
fn a_page_never_holds_more_than_etcd_takes_and_room_is_used_again() {
    let mut inventory = Inventory::load("eu".into(), []);
    for number in 0..=ENTRIES_PER_PAGE {
        inventory.change(Change::Put(key(&number.to_string()), entry("web")));
    }
    let sizes: Vec<usize> = stored(&inventory).iter().map(|(spec, _)| spec.entries.len()).collect();
    assert_eq!(sizes, [ENTRIES_PER_PAGE, 1]);
    inventory.change(Change::Drop(key("7")));
    inventory.change(Change::Put(key("new"), entry("web")));
    let sizes: Vec<usize> = stored(&inventory).iter().map(|(spec, _)| spec.entries.len()).collect();
    assert_eq!(sizes, [ENTRIES_PER_PAGE, 1]);
}

#[test]
fn a_change_that_changes_nothing_makes_no_page_dirty() {
    let mut inventory = Inventory::load("eu".into(), []);
    inventory.change(Change::Put(key("a"), entry("web")));
    inventory.writing(0);
    assert!(!inventory.change(Change::Put(key("a"), entry("web"))));
    assert!(!inventory.change(Change::Drop(key("b"))));
    assert!(inventory.dirty().is_empty());
}

#[test]
fn objects_in_the_control_plane_have_pages_of_their_own() {
    let mut inventory = Inventory::load("eu".into(), []);
    inventory.change(Change::Put(key("a"), entry("web")));
    let elsewhere = Entry { target: ComponentTarget::ControlPlane, ..entry("uptime") };
    inventory.change(Change::Put(key("b"), elsewhere));
    let names: Vec<String> = (0..2).map(|at| inventory.page(at).0).collect();
    assert_eq!(names, ["eu.0", "eu.control-plane.0"]);
}

#[test]
fn an_entry_that_somebody_stored_on_two_pages_counts_once() {
    let mut inventory = Inventory::load("eu".into(), []);
    inventory.change(Change::Put(key("a"), entry("web")));
    let once = stored(&inventory).remove(0).0;
    let twice = InventorySpec { page: 1, ..once.clone() };
    let mut inventory = Inventory::load("eu".into(), [(once, Stored::default()), (twice, Stored::default())]);
    assert_eq!(inventory.dirty(), [0], "the page that has it no longer is written anew");
    inventory.change(Change::Drop(key("a")));
    let sizes: Vec<usize> = stored(&inventory).iter().map(|(spec, _)| spec.entries.len()).collect();
    assert_eq!(sizes, [0, 0]);
}

#[test]
fn a_page_that_is_lost_or_has_an_owner_is_stored_again_and_that_once() {
    let mut inventory = Inventory::load("eu".into(), []);
    inventory.change(Change::Put(key("a"), entry("web")));
    let object = Stored { uid: Some("1".into()), resource_version: Some("7".into()), is_owned: true };
    let mut inventory = Inventory::load("eu".into(), [(inventory.page(0).1, object.clone())]);
    assert!(inventory.dirty().is_empty());
    assert!(inventory.disown());
    assert_eq!(inventory.dirty(), [0]);
    inventory.writing(0);
    inventory.written(0, Stored { is_owned: false, ..object });
    assert!(!inventory.disown());
    assert!(!inventory.lost("eu.1", "1") && !inventory.lost("eu.0", "0"), "it is not the one that is known");
    assert!(inventory.lost("eu.0", "1"));
    assert_eq!(inventory.dirty(), [0]);
    assert!(!inventory.lost("eu.0", "1"), "it is known already");
}
