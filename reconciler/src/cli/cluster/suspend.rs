//! `reeve suspend` and `reeve resume`: the one field of a spec that belongs to people.

use std::io::Write as _;

use kube::api::{Patch, PatchParams};
use reeve_crds::{GitSource, Runtime, RuntimeComponent};
use serde_json::json;

use super::connection::Connection;
use super::governed::Governed;
use crate::cli::args::cluster::{NamesArgs, Noun};
use crate::cli::failure::Failure;
use crate::cli::{Status, Terminal};

/// Under which name the command line writes.
pub(super) const FIELD_MANAGER: &str = "reeve-cli";

pub(super) async fn run(args: &NamesArgs, suspend: bool, terminal: &mut Terminal) -> Result<Status, Failure> {
    let connection = Connection::open(&args.connection).await?;
    match args.noun {
        Noun::Source => set::<GitSource>(&connection, args, suspend, terminal).await,
        Noun::Runtime => set::<Runtime>(&connection, args, suspend, terminal).await,
        Noun::Component => set::<RuntimeComponent>(&connection, args, suspend, terminal).await,
    }
}

async fn set<K: Governed>(
    connection: &Connection,
    args: &NamesArgs,
    suspend: bool,
    terminal: &mut Terminal,
) -> Result<Status, Failure> {
    // All must be there before any is changed.
    let mut objects = Vec::new();
    for name in &args.names {
        objects.push((name, connection.get::<K>(name).await?));
    }
    let word = if suspend { "suspended" } else { "resumed" };
    for (name, object) in objects {
        if object.is_suspended() == suspend {
            let state = if suspend { "suspended already" } else { "not suspended" };
            writeln!(terminal.out, "{}/{name} is {state}", K::WORD)?;
            continue;
        }
        // A merge, not an apply: what the same manager sets elsewhere must stay.
        let patch = Patch::Merge(json!({ "spec": { "suspend": suspend } }));
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let api = connection.api::<K>(&connection.scope(false));
        let doing = format!("change {} {name}", K::WORD);
        connection.ask(&doing, api.patch(name, &params, &patch)).await?;
        writeln!(terminal.out, "{}/{name} {word}", K::WORD)?;
    }
    Ok(Status::Fine)
}
