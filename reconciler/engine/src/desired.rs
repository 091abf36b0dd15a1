//! What Git wants of one runtime, in the form in which it is compared and sent.
//!
//! Made from a rendered bundle once per change. Objects are kept as the bytes that are sent, not as trees: most of the
//! time nothing but their hashes is looked at.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use reeve_crds::annotation::CONTENT;
use reeve_crds::runtime::policy::IgnoredFields;
use reeve_crds::runtime_component::ComponentTarget;
use reeve_renderer_objects::bundle::{self, Bundle, BundleComponent, Object};
use reeve_renderer_objects::diagnostic::Diagnostic;
use reeve_renderer_objects::health::HealthRule;
use reeve_renderer_objects::hook::{Hook, Phase};
use reeve_renderer_objects::key::{ObjectKey, Origin};
use serde_json::Value;

use crate::health::Expressions;
use crate::owner::{self, Release};
use crate::payload::{self, Options, Pointer};

mod left;
mod stage;
mod want;

pub use stage::{Stage, is_protected};
pub use want::{Want, WantedObject};

use left::Left;

/// A commit and what people call it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revision {
    /// As people say it, such as `main@4f1c2aa90b3d`.
    pub shown: Arc<str>,
    /// The full id.
    pub commit: Arc<str>,
}

/// All that Git wants of one runtime.
#[derive(Clone, Debug)]
pub struct Desired {
    /// Where it comes from.
    pub revision: Revision,
    /// Names all of it.
    pub digest: Arc<str>,
    /// Its components, each after those that it depends on.
    pub components: Vec<Arc<DesiredComponent>>,
}

/// What Git wants of one component.
#[derive(Clone, Debug)]
pub struct DesiredComponent {
    /// Its name.
    pub name: Arc<str>,
    /// Its chart.
    pub chart: Arc<str>,
    /// The chart's version.
    pub version: Arc<str>,
    /// The channel that gave the version.
    pub channel: Option<Arc<str>>,
    /// The namespace of objects that named none.
    pub namespace: Arc<str>,
    /// The Helm release that it takes the place of, if there is one.
    pub release: Release,
    /// Where its objects go.
    pub target: ComponentTarget,
    /// Components that must be ready first.
    pub depends_on: Vec<Arc<str>>,
    /// The account that it is applied as, if not the runtime's.
    pub service_account: Option<Arc<str>>,
    /// How long it may take to become healthy, if not what the runtime says.
    pub timeout: Option<Duration>,
    /// File and line that put it into the runtime.
    pub origin: String,
    /// Names its objects.
    pub digest: Arc<str>,
    /// Its objects, in the order in which they are applied.
    pub objects: Vec<DesiredObject>,
    /// Jobs that run before and after, in the order of their weight.
    pub jobs: Vec<DesiredJob>,
    /// How the health of its own kinds is told.
    pub health: Arc<[Expressions]>,
    /// The same as it is written.
    pub health_rules: Arc<[HealthRule]>,
}

/// An object as it is sent.
#[derive(Clone, Debug)]
pub struct DesiredObject {
    /// What it is called.
    pub key: ObjectKey,
    /// Group and version.
    pub api_version: Arc<str>,
    /// When it is applied.
    pub stage: Stage,
    /// Names what is sent, and what of it is left to others; also in the payload.
    pub content: Box<str>,
    /// The JSON that is sent.
    pub payload: Arc<[u8]>,
    /// What its annotations ask for.
    pub options: Options,
    /// Fields that others may change: those that its own annotations name come first.
    pub ignored: Vec<Pointer>,
    /// Whether it stays when it leaves Git.
    pub keep: bool,
    /// Where it comes from.
    pub origin: Origin,
}

/// A Job that belongs to a change.
#[derive(Clone, Debug)]
pub struct DesiredJob {
    /// The Job.
    pub object: DesiredObject,
    /// When it runs.
    pub hook: Hook,
}

impl DesiredJob {
    /// Whether it runs on this occasion. What Helm installed is not installed once more: of that, what runs is what runs
    /// on every upgrade too.
    pub fn runs_on(&self, occasion: Phase, is_installed: bool) -> bool {
        let has = |phase| self.hook.phases.contains(&phase);
        has(occasion) && (!is_installed || has(occasion.of_upgrade()))
    }

    /// Whether it matters if Helm installed the component before.
    pub fn is_for_install_alone(&self) -> bool {
        self.hook.phases.iter().any(|phase| !self.hook.phases.contains(&phase.of_upgrade()))
    }
}

impl Desired {
    /// What a bundle asks for if its Runtime lives in this namespace and its policy ignores these fields, or what is wrong
    /// with its annotations and expressions. Components that are as before are taken from there.
    pub fn new(
        bundle: &Bundle,
        namespace: &str,
        ignored: &[IgnoredFields],
        revision: Revision,
        before: Option<&Self>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let left = Left::new(bundle, ignored);
        let mut findings = Vec::new();
        let before = before.into_iter().flat_map(|before| &before.components);
        let before: HashMap<&str, &Arc<DesiredComponent>> =
            before.map(|component| (&*component.name, component)).collect();
        let components = bundle.components.iter().map(|component| {
            let before = before.get(&*component.name).copied();
            // What is left to others may change although the component does not.
            if let Some(same) = before.filter(|before| before.leaves(&left) && before.is_of(component)) {
                return same.clone();
            }
            let mut new = DesiredComponent::new(component, namespace, &left, &mut findings);
            new.share(before.into_iter().flat_map(|before| &before.objects));
            Arc::new(new)
        });
        let components = components.collect();
        if findings.is_empty() {
            Ok(Self { revision, digest: bundle.digest.to_string().into(), components })
        } else {
            Err(findings)
        }
    }

    /// Which component wants which object, Jobs included.
    pub fn owners(&self) -> HashMap<ObjectKey, Arc<str>> {
        let of = |component: &Arc<DesiredComponent>| {
            let name = component.name.clone();
            let objects = component.objects.iter().chain(component.jobs.iter().map(|job| &job.object));
            objects.map(move |object| (object.key.clone(), name.clone())).collect::<Vec<_>>()
        };
        self.components.iter().flat_map(of).collect()
    }

    /// Which other components give a component its namespaces and kinds.
    pub fn providers(&self) -> HashMap<Arc<str>, BTreeSet<Arc<str>>> {
        let mut namespaces: HashMap<Arc<str>, Arc<str>> = HashMap::new();
        let mut kinds: HashMap<(String, String), Arc<str>> = HashMap::new();
        for component in &self.components {
            for object in component.objects.iter().filter(|object| object.stage == Stage::Definitions) {
                if &*object.key.kind == "Namespace" {
                    namespaces.insert(object.key.name.clone(), component.name.clone());
                    continue;
                }
                let crd = object.value();
                let text = |path| crd.pointer(path).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
                kinds.insert((text("/spec/group"), text("/spec/names/kind")), component.name.clone());
            }
        }
        let needs = |component: &Arc<DesiredComponent>| {
            let mut needed = BTreeSet::new();
            for object in &component.objects {
                needed.extend(object.key.namespace.as_ref().and_then(|namespace| namespaces.get(namespace)).cloned());
                needed.extend(kinds.get(&(object.key.group.to_string(), object.key.kind.to_string())).cloned());
            }
            needed.remove(&component.name);
            (component.name.clone(), needed)
        };
        self.components.iter().map(needs).filter(|(_, needed)| !needed.is_empty()).collect()
    }

    /// A component by its name.
    pub fn component(&self, name: &str) -> Option<&Arc<DesiredComponent>> {
        self.components.iter().find(|component| &*component.name == name)
    }
}

impl DesiredComponent {
    fn new(component: &BundleComponent, namespace: &str, left: &Left<'_>, findings: &mut Vec<Diagnostic>) -> Self {
        let digest = component.digest.to_string();
        let mut objects = Vec::new();
        let mut jobs = Vec::new();
        for object in &component.objects {
            // A Job runs once per digest of its component, so that is part of what it is.
            let purpose = object.hook.as_ref().map(|_| digest.as_str());
            match DesiredObject::new(object, namespace, left, purpose) {
                Ok(desired) => match &object.hook {
                    Some(hook) => jobs.push(DesiredJob { object: desired, hook: hook.clone() }),
                    None => objects.push(desired),
                },
                Err(finding) => findings.push(finding),
            }
        }
        objects.sort_by(|a, b| (a.stage, &a.key).cmp(&(b.stage, &b.key)));
        jobs.sort_by(|a, b| (a.hook.weight, &a.object.key).cmp(&(b.hook.weight, &b.object.key)));
        Self {
            name: component.name.clone(),
            chart: component.chart.clone(),
            version: component.version.clone(),
            channel: component.channel.clone(),
            namespace: component.namespace.clone(),
            release: release(component),
            target: match component.target {
                bundle::ComponentTarget::Runtime => ComponentTarget::Runtime,
                bundle::ComponentTarget::ControlPlane => ComponentTarget::ControlPlane,
            },
            depends_on: component.depends_on.clone(),
            service_account: component.service_account.clone(),
            timeout: timeout(component),
            origin: origin(component),
            digest: digest.into(),
            objects,
            jobs,
            health: expressions(component, findings),
            health_rules: component.health.clone(),
        }
    }

    /// Takes what is sent from these objects where it is the same: for a while there are both.
    fn share<'a>(&mut self, before: impl Iterator<Item = &'a DesiredObject>) {
        let before: HashMap<&ObjectKey, &Arc<[u8]>> = before.map(|object| (&object.key, &object.payload)).collect();
        for object in &mut self.objects {
            if let Some(same) = before.get(&object.key).filter(|before| ***before == object.payload) {
                object.payload = Arc::clone(same);
            }
        }
    }

    /// Whether the same is left to others of all its objects.
    fn leaves(&self, left: &Left<'_>) -> bool {
        self.objects.iter().all(|object| object.left() == left.of(&object.key))
    }

    /// Whether nothing of it has to be applied again to make it this one.
    pub fn applies_same(&self, other: &Self) -> bool {
        self.digest == other.digest
            && self.version == other.version
            && self.chart == other.chart
            && self.target == other.target
            && self.service_account == other.service_account
            && self.depends_on == other.depends_on
            && self.sends_same(other)
    }

    /// Whether nothing else would be sent for it.
    pub fn sends_same(&self, other: &Self) -> bool {
        let sent = |object: &DesiredObject| (object.key.clone(), object.content.clone());
        self.objects.iter().map(sent).eq(other.objects.iter().map(sent))
    }

    /// Whether it was made from a component like this.
    fn is_of(&self, component: &BundleComponent) -> bool {
        *self.digest == *component.digest.to_string()
            && self.chart == component.chart
            && self.version == component.version
            && self.channel == component.channel
            && self.namespace == component.namespace
            && self.release == release(component)
            && self.depends_on == component.depends_on
            && self.service_account == component.service_account
            && self.timeout == timeout(component)
            && self.origin == origin(component)
            && self.health_rules == component.health
    }

    /// An object by its key.
    pub fn object(&self, key: &ObjectKey) -> Option<&DesiredObject> {
        self.objects.iter().find(|object| object.key == *key)
    }
}

/// What keeps a bundle from being applied although it renders: annotations and expressions that are not understood.
pub fn check(bundle: &Bundle) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for component in &bundle.components {
        expressions(component, &mut findings);
        let asking = component.objects.iter().filter(|object| has_own_annotation(object));
        findings.extend(asking.filter_map(|object| options(object, &as_json(object)).err()));
    }
    findings
}

/// Whether an object has an annotation for us.
fn has_own_annotation(object: &Object) -> bool {
    let annotations = object.value.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let is_ours = |name: &Arc<str>| name.starts_with("reeve.dev/");
    annotations.and_then(|all| all.as_dict()).is_some_and(|all| all.entries().keys().any(is_ours))
}

fn options(object: &Object, value: &Value) -> Result<Options, Diagnostic> {
    payload::options(value).map_err(|error| {
        Diagnostic::error("annotation", format!("{}: {}", object.key, reeve_process::error_chain(&error)))
            .at(object.origin.location())
    })
}

fn timeout(component: &BundleComponent) -> Option<Duration> {
    component.timeout.as_ref()?.parse::<reeve_crds::Duration>().ok().map(Into::into)
}

fn release(component: &BundleComponent) -> Release {
    Release::new(component.namespace.clone(), component.release_name.clone())
}

fn origin(component: &BundleComponent) -> String {
    format!("{}:{}", component.origin.file, component.origin.line)
}

fn as_json(object: &Object) -> Value {
    Value::from(&reeve_renderer_objects::value::Value::Dict(object.value.clone()))
}

/// The health rules of a component's chart, parsed; a rule that is none is a finding.
fn expressions(component: &BundleComponent, findings: &mut Vec<Diagnostic>) -> Arc<[Expressions]> {
    let rules = component.health.iter().filter_map(|rule| {
        let parsed = Expressions::parse(
            &rule.api_version,
            &rule.kind,
            &rule.current,
            rule.in_progress.as_deref(),
            rule.failed.as_deref(),
        );
        parsed
            .map_err(|error| {
                let finding = Diagnostic::error("health-expression", reeve_process::error_chain(&error));
                findings.push(finding.at(rule.location.clone()));
            })
            .ok()
    });
    rules.collect()
}

impl DesiredObject {
    fn new(object: &Object, namespace: &str, left: &Left<'_>, purpose: Option<&str>) -> Result<Self, Diagnostic> {
        let value = as_json(object);
        let options = options(object, &value)?;
        let left = left.of(&object.key);
        // What its own annotations leave to others is part of its content already.
        let rest = purpose.map(str::to_owned).into_iter().chain(left.iter().map(|path| format!("left {path}")));
        let mut sent = payload::with_content_and(&value, rest);
        let ignored = options.ignore.iter().cloned().chain(left).collect();
        owner::mark(&mut sent, namespace);
        let content = sent.pointer("/metadata/annotations").and_then(|annotations| annotations.get(CONTENT)?.as_str());
        Ok(Self {
            key: object.key.clone(),
            api_version: object.api_version.clone(),
            stage: Stage::of(&object.key.group, &object.key.kind),
            content: content.unwrap_or_default().into(),
            payload: serde_json::to_vec(&sent).unwrap_or_default().into(),
            options,
            ignored,
            keep: object.keep,
            origin: object.origin.clone(),
        })
    }

    /// Fields that not it, but the runtime leaves to others.
    fn left(&self) -> &[Pointer] {
        self.ignored.get(self.options.ignore.len()..).unwrap_or_default()
    }

    /// The payload as a tree.
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.payload).unwrap_or_default()
    }
}
