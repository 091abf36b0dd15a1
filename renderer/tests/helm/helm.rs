//! Helm itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::charts::Chart;
use crate::objects::{self, Objects};
use crate::ours::{KUBERNETES, NAMESPACE, RELEASE};

/// The program `helm`.
pub(crate) struct Helm(PathBuf);

/// The release that the conformance cases pin too.
const GO_MOD: &str = include_str!("../../../tests/assets/helm/go.mod");

impl Helm {
    /// The pinned release, where the harness keeps what takes long to build; built if need be. Nothing if it is not built
    /// and `CACHED` forbids to.
    pub(crate) fn find() -> Option<Self> {
        let pinned = GO_MOD.lines().find_map(|line| {
            line.trim().strip_prefix("require ").unwrap_or(line.trim()).strip_prefix("helm.sh/helm/v3 ")
        });
        let version = pinned.expect("go.mod pins Helm");
        let home = variable("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(Path::new(&variable("HOME")?).join(".cache")));
        let folder = home.expect("a home").join("reeve/released");
        let program = folder.join(format!("helm-{version}"));
        if !program.exists() {
            if variable("CACHED").is_some_and(|value| !value.is_empty() && value != "0") {
                println!("skipped: helm is not built, `make e2e` builds it");
                return None;
            }
            std::fs::create_dir_all(&folder).expect("the cache can be made");
            let module = crate::charts::module(&format!("helm.sh/helm/v3@{version}"));
            let built = Command::new("go")
                .args(["build", "-mod=readonly", "-ldflags=-s -w", "-o"])
                .arg(&program)
                .arg("./cmd/helm")
                .env("GOWORK", "off")
                .current_dir(module)
                .status();
            assert!(built.expect("go starts").success(), "Helm cannot be built");
        }
        Some(Self(program))
    }

    /// The groups, versions and kinds that Helm takes for served when it asks no cluster.
    pub(crate) fn api_versions(&self) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join("templates")).expect("it can be made");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("it can be written");
        write("Chart.yaml", "apiVersion: v2\nname: probe\nversion: 1.0.0\n");
        write("templates/a.yaml", "{{ range .Capabilities.APIVersions }}\n# {{ . }}\n{{- end }}\nkind: Probe\n");
        let output =
            Command::new(&self.0).args(["template", "probe"]).arg(folder.path()).output().expect("helm starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut all: Vec<String> = text.lines().filter_map(|line| line.strip_prefix("# ")).map(str::to_owned).collect();
        all.retain(|line| !line.starts_with("Source"));
        all.sort();
        all
    }

    /// What `helm template` makes of a chart.
    pub(crate) fn template(&self, chart: &Chart, folder: &Path, values: &str) -> Result<Objects, String> {
        let work = tempfile::tempdir().map_err(|error| error.to_string())?;
        let copy = work.path().join("chart");
        for (name, content) in chart.files(folder) {
            let path = copy.join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(&copy)).map_err(|error| error.to_string())?;
            std::fs::write(path, content).map_err(|error| error.to_string())?;
        }
        let file = work.path().join("values.yaml");
        std::fs::write(&file, values).map_err(|error| error.to_string())?;
        let output = Command::new(&self.0)
            .args(["template", RELEASE])
            .arg(&copy)
            .args(["--namespace", NAMESPACE, "--kube-version", KUBERNETES, "--include-crds", "--values"])
            .arg(&file)
            .env("HELM_CACHE_HOME", work.path())
            .env("HELM_CONFIG_HOME", work.path())
            .env("HELM_DATA_HOME", work.path())
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        objects::read(&String::from_utf8_lossy(&output.stdout))
    }
}

#[expect(clippy::disallowed_methods, reason = "where programs are kept is said by the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
