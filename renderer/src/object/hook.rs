//! Helm's hooks: read from annotations.

pub use reeve_renderer_objects::hook::{Hook, HookDeletion, Phase};

use crate::value::{Dict, Value};

/// The hook that annotations describe; an error is a message and what to do.
pub(super) fn read(kind: &str, annotations: &Dict) -> Result<Option<Hook>, (String, &'static str)> {
    let Some(text) = annotations.get("helm.sh/hook").and_then(Value::as_text) else {
        for orphan in ["helm.sh/hook-weight", "helm.sh/hook-delete-policy"] {
            if annotations.get(orphan).is_some() {
                return Err((format!("`{orphan}` without `helm.sh/hook` means nothing"), "remove it"));
            }
        }
        return Ok(None);
    };
    let phases = words(text, |word| match word {
        "pre-install" => Some(Phase::PreInstall),
        "post-install" => Some(Phase::PostInstall),
        "pre-upgrade" => Some(Phase::PreUpgrade),
        "post-upgrade" => Some(Phase::PostUpgrade),
        _ => None,
    })
    .map_err(|word| {
        let help =
            "hooks run before and after install and upgrade; leave tests, deletion and rollback hooks out of the chart";
        (format!("the hook `{word}` is not supported"), help)
    })?;
    if kind != "Job" {
        let help = "apply it as an ordinary object, or make it a Job";
        return Err((format!("a {kind} cannot be a hook, only a Job"), help));
    }
    let deletion =
        annotations.get("helm.sh/hook-delete-policy").and_then(Value::as_text).unwrap_or("before-hook-creation");
    let deletion = words(deletion, |word| match word {
        "before-hook-creation" => Some(HookDeletion::BeforeCreation),
        "hook-succeeded" => Some(HookDeletion::Succeeded),
        "hook-failed" => Some(HookDeletion::Failed),
        _ => None,
    })
    .map_err(|word| {
        (format!("`{word}` is not a deletion policy"), "write before-hook-creation, hook-succeeded or hook-failed")
    })?;
    let weight = annotations.get("helm.sh/hook-weight").and_then(Value::as_text).unwrap_or("0");
    let weight = weight
        .trim()
        .parse()
        .map_err(|_| (format!("`{weight}` is not a weight"), "write a whole number in quotes, such as \"-5\""))?;
    Ok(Some(Hook { phases, weight, deletion }))
}

fn words<T>(text: &str, meaning: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, String> {
    text.split(',').map(str::trim).map(|word| meaning(word).ok_or_else(|| word.to_owned())).collect()
}

/// What a document is by Helm's own rules.
pub(super) enum Lenient {
    /// A hook that nothing runs here: a test, one of deletion or rollback, or one that Helm does not know.
    LeftOut,
    /// An object, with when it runs if it is a Job that is a hook, and whether it stays.
    Object(Option<Hook>, bool),
}

/// The hook of a chart from anywhere. Objects that are hooks and no Jobs are there for those Jobs: they are applied.
pub(super) fn read_lenient(kind: &str, metadata: &Dict) -> Lenient {
    let Some(annotations) = metadata.get("annotations").and_then(Value::as_dict) else {
        return Lenient::Object(None, false);
    };
    let text = |key: &str| annotations.get(key).and_then(Value::as_text);
    let keep = text("helm.sh/resource-policy").is_some_and(|policy| policy.trim() == "keep");
    let Some(hook) = text("helm.sh/hook") else { return Lenient::Object(None, keep) };
    let mut phases = Vec::new();
    for word in hook.split(',').map(str::trim) {
        match word {
            "pre-install" => phases.push(Phase::PreInstall),
            "post-install" => phases.push(Phase::PostInstall),
            "pre-upgrade" => phases.push(Phase::PreUpgrade),
            "post-upgrade" => phases.push(Phase::PostUpgrade),
            "pre-delete" | "post-delete" | "pre-rollback" | "post-rollback" | "test" | "test-success" => {}
            // As Helm: what is a hook of a kind that it does not know is left out whole, `crd-install` of old among them.
            _ => return Lenient::LeftOut,
        }
    }
    if phases.is_empty() {
        return Lenient::LeftOut;
    }
    if kind != "Job" {
        return Lenient::Object(None, keep);
    }
    let deletion = text("helm.sh/hook-delete-policy").unwrap_or("before-hook-creation").split(',');
    let deletion = deletion.filter_map(|word| match word.trim() {
        "before-hook-creation" => Some(HookDeletion::BeforeCreation),
        "hook-succeeded" => Some(HookDeletion::Succeeded),
        "hook-failed" => Some(HookDeletion::Failed),
        _ => None,
    });
    let weight = text("helm.sh/hook-weight").and_then(|weight| weight.trim().parse().ok()).unwrap_or(0);
    Lenient::Object(Some(Hook { phases, weight, deletion: deletion.collect() }), keep)
}
