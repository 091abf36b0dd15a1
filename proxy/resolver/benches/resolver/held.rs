//! Ten thousand requests that wait, over a hundred services: what each takes, and how they are let go.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::place::{Place, own_socket, socket_of};
use crate::{load, start_pod};

const RULES: usize = 100;
const REQUESTS: usize = 100;

pub(crate) async fn bench(place: &Place) {
    let mut ports = Vec::new();
    for number in 0..RULES {
        ports.push(place.add_rule(&format!("held-{number}"), "Asleep", None).await);
    }
    for port in &ports {
        reeve_tests::eventually("the port is open", || load::connect(socket_of(*port))).await;
    }
    let empty = place.memory();
    let mut tasks = JoinSet::new();
    for port in &ports {
        for _ in 0..REQUESTS {
            let (mut sender, connection) = load::connect(socket_of(*port)).await.expect("a connection");
            let port = *port;
            tasks.spawn(async move {
                let good = load::get(&mut sender).await;
                drop(connection);
                (port, Instant::now(), matches!(good, Ok(true)))
            });
        }
    }
    let full = steady_memory(place).await;
    let count = (RULES * REQUESTS) as u64;
    println!("resolver held request: {:.1} KiB each ({count} over {RULES} services)", per_request(full - empty, count));

    let address = own_socket();
    let _pod = start_pod(address);
    load::answers(address).await;
    let began = Instant::now();
    // The last rule is let go first: nobody waits for another rule's turn.
    for number in (0..RULES).rev() {
        place.set_ready(&format!("held-{number}"), address).await;
    }
    let mut failed = 0;
    let mut slowest = Duration::ZERO;
    while let Some(ended) = tasks.join_next().await {
        let (_, at, good) = ended.expect("no panic");
        failed += usize::from(!good);
        slowest = slowest.max(at - began);
    }
    println!("resolver held requests let go: {count} in {slowest:?}, failed={failed}");
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn per_request(kibibytes: u64, count: u64) -> f64 {
    kibibytes as f64 / count as f64
}

/// What is in memory once it grows no more.
pub(crate) async fn steady_memory(place: &Place) -> u64 {
    let mut last = 0;
    loop {
        let now = place.memory();
        if now == last {
            return now;
        }
        last = now;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
