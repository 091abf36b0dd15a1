//! A commit that was a mistake can be taken back while it is published: what it did not remove yet stays.

use std::collections::BTreeMap;

use http::Method;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{ListParams, Patch, PatchParams};
use reeve_crds::Reason;
use reeve_crds::{GitSource, Runtime, State, annotation};
use reeve_tests::{CommitId, eventually, until};
use serde_json::json;

use super::fixture::{Fixture, config};
use super::proxy::{Proxy, Rule};
use super::reeve::Reeve;

mod rescue;

const DELETE: &str = "policy: { deletionPolicy: Delete }\n";

impl Fixture {
    /// A fleet of so many runtimes whose objects go with them, besides the one that there is from the start.
    async fn fleet(prefix: &str, runtimes: usize) -> (Self, Vec<String>) {
        let fixture = Self::new(prefix).await;
        fixture.component("web", "1.0.0", &config("{{ Runtime.name }}", "one"));
        let names: Vec<String> = (0..runtimes).map(|at| format!("{}-{at:02}", fixture.runtime)).collect();
        fixture.write_files(&names, DELETE);
        (fixture, names)
    }

    fn write_files(&self, names: &[String], text: &str) {
        for name in names {
            self.runtime(name, text);
        }
    }

    fn remove_files(&self, names: &[String]) {
        for name in names {
            self.repository.remove(&format!("runtimes/{name}.yaml")).unwrap();
        }
    }

    /// Has `fleet.yaml` allow so many removals.
    fn allow(&self, removals: &str) {
        let file = self.repository.work_tree().join("fleet.yaml");
        let text = std::fs::read_to_string(file).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("limits:")).collect();
        let text = lines.join("\n");
        self.write("fleet.yaml", &format!("{text}\nlimits: {{ removals: {removals} }}\n"));
    }

    /// The uids of all objects and Runtimes of these runtimes, by name.
    async fn uids(&self, names: &[String]) -> BTreeMap<String, String> {
        let objects = self.there::<ConfigMap>().list(&ListParams::default()).await.unwrap().items;
        let runtimes = self.api::<Runtime>().list(&ListParams::default()).await.unwrap().items;
        let objects = objects.iter().filter(|object| object.metadata.deletion_timestamp.is_none());
        let objects = objects.map(|object| ("configmaps", object.name_any(), object.uid().unwrap()));
        let all = objects.chain(runtimes.iter().map(|it| ("runtimes", it.name_any(), it.uid().unwrap())));
        all.filter(|(_, name, _)| names.contains(name))
            .map(|(kind, name, uid)| (format!("{kind}/{name}"), uid))
            .collect()
    }

    /// Waits until the source is so at this commit, with so many of so many runtimes ready.
    async fn source_is(&self, state: State, commit: &CommitId, summary: &str) -> GitSource {
        until(&self.api::<GitSource>(), "fleet", &format!("the source is {state:?} {summary}"), |source| {
            let status = source.status.clone().unwrap_or_default();
            status.state == Some(state)
                && status.commit.is_some_and(|found| found.id == commit.as_str())
                && status.runtimes.is_some_and(|runtimes| runtimes.summary == summary)
        })
        .await
    }

    /// Waits until no runtime is being worked on.
    async fn all_rest(&self) {
        eventually("all runtimes are suspended", || async {
            let runtimes = self.api::<Runtime>().list(&ListParams::default()).await.unwrap().items;
            let rests = |runtime: &&Runtime| {
                runtime.status.as_ref().is_some_and(|status| status.state == Some(State::Suspended))
            };
            let busy: Vec<_> =
                runtimes.iter().filter(|runtime| !rests(runtime)).map(kube::ResourceExt::name_any).collect();
            if busy.is_empty() { Ok(()) } else { Err(format!("{busy:?}")) }
        })
        .await;
    }
}

async fn accepts(reeve: &Reeve, commit: &CommitId) {
    eventually("the commit is in force", || {
        let log = reeve.log();
        let is_it = |line: &str| line.contains("accepted") && line.contains(&commit.as_str()[..12]);
        let is_accepted = log.lines().any(is_it);
        async move { if is_accepted { Ok(()) } else { Err(log) } }
    })
    .await;
}

#[tokio::test]
async fn a_runtime_that_is_suspended_while_its_file_is_gone_is_what_it_was_when_it_is_resumed() {
    let (fixture, names) = Fixture::fleet("gone-a-while", 1).await;
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.source_is(State::Ready, &first, "2/2").await;
    let before = fixture.uids(&names).await;
    fixture.suspend::<Runtime>(&names[0], true).await;
    fixture.source_is(State::Ready, &first, "1/2").await;
    fixture.remove_files(&names);
    let second = fixture.push();
    let is_known = |source: &GitSource| {
        let commit = source.status.as_ref().and_then(|status| status.commit.as_ref());
        commit.is_some_and(|commit| commit.id == second.as_str())
    };
    until(&fixture.api::<GitSource>(), "fleet", "the commit is known", is_known).await;
    fixture.write_files(&names, DELETE);
    let third = fixture.push();
    fixture.source_is(State::Ready, &third, "1/2").await;
    fixture.suspend::<Runtime>(&names[0], false).await;
    fixture.source_is(State::Ready, &third, "2/2").await;
    assert_eq!(fixture.uids(&names).await, before);

    // Without a file it goes when it is resumed.
    fixture.suspend::<Runtime>(&names[0], true).await;
    fixture.source_is(State::Ready, &third, "1/2").await;
    fixture.remove_files(&names);
    fixture.push();
    fixture.suspend::<Runtime>(&names[0], false).await;
    fixture.gone(&fixture.api::<Runtime>(), &names[0]).await;
    assert!(fixture.uids(&names).await.is_empty());
}

#[tokio::test]
async fn an_urgent_change_does_not_wait_until_an_earlier_one_was_published_to_all() {
    let (fixture, names) = Fixture::fleet("urgent", 64).await;
    fixture.drop_component("web");
    let first = fixture.push();
    fixture.follow().await;
    let proxy = Proxy::start(&fixture.cluster, Rule::Pass).await;
    let _reeve = fixture.reeve_through(&proxy.kubeconfig(fixture.data.path()), &[]);
    fixture.source_is(State::Ready, &first, "65/65").await;
    let park = |after| Rule::Park { method: Method::PATCH, path: format!("/runtimes/{}-", fixture.runtime), after };
    proxy.set(park(4));
    fixture.write_files(&names, &format!("labels: {{ tier: a }}\n{DELETE}"));
    fixture.push();
    proxy.reached().await;
    let last = names.last().unwrap();
    fixture.runtime(last, &format!("labels: {{ tier: b }}\n{DELETE}"));
    fixture.push();
    let ask = json!({ "metadata": { "annotations": { annotation::RECONCILE: "now" } } });
    fixture.api::<GitSource>().patch("fleet", &PatchParams::default(), &Patch::Merge(&ask)).await.unwrap();
    // By no means all of them get through.
    proxy.set(park(44));
    let is_urgent = |runtime: &Runtime| runtime.labels().get("tier").is_some_and(|tier| tier == "b");
    until(&fixture.api::<Runtime>(), last, "it has the newest change", is_urgent).await;
}

#[tokio::test]
async fn a_commit_that_removes_too_many_runtimes_removes_none_until_a_later_one_allows_it() {
    let (fixture, names) = Fixture::fleet("budget", 12).await;
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.source_is(State::Ready, &first, "13/13").await;
    let before = fixture.uids(&names).await;

    fixture.remove_files(&names[..7]);
    fixture.component("web", "1.1.0", &config("{{ Runtime.name }}", "two"));
    // It would have to be allowed before.
    fixture.allow("100%");
    let second = fixture.push();
    let source = fixture.source_is(State::Warning, &second, "13/13").await;
    let ready = source.status.unwrap().conditions.into_iter().find(|condition| condition.type_ == "Ready").unwrap();
    assert_eq!(ready.reason, Reason::OverBudget);
    for words in ["7 of 12 runtimes", "allows 10%", "revert", "limits.removals"] {
        assert!(ready.message.contains(words), "{}", ready.message);
    }
    fixture.event("OverBudget", &["7 of 12 runtimes", &names[0]]).await;
    fixture.comes_to_say(&names[11], "two").await;
    assert_eq!(fixture.says(&names[0]).await.as_deref(), Some("one"), "nothing is known of it any more");
    assert_eq!(fixture.uids(&names).await, before);

    // Nor does a restart allow it.
    reeve.terminate().await;
    let reeve = fixture.reeve();
    accepts(&reeve, &second).await;
    fixture.meddle(&names[11], "hand").await;
    fixture.comes_to_say(&names[11], "two").await;
    assert_eq!(fixture.uids(&names).await, before);
    assert!(!reeve.log().contains("7 of 12"), "it was told before");

    fixture.allow("60%");
    let third = fixture.push();
    fixture.source_is(State::Ready, &third, "6/6").await;
    for name in &names[..7] {
        fixture.gone(&fixture.there::<ConfigMap>(), name).await;
    }
    fixture.event("Pruned", &[&names[0]]).await;
}

#[tokio::test]
async fn removals_that_were_allowed_go_on_after_a_restart() {
    let (fixture, names) = Fixture::fleet("resumes", 12).await;
    fixture.allow("100%");
    let first = fixture.push();
    fixture.follow().await;
    let proxy = Proxy::start(&fixture.cluster, Rule::Pass).await;
    let reeve = fixture.reeve_through(&proxy.kubeconfig(fixture.data.path()), &[]);
    fixture.source_is(State::Ready, &first, "13/13").await;
    proxy.set(Rule::Park { method: Method::DELETE, path: "/configmaps/".to_owned(), after: 2 });
    fixture.remove_files(&names);
    fixture.allow("10%");
    let second = fixture.push();
    proxy.reached().await;
    let is_known = |source: &GitSource| {
        let commit = source.status.as_ref().and_then(|status| status.commit.as_ref());
        commit.is_some_and(|commit| commit.id == second.as_str())
    };
    until(&fixture.api::<GitSource>(), "fleet", "the commit is known", is_known).await;
    reeve.kill();
    let _reeve = fixture.reeve();
    fixture.source_is(State::Ready, &second, "1/1").await;
    assert!(fixture.uids(&names).await.is_empty());
}

#[tokio::test]
async fn nothing_is_removed_while_a_file_of_a_runtime_cannot_be_read() {
    let (fixture, names) = Fixture::fleet("unreadable", 2).await;
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.source_is(State::Ready, &first, "3/3").await;
    let before = fixture.uids(&names).await;
    let other = format!("runtimes/{}.yaml", names[1]);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    for broken in ["kind: Runtime\nlabels: {", "", "kind: Layer\n", "kind: Runtime\nname: another\n", pointer] {
        fixture.repository.remove(&format!("runtimes/{}.yaml", names[0])).unwrap();
        fixture.write(&other, broken);
        let commit = fixture.push();
        until(&fixture.api::<GitSource>(), "fleet", "the commit is refused", |source| {
            let rejected = source.status.as_ref().and_then(|status| status.rejected.as_ref());
            rejected.is_some_and(|rejected| rejected.commit.as_deref() == Some(commit.as_str()))
        })
        .await;
        assert_eq!(fixture.uids(&names).await, before, "{broken}");
        fixture.write_files(&names[..1], DELETE);
    }
    fixture.write_files(&names[1..], DELETE);
    let last = fixture.push();
    fixture.source_is(State::Ready, &last, "3/3").await;
    assert_eq!(fixture.uids(&names).await, before);
}

#[tokio::test]
async fn the_lines_of_the_page_take_a_mistaken_deletion_back() {
    let (fixture, names) = Fixture::fleet("by-the-page", 4).await;
    let first = fixture.push();
    // As a clone has it.
    fixture.repository.git(&["branch", "--quiet", "--set-upstream-to=origin/main"]).unwrap();
    fixture.follow().await;
    let proxy = Proxy::start(&fixture.cluster, Rule::Pass).await;
    let _reeve = fixture.reeve_through(&proxy.kubeconfig(fixture.data.path()), &[]);
    fixture.source_is(State::Ready, &first, "5/5").await;
    let before = fixture.uids(&names).await;
    proxy.set(Rule::Park { method: Method::DELETE, path: "/configmaps/".to_owned(), after: 0 });
    fixture.remove_files(&names);
    fixture.push();
    proxy.reached().await;

    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operations.md");
    let page = std::fs::read_to_string(root).unwrap();
    let section = page.split("\n### A mistaken deletion\n").nth(1).unwrap();
    let lines = section.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(lines.lines().count(), 3);
    for line in lines.lines() {
        let line = line.replace("-n fleet", &format!("-n {}", fixture.namespace));
        let folder = std::path::Path::new(env!("CARGO_BIN_EXE_reeve")).parent().unwrap();
        let script = format!("PATH=\"{}:$PATH\"; {line}", folder.display());
        let mut shell = std::process::Command::new("sh");
        shell.args(["-ec", &script]).env("KUBECONFIG", fixture.cluster.kubeconfig());
        shell.env("GIT_AUTHOR_NAME", "a").env("GIT_AUTHOR_EMAIL", "a@b").env("GIT_COMMITTER_NAME", "a");
        shell.env("GIT_COMMITTER_EMAIL", "a@b").current_dir(fixture.repository.work_tree());
        assert!(shell.status().unwrap().success(), "{line}");
        if line.contains("suspend") {
            fixture.all_rest().await;
        }
    }
    let asked = proxy.deletions();
    proxy.set(Rule::Pass);
    let revert = fixture.repository.head().unwrap();
    fixture.source_is(State::Ready, &revert, "5/5").await;
    // A Runtime whose only object is gone may go before its worker hears of the revert; it is made again.
    let is_asked = |name: &str| {
        let own = name.rsplit('/').next().unwrap_or(name);
        asked.iter().any(|path| path.rsplit('/').next() == Some(own))
    };
    let after = fixture.uids(&names).await;
    assert_eq!(after.len(), before.len());
    for (name, uid) in before.iter().filter(|(name, _)| !is_asked(name)) {
        assert_eq!(after.get(name), Some(uid), "{name}");
    }
}

#[tokio::test]
async fn runtimes_that_cannot_go_keep_no_other_from_going() {
    let (fixture, names) = Fixture::fleet("stuck", 18).await;
    fixture.allow("100%");
    fixture.write_files(&names, "policy: { deletionPolicy: Delete, timeout: 1s }\n");
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.source_is(State::Ready, &first, "19/19").await;
    // As many as may go at once, and they come first.
    let held = json!({ "metadata": { "finalizers": ["example.com/hold"] } });
    for name in &names[..16] {
        fixture.there::<ConfigMap>().patch(name, &PatchParams::default(), &Patch::Merge(&held)).await.unwrap();
    }
    fixture.remove_files(&names);
    fixture.push();
    for name in &names[16..] {
        fixture.gone(&fixture.api::<Runtime>(), name).await;
    }
    let free = json!({ "metadata": { "finalizers": null } });
    for name in &names[..16] {
        fixture.there::<ConfigMap>().patch(name, &PatchParams::default(), &Patch::Merge(&free)).await.unwrap();
        fixture.gone(&fixture.api::<Runtime>(), name).await;
    }
}
