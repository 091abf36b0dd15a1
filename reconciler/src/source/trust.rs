//! Whether a revision is signed as the spec asks, by keys that are trusted at that moment.
//!
//! What is not trusted is never taken up. What is in force stays so, also when its key is trusted no more: to take a
//! running system away is no answer to a doubt.

use reeve_crds::Reason;
use reeve_crds::git_source::Verify;
use reeve_reconciler_engine::desired::Revision;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::notification::NotificationBody;
use reeve_reconciler_git::{Fetched, MirrorError, SignedBy, TrustedKeys, is_signature_reason};

use super::{Source, status};

/// Why a revision cannot be trusted.
enum Distrust {
    /// Nobody can be: the keys cannot be had.
    Keys(ReconcileError),
    /// It is not signed, or not as it should be.
    Revision(ReconcileError),
    /// It cannot be told now.
    Passing(ReconcileError),
}

impl Source {
    /// Whether what was fetched may be looked at at all. If not, that is told.
    pub(super) async fn is_trusted(&mut self, fetched: &Fetched) -> bool {
        let distrust = match self.signed_by(fetched).await {
            Ok(signed_by) => {
                self.report.trust(fetched, signed_by.map(|signed_by| signed_by.to_string()));
                self.recovered("signature");
                let rejected = &mut self.report.rejected;
                // For all else that may be wrong with it, it was not looked at yet.
                if rejected.take_if(|rejected| is_signature_reason(status::reason_of(rejected))).is_some() {
                    self.recovered("revision");
                }
                return true;
            }
            Err(distrust) => distrust,
        };
        match distrust {
            Distrust::Keys(error) => {
                self.failures += 1;
                self.record_failure("signature", &error);
                self.report.distrust(error);
                self.restore_last_good().await;
            }
            Distrust::Revision(error) if self.report.is_in_force(fetched) => {
                self.doubted(fetched, &error).await;
            }
            Distrust::Revision(error) => self.untrusted(fetched, error).await,
            Distrust::Passing(error) => self.unfetched(error).await,
        }
        false
    }

    /// What is in force would not be taken up again.
    async fn doubted(&mut self, fetched: &Fetched, error: &ReconcileError) {
        let message = format!("{} stays in force, but is no longer trusted: {}", fetched.revision, error.message);
        let error = ReconcileError::terminal(error.reason, message);
        if self.record_failure("signature", &error) {
            self.notify(NotificationBody::Rejected {
                revision: fetched.revision.clone(),
                message: error.message.clone(),
            });
        }
        if self.report.rejected.take().is_some() {
            self.recovered("revision");
        }
        self.report.distrust(error);
        self.restore_last_good().await;
    }

    /// There is a revision that was never in force, and is not trusted.
    async fn untrusted(&mut self, fetched: &Fetched, error: ReconcileError) {
        let revision = Revision { shown: fetched.revision.as_str().into(), commit: fetched.commit.id.as_str().into() };
        let before = self.report.rejected.as_ref();
        if before.is_none_or(|before| before.commit.as_deref() != Some(&*revision.commit)) {
            self.with.metrics.revision("rejected");
        }
        self.report.untrust();
        self.recovered("signature");
        self.refused(&revision, error).await;
    }

    /// Who signed what was fetched; nobody if nobody need have.
    async fn signed_by(&self, fetched: &Fetched) -> Result<Option<SignedBy>, Distrust> {
        let Some(Verify { mode, secret_ref }) = self.object.spec.verify.clone() else { return Ok(None) };
        let name = secret_ref.name;
        let secret = self.secret(Some(&name)).await.map_err(Distrust::Keys)?;
        let data = secret.and_then(|secret| secret.data).unwrap_or_default();
        let (mirrors, url, fetched) = (self.with.mirrors.clone(), self.object.spec.url.clone(), fetched.clone());
        let now = self.with.engine.clock.now();
        let checked = tokio::task::spawn_blocking(move || {
            let keys = TrustedKeys::from_secret(&data).map_err(|error| {
                Distrust::Keys(ReconcileError::terminal(
                    error.reason(),
                    format!("Secret {name} of spec.verify {error}"),
                ))
            })?;
            let objects = mirrors.signed_objects(&url, &fetched).map_err(|error| unreadable(&error))?;
            let signed_by = keys.check(mode, &objects, now);
            signed_by.map_err(|error| Distrust::Revision(ReconcileError::terminal(error.reason(), error.to_string())))
        });
        checked.await.map_or_else(|_| Err(broken_off()), |checked| checked.map(Some))
    }
}

/// No signature may break us; one that does is not one to trust.
fn broken_off() -> Distrust {
    let message = "the check of its signature broke off: report it, with the log";
    Distrust::Revision(ReconcileError::terminal(Reason::BadSignature, message))
}

fn unreadable(error: &MirrorError) -> Distrust {
    let message = reeve_process::error_chain(error);
    match error {
        MirrorError::TooLarge { .. } => Distrust::Revision(ReconcileError::terminal(error.reason(), message)),
        MirrorError::Read(_) | MirrorError::NoFolder { .. } | MirrorError::Keep { .. } | MirrorError::Folder { .. } => {
            Distrust::Passing(ReconcileError::transient(error.reason(), message))
        }
    }
}
