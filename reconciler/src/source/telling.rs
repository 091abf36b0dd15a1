//! What is told of a source that fails: a line and an event for each changed failure, and news for people.

use tracing::{info, warn};

use super::Source;
use super::status::Finding;
use crate::desired::Revision;
use crate::news::News;

/// Failures in a row after which people are told.
const REPEATED: u32 = 3;

impl Source {
    /// There is no new revision to be had; the last good one stays in force.
    pub(super) async fn unfetched(&mut self, finding: Finding) {
        self.failures += 1;
        self.tell("fetch", &finding);
        self.report.unfetched(finding, self.with.setup.clock.now());
        self.fall_back().await;
    }

    /// There is a new revision that cannot be used; the last good one stays in force.
    pub(super) async fn refused(&mut self, revision: &Revision, finding: Finding) {
        let message = format!("{} is refused: {}", revision.shown, finding.message);
        self.tell("revision", &Finding::new(finding.reason, message, false));
        let before = self.report.rejected.as_ref().and_then(|rejected| rejected.commit.as_deref());
        // After a restart it is looked at again, which is no news.
        if before != Some(&*revision.commit) {
            self.news(News::Held { revision: revision.shown.to_string(), message: finding.message.clone() });
        }
        self.report.reject(revision, finding, self.with.setup.clock.now());
        self.fall_back().await;
    }

    /// Tells people once that it fails again and again, and once that it does no longer.
    pub(super) fn tell_people(&mut self) {
        let unread = self.report.trouble().map(|finding| {
            let last_good = self.report.revision.as_deref().unwrap_or("nothing yet");
            let message = format!("{} (last good: {last_good})", finding.message);
            (finding.reason, message, "the repository is read again")
        });
        let unwritten = || self.report.unwritten().map(|it| (it.reason, it.message, "all Runtimes are written again"));
        let news = match (unread.or_else(unwritten), self.failing) {
            (Some((reason, message, well)), None) if self.failures >= REPEATED => {
                self.failing = Some(well);
                News::Failed { reason: reason.to_owned(), message }
            }
            (None, Some(well)) => {
                self.failing = None;
                News::Recovered { message: well.to_owned() }
            }
            (Some(_), _) | (None, None) => return,
        };
        self.news(news);
    }

    pub(super) fn news(&self, news: News) {
        self.with.setup.telling.tell_of_source(&self.namespace, &self.name, news);
    }

    /// One line and one event per changed failure. True if it was told now.
    pub(super) fn tell(&mut self, about: &'static str, finding: &Finding) -> bool {
        let is_news = self.is_news(about, finding);
        if is_news {
            warn!(source = %self.name, reason = finding.reason, "{}", finding.message);
            self.report.events.push((true, finding.reason.to_owned(), finding.message.clone()));
        }
        is_news
    }

    /// Whether this was not the last that was told about it. From now on it is.
    pub(super) fn is_news(&mut self, about: &'static str, finding: &Finding) -> bool {
        let line = format!("{}: {}", finding.reason, finding.message);
        self.told.insert(about, line.clone()) != Some(line)
    }

    pub(super) fn recovered(&mut self, about: &'static str) {
        if self.told.remove(about).is_some() {
            info!(source = %self.name, about, "well again");
        }
    }
}
