//! A runtime that uses what its fleet has.

use std::fmt::Write as _;

use reeve_renderer::fleet::Fleet;

use super::skeleton::RUNTIME;

/// The file of a new runtime: the first channel, and a component unless fleet.yaml gives it some.
pub(super) fn text(fleet: &Fleet) -> String {
    let mut text = RUNTIME.to_owned();
    let default = fleet.settings.channel.as_ref().map(|channel| &channel.value);
    let channel = default.filter(|name| fleet.channels.contains_key(*name)).or(fleet.channels.keys().next());
    // Writing to text cannot fail.
    if let Some(channel) = channel {
        let _ = write!(text, "\n# Where its versions come from.\nchannel: {channel}\n");
    }
    let layers: Vec<&str> = fleet.layers.keys().map(|name| &**name).collect();
    if !layers.is_empty() {
        let _ = write!(
            text,
            "\n# Layers by name, over those that fleet.yaml gives by label: {}\n# layers: []\n",
            layers.join(", ")
        );
    }
    let given = &fleet.settings.components;
    let everywhere = given.iter().any(|component| component.selector.is_none());
    let usable = channel.and_then(|name| fleet.channels.get(name)).into_iter().flat_map(|channel| &channel.versions);
    let first = usable
        .filter(|(name, version)| fleet.charts.get(*name).is_some_and(|chart| chart.contains_key(&version.value)))
        .map(|(name, _)| name)
        .find(|name| given.iter().all(|component| component.name.value != **name));
    match first {
        Some(name) if !everywhere => {
            let _ = write!(text, "\ncomponents:\n  {name}: {{}}\n");
        }
        _ => {
            let own = given.iter().find(|component| component.selector.is_none());
            let name = own.map_or("name", |component| &component.name.value);
            text.push_str("\n# Components of its own, or values for those that fleet.yaml gives it.\n");
            let _ = write!(text, "# components:\n#   {name}:\n#     values: {{}}\n");
        }
    }
    text
}
