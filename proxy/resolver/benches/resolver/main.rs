//! Measures a replica of the data plane as a process of its own, before a real API server: what forwarding costs, against
//! the same requests straight to the same pod, and what a held request takes.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]
#![expect(clippy::expect_used, reason = "a bench that cannot go on says why and ends")]
#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]

use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};

mod held;
mod load;
mod place;
mod pod;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let runtime = |threads| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
        runtime.expect("a runtime")
    };
    if let [_, flag, address] = arguments.as_slice()
        && flag == "--pod"
    {
        return runtime(1).block_on(pod::serve(address.parse().expect("an address")));
    }
    runtime(1).block_on(bench());
}

async fn bench() {
    let place = place::Place::start().await;
    forward(&place).await;
    held::bench(&place).await;
}

/// The same load straight to the pod and through the resolver, in turns.
async fn forward(place: &place::Place) {
    let address = place::own_socket();
    let _pod = start_pod(address);
    let port = place.add_rule("forward", "Proxied", Some(address)).await;
    let through = place::socket_of(port);
    load::answers(address).await;
    load::answers(through).await;
    for (connections, seconds) in [(64, 4), (1, 3)] {
        let time = Duration::from_secs(seconds);
        load::run(through, connections, Duration::from_secs(1)).await;
        let (mut direct, mut proxied, mut cpu) = (load::Outcome::default(), load::Outcome::default(), Duration::ZERO);
        for _ in 0..3 {
            direct.add(load::run(address, connections, time).await);
            let before = place.cpu();
            proxied.add(load::run(through, connections, time).await);
            cpu += place.cpu().saturating_sub(before);
        }
        assert_eq!((direct.failed, proxied.failed), (0, 0), "a request failed");
        let (straight, added) = (direct.percentile(50), proxied.percentile(50).saturating_sub(direct.percentile(50)));
        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
        let per_cpu_second = proxied.count() as f64 / cpu.as_secs_f64();
        println!(
            "resolver forwards, {connections} connections: {per_cpu_second:.0} requests per CPU-second; {} requests/s through it, {} straight",
            proxied.per_second(),
            direct.per_second(),
        );
        println!(
            "resolver added p50, {connections} connections: {added:?} (straight {straight:?}); p99 {:?} against {:?}",
            proxied.percentile(99),
            direct.percentile(99),
        );
    }
}

fn start_pod(address: std::net::SocketAddr) -> Child {
    let program = std::env::current_exe().expect("this program");
    let pod =
        Command::new(program).arg("--pod").arg(address.to_string()).stdin(Stdio::null()).kill_on_drop(true).spawn();
    pod.expect("a pod")
}
