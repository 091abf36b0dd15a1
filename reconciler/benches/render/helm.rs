//! Helm: its program, started once per release, and its engine as a library in one process.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize as _;
use tempfile::TempDir;

/// The namespace that both render for. The library's program names it too.
pub(crate) const NAMESPACE: &str = "bench";
/// The version of Kubernetes that both render for. The library's program names it too.
pub(crate) const KUBERNETES: &str = "v1.35.0";

/// A chart folder and a values file per release, as Helm wants them.
pub(crate) struct Workspace {
    folder: TempDir,
    name: &'static str,
}

/// What Helm's engine takes for all releases: the best rounds on one thread and on as many as Go takes, and the most
/// memory, in MiB.
pub(crate) struct Engine {
    pub(crate) one_thread: Duration,
    pub(crate) threads: Duration,
    pub(crate) peak: f64,
}

/// Objects by kind and name.
pub(crate) type Objects = BTreeMap<(String, String), serde_yaml::Value>;

impl Workspace {
    /// The files of a chart of this name, and values by release.
    pub(crate) fn new(
        name: &'static str,
        files: &BTreeMap<String, String>,
        releases: &[(String, String)],
    ) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a folder")?;
        let this = Self { folder, name };
        fs::create_dir_all(this.values()).context("cannot make a folder")?;
        for (name, text) in files {
            let path = this.chart().join(name);
            fs::create_dir_all(path.parent().unwrap_or(&path)).context("cannot make a folder")?;
            fs::write(path, text).context("cannot write the chart")?;
        }
        for (name, values) in releases {
            fs::write(this.values().join(format!("{name}.yaml")), values).context("cannot write values")?;
        }
        Ok(this)
    }

    fn chart(&self) -> PathBuf {
        self.folder.path().join(self.name)
    }

    fn values(&self) -> PathBuf {
        self.folder.path().join("values")
    }

    /// What `helm template` prints for a release.
    pub(crate) fn template(&self, program: &Path, release: &str) -> Result<String> {
        let output = Command::new(program)
            .args(["template", release])
            .arg(self.chart())
            .args(["--namespace", NAMESPACE, "--kube-version", KUBERNETES, "--values"])
            .arg(self.values().join(format!("{release}.yaml")))
            .output()
            .context("cannot start helm")?;
        if !output.status.success() {
            bail!("helm template: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        String::from_utf8(output.stdout).context("helm printed no text")
    }

    /// Helm's engine over all releases.
    pub(crate) fn engine(&self, rounds: usize) -> Result<Engine> {
        let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/assets/helm");
        let output = Command::new("go")
            .args(["run", "./bench"])
            .args([self.chart(), self.values()])
            .arg(rounds.to_string())
            .current_dir(module)
            .env("GOWORK", "off")
            .output()
            .context("cannot start go")?;
        if !output.status.success() {
            bail!("go run ./bench: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let measured: serde_json::Value =
            serde_json::from_slice(&output.stdout).context("no JSON came from ./bench")?;
        let best = |key: &str| {
            let rounds = measured[key].as_array().into_iter().flatten().filter_map(serde_json::Value::as_u64);
            rounds.min().map(Duration::from_nanos).with_context(|| format!("./bench said nothing of {key}"))
        };
        let peak = measured["peakKiB"].as_f64().context("./bench said nothing of its memory")? / 1024.0;
        Ok(Engine { one_thread: best("oneThread")?, threads: best("default")?, peak })
    }
}

/// The objects in a stream of YAML, read by neither side's own parser.
pub(crate) fn objects(text: &str) -> Result<Objects> {
    let mut found = Objects::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        add(serde_yaml::Value::deserialize(document).context("what was rendered is no YAML")?, &mut found)?;
    }
    Ok(found)
}

/// Adds an object, if it is one.
pub(crate) fn add(value: serde_yaml::Value, found: &mut Objects) -> Result<()> {
    if value.is_null() {
        return Ok(());
    }
    let word = |value: &serde_yaml::Value| value.as_str().map(str::to_owned).context("an object without a name");
    let key = (word(&value["kind"])?, word(&value["metadata"]["name"])?);
    match found.insert(key, value) {
        Some(twice) => bail!("there twice: {twice:?}"),
        None => Ok(()),
    }
}
