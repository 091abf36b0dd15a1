//! The flags of klog, which start scripts of koord-runtime-proxy may give: accepted, and without effect.

use std::ffi::OsString;

const SWITCHES: [&str; 7] = [
    "add_dir_header",
    "alsologtostderr",
    "legacy_stderr_threshold_behavior",
    "logtostderr",
    "one_output",
    "skip_headers",
    "skip_log_headers",
];

const WITH_VALUE: [&str; 7] =
    ["log_backtrace_at", "log_dir", "log_file", "log_file_max_size", "stderrthreshold", "v", "vmodule"];

/// The arguments without klog's.
pub(super) fn without(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments = arguments.into_iter();
    let mut kept: Vec<OsString> = arguments.next().into_iter().collect();
    while let Some(argument) = arguments.next() {
        match kind(&argument.to_string_lossy()) {
            Kind::Ours => kept.push(argument),
            Kind::Whole => {}
            Kind::ValueFollows => drop(arguments.next()),
        }
    }
    kept
}

enum Kind {
    Ours,
    Whole,
    ValueFollows,
}

fn kind(argument: &str) -> Kind {
    if let Some(short) = argument.strip_prefix("-v") {
        return if short.is_empty() { Kind::ValueFollows } else { Kind::Whole };
    }
    let Some(flag) = argument.strip_prefix("--") else { return Kind::Ours };
    let (name, has_value) = flag.split_once('=').map_or((flag, false), |(name, _)| (name, true));
    if SWITCHES.contains(&name) || (has_value && WITH_VALUE.contains(&name)) {
        Kind::Whole
    } else if WITH_VALUE.contains(&name) {
        Kind::ValueFollows
    } else {
        Kind::Ours
    }
}
