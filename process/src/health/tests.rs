use super::*;

fn readyz(health: &Health) -> (bool, String) {
    let Report { good, page } = health.readyz();
    (good, page)
}

#[test]
fn nothing_to_check_is_ready() {
    assert_eq!(readyz(&Health::default()), (true, "readyz check passed\n".to_owned()));
}

#[test]
fn one_failing_check_fails_the_whole_and_is_named() {
    let health = Health::default();
    let (lease, git) = (health.check("lease"), health.check("git"));
    git.pass();
    assert_eq!(readyz(&health).1, "[+]git ok\n[-]lease: has not reported yet\nreadyz check failed\n");

    lease.pass();
    assert!(readyz(&health).0);

    git.fail("no route to host");
    assert_eq!(readyz(&health).1, "[-]git: no route to host\n[+]lease ok\nreadyz check failed\n");
}

#[test]
fn a_dropped_check_fails_and_a_retired_one_is_gone() {
    let health = Health::default();
    let (lost, done) = (health.check("lost"), health.check("done"));
    lost.pass();
    done.fail("late");
    drop(lost);
    done.retire();
    assert_eq!(readyz(&health), (false, "[-]lost: its part has ended\nreadyz check failed\n".to_owned()));
}

#[test]
fn two_checks_of_one_name_stand_side_by_side() {
    let health = Health::default();
    let (one, two) = (health.check("git"), health.check("git"));
    one.pass();
    two.fail("gone");
    assert_eq!(readyz(&health).1, "[+]git ok\n[-]git: gone\nreadyz check failed\n");
}

#[test]
fn draining_is_not_ready_but_alive() {
    let health = Health::default();
    let git = health.check("git");
    git.pass();
    health.drain();
    assert_eq!(readyz(&health), (false, "[-]shutdown: draining\n[+]git ok\nreadyz check failed\n".to_owned()));
    assert!(health.livez().good);
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_stops_turning_is_not_alive() {
    let health = Health::default();
    let switch = health.heartbeat("switch", Duration::from_secs(10));
    tokio::time::advance(Duration::from_secs(10)).await;
    assert!(health.livez().good);

    tokio::time::advance(Duration::from_secs(1)).await;
    let report = health.livez();
    assert_eq!((report.good, report.page.lines().next().unwrap()), (false, "[-]switch: no sign of life for 11 s"));

    switch.beat();
    assert!(health.livez().good);
    drop(switch);
    tokio::time::advance(Duration::from_mins(1)).await;
    assert!(health.livez().good);
}
