//! Makes the bundle of a runtime out of the drafts of its components, and the digest it is named by.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{Arc, LazyLock};

pub use reeve_renderer_objects::bundle::{
    Bundle, BundleComponent, COMPONENT_LABEL, ComponentTarget, MANAGED_BY, Object, RUNTIME_LABEL,
};

use crate::cache::Outcome;
use crate::diagnostic::{Diagnostic, Severity};
use crate::object::scope::Scopes;
use crate::object::{Draft, ObjectKey, Origin};
use crate::resolve::{Resolved, ResolvedComponent};
use crate::value::{Dict, Digest, Entries, Value};

/// What is written into every object, in memory once.
struct Words {
    managed_by: Arc<str>,
    reeve: Value,
    runtime: Arc<str>,
    component: Arc<str>,
    metadata: Arc<str>,
    labels: Arc<str>,
    namespace: Arc<str>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| Words {
    managed_by: MANAGED_BY.into(),
    reeve: Value::from("reeve"),
    runtime: RUNTIME_LABEL.into(),
    component: COMPONENT_LABEL.into(),
    metadata: "metadata".into(),
    labels: "labels".into(),
    namespace: "namespace".into(),
});

type Drafts<'a> = [(&'a ResolvedComponent, Arc<Outcome>)];

/// Puts namespaces and labels on drafts, and looks for objects that are there twice.
pub(crate) fn assemble(resolved: &Resolved, drafts: &Drafts<'_>, most: usize) -> Result<Bundle, Vec<Diagnostic>> {
    let mut scopes = Scopes::default();
    let all =
        || drafts.iter().flat_map(|(component, outcome)| outcome.iter().flatten().map(move |draft| (component, draft)));
    all().for_each(|(_, draft)| scopes.learn(draft));
    let mut findings = Vec::new();
    let mut warnings = Vec::new();
    let count = all().count();
    if count > most {
        let message = format!("`{}` has {count} objects; fleet.yaml allows {most}", resolved.runtime.name);
        let finding =
            Diagnostic::error("too-many-objects", message).at(resolved.runtime.span.in_file(&resolved.runtime.file));
        findings.push(finding.help("raise limits.objects in fleet.yaml if this is meant"));
    }
    let mut owners: BTreeMap<(ComponentTarget, ObjectKey), (Arc<str>, Origin)> = BTreeMap::new();
    let mut components = Vec::with_capacity(drafts.len());
    for (component, outcome) in drafts {
        let mut objects = Vec::new();
        for draft in outcome.iter().flatten() {
            let object = finish(resolved, component, draft, &scopes, &mut warnings);
            findings.extend(foreign(resolved, component, &object));
            let owner = (component.name.clone(), draft.origin.clone());
            if let Some(first) = owners.insert((component.target, object.key.clone()), owner) {
                let mut finding = twice(&object, component, &first);
                if is_repeated(component, &object, &objects) {
                    finding.severity = Severity::Warning;
                    finding.runtimes.push(resolved.runtime.name.clone());
                    warnings.push(finding);
                    continue;
                }
                findings.push(finding);
            }
            objects.push(object);
        }
        objects.sort_by(|a, b| a.key.cmp(&b.key));
        components.push(BundleComponent {
            name: component.name.clone(),
            chart: component.chart.name.clone(),
            version: component.chart.version.clone(),
            namespace: component.namespace.clone(),
            release_name: component.release_name.clone(),
            target: component.target,
            depends_on: component.depends_on.clone(),
            service_account: component.service_account.clone(),
            timeout: component.timeout.clone(),
            channel: component.channel.clone(),
            origin: component.origin.clone(),
            health: component.chart.health.clone(),
            digest: digest(objects.iter().map(|object| &object.value)),
            objects,
        });
    }
    if !findings.is_empty() {
        return Err(findings);
    }
    let digest = name(&components);
    Ok(Bundle { runtime: resolved.runtime.name.clone(), components, digest, warnings })
}

/// An object that the runtime's target does not allow: of another namespace, or of none.
fn foreign(resolved: &Resolved, component: &ResolvedComponent, object: &Object) -> Option<Diagnostic> {
    let allowed = &resolved.runtime.target.namespaces;
    if allowed.is_empty() || component.target == ComponentTarget::ControlPlane {
        return None;
    }
    let help = format!("`target.namespaces` of the runtime has {}", allowed.join(", "));
    let (code, message) = match &object.key.namespace {
        Some(namespace) if allowed.contains(namespace) => return None,
        Some(_) => (
            "foreign-namespace",
            format!("{} is in a namespace that `{}` does not allow", object.key, resolved.runtime.name),
        ),
        None => (
            "cluster-scoped",
            format!("{} is in no namespace, which `{}` does not allow", object.key, resolved.runtime.name),
        ),
    };
    Some(Diagnostic::error(code, message).at(object.origin.location()).help(help))
}

/// Whether a chart of Helm's writes the very same object twice, which `helm template` shows as it is.
fn is_repeated(component: &ResolvedComponent, object: &Object, before: &[Object]) -> bool {
    component.helm.is_some() && before.iter().any(|other| other.key == object.key && other.value == object.value)
}

fn twice(object: &Object, component: &ResolvedComponent, first: &(Arc<str>, Origin)) -> Diagnostic {
    let (owner, origin) = first;
    let message = if *owner == component.name {
        format!("{} is there twice in component `{owner}`", object.key)
    } else {
        format!("{} is in component `{}` and in component `{owner}`", object.key, component.name)
    };
    Diagnostic::error("duplicate-object", message)
        .at(object.origin.location())
        .note(format!("the first is in {origin}"), Some(origin.location()))
        .help("rename one of the two, or remove it")
}

fn finish(
    resolved: &Resolved,
    component: &ResolvedComponent,
    draft: &Draft,
    scopes: &Scopes,
    warnings: &mut Vec<Diagnostic>,
) -> Object {
    let cluster = scopes.is_cluster(draft.group(), &draft.kind);
    let mut warn = |code, message, help: &str| {
        let mut finding = Diagnostic::warning(code, message).at(draft.origin.location()).help(help);
        finding.runtimes.push(resolved.runtime.name.clone());
        warnings.push(finding);
    };
    if cluster && draft.namespace.is_some() {
        let message = format!("{} {} has a namespace, but its kind lives in none", draft.kind, draft.name);
        warn("needless-namespace", message, "remove metadata.namespace; it is left out");
    }
    let in_clear = ["data", "stringData"].iter().any(|key| draft.value.get(key).is_some_and(Value::is_truthy));
    if &*draft.kind == "Secret" && draft.group().is_empty() && in_clear {
        let message = format!("Secret {} holds its data in clear", draft.name);
        warn("secret-in-clear", message, "refer to a Secret that exists in the runtime");
    }
    let namespace = (!cluster).then(|| draft.namespace.clone().unwrap_or_else(|| component.namespace.clone()));
    let value = labelled(&draft.value, namespace.as_ref(), &resolved.runtime.name, &component.name);
    let key = ObjectKey { group: draft.group().into(), kind: draft.kind.clone(), namespace, name: draft.name.clone() };
    Object {
        key,
        api_version: draft.api_version.clone(),
        value,
        origin: draft.origin.clone(),
        hook: draft.hook.clone(),
        keep: draft.keep,
    }
}

/// The object with its namespace and our labels.
fn labelled(object: &Dict, namespace: Option<&Arc<str>>, runtime: &Arc<str>, component: &Arc<str>) -> Dict {
    let entries =
        |value: Option<&Value>| value.and_then(Value::as_dict).map(Dict::entries).cloned().unwrap_or_default();
    let mut metadata = entries(object.get("metadata"));
    let mut labels = entries(metadata.get("labels"));
    labels.insert(WORDS.managed_by.clone(), WORDS.reeve.clone());
    labels.insert(WORDS.runtime.clone(), Value::Text(runtime.clone()));
    labels.insert(WORDS.component.clone(), Value::Text(component.clone()));
    match namespace {
        Some(namespace) => metadata.insert(WORDS.namespace.clone(), Value::Text(namespace.clone())),
        None => metadata.remove("namespace"),
    }
    let mut entries = object.entries().clone();
    // Three labels on a map that was within the depth cannot take it beyond.
    let put = |map: &mut Entries, key: &Arc<str>, entries: Entries| {
        if let Ok(value) = Value::dict(entries) {
            map.insert(key.clone(), value);
        }
    };
    put(&mut metadata, &WORDS.labels, labels);
    put(&mut entries, &WORDS.metadata, metadata);
    Dict::new(entries).unwrap_or_else(|_| object.clone())
}

fn digest<'a>(objects: impl Iterator<Item = &'a Dict>) -> Digest {
    let mut writer = crate::value::DigestWriter::default();
    for object in objects {
        writer.value(&Value::Dict(object.clone()));
        let _ = writer.write(b"\n");
    }
    writer.finish()
}

/// The digest of all components with what decides their order and location, and as whom they are applied. How long that may
/// take and what is healthy then changes nothing that is applied.
fn name(components: &[BundleComponent]) -> Digest {
    let mut writer = crate::value::DigestWriter::default();
    for component in components {
        let mut head = serde_json::json!({
            "name": &*component.name,
            "chart": &*component.chart,
            "version": &*component.version,
            "namespace": &*component.namespace,
            "target": component.target.as_str(),
            "dependsOn": component.depends_on.iter().map(|name| &**name).collect::<Vec<_>>(),
            "objects": component.digest.to_string(),
        });
        if let Some(account) = component.service_account.as_deref() {
            head["serviceAccountName"] = account.into();
        }
        let _ = writeln!(writer, "{head}");
    }
    writer.finish()
}
