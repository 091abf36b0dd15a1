//! What is above something that is reconciled: while that is suspended or gone, nothing happens below it.

use reeve_crds::{GitSource, Runtime, RuntimeComponent};

use super::super::connection::Connection;
use super::super::governed::{Governed, Shown};
use crate::cli::args::cluster::{Noun, ReconcileArgs};
use crate::cli::failure::Failure;

/// What is above an object.
#[derive(Default)]
pub(super) struct Above {
    /// The runtime of a component, by its name.
    runtime: Option<(String, Option<Runtime>)>,
    /// The source, by its name.
    source: Option<(String, Option<GitSource>)>,
}

impl Above {
    pub(super) async fn of(connection: &Connection, args: &ReconcileArgs) -> Result<Self, Failure> {
        match args.noun {
            Noun::Source => Ok(Self::default()),
            Noun::Runtime => {
                let runtime = connection.get::<Runtime>(&args.name).await?;
                Ok(Self { runtime: None, source: source_of(connection, Some(&runtime)).await? })
            }
            Noun::Component => {
                let name = connection.get::<RuntimeComponent>(&args.name).await?.spec.runtime;
                let runtime = find::<Runtime>(connection, &name).await?;
                let source = source_of(connection, runtime.as_ref()).await?;
                Ok(Self { runtime: Some((name, runtime)), source })
            }
        }
    }

    pub(super) fn source_name(&self) -> Option<&str> {
        self.source.as_ref().map(|(name, _)| &**name)
    }

    /// Why nothing would happen below it.
    pub(super) fn hindrance(&self) -> Option<Hindrance> {
        let runtime = self.runtime.as_ref().and_then(|(name, runtime)| Hindrance::of(name, runtime.as_ref()));
        runtime.or_else(|| self.source.as_ref().and_then(|(name, source)| Hindrance::of(name, source.as_ref())))
    }
}

async fn source_of(
    connection: &Connection,
    runtime: Option<&Runtime>,
) -> Result<Option<(String, Option<GitSource>)>, Failure> {
    let Some(source) = runtime.and_then(|runtime| runtime.spec.source_ref.as_ref()) else { return Ok(None) };
    Ok(Some((source.name.clone(), find(connection, &source.name).await?)))
}

async fn find<K: Shown>(connection: &Connection, name: &str) -> Result<Option<K>, Failure> {
    let api = connection.api::<K>(&connection.scope(false));
    Ok(connection.ask(&format!("read {} {name}", K::WORD), api.get_opt(name)).await?)
}

/// Why nothing happens to what someone asks for.
pub(super) struct Hindrance {
    word: &'static str,
    name: String,
    is_gone: bool,
    is_above: bool,
}

impl Hindrance {
    /// It is suspended itself.
    pub(super) fn own<K: Governed>(name: &str) -> Self {
        Self { word: K::WORD, name: name.to_owned(), is_gone: false, is_above: false }
    }

    fn of<K: Governed>(name: &str, object: Option<&K>) -> Option<Self> {
        let is_hindering = object.is_none_or(Governed::is_suspended);
        is_hindering.then(|| Self { is_gone: object.is_none(), is_above: true, ..Self::own::<K>(name) })
    }

    fn subject(&self) -> String {
        format!("{}/{} is {}", self.word, self.name, if self.is_gone { "gone" } else { "suspended" })
    }

    /// For whoever does not wait.
    pub(super) fn sentence(&self) -> String {
        let who = if self.is_above { format!("but {}", self.subject()) } else { "which is suspended".to_owned() };
        let until = if self.is_gone { "there again" } else { "resumed" };
        format!("{who}: nothing happens until it is {until}")
    }

    /// For whoever wants to wait.
    pub(super) fn into_failure(self) -> Failure {
        let help = if self.is_gone {
            "`reeve get` shows what is there".to_owned()
        } else {
            format!("`reeve resume {} {}`, and it is reconciled at once", self.word, self.name)
        };
        Failure::unknown(format!("{}: there is nothing to wait for", self.subject()), Some(help))
    }
}
