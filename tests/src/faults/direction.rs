//! The bytes of one connection in one direction.

use std::io;

use parking_lot::Mutex;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::{Duration, Instant};

use super::{Ending, Mode};

const CHUNK: usize = 16 * 1024;
/// How many chunks may be under way while they are delayed.
const UNDER_WAY: usize = 64;

pub(super) struct Direction<'a> {
    pub(super) mode: watch::Receiver<Mode>,
    pub(super) carried: &'a Mutex<u64>,
    /// Whether it is this direction whose bytes [`Mode::EndAfter`] counts.
    pub(super) is_limited: bool,
}

/// Bytes that were read, or none at the end of the stream.
struct Chunk {
    bytes: Vec<u8>,
    due: Instant,
}

impl Direction<'_> {
    /// Until the end of the stream has been passed on, or the connection must end.
    pub(super) async fn carry(self, from: ReadHalf<'_>, to: WriteHalf<'_>) -> Result<(), Ending> {
        let (tx, rx) = mpsc::channel(UNDER_WAY);
        tokio::try_join!(read(from, tx, self.mode.clone()), self.write(rx, to)).map(drop)
    }

    async fn write(mut self, mut chunks: mpsc::Receiver<Chunk>, mut to: WriteHalf<'_>) -> Result<(), Ending> {
        let mut written = 0;
        while let Some(chunk) = chunks.recv().await {
            tokio::time::sleep_until(chunk.due).await;
            if chunk.bytes.is_empty() {
                may_flow(&mut self.mode).await?;
                return to.shutdown().await.map_err(|_| Ending::Reset);
            }
            let mut rest = chunk.bytes.as_slice();
            while !rest.is_empty() {
                to.writable().await.map_err(|_| Ending::Reset)?;
                may_flow(&mut self.mode).await?;
                let room = self.room(written)?.min(rest.len());
                let count = self.write_some(&to, &rest[..room])?;
                rest = &rest[count..];
                written += count as u64;
            }
            self.room(written)?;
        }
        Ok(())
    }

    fn write_some(&self, to: &WriteHalf<'_>, bytes: &[u8]) -> Result<usize, Ending> {
        let mut carried = self.carried.lock();
        let count = match to.try_write(bytes) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(_) => return Err(Ending::Reset),
        };
        *carried += count as u64;
        Ok(count)
    }

    /// How many bytes may still be written, or the end that is due because there is no more room.
    fn room(&self, written: u64) -> Result<usize, Ending> {
        match *self.mode.borrow() {
            Mode::EndAfter(limit, ending) if self.is_limited => match limit.saturating_sub(written) {
                0 => Err(ending),
                room => Ok(usize::try_from(room).unwrap_or(usize::MAX)),
            },
            _ => Ok(usize::MAX),
        }
    }
}

async fn read(from: ReadHalf<'_>, chunks: mpsc::Sender<Chunk>, mut mode: watch::Receiver<Mode>) -> Result<(), Ending> {
    loop {
        let Ok(slot) = chunks.reserve().await else { return Ok(()) };
        let mut bytes = Vec::with_capacity(CHUNK);
        loop {
            from.readable().await.map_err(|_| Ending::Reset)?;
            may_flow(&mut mode).await?;
            match from.try_read_buf(&mut bytes) {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Err(Ending::Reset),
            }
        }
        let is_end = bytes.is_empty();
        let delay = if let Mode::Delay(delay) = *mode.borrow() { delay } else { Duration::ZERO };
        slot.send(Chunk { bytes, due: Instant::now() + delay });
        if is_end {
            return Ok(());
        }
    }
}

/// Waits as long as bytes must stay where they are. Call it last before each read and write.
pub(super) async fn may_flow(mode: &mut watch::Receiver<Mode>) -> Result<(), Ending> {
    mode.wait_for(Mode::lets_bytes_flow).await.map(drop).map_err(|_| Ending::Reset)
}
