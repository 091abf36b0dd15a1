//! Exit statuses, and the ways out that ask nobody.

use std::any::Any;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use tracing::error;

use super::tasks::Tasks;
use crate::error_chain;

/// As timeout(1) has it.
pub(super) const DEADLINE: u8 = 124;
/// As Rust has it.
const PANICKED: u8 = 101;

/// Time for the deadline to be kept in an orderly way, with a line in the log.
const GRACE: Duration = Duration::from_secs(1);

type MainResult = Result<Result<(), Box<dyn Error + Send + Sync>>, Box<dyn Any + Send>>;

/// Logs what went wrong with `main`. The outer error is a panic, which the panic hook has logged.
pub(super) fn code(main: MainResult, tasks: &Tasks) -> ExitCode {
    match main {
        Err(_) => ExitCode::from(PANICKED),
        Ok(Err(failure)) => {
            error!("failed: {}", error_chain(failure.as_ref()));
            ExitCode::FAILURE
        }
        Ok(Ok(())) if tasks.have_panicked() => ExitCode::from(PANICKED),
        Ok(Ok(())) => ExitCode::SUCCESS,
    }
}

/// Ends the process on a thread of its own, for when the runtime itself is stuck. It writes nothing: the log may be
/// what is stuck.
pub(super) fn arm_watchdog(deadline: Duration) {
    let watch = move || {
        std::thread::sleep(deadline + GRACE);
        exit_now(DEADLINE);
    };
    if let Err(error) = std::thread::Builder::new().name("shutdown-deadline".to_owned()).spawn(watch) {
        error!(%error, "cannot start the thread that keeps the shutdown deadline");
    }
}

#[expect(clippy::exit, reason = "the one place that does not wait for anybody")]
pub(super) fn exit_now(status: u8) {
    std::process::exit(i32::from(status));
}
