//! Kinds by the names that people give them, as the API server tells.

use kube::core::discovery::v2::{APIGroupDiscovery, APIResourceDiscovery};
use kube::discovery::ApiResource;
use reeve_renderer::suggest::did_you_mean;

use super::connection::Connection;
use crate::cli::failure::Failure;

/// A kind that can be read.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    pub(super) resource: ApiResource,
    pub(super) namespaced: bool,
    /// Other names: singular, short ones.
    names: Vec<String>,
}

/// All kinds that the API server has, each in the version that it prefers.
pub(super) struct Kinds(Vec<Kind>);

impl Kinds {
    pub(super) async fn discover(connection: &Connection) -> Result<Self, Failure> {
        let client = &connection.client;
        let core = connection.ask("ask for kinds", client.list_core_api_versions_aggregated()).await?;
        let groups = connection.ask("ask for kinds", client.list_api_groups_aggregated()).await?;
        let mut kinds: Vec<Kind> = Vec::new();
        for group in core.items.iter().chain(&groups.items) {
            add_group(group, &mut kinds);
        }
        Ok(Self(kinds))
    }

    /// The kind of this name, which may have its group after a dot. Without one the core comes first.
    pub(super) fn find(&self, name: &str) -> Result<&Kind, Failure> {
        let (word, group) = match name.split_once('.') {
            Some((word, group)) => (word, Some(group.to_lowercase())),
            None => (name, None),
        };
        let word = word.to_lowercase();
        let in_group = |kind: &&Kind| group.as_ref().is_none_or(|group| kind.resource.group == *group);
        let found: Vec<&Kind> = self.0.iter().filter(in_group).filter(|kind| kind.is_called(&word)).collect();
        match found[..] {
            [] => {
                let known = self.0.iter().map(|kind| &*kind.resource.plural);
                Err(Failure::unknown(format!("the cluster knows no kind `{name}`"), did_you_mean(&word, known)))
            }
            [kind] => Ok(kind),
            [first, ..] if first.resource.group.is_empty() => Ok(first),
            _ => {
                let choices = found.iter().map(|kind| format!("{}.{}", kind.resource.plural, kind.resource.group));
                let help = format!("write one of {}", choices.collect::<Vec<_>>().join(", "));
                Err(Failure::unknown(format!("several kinds are called `{name}`"), Some(help)))
            }
        }
    }

    /// All kinds of a group.
    pub(super) fn of_group(&self, group: &str) -> impl Iterator<Item = &Kind> {
        self.0.iter().filter(move |kind| kind.resource.group == group)
    }

    /// The kind that an owner reference names.
    pub(super) fn exact(&self, api_version: &str, kind: &str) -> Option<&Kind> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        self.0.iter().find(|known| known.resource.group == group && known.resource.kind == kind)
    }
}

impl Kind {
    fn is_called(&self, word: &str) -> bool {
        self.resource.plural == word
            || self.resource.kind.to_lowercase() == word
            || self.names.iter().any(|name| name == word)
    }
}

/// The first version that has a kind is the one that the server prefers.
fn add_group(group: &APIGroupDiscovery, kinds: &mut Vec<Kind>) {
    let name = group.metadata.as_ref().and_then(|metadata| metadata.name.clone()).unwrap_or_default();
    for version in &group.versions {
        let Some(number) = &version.version else { continue };
        for resource in &version.resources {
            let known = kinds
                .iter()
                .any(|kind| kind.resource.group == name && Some(&kind.resource.plural) == resource.resource.as_ref());
            if !known && let Some(kind) = kind(&name, number, resource) {
                kinds.push(kind);
            }
        }
    }
}

fn kind(group: &str, version: &str, resource: &APIResourceDiscovery) -> Option<Kind> {
    if !resource.verbs.iter().any(|verb| verb == "get") {
        return None;
    }
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let names = resource.short_names.iter().chain(&resource.singular_resource).cloned().collect();
    let resource_of = ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version,
        kind: resource.response_kind.as_ref()?.kind.clone()?,
        plural: resource.resource.clone()?,
    };
    Some(Kind { resource: resource_of, namespaced: resource.scope.as_deref() == Some("Namespaced"), names })
}
