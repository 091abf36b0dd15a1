//! What is done about a watch that broke off: how long it pauses, whether that is reported, and with which advice. Pure.

use std::time::Duration;

use jiff::Timestamp;
use kube::runtime::watcher;
use reeve_crds::Reason;

use crate::api_error::ApiError;
use crate::backoff::Backoff;
use crate::clock::{after, since};

/// For how long a first listing may be refused, by a server that says it will not last, before whoever waits is told.
const GRACE: Duration = Duration::from_secs(10);
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(10));
/// What lasted for so long was well, and what fails then is the first of a new row.
const RESET_AFTER: Duration = Duration::from_secs(30);

/// Whether a refused first listing is tried again before anybody is told. A kind that discovery shows and that is not
/// found all the same is about to be served.
pub(super) fn waits(api_error: &ApiError, is_discovered: bool, waited: Duration) -> bool {
    let passes = match api_error.reason {
        Reason::Throttled => true,
        Reason::Unavailable => api_error.retry_after.is_some(),
        Reason::MissingKind => is_discovered,
        _ => false,
    };
    passes && waited < GRACE
}

/// What an error of a watch means, if it is the API server's.
pub fn watch_error(error: &watcher::Error) -> Option<ApiError> {
    match error {
        watcher::Error::InitialListFailed(cause)
        | watcher::Error::WatchStartFailed(cause)
        | watcher::Error::WatchFailed(cause) => Some(ApiError::of(cause)),
        watcher::Error::WatchError(_) | watcher::Error::NoResourceVersion => None,
    }
}

/// What is told of a refusal. An account that may look into some namespaces alone is not known to, unless its runtime
/// says so.
pub(super) fn message(api_error: &ApiError, looks_everywhere: bool) -> String {
    match api_error.reason {
        Reason::Forbidden if looks_everywhere => {
            format!("{}; if the account is a tenant's, name its namespaces in target.namespaces", api_error.message)
        }
        _ => api_error.message.clone(),
    }
}

/// How often a watch failed of late.
#[derive(Debug, Default)]
pub struct WatchBackoff {
    failures: u32,
    /// When it went on after the last one.
    resumed: Timestamp,
}

impl WatchBackoff {
    /// How long to pause after one more failure.
    pub fn delay(&mut self, api_error: Option<&ApiError>, now: Timestamp) -> Duration {
        if since(now, self.resumed) > RESET_AFTER {
            self.failures = 0;
        }
        let pause = BACKOFF.delay(self.failures);
        self.failures += 1;
        let asked = api_error.filter(|api_error| !is_starting(api_error)).and_then(|api_error| api_error.retry_after);
        let rest = asked.map_or(pause, |asked| asked.max(pause));
        self.resumed = after(now, rest);
        rest
    }
}

/// Right after its CRD came the API server reads a kind into memory, which takes it some milliseconds; it can only ask for
/// whole seconds.
fn is_starting(api_error: &ApiError) -> bool {
    api_error.message.contains("storage is (re)initializing")
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn api_error(code: u16, message: &str, seconds: u32) -> ApiError {
        let details = serde_json::json!({ "retryAfterSeconds": seconds });
        let status = serde_json::json!({ "code": code, "message": message, "details": details });
        let status: Status = serde_json::from_value(status).unwrap();
        ApiError::of(&kube::Error::Api(Box::new(status)))
    }

    #[test]
    fn an_account_that_may_not_look_everywhere_is_told_how_to_look_elsewhere() {
        let forbidden = api_error(403, "gadgets is forbidden", 0);
        assert!(message(&forbidden, true).ends_with("name its namespaces in target.namespaces"));
        assert_eq!(message(&forbidden, false), forbidden.message);
        let starting = api_error(503, "starting", 1);
        assert_eq!(message(&starting, true), starting.message);
    }

    #[test]
    fn only_what_passes_by_itself_is_waited_out_and_not_for_ever() {
        let soon = Duration::from_secs(1);
        assert!(waits(&api_error(429, "storage is (re)initializing", 1), true, soon));
        assert!(waits(&api_error(503, "starting", 1), true, soon));
        assert!(waits(&api_error(404, "the server could not find the requested resource", 0), true, soon));
        assert!(!waits(&api_error(404, "the server could not find the requested resource", 0), false, soon));
        assert!(!waits(&api_error(503, "service unavailable", 0), true, soon));
        assert!(!waits(&api_error(403, "gadgets is forbidden", 0), true, soon));
        assert!(!waits(&api_error(429, "storage is (re)initializing", 1), true, GRACE));
    }

    #[test]
    fn pauses_begin_short_grow_to_a_limit_and_begin_anew_when_it_was_well_for_a_while() {
        let mut now = Timestamp::from_second(1_000_000).unwrap();
        let mut backoff = WatchBackoff::default();
        let mut rests = Vec::new();
        for _ in 0..12 {
            rests.push(backoff.delay(None, now));
            now = after(now, *rests.last().unwrap());
        }
        assert_eq!(rests[0], BACKOFF.first);
        assert!(rests.is_sorted() && rests[11] == BACKOFF.longest, "{rests:?}");
        assert_eq!(backoff.delay(None, after(now, RESET_AFTER * 2)), BACKOFF.first);
    }

    #[test]
    fn a_server_that_asks_for_time_gets_it_unless_it_only_starts_to_serve_a_kind() {
        let rest = |api_error| WatchBackoff::default().delay(Some(&api_error), Timestamp::UNIX_EPOCH);
        assert_eq!(rest(api_error(429, "too many requests", 7)), Duration::from_secs(7));
        assert_eq!(rest(api_error(429, "storage is (re)initializing", 1)), BACKOFF.first);
    }
}
