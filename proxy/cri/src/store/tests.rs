use super::*;

fn container(id: &str, pod: &str) -> Container {
    Container { id: id.to_owned(), pod_id: pod.to_owned(), ..Container::default() }
}

#[test]
fn a_removed_pod_takes_its_containers_and_what_was_known_of_them_along() {
    let store = Store::default();
    store.insert_pod("p".to_owned(), Pod::default());
    store.insert_container(container("c", "p"));
    store.insert_container(container("other", "q"));
    assert!(store.mark_stopped("c") && store.mark_stopped("p"));
    store.remove_pod("p");
    assert!(store.find_pod("p").is_none() && store.find_container("c").is_none());
    assert!(!store.is_stopped("c") && !store.is_stopped("p"));
    assert!(store.find_container("other").is_some());
}

#[test]
fn only_the_first_stop_of_a_container_counts() {
    let store = Store::default();
    assert!(store.mark_stopped("c"));
    assert!(!store.mark_stopped("c"));
}

#[test]
fn it_is_bounded() {
    let store = Store::default();
    for number in 0..MOST * 2 {
        store.insert_container(container(&number.to_string(), "p"));
    }
    assert!(store.lock().containers.len() <= MOST);
}
