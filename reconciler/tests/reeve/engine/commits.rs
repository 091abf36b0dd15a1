//! Commits that cannot be used.

use futures::StreamExt as _;
use kube::api::{Patch, PatchParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{Config, watcher};
use reeve_crds::{GitSource, State};
use reeve_tests::until;
use serde_json::json;

use super::fixture::{Fixture, config, deployment};

impl Fixture {
    async fn refuses(&self, reason: &str) -> GitSource {
        let is_refused = |source: &GitSource| {
            let status = source.status.clone().unwrap_or_default();
            status.state == Some(State::Warning) && status.rejected.is_some_and(|rejected| rejected.reason == reason)
        };
        until(&self.api::<GitSource>(), "fleet", "the commit is refused", is_refused).await
    }
}

#[tokio::test]
async fn a_bad_commit_changes_nothing_and_the_last_good_one_stays_in_force() {
    let fixture = Fixture::new("bad").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;

    fixture.component("web", "1.1.0", "a: {{ Values.missing }}\n");
    let bad = fixture.push();
    let source = fixture.refuses("Invalid").await.status.unwrap();
    let rejected = source.rejected.unwrap();
    assert_eq!(rejected.commit.as_deref(), Some(bad.as_str()));
    assert!(rejected.message.contains("charts/web/1.1.0/templates/all.yaml.j2:1"), "{}", rejected.message);
    assert_eq!(source.commit.unwrap().id, first.as_str());
    fixture.meddle("settings", "hand").await;
    fixture.comes_to_say("settings", "one").await;

    reeve.terminate().await;
    let _reeve = fixture.reeve();
    fixture.meddle("settings", "hand").await;
    fixture.comes_to_say("settings", "one").await;
    fixture.refuses("Invalid").await;

    fixture.component("web", "1.2.0", &config("settings", "two"));
    let good = fixture.push();
    fixture.applied(&good).await;
    let is_fine = |source: &GitSource| {
        let status = source.status.clone().unwrap_or_default();
        status.state == Some(State::Ready) && status.rejected.is_none()
    };
    until(&fixture.api::<GitSource>(), "fleet", "it is fine again", is_fine).await;
}

#[tokio::test]
async fn a_component_of_dapr_with_a_secret_in_clear_is_not_put_in_force() {
    let fixture = Fixture::new("literal").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;

    let component = "---\napiVersion: dapr.io/v1alpha1\nkind: Component\nmetadata: { name: store }\nscopes: [web]\n\
        spec: { type: state.redis, version: v1, metadata: [{ name: redisPassword, value: open }] }\n";
    fixture.component("web", "1.1.0", &(config("settings", "two") + component));
    fixture.push();

    let source = fixture.refuses("Invalid").await.status.unwrap();
    let message = source.rejected.unwrap().message;
    assert!(message.contains("has the secret `redisPassword` in clear"), "{message}");
    assert_eq!(source.commit.unwrap().id, first.as_str());
}

#[tokio::test]
async fn a_released_chart_does_not_change() {
    let fixture = Fixture::new("released").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.chart("web", "1.0.0", &config("settings", "two"));
    fixture.push();
    fixture.refuses("ReleasedChartChanged").await;
    assert_eq!(fixture.says("settings").await.unwrap(), "one");
}

#[tokio::test]
async fn a_link_in_a_released_chart_is_refused_for_what_it_is() {
    let fixture = Fixture::new("links").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let at = fixture.repository.work_tree().join("charts/web/1.0.0/templates/link.yaml.j2");
    std::os::unix::fs::symlink("/etc/hosts", at).unwrap();
    fixture.push();
    fixture.refuses("Invalid").await;
    fixture.event("Invalid", &["charts/web/1.0.0/templates/link.yaml.j2", "symbolic link"]).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "one");
}

#[tokio::test]
async fn a_pointer_of_lfs_and_a_submodule_where_files_are_wanted_are_refused_by_name() {
    let fixture = Fixture::new("pointers").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 9\n", "ab".repeat(32));
    fixture.write("charts/web/1.1.0/files/model.bin", &pointer);
    fixture.component("web", "1.1.0", &config("settings", "two"));
    let says = async |words: &str| {
        let is_told = |source: &GitSource| {
            let rejected = source.status.as_ref().and_then(|status| status.rejected.as_ref());
            rejected.is_some_and(|rejected| rejected.reason == "Invalid" && rejected.message.contains(words))
        };
        until(&fixture.api::<GitSource>(), "fleet", words, is_told).await;
        fixture.event("Invalid", &["main@", " is refused: ", words]).await;
    };
    fixture.push();
    says("charts/web/1.1.0/files/model.bin:1:1: this is a pointer of Git LFS").await;
    fixture.repository.remove("charts/web/1.1.0/files").unwrap();
    let entry = format!("160000,{},charts/vendored", first.as_str());
    fixture.repository.commit_all("Take the pointer out").unwrap();
    fixture.repository.git(&["update-index", "--add", "--cacheinfo", &entry]).unwrap();
    fixture.repository.git(&["commit", "--quiet", "--message", "Add a submodule"]).unwrap();
    fixture.repository.push().unwrap();
    says("charts/vendored:1:1: this is a submodule").await;
    assert_eq!(fixture.says("settings").await.as_deref(), Some("one"));
}

#[tokio::test]
async fn another_reference_is_followed_by_its_name_and_is_no_rewritten_history() {
    let fixture = Fixture::new("references").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.repository.tag("v1.0.0").unwrap();
    fixture.repository.git(&["push", "--quiet", "origin", "v1.0.0"]).unwrap();
    fixture.component("web", "1.1.0", &config("settings", "two"));
    let second = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&second).await;
    let api = fixture.api::<GitSource>();
    let follows = async |reference: serde_json::Value, shown: &str| {
        let patch = Patch::Merge(json!({ "spec": { "ref": reference } }));
        api.patch("fleet", &PatchParams::default(), &patch).await.unwrap();
        let is_so = |source: &GitSource| {
            let revision = source.status.as_ref().and_then(|status| status.revision.as_deref());
            revision.is_some_and(|revision| revision.starts_with(shown))
        };
        until(&api, "fleet", shown, is_so).await;
    };
    follows(json!({ "branch": null, "tag": "v1.0.0" }), "v1.0.0@").await;
    fixture.comes_to_say("settings", "one").await;
    follows(json!({ "tag": null, "commit": first.as_str() }), &first.as_str()[..12]).await;
    follows(json!({ "commit": null, "branch": "main" }), "main@").await;
    fixture.comes_to_say("settings", "two").await;
    assert!(!reeve.log().contains("rewritten"), "{}", reeve.log());
}

#[tokio::test]
async fn a_source_is_not_ready_before_its_runtimes_are() {
    let fixture = Fixture::new("awaited").await;
    fixture.component("web", "1.0.0", &deployment("web", 1));
    fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    let mut sources = std::pin::pin!(watcher(fixture.api::<GitSource>(), Config::default()).applied_objects());
    let counted = loop {
        let status = sources.next().await.unwrap().unwrap().status.unwrap_or_default();
        assert_ne!(status.state, Some(State::Ready), "{status:?}");
        if let Some(runtimes) = status.runtimes.filter(|runtimes| status.revision.is_some() && runtimes.total > 0) {
            break runtimes;
        }
    };
    assert_eq!((counted.summary.as_str(), counted.ready), ("0/1", 0));
}
