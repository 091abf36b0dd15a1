//! The types of each file, decoded.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::decode::{Decoder, Field};
use super::{
    Capabilities, Channel, Component, ComponentTarget, Layer, LayerRule, Located, ReleasedCharts, Runtime, Settings,
    Wave,
};
use crate::budget::Limits;
use crate::diagnostic::Diagnostic;
use crate::yaml::{Node, Span};

impl Decoder {
    /// Every file says what it is, so that a file in the wrong folder is noticed.
    pub(super) fn kind(&mut self, fields: &BTreeMap<&str, Field<'_>>, span: Span, wanted: &'static str) {
        let path = crate::value::KeyPath::root().key("kind");
        match fields.get("kind") {
            Some(field) => {
                self.word(field, &[(wanted, ())]);
            }
            None => self.report(
                span,
                &path,
                Diagnostic::error("missing-key", "`kind` is missing").help(format!("begin with `kind: {wanted}`")),
            ),
        }
    }

    pub(super) fn settings(&mut self, node: &Node) -> Settings {
        let root = Field::root(node);
        let known = ["kind", "defaults", "layers", "components", "waves", "limits", "policy"];
        let fields = self.map(&root, &known);
        self.kind(&fields, root.span, "Fleet");
        let mut settings = Settings { file: self.file.clone(), ..Settings::default() };
        if let Some(defaults) = fields.get("defaults") {
            let defaults = self.map(defaults, &["channel", "namespace", "policy"]);
            settings.channel = defaults.get("channel").and_then(|field| self.name(field));
            if let Some(namespace) = defaults.get("namespace").and_then(|field| self.name(field)) {
                settings.namespace = namespace.value;
            }
            settings.policy = defaults.get("policy").map(|field| self.policy(field)).unwrap_or_default();
        }
        if let Some(layers) = fields.get("layers") {
            settings.layers =
                self.named_rules(layers).into_iter().map(|(layer, selector)| LayerRule { layer, selector }).collect();
        }
        if let Some(waves) = fields.get("waves") {
            settings.waves =
                self.named_rules(waves).into_iter().map(|(name, selector)| Wave { name, selector }).collect();
        }
        if let Some(components) = fields.get("components") {
            settings.components = self.components(components, true);
        }
        if let Some(limits) = fields.get("limits") {
            self.limits(limits, &mut settings);
        }
        if let Some(policy) = fields.get("policy") {
            let words = [("Error", ReleasedCharts::Error), ("Warning", ReleasedCharts::Warning)];
            let policy = self.map(policy, &["releasedCharts"]);
            if let Some(word) = policy.get("releasedCharts").and_then(|field| self.word(field, &words)) {
                settings.released_charts = word;
            }
        }
        settings
    }

    fn named_rules(&mut self, field: &Field<'_>) -> Vec<(Located<Arc<str>>, Option<super::Selector>)> {
        let mut rules = Vec::new();
        for item in self.list(field) {
            let fields = self.map(&item, &["name", "selector"]);
            let selector = fields.get("selector").map(|field| self.selector(field));
            if let Some(name) = fields.get("name") {
                rules.extend(self.name(name).map(|name| (name, selector)));
            } else {
                let message = format!("`{}` needs a `name`", item.path);
                self.report(item.span, &item.path, Diagnostic::error("missing-key", message));
            }
        }
        rules
    }

    fn limits(&mut self, field: &Field<'_>, settings: &mut Settings) {
        let fields = self.map(field, &["steps", "memoryMiB", "outputMiB", "objects", "removals"]);
        if let Some(removals) = fields.get("removals").and_then(|field| self.removals(field)) {
            settings.removals = removals;
        }
        let mut number = |key: &str, most: i64, default: u64| {
            let given = fields.get(key).and_then(|field| self.number(field, 1, most));
            given.and_then(|number| u64::try_from(number).ok()).unwrap_or(default)
        };
        let defaults = Limits::default();
        settings.limits = Limits {
            steps: number("steps", 1_000_000_000, defaults.steps),
            memory: number("memoryMiB", 4096, defaults.memory >> 20) << 20,
            output: number("outputMiB", 256, defaults.output >> 20) << 20,
            depth: defaults.depth,
        };
        let objects = number("objects", 1_000_000, Settings::default().objects as u64);
        settings.objects = usize::try_from(objects).unwrap_or(usize::MAX);
    }

    pub(super) fn channel(&mut self, node: &Node) -> Channel {
        let root = Field::root(node);
        let fields = self.map(&root, &["kind", "components"]);
        self.kind(&fields, root.span, "Channel");
        let mut versions = BTreeMap::new();
        if let Some(components) = fields.get("components") {
            for (name, field) in self.open_map(components) {
                self.check_name(field.span, &field.path, name);
                if let Some(version) = self.version(&field) {
                    versions.insert(name.into(), version);
                }
            }
        }
        Channel { file: self.file.clone(), versions }
    }

    fn version(&mut self, field: &Field<'_>) -> Option<Located<Arc<str>>> {
        let version = self.text(field)?;
        if let Err(error) = semver::Version::parse(&version.value) {
            let message = format!("`{}` is not a version: {error}", version.value);
            let plain = version.value.strip_prefix('v').filter(|plain| semver::Version::parse(plain).is_ok());
            let help = plain.map_or_else(
                || "write the name of a folder in charts/<chart>/, such as 1.2.0".to_owned(),
                |plain| format!("write `{plain}`: folders of charts are called without the `v`"),
            );
            self.report(version.span, &field.path, Diagnostic::error("bad-version", message).help(help));
            return None;
        }
        Some(version)
    }

    pub(super) fn layer(&mut self, node: &Node) -> Layer {
        let root = Field::root(node);
        let fields = self.map(&root, &["kind", "values", "components"]);
        self.kind(&fields, root.span, "Layer");
        let values = fields.get("values").and_then(|field| self.values(field));
        let mut components = BTreeMap::new();
        if let Some(field) = fields.get("components") {
            for (name, field) in self.open_map(field) {
                self.check_name(field.span, &field.path, name);
                let fields = self.map(&field, &["values"]);
                if let Some(value) = fields.get("values").and_then(|field| self.values(field)) {
                    components.insert(Arc::from(name), Located { value, span: field.span });
                }
            }
        }
        Layer { file: self.file.clone(), values, components }
    }

    /// A runtime; `stem` is the name of its file, which is its name unless the document has one.
    pub(super) fn runtime(&mut self, node: &Node, stem: Option<&str>) -> Option<Runtime> {
        let root = Field::root(node);
        let known = [
            "kind",
            "name",
            "labels",
            "target",
            "channel",
            "wave",
            "layers",
            "namespace",
            "capabilities",
            "policy",
            "values",
            "components",
        ];
        let fields = self.map(&root, &known);
        self.kind(&fields, root.span, "Runtime");
        let name = self.runtime_name(&fields, root.span, stem);
        let get = |key: &str| fields.get(key);
        Some(Runtime {
            file: self.file.clone(),
            span: root.span,
            labels: get("labels").map(|field| self.labels(field)).unwrap_or_default(),
            target: get("target").map(|field| self.target(field)).unwrap_or_default(),
            channel: get("channel").and_then(|field| self.name(field)),
            wave: get("wave").and_then(|field| self.name(field)),
            layers: get("layers").map(|field| self.names(field)).unwrap_or_default(),
            namespace: get("namespace").and_then(|field| self.name(field)).map(|name| name.value),
            capabilities: get("capabilities").map(|field| self.capabilities(field)).unwrap_or_default(),
            policy: get("policy").map(|field| self.policy(field)).unwrap_or_default(),
            values: get("values").and_then(|field| self.values(field)),
            components: get("components").map(|field| self.components(field, false)).unwrap_or_default(),
            name: name?,
        })
    }

    fn runtime_name(&mut self, fields: &BTreeMap<&str, Field<'_>>, span: Span, stem: Option<&str>) -> Option<Arc<str>> {
        let path = crate::value::KeyPath::root().key("name");
        match (fields.get("name"), stem) {
            (Some(field), stem) => {
                let name = self.name(field)?;
                if let Some(stem) = stem.filter(|stem| *stem != &*name.value) {
                    let message = format!("the runtime is called `{}`, but its file `{stem}`", name.value);
                    let finding = Diagnostic::error("name-mismatch", message).help("remove `name`, or rename the file");
                    self.report(name.span, &field.path, finding);
                }
                Some(name.value)
            }
            (None, Some(stem)) => self.check_name(span, &path, stem).then(|| stem.into()),
            (None, None) => {
                let finding = Diagnostic::error("missing-key", "`name` is missing");
                self.report(span, &path, finding.help("in a file with several runtimes each needs its `name`"));
                None
            }
        }
    }

    fn capabilities(&mut self, field: &Field<'_>) -> Capabilities {
        let fields = self.map(field, &["kubernetesVersion", "apiVersions"]);
        let kubernetes_version = fields.get("kubernetesVersion").and_then(|field| {
            let text = self.text(field)?;
            let plain = text.value.strip_prefix('v').unwrap_or(&text.value);
            let numbers = plain.split(['-', '+']).next().unwrap_or_default().split('.');
            let fine =
                (2..=3).contains(&numbers.clone().count()) && numbers.clone().all(|part| part.parse::<u32>().is_ok());
            if !fine {
                let message = format!("`{}` is not a version of Kubernetes", text.value);
                let finding = Diagnostic::error("bad-version", message).help("write it like v1.35.4 or \"1.35\"");
                self.report(text.span, &field.path, finding);
            }
            fine.then_some(text.value)
        });
        let api_versions = fields.get("apiVersions").map(|field| self.texts(field)).unwrap_or_default();
        Capabilities { kubernetes_version, api_versions: api_versions.into_iter().map(|text| text.value).collect() }
    }

    fn components(&mut self, field: &Field<'_>, fleet: bool) -> Vec<Component> {
        let entries = self.open_map(field);
        let mut components: Vec<_> =
            entries.into_iter().map(|(name, field)| self.component(name, &field, fleet)).collect();
        components.sort_by_key(|component| (component.name.span.line, component.name.span.column));
        components
    }

    fn component(&mut self, name: &str, field: &Field<'_>, fleet: bool) -> Component {
        self.check_name(field.span, &field.path, name);
        let mut known = vec![
            "chart",
            "version",
            "releaseName",
            "namespace",
            "target",
            "dependsOn",
            "serviceAccountName",
            "timeout",
            "values",
        ];
        known.push(if fleet { "selector" } else { "enabled" });
        let fields = self.map(field, &known);
        let get = |key: &str| fields.get(key);
        let targets = [("Runtime", ComponentTarget::Runtime), ("ControlPlane", ComponentTarget::ControlPlane)];
        Component {
            file: self.file.clone(),
            name: Located { value: name.into(), span: field.span },
            chart: get("chart").and_then(|field| self.name(field)),
            version: get("version").and_then(|field| self.version(field)),
            release_name: get("releaseName").and_then(|field| self.name(field)).map(|name| name.value),
            enabled: get("enabled").filter(|_| !fleet).and_then(|field| self.boolean(field)),
            selector: get("selector").filter(|_| fleet).map(|field| self.selector(field)),
            namespace: get("namespace").and_then(|field| self.name(field)).map(|name| name.value),
            target: get("target").and_then(|field| self.word(field, &targets)),
            depends_on: get("dependsOn").map(|field| self.names(field)),
            service_account: get("serviceAccountName").and_then(|field| self.object_name(field)),
            timeout: get("timeout").and_then(|field| self.duration(field, "1s", "24h")),
            values: get("values").and_then(|field| self.values(field)),
        }
    }
}
