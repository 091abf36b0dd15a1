//! `reeve trace`: from an object in the cluster back to the commit that asked for it.

use kube::ResourceExt;
use kube::api::{Api, DynamicObject, ListParams};
use reeve_crds::{GitSource, Runtime, RuntimeComponent};
use reeve_reconciler_engine::owner::NAMESPACE_LABEL;
use reeve_renderer::bundle::{COMPONENT_LABEL, RUNTIME_LABEL};

use super::connection::{Connection, Scope};
use super::kinds::{Kind, Kinds};
use crate::cli::args::cluster::{Format, TraceArgs};
use crate::cli::document;
use crate::cli::failure::Failure;
use crate::cli::{Status, Terminal};

mod answer;
mod checkout;
mod writers;

use answer::{Answer, Owned};
use checkout::Checkout;

/// Owners that are followed: a Pod has two, few things have more.
const OWNERS: usize = 8;

pub(super) async fn run(args: &TraceArgs, is_named: bool, terminal: &mut Terminal) -> Result<Status, Failure> {
    let Some((kind, name)) = args.object.split_once('/').filter(|(kind, name)| !kind.is_empty() && !name.is_empty())
    else {
        let help = "write it like deployment/web".to_owned();
        return Err(Failure::unknown(format!("`{}` is not an object", args.object), Some(help)));
    };
    let connection = Connection::open(&args.connection).await?;
    let kinds = Kinds::discover(&connection).await?;
    let kind = kinds.find(kind)?;
    let mut answer = follow(&connection, &kinds, kind, name).await?;
    if let Some(owned) = &answer.owned {
        answer.checkout = checkout::find_checkout(owned, answer.traced(), is_named)?;
    }
    match args.output {
        Format::Text => answer.write(Connection::now(), terminal)?,
        Format::Json => document::json(&answer.to_json(), terminal)?,
        Format::Yaml => document::yaml(&answer.to_json(), terminal)?,
    }
    Ok(if answer.owned.is_some() { Status::Fine } else { Status::Findings })
}

/// The object, those that own it, and what Reeve says of the first of them that is Reeve's.
async fn follow(connection: &Connection, kinds: &Kinds, kind: &Kind, name: &str) -> Result<Answer, Failure> {
    let namespace = kind.namespaced.then(|| connection.namespace.clone());
    let found = read(connection, kind, namespace.as_deref(), name).await?;
    let Some(object) = found else {
        let place = namespace.map_or_else(String::new, |namespace| format!(" in namespace `{namespace}`"));
        let help = kind.namespaced.then(|| "name another namespace with -n".to_owned());
        return Err(Failure::unknown(format!("there is no {} `{name}`{place}", kind.resource.kind), help));
    };
    let mut chain = vec![(kind.clone(), object)];
    while chain.len() < OWNERS
        && let Some((_, last)) = chain.last()
        && Marks::of(last).is_none()
        && let Some(owner) = last.owner_references().iter().find(|owner| owner.controller == Some(true)).cloned()
        && let Some(kind) = kinds.exact(&owner.api_version, &owner.kind)
    {
        let namespace = kind.namespaced.then(|| last.namespace()).flatten();
        match read(connection, kind, namespace.as_deref(), &owner.name).await? {
            Some(object) if object.uid().as_deref() == Some(&owner.uid) => chain.push((kind.clone(), object)),
            // Made anew under the same name, or gone: it says nothing of this one.
            Some(_) | None => break,
        }
    }
    let owned = match chain.last().and_then(|(_, last)| Marks::of(last)) {
        Some(marks) => Some(owned(connection, &marks).await?),
        None => None,
    };
    Ok(Answer { chain, owned, checkout: Checkout::default() })
}

async fn read(
    connection: &Connection,
    kind: &Kind,
    namespace: Option<&str>,
    name: &str,
) -> Result<Option<DynamicObject>, Failure> {
    let api: Api<DynamicObject> = match namespace {
        Some(namespace) => Api::namespaced_with(connection.client.clone(), namespace, &kind.resource),
        None => Api::all_with(connection.client.clone(), &kind.resource),
    };
    Ok(connection.ask(&format!("read {} {name}", kind.resource.kind), api.get_opt(name)).await?)
}

/// The component that an object says it belongs to.
struct Marks<'a> {
    namespace: &'a str,
    runtime: &'a str,
    component: &'a str,
}

impl<'a> Marks<'a> {
    fn of(object: &'a DynamicObject) -> Option<Self> {
        let label = |name| object.labels().get(name).map(String::as_str);
        Some(Self {
            namespace: label(NAMESPACE_LABEL)?,
            runtime: label(RUNTIME_LABEL)?,
            component: label(COMPONENT_LABEL)?,
        })
    }
}

/// What Reeve's kinds say of a component.
async fn owned(connection: &Connection, marks: &Marks<'_>) -> Result<Owned, Failure> {
    let Marks { namespace, runtime, component } = marks;
    let mut owned = Owned { runtime: (*runtime).to_owned(), component: (*component).to_owned(), ..Owned::default() };
    let scope = Scope::Namespace((*namespace).to_owned());
    let fields = format!("spec.runtime={runtime},spec.component={component}");
    let found = connection.select::<RuntimeComponent>(&scope, ListParams::default().fields(&fields)).await?;
    owned.object = found.into_iter().next();
    let runtimes = connection.api::<Runtime>(&scope);
    owned.runtime_object = connection.ask(&format!("read runtime {runtime}"), runtimes.get_opt(runtime)).await?;
    let reference = owned.runtime_object.as_ref().and_then(|runtime| runtime.spec.source_ref.as_ref());
    if let Some(source) = reference.map(|source| source.name.clone()) {
        let sources = connection.api::<GitSource>(&scope);
        owned.source = connection.ask(&format!("read source {source}"), sources.get_opt(&source)).await?;
    }
    Ok(owned)
}
