//! A thread with a runtime of its own, for servers that live in the test's process.
//!
//! A test's runtime ends with the test and stands still while the test blocks; a server on it would too.

use std::fmt;
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use tokio::sync::oneshot;

/// Work that goes on until this is dropped.
pub(crate) struct Background {
    /// Dropping it is the word to end.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    pub(crate) fn start(name: &str, work: impl Future<Output = ()> + Send + 'static) -> Result<Self> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start tokio")?;
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    () = work => {}
                }
            });
        });
        Ok(Self { stop: Some(stop), thread: Some(thread.with_context(|| format!("cannot start the {name}"))?) })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A panic of that thread was printed when it came; a second one here would hide the test's own.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl fmt::Debug for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Background").finish_non_exhaustive()
    }
}
