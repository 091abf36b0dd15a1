//! `reeve-cri-feed hook-set`: what a node would get from NodeHooks in files, without a cluster.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use reeve_crds::NodeHook;
use reeve_proxy_cri::hook_set::HookSet;
use serde::Deserialize;

use crate::selection::{next_set, select};

/// Flags of `hook-set`.
#[derive(Clone, Debug, clap::Args)]
pub struct HookSetArgs {
    /// Files with NodeHooks, among other objects; `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Labels of the node, as KEY=VALUE
    #[arg(long = "labels", value_name = "KEY=VALUE", value_delimiter = ',', value_parser = label)]
    pub labels: Vec<(String, String)>,

    /// Commit that they come from
    #[arg(long, value_name = "COMMIT")]
    pub commit: Option<String>,
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("wanted a label such as pool=batch")?;
    Ok((key.to_owned(), value.to_owned()))
}

pub(super) fn print(args: &HookSetArgs) -> ExitCode {
    let set = hook_set(args);
    let written = set.and_then(|set| Ok(std::io::stdout().lock().write_all(&set.to_text())?));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "reeve-cri-feed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn hook_set(args: &HookSetArgs) -> anyhow::Result<HookSet> {
    let mut hooks = Vec::new();
    for file in &args.files {
        let text = read(file).with_context(|| format!("cannot read {}", file.display()))?;
        hooks.extend(node_hooks(&text).with_context(|| format!("cannot use {}", file.display()))?);
    }
    // Every node has it, and NodeHooks for all nodes ask for it.
    let mut labels = BTreeMap::from([("kubernetes.io/os".to_owned(), "linux".to_owned())]);
    labels.extend(args.labels.iter().cloned());
    let mut set = next_set(&HookSet::default(), select(&hooks, &labels), None);
    for hook in &mut set.hooks {
        hook.commit.clone_from(&args.commit);
    }
    Ok(set)
}

fn read(file: &Path) -> std::io::Result<String> {
    if file != Path::new("-") {
        return std::fs::read_to_string(file);
    }
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text)?;
    Ok(text)
}

/// The NodeHooks among the documents of a text.
fn node_hooks(text: &str) -> anyhow::Result<Vec<NodeHook>> {
    let mut hooks = Vec::new();
    for (number, document) in serde_yaml::Deserializer::from_str(text).enumerate() {
        let at = || format!("document {}", number + 1);
        let value = serde_yaml::Value::deserialize(document).with_context(at)?;
        let text = |key: &str| value.get(key).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
        if text("kind") == "NodeHook" && text("apiVersion").starts_with("reeve.dev/") {
            hooks.push(serde_yaml::from_value(value).with_context(at)?);
        }
    }
    Ok(hooks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
kind: ConfigMap
apiVersion: v1
---
apiVersion: reeve.dev/v1alpha1
kind: NodeHook
metadata: { name: batch }
spec:
  nodeSelector: { matchLabels: { pool: batch } }
  plugins: [{ name: p, endpoint: /run/p.sock, hooks: [{ type: PreCreateContainer }], write: [CpuShares] }]
";

    #[test]
    fn a_node_gets_the_node_hooks_of_a_file_that_are_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("objects.yaml");
        std::fs::write(&file, TEXT).unwrap();
        let set = |labels: &[(String, String)]| {
            hook_set(&HookSetArgs { files: vec![file.clone()], labels: labels.to_vec(), commit: Some("c".to_owned()) })
        };
        assert_eq!(set(&[]).unwrap().hooks, []);
        let hooks = set(&[label("pool=batch").unwrap()]).unwrap().hooks;
        assert_eq!((hooks[0].name.as_str(), hooks[0].commit.as_deref()), ("batch", Some("c")));
        std::fs::write(&file, TEXT.replace("PreCreateContainer", "PreEverything")).unwrap();
        let error = format!("{:#}", set(&[]).unwrap_err());
        assert!(error.contains("document 2") && error.contains("PreEverything"), "{error}");
    }
}
