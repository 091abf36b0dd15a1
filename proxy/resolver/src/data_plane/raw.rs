//! Passes a connection on as bytes: TLS that ends at the pod, and protocols that are not HTTP. A connection waits, counts
//! and wakes as a request does; when it may not wait it is closed, since there is no word that every protocol knows.

use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::time::{Instant, interval, sleep_until};
use tracing::debug;

use super::forward::Client;
use super::hold::{Arrival, Place, Turn};
use super::pod_stream::{PodStream, Spoken};
use super::prefixed::Prefixed;
use super::rule::InFlight;
use super::tap::Socket;
use super::upstream::Unconnected;

/// What a waiting connection is counted as.
const BYTES: u64 = 4096;
/// How often a client is looked for that waits.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Carries bytes both ways until both sides have ended.
pub(crate) async fn pass<S: Socket>(mut stream: Prefixed<S>, client: &Client) {
    client.lane.rule.count();
    let Some((mut pod, turn, flight)) = reach(&stream, client).await else { return };
    drop(turn);
    if let Err(error) = copy_bidirectional(&mut stream, &mut pod).await {
        debug!(%error, rule = %client.lane.rule.key, "a connection broke off");
    }
    drop(flight);
}

/// A connection to a pod, once there is one.
async fn reach<S: Socket>(stream: &Prefixed<S>, client: &Client) -> Option<(PodStream, Turn, InFlight)> {
    let lane = &client.lane;
    let way = client.way()?;
    let deadline = Instant::now() + lane.rule.settings().hold_timeout;
    let (room, from) = (&lane.rule.room, client.sender.address.ip());
    let (mut turn, mut flight) = match lane.rule.set_off().filter(|_| lane.is_open()) {
        Some(flight) => (Turn::unpaced(room, lane.lane, from), flight),
        None => match room.arrive(lane.lane, from, BYTES) {
            Arrival::Refused(_) => {
                lane.rule.count_refused();
                return None;
            }
            Arrival::Held(place) => {
                lane.rule.note_held(|| "a connection".to_owned());
                wait(place, stream, client, deadline).await?
            }
            Arrival::Pass => {
                let place = Turn::unpaced(room, lane.lane, from).give_up(BYTES);
                wait(place, stream, client, deadline).await?
            }
        },
    };
    loop {
        if let Some(endpoint) = lane.pick() {
            match endpoint.connect_by(&way, Spoken::Bytes).await {
                Ok(pod) => return Some((pod, turn, flight)),
                Err(Unconnected::Connect(error)) => debug!(%error, address = %endpoint.address, "cannot connect"),
                Err(Unconnected::Begin(error)) => {
                    debug!(%error, address = %endpoint.address, "cannot begin a connection");
                    return None;
                }
            }
            lane.suspect(&endpoint);
        } else {
            drop(flight);
            (turn, flight) = wait(turn.give_up(BYTES), stream, client, deadline).await?;
        }
    }
}

async fn wait<S: Socket>(
    mut place: Place,
    stream: &Prefixed<S>,
    client: &Client,
    deadline: Instant,
) -> Option<(Turn, InFlight)> {
    let lane = &client.lane;
    let mut looks = interval(LOOK_EVERY);
    loop {
        tokio::select! {
            biased;
            turn = place.turn() => {
                if lane.closed.is_cancelled() {
                    return None;
                }
                match lane.rule.set_off() {
                    Some(flight) => return Some((turn, flight)),
                    None => place = turn.give_up(BYTES),
                }
            }
            _ = looks.tick() => if stream.is_hung_up() {
                return None;
            },
            () = sleep_until(deadline) => {
                lane.rule.count_refused();
                return None;
            }
            () = client.ending.cancelled() => return None,
        }
    }
}
