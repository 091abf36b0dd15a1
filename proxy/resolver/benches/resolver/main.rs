//! Measures a replica of the data plane as a process of its own, before a real API server: what forwarding costs, against
//! the same requests straight to the same pod and through the interceptor of http-add-on, and what a held request takes.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]
#![expect(clippy::expect_used, reason = "a bench that cannot go on says why and ends")]
#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]

use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};

mod held;
mod idle;
mod load;
mod peer;
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
    // On a replica of its own: what held requests have left in memory would hide what rules take.
    drop(place);
    idle::bench(&place::Place::start().await).await;
}

/// The same load straight to the pod, through the resolver and through its peer, in turns.
async fn forward(place: &place::Place) {
    let address = place::own_socket();
    let _pod = start_pod(address);
    let port = place.add_rule("forward", "Proxied", Some(address)).await;
    let through = place::socket_of(port);
    load::answers(address).await;
    load::answers(through).await;
    let peer = peer::Interceptor::start(place, address).await;
    for (connections, seconds) in [(64, 4), (1, 3)] {
        let time = Duration::from_secs(seconds);
        let mut direct = Measured::default();
        let (mut ours, mut theirs) = (Measured::default(), Measured::default());
        for _ in 0..3 {
            direct.measure(address, connections, time, || Duration::ZERO).await;
            ours.measure(through, connections, time, || place.cpu()).await;
            if let Some(peer) = &peer {
                theirs.measure(peer.address, connections, time, || peer.cpu()).await;
            }
        }
        let straight = direct.outcome.percentile(50);
        println!(
            "resolver forwards, {connections} connections: {:.0} requests per CPU-second, added p50 {:?} (straight {straight:?})",
            ours.per_cpu_second(),
            ours.added(straight),
        );
        if peer.is_none() {
            println!("skipped: the interceptor of http-add-on is not built");
            continue;
        }
        let requests = ours.per_cpu_second() / theirs.per_cpu_second();
        let added = ours.added(straight).as_secs_f64() / theirs.added(straight).as_secs_f64();
        println!(
            "resolver requests per CPU-second, {connections} connections: {requests:.1} times the interceptor's (wanted: 3 at least)"
        );
        println!(
            "resolver added p50, {connections} connections: {added:.2} of the interceptor's (wanted: 0.3 at most)"
        );
    }
}

/// What came of several loads.
#[derive(Default)]
struct Measured {
    outcome: load::Outcome,
    cpu: Duration,
}

impl Measured {
    async fn measure(
        &mut self,
        address: std::net::SocketAddr,
        connections: usize,
        time: Duration,
        cpu: impl Fn() -> Duration,
    ) {
        load::run(address, connections, Duration::from_millis(300)).await;
        let before = cpu();
        let outcome = load::run(address, connections, time).await;
        self.cpu += cpu().saturating_sub(before);
        assert_eq!(outcome.failed, 0, "a request failed");
        self.outcome.add(outcome);
    }

    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    fn per_cpu_second(&self) -> f64 {
        self.outcome.count() as f64 / self.cpu.as_secs_f64()
    }

    fn added(&mut self, straight: Duration) -> Duration {
        self.outcome.percentile(50).saturating_sub(straight)
    }
}

fn start_pod(address: std::net::SocketAddr) -> Child {
    let program = std::env::current_exe().expect("this program");
    let pod =
        Command::new(program).arg("--pod").arg(address.to_string()).stdin(Stdio::null()).kill_on_drop(true).spawn();
    pod.expect("a pod")
}
