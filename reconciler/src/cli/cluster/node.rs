//! `reeve node`: what the CRI proxy of a node says of its hooks, read through the pod of its feed.

use std::io::Write as _;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;

use super::connection::Connection;
use super::table::{self, Table};
use crate::cli::args::cluster::{Format, NodeArgs, NodeCommand, NodeHooksArgs, NodeWhyArgs};
use crate::cli::document;
use crate::cli::failure::Failure;
use crate::cli::style::Paint;
use crate::cli::text::harmless;
use crate::cli::{Status, Terminal};

mod feed;
mod said;

use feed::Feed;
use said::{Decision, Outcome, ProxyState};

pub(super) async fn run(args: &NodeArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    match &args.command {
        NodeCommand::Hooks(args) => hooks(args, terminal).await,
        NodeCommand::Why(args) => why(args, terminal).await,
    }
}

async fn hooks(args: &NodeHooksArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let connection = Connection::open(&args.connection).await?;
    let feed = Feed::find(&connection, &args.feed, &args.node).await?;
    let said = feed.read("/state").await?;
    let state: ProxyState = said.parse()?;
    let status = if state.is_well() { Status::Fine } else { Status::Findings };
    match args.output {
        Format::Json => document::json(&said.document()?, terminal)?,
        Format::Yaml => document::yaml(&said.document()?, terminal)?,
        Format::Text => print_state(&state, terminal)?,
    }
    Ok(status)
}

fn print_state(state: &ProxyState, terminal: &mut Terminal) -> Result<(), Failure> {
    let runtime = state.runtime.as_deref().unwrap_or("a runtime that does not answer");
    writeln!(terminal.out, "reeve-cri {} before {}, hook set {}", state.version, harmless(runtime), state.digest)?;
    for hook in &state.hooks {
        let commit = hook.commit.as_deref().map(|commit| format!(", from {}", harmless(commit))).unwrap_or_default();
        let returned = hook.returned.as_deref().map(|why| format!(", returned: {}", harmless(why)));
        writeln!(
            terminal.out,
            "NodeHook {}, generation {}, {}, {} % of pods{commit}{}",
            hook.name,
            hook.generation,
            hook.revision,
            hook.percent,
            returned.unwrap_or_default()
        )?;
    }
    for bad in state.bad_set.iter().chain(state.files.iter().map(|file| &file.message)) {
        writeln!(terminal.out, "{}: {}", terminal.style.paint(Paint::Warning, "warning"), harmless(bad))?;
    }
    let header =
        ["PLUGIN", "SOURCE", "MODE", "CIRCUIT", "CALLS", "FAILED", "REFUSED", "CHANGED", "HOOKS", "LAST ERROR"];
    let rows = state.plugins.iter().map(|plugin| {
        let plain = |text: &str| (harmless(text).into_owned(), None);
        let calls = &plugin.calls;
        let paint = (plugin.circuit != "Closed").then_some(Paint::Warning);
        vec![
            plain(&plugin.plugin),
            plain(&plugin.source),
            plain(&plugin.mode),
            (plugin.circuit.clone(), paint),
            (calls.calls.to_string(), None),
            (calls.failures.to_string(), None),
            (calls.refusals.to_string(), None),
            (calls.changes.to_string(), None),
            plain(&plugin.hooks.join(",")),
            plain(plugin.last_error.as_ref().map_or("-", |error| error.message.as_str())),
        ]
    });
    print_table(&header, &rows.collect::<Vec<_>>(), terminal)
}

async fn why(args: &NodeWhyArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let connection = Connection::open(&args.connection).await?;
    let node = match &args.node {
        Some(node) => node.clone(),
        None => node_of(&connection, &args.pod).await?,
    };
    let feed = Feed::find(&connection, &args.feed, &node).await?;
    let mut decisions: Vec<Decision> = feed.read("/decisions").await?.parse()?;
    decisions.retain(|decision| decision.namespace == connection.namespace && decision.pod == args.pod);
    match args.output {
        Format::Json => document::json(&decisions, terminal)?,
        Format::Yaml => document::yaml(&decisions, terminal)?,
        Format::Text if decisions.is_empty() => writeln!(
            terminal.out,
            "no plugin changed, refused or failed anything of {}/{} on {node}, as far as its proxy remembers",
            connection.namespace, args.pod
        )?,
        Format::Text => {
            let header = ["TIME", "CONTAINER", "WHAT", "PLUGIN", "HOOK", "COMMIT"];
            let rows: Vec<_> = decisions.iter().map(row).collect();
            print_table(&header, &rows, terminal)?;
        }
    }
    Ok(Status::Fine)
}

fn row(decision: &Decision) -> Vec<table::Shown> {
    let Decision { time, container, plugin, hook, commit, revision, .. } = decision;
    let plain = |text: &str| (harmless(if text.is_empty() { "-" } else { text }).into_owned(), None);
    let bad = matches!(decision.outcome, Outcome::Failed | Outcome::Refused | Outcome::NotAllowed);
    let what = (harmless(&decision.what()).into_owned(), bad.then_some(Paint::Warning));
    let commit = if commit.is_empty() { revision } else { commit };
    let second = time.split_once('.').map_or_else(|| time.clone(), |(second, _)| format!("{second}Z"));
    vec![plain(&second), plain(container), what, plain(plugin), plain(hook), plain(commit)]
}

fn print_table(header: &[&str], rows: &[Vec<table::Shown>], terminal: &mut Terminal) -> Result<(), Failure> {
    let mut table = Table::new(terminal.style);
    let header: Vec<table::Shown> = header.iter().map(|name| ((*name).to_owned(), None)).collect();
    table.fit(&header);
    for row in rows {
        table.fit(row);
    }
    for row in std::iter::once(&header).chain(rows).take(if rows.is_empty() { 0 } else { usize::MAX }) {
        terminal.out.write_all(table.line(row).as_bytes())?;
    }
    Ok(())
}

async fn node_of(connection: &Connection, pod: &str) -> Result<String, Failure> {
    let pods: Api<Pod> = Api::namespaced(connection.client.clone(), &connection.namespace);
    let found = connection.ask(&format!("read pod {pod}"), pods.get_opt(pod)).await?;
    let Some(found) = found else {
        let message = format!("there is no pod {pod} in {}", connection.namespace);
        let help = "name its namespace with -n, or the node that it ran on with --node";
        return Err(Failure::unknown(message, Some(help.to_owned())));
    };
    found
        .spec
        .and_then(|spec| spec.node_name)
        .ok_or_else(|| Failure::unknown(format!("pod {pod} is on no node yet: no plugin was asked about it"), None))
}
