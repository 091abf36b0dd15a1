//! What a runtime and its components are made from, as digests: equal inputs need no second look.

use std::sync::Arc;

use super::{Resolved, ResolvedComponent};
use crate::value::{self, Dict, Digest, Value};

impl ResolvedComponent {
    /// Names all that the render of this component can depend on but the facts of its runtime.
    pub fn inputs(&self) -> Digest {
        let target = self.target.as_str();
        let optional = |text: &Option<Arc<str>>| text.as_deref().unwrap_or_default().to_owned();
        let parts = [
            self.name.to_string(),
            self.chart.name.to_string(),
            self.chart.version.to_string(),
            self.namespace.to_string(),
            target.to_owned(),
            self.depends_on.join(","),
            optional(&self.service_account),
            optional(&self.timeout),
            optional(&self.channel),
            self.release_name.to_string(),
        ];
        let values = value::digest(&Value::Dict(self.values.clone()));
        let ids: [&[u8]; 2] = [&self.chart.id.0, values.bytes()];
        Digest::of_parts(parts.iter().map(String::as_bytes).chain(ids))
    }
}

impl Resolved {
    /// Names all that decides what this runtime gets, where and by which rules. Equal inputs, equal bundle.
    pub fn inputs(&self) -> Digest {
        let facts = value::digest(&Value::Dict(self.facts()));
        let [target, policy] = [self.runtime.target.to_value(), self.policy.to_value()].map(|v| value::digest(&v));
        let components: Vec<Digest> = self.components.iter().map(ResolvedComponent::inputs).collect();
        let wave = self.wave.as_deref().unwrap_or_default().as_bytes();
        let own = [&facts.bytes()[..], wave, self.namespace.as_bytes(), target.bytes(), policy.bytes()];
        Digest::of_parts(own.into_iter().chain(components.iter().map(|d| &d.bytes()[..])))
    }

    /// The runtime as templates see it.
    pub fn facts(&self) -> Dict {
        let labels = self.runtime.labels.iter().map(|(key, value)| (key.clone(), Value::Text(value.clone())));
        let channel = self.channel.clone().map_or(Value::Null, Value::Text);
        let capabilities = &self.runtime.capabilities;
        let versions = capabilities.api_versions.iter().cloned().map(Value::Text).collect();
        let entries = [
            ("name", Value::Text(self.runtime.name.clone())),
            ("channel", channel),
            ("labels", Value::dict(labels.collect()).unwrap_or(Value::Null)),
            ("kubernetesVersion", capabilities.kubernetes_version.clone().map_or(Value::Null, Value::Text)),
            ("apiVersions", Value::list(versions).unwrap_or(Value::Null)),
        ];
        Dict::new(entries.into_iter().map(|(key, value)| (Arc::from(key), value)).collect()).unwrap_or_default()
    }
}
