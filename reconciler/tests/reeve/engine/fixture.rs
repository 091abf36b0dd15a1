//! A fleet repository, the namespace of its source and the namespace of its objects, for one test.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind, NamespaceResourceScope};
use kube::{Api, Client, Resource, ResourceExt as _};
use reeve_crds::{GitSource, Inventory, Runtime, RuntimeComponent, State};
use reeve_tests::{Cluster, CommitId, GitRepository, eventually, until};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::reeve::Reeve;

pub(crate) struct Fixture {
    pub(crate) cluster: Cluster,
    pub(crate) client: Client,
    /// Where the source and its runtimes are.
    pub(crate) namespace: String,
    /// Where objects go that name no namespace.
    pub(crate) target: String,
    /// The name of the runtime that there is from the start: no other test has one like it.
    pub(crate) runtime: String,
    pub(crate) repository: GitRepository,
    pub(crate) data: TempDir,
    /// Version and further lines by component.
    components: Mutex<BTreeMap<String, (String, String)>>,
}

impl Fixture {
    /// On the shared cluster, with one runtime that says nothing.
    pub(crate) async fn new(prefix: &str) -> Self {
        Self::on(Cluster::shared().await, prefix).await
    }

    pub(crate) async fn on(cluster: &Cluster, prefix: &str) -> Self {
        cluster.crds().await;
        Self::on_prepared(cluster, prefix).await
    }

    /// On a cluster that has the CRDs already, of whatever version.
    pub(crate) async fn on_prepared(cluster: &Cluster, prefix: &str) -> Self {
        let namespace = cluster.namespace(prefix).await;
        let target = cluster.namespace(&format!("{prefix}-target")).await;
        let fixture = Self {
            client: cluster.client(),
            cluster: cluster.clone(),
            runtime: namespace.clone(),
            namespace,
            target,
            repository: GitRepository::create().unwrap(),
            data: TempDir::new().unwrap(),
            components: Mutex::default(),
        };
        fixture.account("reeve-applier").await;
        fixture.runtime(&fixture.runtime, "");
        fixture
    }

    /// A `ServiceAccount` that may do everything.
    pub(crate) async fn account(&self, name: &str) {
        let subject = json!([{ "kind": "ServiceAccount", "name": name, "namespace": "reeve-system" }]);
        let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" });
        self.apply("v1", "Namespace", None, "reeve-system", json!({})).await;
        self.apply("v1", "ServiceAccount", Some("reeve-system"), name, json!({})).await;
        let binding = json!({ "subjects": subject, "roleRef": role });
        self.apply("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", None, &format!("test-{name}"), binding).await;
    }

    /// Makes an object by hand.
    pub(crate) async fn apply(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
        mut object: Value,
    ) -> DynamicObject {
        object["apiVersion"] = json!(api_version);
        object["kind"] = json!(kind);
        object["metadata"]["name"] = json!(name);
        let params = PatchParams::apply("somebody").force();
        self.dynamic(api_version, kind, namespace).patch(name, &params, &Patch::Apply(&object)).await.unwrap()
    }

    pub(crate) fn dynamic(&self, api_version: &str, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let file = self.repository.work_tree().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    /// A component of all runtimes: the manifests are a template.
    pub(crate) fn component(&self, name: &str, version: &str, manifests: &str) {
        self.component_with(name, version, "{}", manifests);
    }

    /// As [`component`](Self::component), with what `fleet.yaml` says of it.
    pub(crate) fn component_with(&self, name: &str, version: &str, options: &str, manifests: &str) {
        self.chart(name, version, manifests);
        self.use_chart(name, version, options);
    }

    /// Has all runtimes use the chart of this name, which is there.
    pub(crate) fn use_chart(&self, name: &str, version: &str, options: &str) {
        self.components.lock().unwrap().insert(name.to_owned(), (version.to_owned(), options.to_owned()));
        self.list_components();
    }

    pub(crate) fn chart(&self, name: &str, version: &str, manifests: &str) {
        let folder = format!("charts/{name}/{version}");
        self.write(&format!("{folder}/Chart.yaml"), &format!("apiVersion: v2\nname: {name}\nversion: {version}\n"));
        self.write(&format!("{folder}/templates/all.yaml.j2"), manifests);
    }

    pub(crate) fn drop_component(&self, name: &str) {
        self.components.lock().unwrap().remove(name);
        self.list_components();
    }

    fn list_components(&self) {
        let components = self.components.lock().unwrap();
        let lines = |line: &dyn Fn(&str, &(String, String)) -> String| -> String {
            components.iter().map(|(name, rest)| line(name, rest)).collect()
        };
        let used = lines(&|name, (_, options)| format!("  {name}: {options}\n"));
        let versions = lines(&|name, (version, _)| format!("  {name}: {version}\n"));
        let defaults = format!("defaults: {{ channel: regular, namespace: {} }}", self.target);
        let or_none = |text: String| if text.is_empty() { " {}\n".to_owned() } else { format!("\n{text}") };
        self.write("fleet.yaml", &format!("kind: Fleet\n{defaults}\ncomponents:{}", or_none(used)));
        self.write("channels/regular.yaml", &format!("kind: Channel\ncomponents:{}", or_none(versions)));
    }

    /// A runtime with these further lines.
    pub(crate) fn runtime(&self, name: &str, text: &str) {
        self.write(&format!("runtimes/{name}.yaml"), &format!("kind: Runtime\n{text}"));
    }

    /// Commits the work tree and pushes it.
    pub(crate) fn push(&self) -> CommitId {
        let commit = self.repository.commit_all("Change the fleet").unwrap();
        self.repository.push().unwrap();
        commit
    }

    /// Follows the repository by its path, asked every hour: file events tell of pushes.
    pub(crate) async fn follow(&self) -> GitSource {
        self.follow_with(json!({ "url": self.repository.file_url(), "interval": "1h" })).await
    }

    pub(crate) async fn follow_with(&self, mut spec: Value) -> GitSource {
        spec["ref"] = json!({ "branch": "main" });
        let source = json!({ "apiVersion": "reeve.dev/v1alpha1", "kind": "GitSource", "metadata": { "name": "fleet" }, "spec": spec });
        self.api::<GitSource>()
            .patch("fleet", &PatchParams::apply("somebody").force(), &Patch::Apply(&source))
            .await
            .unwrap()
    }

    pub(crate) fn reeve(&self) -> Reeve {
        self.reeve_through(self.cluster.kubeconfig(), &[])
    }

    pub(crate) fn reeve_through(&self, kubeconfig: &Path, args: &[&str]) -> Reeve {
        Reeve::start(kubeconfig, &self.namespace, self.data.path(), args)
    }

    pub(crate) fn api<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Where objects go that name no namespace.
    pub(crate) fn there<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), &self.target)
    }

    /// Waits until the runtime is as this commit says, and healthy.
    pub(crate) async fn applied(&self, commit: &CommitId) -> Runtime {
        self.applied_to(&self.runtime, commit).await
    }

    pub(crate) async fn applied_to(&self, runtime: &str, commit: &CommitId) -> Runtime {
        until(&self.api::<Runtime>(), runtime, "the commit is applied", |runtime| {
            let Some(status) = &runtime.status else { return false };
            let of_commit = |rendered: &Option<reeve_crds::outcome::Rendered>| {
                rendered.as_ref().is_some_and(|rendered| rendered.commit.as_deref() == Some(commit.as_str()))
            };
            of_commit(&status.desired) && of_commit(&status.last_good) && status.state == Some(State::Ready)
        })
        .await
    }

    /// Waits for a component to be in this state for this reason.
    pub(crate) async fn component_is(&self, component: &str, state: State, reason: &str) -> RuntimeComponent {
        self.component_of(&self.runtime, component, state, reason).await
    }

    pub(crate) async fn component_of(
        &self,
        runtime: &str,
        component: &str,
        state: State,
        reason: &str,
    ) -> RuntimeComponent {
        let name = format!("{runtime}.{component}");
        until(&self.api::<RuntimeComponent>(), &name, &format!("{component} is {state:?}: {reason}"), |component| {
            component.status.as_ref().is_some_and(|status| {
                let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready");
                status.state == Some(state) && ready.is_some_and(|ready| ready.reason == reason)
            })
        })
        .await
    }

    /// Waits until an object is not there.
    pub(crate) async fn gone<K>(&self, api: &Api<K>, name: &str)
    where
        K: Clone + DeserializeOwned + std::fmt::Debug,
    {
        eventually(&format!("{name} is gone"), || async {
            match api.get_opt(name).await.unwrap() {
                None => Ok(()),
                Some(object) => Err(format!("{object:?}")),
            }
        })
        .await;
    }

    /// Waits for an event whose reason and note are so.
    pub(crate) async fn event(&self, reason: &str, words: &[&str]) -> String {
        eventually(&format!("an event {reason} with {words:?}"), || async {
            let events = self.api::<Event>().list(&ListParams::default()).await.unwrap();
            let notes: Vec<String> = events
                .into_iter()
                .map(|event| format!("{}: {}", event.reason.unwrap_or_default(), event.message.unwrap_or_default()))
                .collect();
            let is_it = |note: &&String| {
                note.starts_with(&format!("{reason}: ")) && words.iter().all(|word| note.contains(word))
            };
            notes.iter().find(is_it).cloned().ok_or_else(|| notes.join("\n"))
        })
        .await
    }

    /// Names in the inventory, as `Kind/name`.
    pub(crate) async fn inventory(&self, runtime: &str) -> Vec<String> {
        let pages = self.api::<Inventory>().list(&ListParams::default()).await.unwrap();
        let entries =
            pages.items.into_iter().filter(|page| page.spec.runtime == runtime).flat_map(|page| page.spec.entries);
        let mut names: Vec<String> = entries.map(|entry| format!("{}/{}", entry.kind, entry.name)).collect();
        names.sort();
        names
    }

    /// Versions of all objects of Reeve's kinds.
    pub(crate) async fn versions(&self) -> BTreeMap<String, String> {
        let mut versions = BTreeMap::new();
        for kind in ["GitSource", "Runtime", "RuntimeComponent", "Inventory"] {
            let all = self.dynamic("reeve.dev/v1alpha1", kind, Some(&self.namespace));
            for object in all.list(&ListParams::default()).await.unwrap() {
                versions.insert(format!("{kind}/{}", object.name_any()), object.resource_version().unwrap_or_default());
            }
        }
        for object in self.there::<ConfigMap>().list(&ListParams::default().labels("reeve.dev/runtime")).await.unwrap()
        {
            versions.insert(format!("ConfigMap/{}", object.name_any()), object.resource_version().unwrap_or_default());
        }
        versions
    }

    /// What a `ConfigMap` of the target says under `say`.
    pub(crate) async fn says(&self, name: &str) -> Option<String> {
        self.there::<ConfigMap>().get_opt(name).await.unwrap()?.data?.remove("say")
    }
}

/// A `ConfigMap` that says something.
pub(crate) fn config(name: &str, say: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: {name} }}\ndata: {{ say: {say:?} }}\n---\n")
}

/// As [`config`], with an annotation.
pub(crate) fn annotated(name: &str, say: &str, annotation: &str, value: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: {name}, annotations: {{ {annotation}: {value:?} }} }}\ndata: {{ say: {say:?} }}\n---\n"
    )
}

/// A Deployment without pods, which is healthy as soon as the controllers saw it, or with some, which no node runs.
pub(crate) fn deployment(name: &str, replicas: u32) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{ name: {name} }}\nspec:\n  replicas: {replicas}\n  selector: {{ matchLabels: {{ app: {name} }} }}\n  template:\n    metadata: {{ labels: {{ app: {name} }} }}\n    spec: {{ containers: [{{ name: web, image: web }}] }}\n---\n"
    )
}

/// A CRD whose kind lives in namespaces, and has a `spec` and a `status` with anything in them.
pub(crate) fn definition(group: &str, kind: &str) -> String {
    let (singular, plural) = (kind.to_lowercase(), format!("{}s", kind.to_lowercase()));
    let open = "{ type: object, x-kubernetes-preserve-unknown-fields: true }";
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{ name: {plural}.{group} }}\nspec:\n  group: {group}\n  scope: Namespaced\n  names: {{ kind: {kind}, singular: {singular}, plural: {plural}, listKind: {kind}List }}\n  versions:\n    - name: v1\n      served: true\n      storage: true\n      subresources: {{ status: {{}} }}\n      schema:\n        openAPIV3Schema:\n          type: object\n          properties: {{ spec: {open}, status: {open} }}\n---\n"
    )
}

/// A CRD whose kind `Gadget` is stored as `v1`, and served as `v1alpha1` too if the old version is there still.
pub(crate) fn gadgets(group: &str, old: bool) -> String {
    let schema = "{ openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }";
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{ name: gadgets.{group} }}\nspec:\n  group: {group}\n  scope: Namespaced\n  names: {{ kind: Gadget, plural: gadgets }}\n  versions:\n    - {{ name: v1alpha1, served: {old}, storage: false, schema: {schema} }}\n    - {{ name: v1, served: true, storage: true, schema: {schema} }}\n---\n"
    )
}
