//! Ten thousand rules whose targets sleep and that nobody calls: what a replica needs for them.

use std::time::Duration;

use futures::stream::{self, StreamExt};
use tokio::time::sleep;

use crate::held::steady_memory;
use crate::load;
use crate::place::{Place, socket_of};

const RULES: usize = 10_000;
/// Rules that are made at the same time.
const AT_ONCE: usize = 16;
const WATCHED_FOR: Duration = Duration::from_secs(30);

pub(crate) async fn bench(place: &Place) {
    let before = steady_memory(place).await;
    let names: Vec<String> = (0..RULES).map(|number| format!("idle-{number}")).collect();
    let made = stream::iter(&names).map(|name| place.add_rule(name, "Asleep", None)).buffer_unordered(AT_ONCE);
    let ports: Vec<u16> = made.collect().await;
    for port in &ports {
        reeve_tests::eventually("the port is open", || load::connect(socket_of(*port))).await;
    }
    let memory = steady_memory(place).await.saturating_sub(before);
    let used = place.cpu();
    sleep(WATCHED_FOR).await;
    let used = place.cpu().saturating_sub(used);
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let each = memory as f64 / RULES as f64;
    let share = used.as_secs_f64() / WATCHED_FOR.as_secs_f64() * 100.0;
    println!(
        "resolver idle rule: {each:.1} KiB each, {share:.1} % of a processor for all ({RULES} rules, each with a port)"
    );
}
