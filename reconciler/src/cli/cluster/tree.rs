//! `reeve tree`: sources, their runtimes, the components of these and their objects.

use std::io::Write as _;

use reeve_crds::State;

use super::connection::{Connection, missing};
use crate::cli::args::cluster::{Format, TreeArgs, TreeRoot, draws_lines};
use crate::cli::document;
use crate::cli::failure::Failure;
use crate::cli::{Status, Terminal};

mod draw;
mod forest;
#[cfg(test)]
mod tests;

use draw::Lines;
use forest::{Forest, Node};

pub(super) async fn run(args: &TreeArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let connection = Connection::open(&args.connection).await?;
    let scope = connection.scope(args.all_namespaces);
    let forest = Forest {
        sources: connection.list(&scope).await?,
        runtimes: connection.list(&scope).await?,
        components: connection.list(&scope).await?,
        inventories: connection.list(&scope).await?,
    };
    let roots = choose(args, &forest, &connection.namespace)?;
    match args.output {
        Format::Text => {
            let lines = if draws_lines() { Lines::Unicode } else { Lines::Ascii };
            let mut text = String::new();
            for root in &roots {
                draw::draw(root, lines, terminal.style, &mut text);
            }
            if roots.is_empty() {
                text.push_str("there are no sources, runtimes or components\n");
            }
            terminal.out.write_all(text.as_bytes())?;
        }
        Format::Json => document::json(&roots, terminal)?,
        Format::Yaml => document::yaml(&roots, terminal)?,
    }
    Ok(if roots.iter().all(is_ready) { Status::Fine } else { Status::Findings })
}

/// The trees that are asked for.
fn choose(args: &TreeArgs, forest: &Forest, namespace: &str) -> Result<Vec<Node>, Failure> {
    let named = |object: &Option<String>| args.name.is_none() || *object == args.name;
    match (args.root, &args.name) {
        (None, _) => Ok(forest.roots()),
        (Some(TreeRoot::Source), name) => {
            let chosen = forest.sources.iter().filter(|source| named(&source.metadata.name));
            let nodes: Vec<_> = chosen.map(|source| forest.source(source)).collect();
            match name {
                Some(name) if nodes.is_empty() => Err(missing(name, &forest.sources, namespace)),
                _ => Ok(nodes),
            }
        }
        (Some(TreeRoot::Runtime), name) => {
            let chosen = forest.runtimes.iter().filter(|runtime| named(&runtime.metadata.name));
            let nodes: Vec<_> = chosen.map(|runtime| forest.runtime(runtime)).collect();
            match name {
                Some(name) if nodes.is_empty() => Err(missing(name, &forest.runtimes, namespace)),
                _ => Ok(nodes),
            }
        }
    }
}

fn is_ready(node: &Node) -> bool {
    node.state.is_none_or(|state| state == State::Ready) && node.children.iter().all(is_ready)
}
