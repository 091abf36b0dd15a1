//! Measures what standing between kubelet and runtime costs: the same calls straight to a runtime that answers at once,
//! through `reeve-cri`, and through koord-runtime-proxy, in turns.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]
#![expect(clippy::expect_used, reason = "a bench that cannot go on says why and ends")]

use std::path::PathBuf;

use reeve_tests::HookPlugin;

mod load;
mod place;
mod pods;

use load::Figures;
use place::{Peer, Place};

/// Each way is measured this often, forwards and backwards.
const ROUNDS: usize = 4;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(bench());
}

async fn bench() {
    let place = Place::start().await;
    unhooked(&place).await;
    hooked(&place).await;
    pods::bench().await;
}

/// What is measured for one way.
struct Measured {
    one: Figures,
    many: Figures,
}

async fn unhooked(place: &Place) {
    let ours = place.start_ours("plain", None).await;
    let theirs = place.start_theirs(None).await;
    compare(place, "call", "Version", 4000, &ours, &theirs).await;
}

async fn hooked(place: &Place) {
    let plugin = HookPlugin::start(place.supervisor(), "plugin").await;
    let ours = place.start_ours("hooked", Some(&plugin)).await;
    let theirs = place.start_theirs(Some(&plugin)).await;
    compare(place, "hooked call", "RunPodSandbox", 2000, &ours, &theirs).await;
    let asked = plugin.asked().len();
    assert!(asked > made(2000), "the plugin was asked {asked} times: not both proxies asked it");
}

/// How many calls each way gets.
fn made(calls: usize) -> usize {
    ROUNDS * calls * 5
}

async fn compare(place: &Place, what: &str, method: &str, calls: usize, ours: &Peer, theirs: &Peer) {
    let (direct, before) = (place.floor(), [ours.cpu(), theirs.cpu()]);
    let [straight, reeve, koord] = measure(method, [&direct, &ours.socket, &theirs.socket], calls).await;
    print(what, &straight, &reeve, &koord);
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let per_call = |cpu: f64| cpu / made(calls) as f64;
    let (own, peer) = (per_call(ours.cpu() - before[0]), per_call(theirs.cpu() - before[1]));
    println!("cri {what}, processor time: {own:.0} us / {peer:.0} us = {:.2} (no more than it)", own / peer);
    memory(what, ours, theirs);
}

/// Measures three ways in turns, so that a slow minute is everybody's.
async fn measure(method: &str, sockets: [&PathBuf; 3], calls: usize) -> [Measured; 3] {
    let mut all = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        let order = if round.is_multiple_of(2) { [0, 1, 2] } else { [2, 1, 0] };
        for way in order {
            let one = load::run(sockets[way], method, calls, 1).await;
            let many = load::run(sockets[way], method, calls * 4, 64).await;
            all[way].push((one, many));
        }
    }
    all.map(|rounds| {
        let (one, many): (Vec<_>, Vec<_>) = rounds.into_iter().unzip();
        Measured { one: Figures::median(&one), many: Figures::median(&many) }
    })
}

fn print(what: &str, straight: &Measured, reeve: &Measured, koord: &Measured) {
    let added = |way: &Measured, of: fn(&Figures) -> f64| of(&way.one) - of(&straight.one);
    let (ours, theirs) = (added(reeve, |figures| figures.p50), added(koord, |figures| figures.p50));
    println!("cri {what}, direct: p50 {:.0} us, p99 {:.0} us", straight.one.p50, straight.one.p99);
    println!("cri {what}, added p50: {ours:.0} us (at most 100 us without a hook)");
    println!("cri {what}, added p50 of koord-runtime-proxy: {theirs:.0} us");
    println!("cri {what}, added p50 / that of koord-runtime-proxy: {:.2} (at most 0.5)", ours / theirs);
    let (ours, theirs) = (added(reeve, |figures| figures.p99), added(koord, |figures| figures.p99));
    println!("cri {what}, added p99: {ours:.0} us, of koord-runtime-proxy {theirs:.0} us (no more than it)");
    println!(
        "cri {what}, 64 in flight: {:.0} calls/s, direct {:.0}, koord-runtime-proxy {:.0} (no fewer than it)",
        reeve.many.rate, straight.many.rate, koord.many.rate
    );
}

fn memory(what: &str, ours: &Peer, theirs: &Peer) {
    let (ours, theirs) = (ours.memory(), theirs.memory());
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let ratio = ours as f64 / theirs as f64;
    println!(
        "cri {what}, memory after more than 10,000 calls: {:.1} MiB / {:.1} MiB = {ratio:.2} (at most 0.33)",
        mib(ours),
        mib(theirs)
    );
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
