//! Whether pods take what is not encrypted by the mesh, as the resolver sends it. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::{CustomResource, ResourceExt};
use serde::{Deserialize, Serialize};

/// Where Istio keeps what holds for the whole mesh, unless it is told otherwise.
const ROOT: &str = "istio-system";

/// Which connections pods of the mesh take.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, PartialEq, Serialize)]
#[kube(
    group = "security.istio.io",
    version = "v1",
    kind = "PeerAuthentication",
    plural = "peerauthentications",
    namespaced,
    schema = "disabled",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::switch) struct PeerAuthenticationSpec {
    selector: Option<PodSelector>,
    mtls: Option<Mtls>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct PodSelector {
    match_labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
struct Mtls {
    mode: Option<String>,
}

/// The object by which pods with these labels refuse what the resolver sends; the closest one that says a mode counts.
pub(in crate::switch) fn plain_refused_by(
    all: &[Arc<PeerAuthentication>],
    namespace: &str,
    labels: &BTreeMap<String, String>,
) -> Option<String> {
    let mode = |one: &PeerAuthentication| {
        one.spec.mtls.as_ref().and_then(|mtls| mtls.mode.clone()).filter(|mode| mode != "UNSET")
    };
    let closest = all.iter().filter(|one| mode(one).is_some()).filter_map(|one| {
        let within = one.namespace().unwrap_or_default();
        let chosen =
            one.spec.selector.as_ref().map(|selector| &selector.match_labels).filter(|labels| !labels.is_empty());
        let distance = match chosen {
            Some(chosen) => {
                let matches = chosen.iter().all(|(key, value)| labels.get(key) == Some(value));
                (within == namespace && matches).then_some(0)?
            }
            None if within == namespace => 1,
            None if within == ROOT => 2,
            None => return None,
        };
        // Of two at one distance Istio takes the older.
        Some((distance, one.creation_timestamp().map(|time| time.0), one))
    });
    let (.., found) = closest.min_by_key(|(distance, created, _)| (*distance, *created))?;
    (mode(found).as_deref() == Some("STRICT"))
        .then(|| format!("{}/{}", found.namespace().unwrap_or_default(), found.name_any()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(namespace: &str, name: &str, spec: &serde_json::Value) -> Arc<PeerAuthentication> {
        let object = json!({
            "apiVersion": "security.istio.io/v1",
            "kind": "PeerAuthentication",
            "metadata": { "namespace": namespace, "name": name },
            "spec": spec,
        });
        Arc::new(serde_json::from_value(object).unwrap())
    }

    #[test]
    fn the_closest_word_on_mtls_counts() {
        let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
        let refused = |all: &[Arc<PeerAuthentication>]| plain_refused_by(all, "shop", &labels);
        let mesh = one("istio-system", "default", &json!({ "mtls": { "mode": "STRICT" } }));
        assert_eq!(refused(std::slice::from_ref(&mesh)).as_deref(), Some("istio-system/default"));
        let namespace = one("shop", "default", &json!({ "mtls": { "mode": "PERMISSIVE" } }));
        assert_eq!(refused(&[mesh.clone(), namespace.clone()]), None);
        let unset = one("shop", "unset", &json!({ "mtls": { "mode": "UNSET" } }));
        assert_eq!(refused(&[mesh, unset]).as_deref(), Some("istio-system/default"));
        let workload = json!({ "selector": { "matchLabels": { "app": "web" } }, "mtls": { "mode": "STRICT" } });
        let workload = one("shop", "web", &workload);
        assert_eq!(refused(&[namespace, workload]).as_deref(), Some("shop/web"));
        let another = json!({ "selector": { "matchLabels": { "app": "api" } }, "mtls": { "mode": "STRICT" } });
        assert_eq!(
            refused(&[one("shop", "api", &another), one("other", "x", &json!({ "mtls": { "mode": "STRICT" } }))]),
            None
        );
    }
}
