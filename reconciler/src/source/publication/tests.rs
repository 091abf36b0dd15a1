use super::*;

fn names(range: std::ops::Range<usize>) -> Vec<Arc<str>> {
    range.map(|number| format!("r{number:03}").into()).collect()
}

/// A revision that has these runtimes of a hundred, all of which delete their objects, and changed these.
fn accepted(wanted: &BTreeSet<Arc<str>>, changed: Vec<Arc<str>>, limits: [RemovalLimit; 2]) -> Accepted<'_> {
    let left = names(0..100).into_iter().filter(|name| !wanted.contains(name));
    let leftovers = left.map(|name| Leftover { name, deletes: true }).collect();
    Accepted { changed, wanted, leftovers, deleting: 100, limit_before: limits[0], limit: limits[1] }
}

fn all(range: std::ops::Range<usize>) -> BTreeSet<Arc<str>> {
    names(range).into_iter().collect()
}

const DEFAULT: [RemovalLimit; 2] = [RemovalLimit::Percent(10); 2];

/// Everything that is published, with nothing that takes its time.
fn drain(publication: &mut Publication) -> (Vec<Arc<str>>, Vec<Arc<str>>) {
    let (mut written, mut removed) = (Vec::new(), Vec::new());
    while let Some(batch) = publication.next(0) {
        match batch {
            Batch::Write(names) => {
                assert!(removed.is_empty(), "removals come last");
                assert!(names.len() <= BATCH);
                written.extend(names);
            }
            Batch::Remove(names) => removed.extend(names),
        }
    }
    (written, removed)
}

#[test]
fn what_the_newest_commit_changed_comes_first_and_what_was_pending_stays_so() {
    let mut publication = Publication::default();
    publication.accept(accepted(&all(0..100), names(0..40), DEFAULT));
    assert_eq!(publication.next(0), Some(Batch::Write(names(0..16))));
    publication.accept(accepted(&all(0..95), names(38..39), DEFAULT));
    assert_eq!(publication.left(), (24, 5));
    let (written, removed) = drain(&mut publication);
    assert_eq!(written, [names(38..39), names(16..38), names(39..40)].concat());
    assert_eq!(removed, names(95..100));
}

#[test]
fn a_revert_takes_back_what_was_pending_and_what_is_withheld() {
    let mut publication = Publication::default();
    publication.accept(accepted(&all(0..95), Vec::new(), DEFAULT));
    publication.accept(accepted(&all(0..100), Vec::new(), DEFAULT));
    assert_eq!(publication.next(0), None);
    publication.accept(accepted(&all(0..50), Vec::new(), DEFAULT));
    assert!(publication.over_budget().is_some());
    publication.accept(accepted(&all(0..100), Vec::new(), DEFAULT));
    assert_eq!(publication.over_budget(), None);
    assert_eq!(publication.next(0), None);
}

#[test]
fn only_so_many_go_at_once() {
    let mut publication = Publication::default();
    publication.accept(accepted(&all(0..60), Vec::new(), [RemovalLimit::Percent(40), DEFAULT[1]]));
    assert_eq!(publication.next(0), Some(Batch::Remove(names(60..76))));
    assert_eq!(publication.next(16), None);
    assert_eq!(publication.next(14), Some(Batch::Remove(names(76..78))));
    publication.settle(|name| *name > *"r070");
    assert_eq!(publication.begun().count(), 7);
}

#[test]
fn what_is_paused_begins_again_only_if_it_is_still_due() {
    let mut publication = Publication::default();
    publication.accept(accepted(&all(0..92), Vec::new(), DEFAULT));
    assert_eq!(publication.next(0), Some(Batch::Remove(names(92..100))));
    assert_eq!(publication.pause_removals(), names(92..100));
    assert_eq!(publication.begun().count(), 0);
    publication.accept(accepted(&all(0..98), Vec::new(), DEFAULT));
    assert_eq!(publication.next(0), Some(Batch::Remove(names(98..100))));
}

#[test]
fn too_many_removals_are_withheld_all_of_them_and_nothing_else() {
    let mut publication = Publication::default();
    let wanted = all(0..89);
    let mut revision = accepted(&wanted, names(0..3), DEFAULT);
    revision.leftovers[0].deletes = false;
    revision.leftovers.push(Leftover { name: "stays".into(), deletes: false });
    publication.accept(revision);
    // Ten of a hundred with their objects, and two without.
    assert_eq!(publication.over_budget(), None);
    let (_, removed) = drain(&mut publication);
    assert_eq!(removed.len(), 12);

    let mut publication = Publication::default();
    let mut revision = accepted(&wanted, names(0..3), DEFAULT);
    revision.leftovers.push(Leftover { name: "stays".into(), deletes: false });
    publication.accept(revision);
    let over = OverBudget { removed: 11, all: 100, limit: RemovalLimit::Percent(10) };
    assert_eq!(publication.over_budget(), Some((over, &Arc::from("r089"))));
    assert_eq!(drain(&mut publication), (names(0..3), vec!["stays".into()]));
}

#[test]
fn a_commit_does_not_approve_its_own_removals_but_a_later_one_does() {
    let [default, whole] = [RemovalLimit::default(), RemovalLimit::Percent(100)];
    let wanted = all(0..50);
    let mut publication = Publication::default();
    publication.accept(accepted(&wanted, Vec::new(), [default, whole]));
    assert!(publication.over_budget().is_some(), "it raised the limit itself");
    assert_eq!(publication.next(0), None);

    let mut publication = Publication::default();
    publication.accept(accepted(&wanted, Vec::new(), [default, default]));
    publication.accept(accepted(&wanted, Vec::new(), [default, default]));
    assert!(publication.over_budget().is_some(), "another commit that does not raise it changes nothing");
    publication.accept(accepted(&wanted, Vec::new(), [default, whole]));
    assert_eq!(publication.over_budget(), None);
    assert_eq!(drain(&mut publication).1.len(), 50);
}

#[test]
fn a_later_commit_does_not_stop_what_was_allowed_before() {
    let mut publication = Publication::default();
    publication.accept(accepted(&all(0..92), Vec::new(), DEFAULT));
    assert_eq!(publication.next(0), Some(Batch::Remove(names(92..100))));
    publication.accept(accepted(&all(0..84), Vec::new(), DEFAULT));
    assert_eq!((publication.over_budget(), publication.begun().count()), (None, 8));
    assert_eq!(publication.next(8), Some(Batch::Remove(names(84..92))));
}

#[test]
fn a_restart_goes_on_with_what_was_allowed_and_withholds_what_was_withheld() {
    let wanted = all(0..50);
    let mut publication = Publication::default();
    publication.resume(accepted(&wanted, names(0..2), DEFAULT), false);
    assert_eq!(publication.left(), (0, 50), "nothing was changed by a restart");
    assert_eq!(drain(&mut publication), (names(0..2), names(50..100)));

    let mut publication = Publication::default();
    publication.resume(accepted(&wanted, names(0..2), DEFAULT), true);
    assert!(publication.over_budget().is_some());
    assert_eq!(drain(&mut publication), (names(0..2), Vec::new()));
}
