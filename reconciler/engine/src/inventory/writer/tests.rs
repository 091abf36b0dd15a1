use reeve_crds::inventory::EntryState;
use reeve_crds::runtime_component::ComponentTarget;

use super::*;

#[tokio::test]
async fn an_entry_that_is_not_stored_is_waited_for_by_the_next_one_too() {
    let inventory = InventoryWriter::new(Inventory::load("eu".into(), []));
    let key = |name: &str| ObjectKey { group: "".into(), kind: "A".into(), namespace: None, name: name.into() };
    let entry = Entry {
        component: "web".into(),
        target: ComponentTarget::Runtime,
        version: "v1".into(),
        uid: None,
        state: EntryState::Planned,
        owned: None,
        kept: None,
    };
    let put = || vec![(key("a"), entry.clone())];
    // Given up before it was stored.
    assert!(futures::poll!(Box::pin(inventory.store(put(), []))).is_pending());
    assert!(futures::poll!(Box::pin(inventory.store(put(), []))).is_pending());
    assert!(futures::poll!(Box::pin(inventory.store(Vec::new(), [&key("a")]))).is_pending());
    assert!(futures::poll!(Box::pin(inventory.store(Vec::new(), [&key("b")]))).is_ready(), "nobody waits for others");
}
