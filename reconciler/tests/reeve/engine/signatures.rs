//! Commits and tags that must be signed.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Event, Secret};
use kube::api::{ListParams, Patch, PatchParams};
use reeve_crds::git_source::GitSourceStatus;
use reeve_crds::{GitSource, State};
use reeve_tests::{CommitId, SigningKey, eventually, until};
use serde_json::{Value, json};

use super::fixture::{Fixture, config};

impl Fixture {
    /// Makes the Secret hold these public keys, and no others.
    async fn trust(&self, keys: &[(&str, &str)]) {
        let data: Value = keys
            .iter()
            .map(|(entry, text)| ((*entry).to_owned(), json!(ByteString(text.as_bytes().to_vec()))))
            .collect();
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "keys" }, "data": data });
        let params = PatchParams::apply("somebody").force();
        self.api::<Secret>().patch("keys", &params, &Patch::Apply(&secret)).await.unwrap();
    }

    /// Follows the repository, with signatures if a mode says so, and looks every second.
    async fn follow_signed(&self, reference: Value, mode: Option<&str>) {
        let verify = mode.map(|mode| json!({ "mode": mode, "secretRef": { "name": "keys" } }));
        let mut spec = json!({ "url": self.repository.file_url(), "interval": "1s", "ref": reference });
        if let Some(verify) = verify {
            spec["verify"] = verify;
        }
        let source = json!({ "apiVersion": "reeve.dev/v1alpha1", "kind": "GitSource", "metadata": { "name": "fleet" }, "spec": spec });
        let params = PatchParams::apply("somebody").force();
        self.api::<GitSource>().patch("fleet", &params, &Patch::Apply(&source)).await.unwrap();
    }

    /// Waits until the condition Verified is so, for this reason, with these words.
    async fn verified(&self, holds: &str, reason: &str, words: &str) -> GitSourceStatus {
        let is_so = |source: &GitSource| {
            let status = source.status.clone().unwrap_or_default();
            let verified = status.conditions.iter().find(|condition| condition.type_ == "Verified");
            verified.is_some_and(|verified| {
                (verified.status.as_str(), verified.reason.as_str()) == (holds, reason)
                    && verified.message.contains(words)
            })
        };
        let what = format!("Verified is {holds}: {reason}, {words}");
        until(&self.api::<GitSource>(), "fleet", &what, is_so).await.status.unwrap()
    }

    /// Waits until a commit is refused for this, and sees that another is still in force.
    async fn keeps(&self, good: &CommitId, refused: &CommitId, reason: &str, words: &str) {
        let status = self.verified("False", reason, words).await;
        let rejected = status.rejected.unwrap();
        assert_eq!((rejected.commit.as_deref(), rejected.reason.as_str()), (Some(refused.as_str()), reason));
        assert_eq!(status.state, Some(State::Warning));
        assert_eq!(status.commit.unwrap().id, good.as_str());
        assert!(status.revision.unwrap().ends_with(&good.as_str()[..12]));
        let valid = status.conditions.iter().find(|condition| condition.type_ == "Validated").unwrap();
        assert_eq!(valid.status, "True", "what is in force is as valid as before");
        self.event(reason, &[words]).await;
        assert_eq!(self.says("settings").await.unwrap(), "one");
    }
}

/// Another version of the one chart.
fn change(fixture: &Fixture, version: &str, say: &str) {
    fixture.component("web", version, &config("settings", say));
}

#[tokio::test]
async fn a_commit_that_nobody_trusted_signed_is_not_applied_and_the_last_good_one_stays() {
    let fixture = Fixture::new("unsigned").await;
    let (ann, eve) = (SigningKey::ssh().unwrap(), SigningKey::ssh().unwrap());
    fixture.trust(&[("ann.sshpub", ann.public())]).await;
    let git = &fixture.repository;
    git.sign_with(Some(&ann)).unwrap();
    change(&fixture, "1.0.0", "one");
    let good = fixture.push();
    fixture.follow_signed(json!({ "branch": "main" }), Some("Head")).await;
    let _reeve = fixture.reeve();
    fixture.applied(&good).await;
    let status = fixture.verified("True", "Succeeded", ann.fingerprint()).await;
    assert_eq!(status.commit.unwrap().signed_by, Some(format!("SSH {} (ann.sshpub)", ann.fingerprint())));
    git.sign_with(None).unwrap();
    change(&fixture, "1.1.0", "nobody");
    fixture.keeps(&good, &fixture.push(), "Unsigned", "git commit -S").await;
    git.sign_with(Some(&eve)).unwrap();
    change(&fixture, "1.2.0", "eve");
    fixture.keeps(&good, &fixture.push(), "UnknownKey", eve.fingerprint()).await;
    git.sign_with(Some(&ann)).unwrap();
    change(&fixture, "1.3.0", "ann");
    let signed = git.commit_all("Change the fleet").unwrap();
    // As somebody would who has no key of hers: what she signed, with other files.
    let other = git.git(&["rev-parse", "HEAD~1^{tree}"]).unwrap();
    let tree = git.git(&["rev-parse", "HEAD^{tree}"]).unwrap();
    let text = git.git(&["cat-file", "commit", signed.as_str()]).unwrap().replace(&tree, &other);
    std::fs::write(git.work_tree().join("../forged"), format!("{text}\n")).unwrap();
    let forged = git.git(&["hash-object", "-t", "commit", "-w", "../forged"]).unwrap();
    git.git(&["push", "--quiet", "--force", "origin", &format!("{forged}:refs/heads/main")]).unwrap();
    fixture.keeps(&good, &git.published("main").unwrap(), "BadSignature", "which is not so for this content").await;
    fixture.meddle("settings", "hand").await;
    fixture.comes_to_say("settings", "one").await;
    for reason in ["Unsigned", "UnknownKey", "BadSignature"] {
        let selected = ListParams::default().fields(&format!("reason={reason}"));
        let told = fixture.api::<Event>().list(&selected).await.unwrap().items;
        assert_eq!(told.len(), 1, "it is told once, however often it is looked at: {told:?}");
    }
    git.force_push().unwrap();
    fixture.applied(&signed).await;
    let status = fixture.verified("True", "Succeeded", ann.fingerprint()).await;
    assert_eq!(status.rejected, None);
    git.sign_with(None).unwrap();
    change(&fixture, "1.4.0", "anybody");
    let last = fixture.push();
    fixture.verified("False", "Unsigned", last.as_str()).await;
    fixture.follow_signed(json!({ "branch": "main" }), None).await;
    fixture.applied(&last).await;
    let is_unasked = |source: &GitSource| {
        let status = source.status.clone().unwrap_or_default();
        status.conditions.iter().all(|condition| condition.type_ != "Verified")
            && status.commit.is_some_and(|commit| commit.signed_by.is_none())
    };
    until(&fixture.api::<GitSource>(), "fleet", "nothing is said of signatures", is_unasked).await;
}

#[tokio::test]
async fn a_tag_signed_by_a_trusted_key_is_applied() {
    let fixture = Fixture::new("signed-tag").await;
    let key = SigningKey::pgp().unwrap();
    fixture.trust(&[("release.asc", key.public())]).await;
    let git = &fixture.repository;
    git.sign_with(Some(&key)).unwrap();
    git.sign_with(None).unwrap();
    change(&fixture, "1.0.0", "one");
    let first = fixture.push();
    git.signed_tag("v1.0.0", "One").unwrap();
    git.push().unwrap();
    fixture.follow_signed(json!({ "semver": "1.x" }), Some("Tag")).await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let status = fixture.verified("True", "Succeeded", "v1.0.0@").await;
    assert_eq!(status.commit.unwrap().signed_by, Some(format!("PGP {} (release.asc)", key.fingerprint())));
    change(&fixture, "1.1.0", "two");
    let second = fixture.push();
    git.tag("v1.1.0").unwrap();
    git.push().unwrap();
    fixture.keeps(&first, &second, "Unsigned", "tag v1.1.0 is lightweight").await;
    git.signed_tag("v1.2.0", "Two").unwrap();
    git.push().unwrap();
    fixture.applied(&second).await;
    fixture.verified("True", "Succeeded", "v1.2.0@").await;
}

#[tokio::test]
async fn a_key_taken_out_of_the_secret_counts_at_the_next_look() {
    let fixture = Fixture::new("key-taken").await;
    let (ann, bob) = (SigningKey::ssh().unwrap(), SigningKey::ssh().unwrap());
    fixture.trust(&[("ann.sshpub", ann.public()), ("bob.sshpub", bob.public())]).await;
    fixture.repository.sign_with(Some(&ann)).unwrap();
    change(&fixture, "1.0.0", "one");
    let first = fixture.push();
    fixture.follow_signed(json!({ "branch": "main" }), Some("Head")).await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.trust(&[("bob.sshpub", bob.public())]).await;
    let status = fixture.verified("False", "UnknownKey", "stays in force").await;
    assert_eq!((status.state, status.rejected), (Some(State::Warning), None));
    fixture.event("UnknownKey", &[ann.fingerprint(), "stays in force"]).await;
    fixture.meddle("settings", "hand").await;
    fixture.comes_to_say("settings", "one").await;
    reeve.kill();
    let _reeve = fixture.reeve();
    fixture.meddle("settings", "hand").await;
    fixture.comes_to_say("settings", "one").await;
    fixture.repository.sign_with(Some(&bob)).unwrap();
    change(&fixture, "1.1.0", "two");
    let second = fixture.push();
    fixture.applied(&second).await;
    fixture.verified("True", "Succeeded", bob.fingerprint()).await;
    // And one that is put back does, too, for what was refused without it.
    fixture.repository.sign_with(Some(&ann)).unwrap();
    change(&fixture, "1.2.0", "three");
    let third = fixture.push();
    fixture.verified("False", "UnknownKey", third.as_str()).await;
    fixture.trust(&[("ann.sshpub", ann.public())]).await;
    fixture.applied(&third).await;
    let status = fixture.verified("True", "Succeeded", ann.fingerprint()).await;
    assert_eq!(status.rejected, None);
}

#[tokio::test]
async fn a_secret_that_holds_no_key_or_a_broken_one_is_named_and_nothing_is_taken_up() {
    let fixture = Fixture::new("broken-key").await;
    let ann = SigningKey::ssh().unwrap();
    fixture.repository.sign_with(Some(&ann)).unwrap();
    change(&fixture, "1.0.0", "one");
    let first = fixture.push();
    fixture.follow_signed(json!({ "branch": "main" }), Some("Head")).await;
    let _reeve = fixture.reeve();
    let status = fixture.verified("False", "SecretNotFound", "keys").await;
    assert_eq!((status.state, status.revision), (Some(State::Warning), None));
    fixture.trust(&[("ann.pub", ann.public())]).await;
    fixture.verified("False", "NoTrustedKeys", ".sshpub").await;
    fixture.trust(&[("ann.sshpub", ann.public()), ("bob.sshpub", "ssh-ed25519 bob")]).await;
    let status = fixture.verified("False", "InvalidTrustedKey", "`bob.sshpub`").await;
    assert_eq!((status.revision, status.rejected), (None, None));
    let fetched = status.conditions.iter().find(|condition| condition.type_ == "Fetched").unwrap();
    assert_eq!(fetched.status, "True");
    fixture.event("InvalidTrustedKey", &["`bob.sshpub`", "line 1"]).await;
    fixture.trust(&[("ann.sshpub", ann.public())]).await;
    fixture.applied(&first).await;
    fixture.verified("True", "Succeeded", ann.fingerprint()).await;
}

#[tokio::test]
async fn after_a_restart_the_word_of_a_status_does_not_stand_for_a_signature() {
    let fixture = Fixture::new("word").await;
    let ann = SigningKey::ssh().unwrap();
    fixture.trust(&[("ann.sshpub", ann.public())]).await;
    change(&fixture, "1.0.0", "one");
    let unsigned = fixture.push();
    let main = json!({ "branch": "main" });
    fixture.follow_signed(main.clone(), None).await;
    let reeve = fixture.reeve();
    fixture.applied(&unsigned).await;
    fixture.follow_signed(main, Some("Head")).await;
    fixture.verified("False", "Unsigned", "stays in force").await;
    reeve.terminate().await;

    // The mirror knows that it was in force.
    let reeve = fixture.reeve();
    fixture.meddle("settings", "hand").await;
    fixture.comes_to_say("settings", "one").await;
    reeve.terminate().await;

    std::fs::remove_dir_all(fixture.data.path().join("mirrors")).unwrap();
    fixture.meddle("settings", "hand").await;
    let reeve = fixture.reeve();
    eventually("it is not taken up", || {
        let log = reeve.log();
        async move { if log.contains("it was not in force here") { Ok(()) } else { Err(log) } }
    })
    .await;
    assert_eq!(fixture.says("settings").await.unwrap(), "hand");
}
