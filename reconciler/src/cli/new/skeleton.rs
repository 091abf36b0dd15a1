//! The files of the skeleton, which are real files beside this one.

/// Of a fleet, but for its chart.
pub(super) const FLEET: [(&str, &str); 5] = [
    ("fleet.yaml", include_str!("skeleton/fleet/fleet.yaml")),
    ("channels/regular.yaml", include_str!("skeleton/fleet/channels/regular.yaml")),
    ("layers/base.yaml", include_str!("skeleton/fleet/layers/base.yaml")),
    ("runtimes/dev.yaml", include_str!("skeleton/fleet/runtimes/dev.yaml")),
    ("README.md", include_str!("skeleton/fleet/README.md")),
];

/// Of a version of a chart.
pub(super) const CHART: [(&str, &str); 6] = [
    ("Chart.yaml", include_str!("skeleton/chart/Chart.yaml")),
    ("values.yaml", include_str!("skeleton/chart/values.yaml")),
    ("values.schema.json", include_str!("skeleton/chart/values.schema.json")),
    ("templates/_labels.j2", include_str!("skeleton/chart/templates/_labels.j2")),
    ("templates/deployment.yaml.j2", include_str!("skeleton/chart/templates/deployment.yaml.j2")),
    ("templates/service.yaml.j2", include_str!("skeleton/chart/templates/service.yaml.j2")),
];

/// The beginning of a runtime.
pub(super) const RUNTIME: &str = include_str!("skeleton/runtime.yaml");
