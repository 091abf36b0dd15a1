//! Asks an API server of which nothing was heard for a while whether it is there. A server that hangs shows in nothing else
//! as long as nothing is written.

use std::time::Duration;

use super::Cluster;
use crate::api_error::ApiError;
use crate::clock::Clock;

/// How long a server may be silent before it is asked.
const SILENCE: Duration = Duration::from_secs(10);
/// How long it may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

impl Cluster {
    /// Tells the breaker whether the API server is there, for as long as this is polled.
    pub async fn probe(&self, clock: &Clock) {
        let mut answers = self.breaker().answers();
        loop {
            clock.sleep(SILENCE).await;
            let before = std::mem::replace(&mut answers, self.breaker().answers());
            if before == answers {
                self.ask_if_alive(clock).await;
                answers = self.breaker().answers();
            }
        }
    }

    async fn ask_if_alive(&self, clock: &Clock) {
        let Ok(own) = self.own() else { return };
        let is_alive = tokio::select! {
            answer = own.apiserver_version() => answer.err().is_none_or(|error| !ApiError::of(&error).server_down),
            () = clock.sleep(ANSWER_WITHIN) => false,
        };
        if is_alive {
            self.breaker().answered();
        } else {
            self.breaker().unanswered(clock.now());
        }
    }
}
