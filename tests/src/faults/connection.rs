//! One forwarded connection, from its acceptance to its end.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::direction::{Direction, may_flow};
use super::{Ending, Mode, Traffic};

pub(super) async fn serve(
    mut client: TcpStream,
    target: SocketAddr,
    mode: watch::Receiver<Mode>,
    traffic: Arc<Traffic>,
) {
    let mut server = None;
    let ending = tokio::select! {
        biased;
        ending = told_to_end(mode.clone()) => Err(ending),
        outcome = forward(&mut client, &mut server, target, &mode, &traffic) => outcome,
    };
    if let Err(ending) = ending {
        for stream in [Some(client), server].into_iter().flatten() {
            end(stream, ending).await;
        }
    }
}

async fn told_to_end(mut mode: watch::Receiver<Mode>) -> Ending {
    let is_end = |mode: &Mode| matches!(mode, Mode::End(_));
    match mode.wait_for(is_end).await.as_deref() {
        Ok(Mode::End(ending)) => *ending,
        _ => Ending::Reset,
    }
}

/// Moves bytes until both sides are done. A side that fails, or cannot be reached, is passed on as a reset.
async fn forward(
    client: &mut TcpStream,
    server: &mut Option<TcpStream>,
    target: SocketAddr,
    mode: &watch::Receiver<Mode>,
    traffic: &Traffic,
) -> Result<(), Ending> {
    may_flow(&mut mode.clone()).await?;
    let connected = TcpStream::connect(target).await.map_err(|_| Ending::Reset)?;
    let server = server.insert(connected);
    for stream in [&*client, &*server] {
        stream.set_nodelay(true).map_err(|_| Ending::Reset)?;
    }
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let up = Direction { mode: mode.clone(), carried: &traffic.to_target, is_limited: false };
    let down = Direction { mode: mode.clone(), carried: &traffic.to_client, is_limited: true };
    tokio::try_join!(up.carry(from_client, to_server), down.carry(from_server, to_client)).map(drop)
}

async fn end(mut stream: TcpStream, ending: Ending) {
    match ending {
        Ending::Cut => {
            // Only closing it would send a reset, if there are bytes that nobody has read.
            let _ = stream.shutdown().await;
        }
        Ending::Reset => {
            let _ = stream.set_zero_linger();
        }
    }
}
