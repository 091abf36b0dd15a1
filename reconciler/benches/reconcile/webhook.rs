//! From the call of a webhook to the object on the cluster, on a warm process, with a Git server on loopback.

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::{Stream, StreamExt as _};
use hmac::{KeyInit as _, Mac as _};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::PostParams;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use kube::{Api, Client};
use reeve_crds::{GitSource, Runtime};
use reeve_tests::{GitRepository, until};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::fixture::{Fixture, PATIENCE};
use crate::ours::{NAMESPACE, is_at, publish, start};
use crate::outcome::promise;
use crate::workload::{self, Size};

const CALLS: usize = 200;
const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const TEMPLATE: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: note\ndata:\n  text: \"{{ Values.text }}\"\n";

pub(crate) async fn run(size: Size) -> Result<()> {
    println!("\n  From a webhook's call to the object on the cluster, {CALLS} times");
    let fixture = Fixture::start().await?;
    fixture.control_plane.crds().await;
    fixture.namespace(NAMESPACE).await?;
    fixture.account(NAMESPACE, "reeve-applier").await?;
    let repository = GitRepository::create_in(fixture.control_plane.supervisor(), "fleet")?;
    let server = repository.serve_http(None)?;
    let mut commit = publish(&repository, &fleet())?;
    let receiver = SocketAddr::from(([127, 0, 0, 1], free_port()?));
    let data = fixture.control_plane.supervisor().data().join("reeve");
    let _process = start(&fixture, size, &data, &[format!("--webhook-address={receiver}")])?;
    let client = fixture.observer.clone();
    let path = follow(&client, &server.url()).await?;
    let runtimes: Api<Runtime> = Api::namespaced(client.clone(), NAMESPACE);
    let notes: Api<ConfigMap> = Api::namespaced(client, workload::NAMESPACE);
    until(&runtimes, "one", "the first commit is applied", |runtime| is_at(runtime, &commit)).await;
    let mut events = watch(notes, watcher::Config::default()).default_backoff().boxed();
    let mut took = Vec::with_capacity(CALLS);
    for number in 0..CALLS {
        let text = format!("number {number}");
        commit = publish(&repository, &[runtime(&text)])?;
        let begin = Instant::now();
        call(receiver, &path).await?;
        shows(&mut events, &text).await?;
        took.push(begin.elapsed());
        until(&runtimes, "one", "the commit is applied", |runtime| is_at(runtime, &commit)).await;
    }
    took.sort_unstable();
    let at = |share: usize| took.get((CALLS * share).div_ceil(100) - 1).map(Duration::as_secs_f64).unwrap_or_default();
    println!("    half of them within {:.1} ms, 99 of 100 within {:.1} ms", at(50) * 1e3, at(99) * 1e3);
    promise("webhook to object, p99 in ms, under 100", Some(at(99) * 1e3), |milliseconds| milliseconds < 100.0);
    Ok(())
}

fn fleet() -> Vec<(String, String)> {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    vec![
        file(
            "fleet.yaml",
            &format!("kind: Fleet\ndefaults:\n  channel: stable\n  namespace: {}\n", workload::NAMESPACE),
        ),
        file("channels/stable.yaml", "kind: Channel\ncomponents:\n  note: 1.0.0\n"),
        file("charts/note/1.0.0/Chart.yaml", "apiVersion: v2\nname: note\nversion: 1.0.0\n"),
        file("charts/note/1.0.0/values.yaml", "text: \"\"\n"),
        file("charts/note/1.0.0/templates/note.yaml.j2", TEMPLATE),
        runtime("first"),
    ]
}

fn runtime(text: &str) -> (String, String) {
    let file = format!("kind: Runtime\ncomponents:\n  note:\n    values:\n      text: {text}\n");
    ("runtimes/one.yaml".to_owned(), file)
}

/// Follows a repository that is never polled, and tells where its webhook is called.
async fn follow(client: &Client, url: &str) -> Result<String> {
    let secret: Secret = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "hook" }, "stringData": { "token": TOKEN },
    }))?;
    let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
    secrets.create(&PostParams::default(), &secret).await.context("cannot create the Secret")?;
    let source: GitSource = serde_json::from_value(json!({
        "apiVersion": "reeve.dev/v1alpha1",
        "kind": "GitSource",
        "metadata": { "name": "fleet" },
        "spec": {
            "url": url,
            "allowPlainHTTP": true,
            "ref": { "branch": "main" },
            "interval": "1h",
            "webhook": { "type": "Generic", "secretRef": { "name": "hook" } },
        },
    }))?;
    let sources: Api<GitSource> = Api::namespaced(client.clone(), NAMESPACE);
    sources.create(&PostParams::default(), &source).await.context("cannot create the GitSource")?;
    let path = |source: &GitSource| source.status.as_ref().and_then(|status| status.webhook_path.clone());
    let source = until(&sources, "fleet", "the webhook has a path", |source| path(source).is_some()).await;
    path(&source).context("the webhook has no path")
}

/// As a Git server calls.
async fn call(receiver: SocketAddr, path: &str) -> Result<()> {
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(TOKEN.as_bytes())?;
    mac.update(b"{}");
    let signature = mac.finalize().into_bytes().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: reeve\r\nX-Signature: sha256={signature}\r\nContent-Length: 2\r\n\
         Connection: close\r\n\r\n{{}}"
    );
    let mut connection = TcpStream::connect(receiver).await.context("cannot reach the receiver")?;
    connection.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    if answer.starts_with("HTTP/1.1 202") { Ok(()) } else { bail!("the receiver says {answer}") }
}

/// Resolves when the note says this.
async fn shows(events: &mut (impl Stream<Item = watcher::Result<Event<ConfigMap>>> + Unpin), text: &str) -> Result<()> {
    let wait = async {
        while let Some(event) = events.next().await {
            if let Ok(Event::Apply(note) | Event::InitApply(note)) = event
                && note.data.is_some_and(|data| data.get("text").is_some_and(|said| said == text))
            {
                return Ok(());
            }
        }
        bail!("the watch ended")
    };
    tokio::time::timeout(PATIENCE, wait).await.context("the note was never written")?
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr())?.port())
}
