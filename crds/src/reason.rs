//! Why something is as it is, in one word: for conditions, events, metrics and notifications of every room.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Says for each reason what it means, and whether it may pass although nobody changes Git, the cluster's rules or rights.
macro_rules! reasons {
    ($($name:ident, $transient:literal, $text:literal;)*) => {
        /// Why, in one word.
        #[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
        pub enum Reason {
            $(#[doc = $text] $name,)*
        }

        impl Reason {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// What it means, in half a sentence.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// Whether it may pass by itself.
            pub const fn is_transient(self) -> bool {
                match self {
                    $(Self::$name => $transient,)*
                }
            }
        }
    };
}

reasons! {
    // Of any kind.
    Succeeded, false, "it is as it should be";
    Progressing, true, "it is under way";
    Failed, true, "it failed, and is tried again";
    Suspended, false, "`spec.suspend` is set";
    Unsupported, false, "what the spec asks for cannot be done here";
    RuntimeNotReady, true, "a runtime of the source is not ready";
    // Getting a repository.
    AuthenticationFailed, false, "the server or the proxy does not let us in";
    CertificateRefused, false, "the server's certificate is not to be trusted";
    DiskFull, true, "there is no room for what was fetched";
    EmptyRepository, false, "nothing was ever pushed";
    FetchAborted, true, "the fetching process ended without an answer";
    FetchFailed, true, "anything else that Git says";
    HostKeyRefused, false, "the SSH server's key is not in `known_hosts`, or is another one";
    InvalidCredentials, false, "the Secret lacks a key, or a value of it cannot be what it should";
    InvalidRef, false, "the reference is none";
    InvalidTrustedKey, false, "a trusted key cannot be used";
    MirrorCorrupt, true, "the mirror is damaged and could not be made again";
    MirrorUnusable, true, "the data folder cannot be read or written";
    NoTrustedKeys, false, "the Secret of `spec.verify` has no key";
    NotFound, false, "something that the spec names does not exist";
    PathNotFound, false, "the commit has no folder `spec.path`";
    RefNotFound, false, "the reference means no commit of the repository";
    SecretNotFound, false, "there is no such Secret in the namespace";
    // Judging a commit.
    BadSignature, false, "the signature is not one of this content";
    KeyNotValid, false, "the key had expired, was revoked, or may not sign";
    ReleasedChartChanged, false, "a chart version that was released has changed";
    UnknownKey, false, "a key signed it that is not trusted";
    Unreadable, true, "the commit cannot be read or rendered";
    Unsigned, false, "there is no signature";
    UnsupportedSignature, false, "the signature is neither one of SSH nor one of PGP";
    WeakSignature, false, "the signature can be forged";
    WrongTag, false, "the tag is signed under another name or for another commit";
    // Publishing a commit.
    OverBudget, false, "more would be removed than the fleet repository allows";
    // What the API server answers.
    AlreadyExists, true, "somebody else created the object first";
    Conflict, true, "another owner has it";
    Forbidden, false, "the account has no right to it";
    Gone, true, "what was asked for is no longer there";
    Immutable, false, "a field changed that cannot";
    Invalid, false, "the object or the repository has mistakes";
    MissingKind, true, "the API server does not serve the kind";
    MissingNamespace, true, "the namespace is not there";
    NamespaceTerminating, true, "the namespace is being deleted";
    NotLeader, true, "another replica leads";
    Other, false, "anything else that the API server says";
    QuotaExceeded, true, "a ResourceQuota is used up";
    RefusedByWebhook, false, "an admission webhook or policy refused it";
    StorageFull, true, "the API server's storage is full";
    Throttled, true, "the API server has too many requests";
    Timeout, true, "the API server did not answer in time";
    TooLarge, false, "the object is larger than the API server keeps";
    Unauthorized, true, "the API server does not accept our credentials";
    Unavailable, true, "the API server answers that it cannot serve";
    Unreachable, true, "there is no connection to the server";
    WebhookUnavailable, true, "an admission or conversion webhook does not answer";
    // Reaching a cluster.
    ClusterChanged, false, "the kubeconfig leads to another cluster than the one that the objects are in";
    KubeconfigRefused, false, "the kubeconfig cannot be used, or says what a Secret may not say";
    // Applying.
    DependencyNotReady, true, "it waits for another component, rule or object";
    Drifted, false, "others changed fields that Reeve owns";
    Fenced, true, "somebody else wrote the inventory";
    InSync, false, "nobody changed anything";
    Incapable, false, "the cluster is not what `spec.capabilities` says";
    JobFailed, true, "a Job of the chart failed or went away";
    Refused, false, "Reeve itself does not allow it";
    Silent, true, "nothing was heard for three intervals";
    Stopped, true, "the process is about to end";
    TimedOut, true, "it was not done within its time";
    UncoveredService, false, "a Service in front of the target is captured by no rule";
    Unhealthy, false, "an object reports that it failed";
    // Bringing sidecars up to date.
    Blocked, false, "something keeps a workload from what was applied";
    // What happened: events alone.
    Accepted, false, "a commit is in force";
    Applied, false, "a runtime has taken over a new revision";
    Deleting, false, "a Runtime goes, and whether its objects go with it";
    Left, false, "objects that left Git stay, since they are no longer what was applied";
    MirrorRebuilt, false, "the mirror on disk was damaged and has been made again";
    Pruned, false, "objects that left Git were deleted";
    Recovered, false, "what had failed is well again";
    Reloaded, false, "the sidecars of a workload have taken a change over without a restart";
    Restarted, false, "all pods of a workload were started with what was applied";
    Restarting, false, "a workload restarts once, since its sidecars need it";
    Rewritten, false, "history was rewritten by force";
}

/// A word that is no reason of this version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no reason")]
pub struct UnknownReason(String);

impl std::str::FromStr for Reason {
    type Err = UnknownReason;

    fn from_str(word: &str) -> Result<Self, UnknownReason> {
        Self::ALL.iter().find(|reason| reason.as_str() == word).copied().ok_or_else(|| UnknownReason(word.to_owned()))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word of a status is compared with a reason, never with another word.
impl PartialEq<Reason> for String {
    fn eq(&self, reason: &Reason) -> bool {
        self == reason.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_read_back_from_its_word_and_says_what_it_means() {
        for reason in Reason::ALL {
            assert_eq!(reason.as_str().parse(), Ok(*reason));
            assert!(!reason.text().is_empty() && !reason.text().ends_with('.'), "{reason}");
        }
        assert_eq!("Nonsense".parse::<Reason>(), Err(UnknownReason("Nonsense".to_owned())));
    }
}
