//! What a scrape of a working `reeve run` gets.

use std::path::PathBuf;

use reeve_tests::{Forwarder, eventually};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::fixture::{Fixture, config};
use super::page::Page;
use super::reeve::Reeve;

type Series<'a> = (&'a str, &'a [(&'a str, &'a str)]);

impl Reeve {
    /// Waits until a scrape has these values.
    pub(super) async fn shows(&self, wanted: &[(Series<'_>, f64)]) -> Page {
        eventually(&format!("the page has {wanted:?}"), || async {
            let page = self.metrics().await;
            let differs = wanted.iter().find(|((name, labels), value)| page.value(name, labels) != Some(*value));
            match differs {
                None => Ok(page),
                Some(((name, labels), _)) => {
                    Err(format!("{name} {labels:?}: {:?} in {page:?}", page.value(name, labels)))
                }
            }
        })
        .await
    }
}

#[tokio::test]
async fn a_commit_a_drift_and_a_bad_commit_show_on_the_page() {
    let fixture = Fixture::new("metrics").await;
    fixture.component("web", "1.0.0", &(config("settings", "git") + &config("more", "git")));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve_through(fixture.cluster.kubeconfig(), &["--webhook-address", "127.0.0.1:0"]);
    fixture.applied(&first).await;
    let page = reeve
        .shows(&[
            (("reeve_runtimes", &[("state", "Ready")]), 1.0),
            (("reeve_components", &[("state", "Ready")]), 1.0),
            (("reeve_sources", &[("state", "Ready")]), 1.0),
            (("reeve_sources_unfetched", &[]), 0.0),
            (("reeve_sources_rejected", &[]), 0.0),
            (("reeve_revisions_total", &[("outcome", "accepted")]), 1.0),
            (("reeve_object_writes_total", &[("verb", "apply"), ("outcome", "Succeeded")]), 2.0),
            (("reeve_rollout_seconds_count", &[]), 1.0),
            (("reeve_render_seconds_count", &[]), 1.0),
            (("reeve_api_server_reachable", &[]), 1.0),
            (("reeve_writes_limit", &[]), 32.0),
            (("reeve_writes_running", &[]), 0.0),
            (("reeve_writes_waiting", &[]), 0.0),
            (("reeve_drift_total", &[("outcome", "repaired")]), 0.0),
        ])
        .await;
    let requests = page.value("reeve_api_requests_total", &[("method", "PATCH"), ("code", "200")]);
    assert!(requests >= Some(1.0) && page.value("reeve_api_request_seconds_count", &[]) > requests, "{page:?}");
    let fetches = page.value("reeve_fetches_total", &[("outcome", "Succeeded")]);
    assert!(fetches >= Some(1.0) && page.value("reeve_fetch_seconds_count", &[]) == fetches, "{page:?}");
    let [started, commit, fetch] =
        ["process_start_time_seconds", "reeve_last_commit_timestamp_seconds", "reeve_oldest_fetch_timestamp_seconds"]
            .map(|name| page.value(name, &[]).unwrap());
    assert!(commit >= started && fetch >= started, "{page:?}");
    let memory = page.value("process_resident_memory_bytes", &[]).unwrap();
    assert!(page.value("process_memory_limit_bytes", &[]).unwrap() > memory, "{page:?}");

    fixture.meddle("settings", "hand").await;
    fixture.comes_to_say("settings", "git").await;
    reeve.shows(&[(("reeve_drift_total", &[("outcome", "repaired")]), 1.0)]).await;

    let webhooks = reeve.address("listening for webhooks").await;
    let mut call = TcpStream::connect(webhooks).await.unwrap();
    call.write_all(b"POST /hooks/guessed HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
    call.read_to_string(&mut String::new()).await.unwrap();
    reeve.shows(&[(("reeve_webhook_calls_total", &[("outcome", "refused")]), 1.0)]).await;

    fixture.component("web", "1.1.0", "a: {{ Values.missing }}\n");
    fixture.push();
    reeve
        .shows(&[
            (("reeve_revisions_total", &[("outcome", "rejected")]), 1.0),
            (("reeve_sources_rejected", &[]), 1.0),
            (("reeve_sources", &[("state", "Warning")]), 1.0),
            (("reeve_runtimes", &[("state", "Ready")]), 1.0),
        ])
        .await;
}

#[tokio::test]
async fn whoever_stands_by_says_so_and_counts_nothing_that_the_leader_counts() {
    let fixture = Fixture::new("standby").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let args = ["--lease-namespace", &fixture.namespace, "--watch-namespace", &fixture.namespace];
    let leader = Reeve::run(fixture.cluster.kubeconfig(), fixture.data.path(), &args);
    fixture.applied(&first).await;
    let folder = tempfile::tempdir().unwrap();
    let standby = Reeve::run(fixture.cluster.kubeconfig(), folder.path(), &args);
    let leads: Series<'_> = ("reeve_leader", &[("lease", "reeve")]);
    let page = standby.shows(&[(leads, 0.0), (("reeve_runtimes", &[("state", "Ready")]), 0.0)]).await;
    assert_eq!(page.value("reeve_api_server_reachable", &[]), None);
    leader.shows(&[(leads, 1.0), (("reeve_runtimes", &[("state", "Ready")]), 1.0)]).await;

    leader.terminate().await;
    let ready: Series<'_> = ("reeve_runtimes", &[("state", "Ready")]);
    standby.shows(&[(leads, 1.0), (ready, 1.0), (("reeve_leader_terms_total", &[]), 1.0)]).await;
}

/// A way to the cluster that can be cut, and the kubeconfig that leads through it.
async fn forwarded(fixture: &Fixture) -> (Forwarder, PathBuf) {
    let forwarder = Forwarder::to_cluster(&fixture.cluster).await.unwrap();
    let direct = std::fs::read_to_string(fixture.cluster.kubeconfig()).unwrap();
    let url = fixture.cluster.config().unwrap().cluster_url.to_string();
    let kubeconfig = fixture.data.path().join("forwarder.yaml");
    let through = direct.replace(url.trim_end_matches('/'), &format!("https://{}", forwarder.address()));
    std::fs::write(&kubeconfig, through).unwrap();
    (forwarder, kubeconfig)
}

#[tokio::test]
async fn an_api_server_that_hangs_shows_on_the_page_although_nothing_is_written() {
    let fixture = Fixture::new("hangs").await;
    let (forwarder, kubeconfig) = forwarded(&fixture).await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve_through(&kubeconfig, &[]);
    fixture.applied(&first).await;
    let reachable: Series<'_> = ("reeve_api_server_reachable", &[]);
    reeve.shows(&[(reachable, 1.0)]).await;
    forwarder.black_hole();
    reeve.shows(&[(reachable, 0.0)]).await;
    forwarder.pass();
    reeve.shows(&[(reachable, 1.0)]).await;
}

#[tokio::test]
async fn an_api_server_that_is_away_shows_on_the_page_and_a_few_times_in_the_log() {
    let fixture = Fixture::new("away").await;
    let (forwarder, kubeconfig) = forwarded(&fixture).await;
    let maps = |say: &str| ["a", "b", "c", "d", "e", "f"].map(|name| config(name, say)).concat();
    fixture.component("web", "1.0.0", &maps("one"));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve_through(&kubeconfig, &[]);
    fixture.applied(&first).await;
    let reachable: Series<'_> = ("reeve_api_server_reachable", &[]);
    let page = reeve.shows(&[(reachable, 1.0)]).await;
    assert_eq!(page.value("reeve_watch_failures_total", &[]), Some(0.0));

    forwarder.cut();
    fixture.component("web", "1.1.0", &maps("two"));
    let second = fixture.push();
    reeve.shows(&[(reachable, 0.0)]).await;
    eventually("watches have failed often", || async {
        let failures = reeve.metrics().await.value("reeve_watch_failures_total", &[]);
        if failures > Some(8.0) { Ok(()) } else { Err(format!("{failures:?}")) }
    })
    .await;
    let told = reeve.log().matches("cannot follow").count();
    assert!((4..=10).contains(&told), "{told} lines in {}", reeve.log());

    forwarder.pass();
    fixture.applied(&second).await;
    reeve.shows(&[(reachable, 1.0)]).await;
    // That a kind is followed shows when something happens to it, and a page changes with what is on it.
    fixture.component("web", "1.2.0", &(maps("two") + &config("g", "two")));
    fixture.push();
    eventually("all four kinds are followed again", || async {
        let log = reeve.log();
        if log.matches("followed again").count() == 4 { Ok(()) } else { Err(log) }
    })
    .await;
}
