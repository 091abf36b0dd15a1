//! How kubelet on a host is told its runtime endpoint, from its units. Pure but for [`Host::read`].

use std::fs;
use std::path::Path;

/// Where systemd looks for units; the first that has one counts.
const UNITS: [&str; 4] =
    ["etc/systemd/system", "run/systemd/system", "usr/local/lib/systemd/system", "lib/systemd/system"];
/// What distributions read `KUBELET_EXTRA_ARGS` from.
const DEFAULTS: [&str; 2] = ["etc/default/kubelet", "etc/sysconfig/kubelet"];
const EXTRA_ARGS: &str = "KUBELET_EXTRA_ARGS";

/// What matters of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Host {
    /// Kubelet's unit and its drop-ins, ours left out, one after the other.
    pub(crate) kubelet_unit: String,
    /// What `KUBELET_EXTRA_ARGS` is by the host's own files.
    pub(crate) extra_args: Option<String>,
    pub(crate) kubelet_version: Option<(u32, u32)>,
}

/// How kubelet learns of another endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By a variable whose arguments come last, as kubeadm's unit has them.
    ExtraArgs,
    /// By a file in this folder.
    ConfigFolder(String),
    ByHand,
}

impl Host {
    pub(crate) fn way(&self) -> Way {
        let mut starts = self.kubelet_unit.lines().filter_map(|line| line.trim().strip_prefix("ExecStart="));
        // An empty one takes back those before it.
        let start = starts.rfind(|start| !start.is_empty()).unwrap_or_default();
        if start.contains(&format!("${EXTRA_ARGS}")) || start.contains(&format!("${{{EXTRA_ARGS}}}")) {
            return Way::ExtraArgs;
        }
        let arguments: Vec<&str> = start.split_whitespace().collect();
        let folder =
            arguments.iter().enumerate().find_map(|(place, argument)| match argument.strip_prefix("--config-dir") {
                Some("") => arguments.get(place + 1).copied(),
                Some(value) => value.strip_prefix('='),
                None => None,
            });
        folder.map_or(Way::ByHand, |folder| Way::ConfigFolder(folder.to_owned()))
    }

    /// Reads the host whose root is `root`.
    pub(crate) fn read(root: &Path, kubelet_version: Option<&str>) -> Self {
        let unit = UNITS.iter().find_map(|folder| fs::read_to_string(root.join(folder).join("kubelet.service")).ok());
        let mut text = unit.unwrap_or_default();
        for folder in UNITS.iter().rev() {
            let folder = root.join(folder).join("kubelet.service.d");
            let mut files: Vec<_> =
                fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path()).collect();
            files.sort();
            for file in files.iter().filter(|file| !file.ends_with("90-reeve-cri.conf")) {
                text.push('\n');
                text.push_str(&fs::read_to_string(file).unwrap_or_default());
            }
        }
        let mut defaults = DEFAULTS.iter().rev().filter_map(|file| fs::read_to_string(root.join(file)).ok());
        let extra_args = defaults.find_map(|text| value_of(&text, EXTRA_ARGS));
        Self { kubelet_unit: text, extra_args, kubelet_version: kubelet_version.and_then(version) }
    }
}

/// The value of a variable in a file of the form that systemd reads.
fn value_of(text: &str, name: &str) -> Option<String> {
    let mut lines = text.lines().rev().map(str::trim).filter(|line| !line.starts_with(['#', ';']));
    let value = lines.find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix('='))?.trim();
    let unquoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    let unquoted = unquoted.or_else(|| value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')));
    Some(unquoted.unwrap_or(value).to_owned()).filter(|value| !value.is_empty())
}

/// `Kubernetes v1.35.4`
fn version(text: &str) -> Option<(u32, u32)> {
    let numbers = text.trim().rsplit('v').next()?;
    let mut numbers = numbers.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
