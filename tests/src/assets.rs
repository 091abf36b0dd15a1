//! Finds the programs that the harness starts, and makes those that are missing.
//!
//! Owns the order of the search (`KUBEBUILDER_ASSETS`, `PATH`, the cache), the builds from the Go module proxy and the
//! Debian packages. Kubernetes and etcd are pinned by `assets/*/go.mod`, what only `make e2e` needs
//! by `assets/released.rs`, and nothing is pinned twice.

mod debian;
mod go;
mod packages;
mod peer;
mod released;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use reeve_images::debian::Package;
use reeve_images::pins::Pins;

pub use debian::Tool;
pub use peer::Peer;
pub use released::{Released, module_folder};

const KUBERNETES_MOD: &str = include_str!("../assets/kubernetes/go.mod");
const ETCD_MOD: &str = include_str!("../assets/etcd/go.mod");

/// A program that exists only as Go source and is built once per machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    Etcd,
    KubeApiserver,
    KubeControllerManager,
    KubeProxy,
    KubeScheduler,
    Kubectl,
    Kubelet,
}

impl Program {
    pub const ALL: [Program; 7] = [
        Program::Etcd,
        Program::KubeApiserver,
        Program::Kubectl,
        Program::KubeControllerManager,
        Program::KubeScheduler,
        Program::Kubelet,
        Program::KubeProxy,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Program::Etcd => "etcd",
            Program::KubeApiserver => "kube-apiserver",
            Program::KubeControllerManager => "kube-controller-manager",
            Program::KubeProxy => "kube-proxy",
            Program::KubeScheduler => "kube-scheduler",
            Program::Kubectl => "kubectl",
            Program::Kubelet => "kubelet",
        }
    }

    /// The programs that a folder named by `KUBEBUILDER_ASSETS` holds by convention.
    fn is_envtest(self) -> bool {
        matches!(self, Program::Etcd | Program::KubeApiserver | Program::Kubectl)
    }

    /// Whether what this program prints as its version is close enough to the pin to stand in for it.
    fn accepts(self, printed: &str) -> bool {
        let pin = match self {
            Program::Etcd => etcd_version(),
            _ => kubernetes_version(),
        };
        let minor = pin.rsplit_once('.').map_or(pin, |(minor, _patch)| minor);
        printed
            .split_whitespace()
            .any(|word| word.trim_start_matches('v').starts_with(&format!("{}.", minor.trim_start_matches('v'))))
    }

    fn version_args(self) -> &'static [&'static str] {
        match self {
            Program::Kubectl => &["version", "--client"],
            _ => &["--version"],
        }
    }
}

/// The pinned Kubernetes, such as `v1.35.4`.
pub fn kubernetes_version() -> &'static str {
    pinned(KUBERNETES_MOD, "k8s.io/kubernetes")
}

/// The pinned etcd, such as `v3.6.7`.
pub fn etcd_version() -> &'static str {
    pinned(ETCD_MOD, "go.etcd.io/etcd/server/v3")
}

/// The version on the line that requires `module`. (`replace` and `tool` lines name no bare version after it.)
fn pinned(go_mod: &'static str, module: &str) -> &'static str {
    go_mod
        .lines()
        .find_map(|line| {
            let mut words = line.trim().trim_start_matches("require ").split_whitespace();
            (words.next() == Some(module)).then(|| words.next()).flatten()
        })
        .unwrap_or_else(|| panic!("go.mod does not require {module}"))
}

/// The path of a program, from the first place that has it; builds it when none has. Searched once per process.
pub fn find(program: Program) -> Result<PathBuf> {
    static FOUND: Mutex<BTreeMap<Program, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND.lock();
    if let Some(path) = found.get(&program) {
        return Ok(path.clone());
    }
    let path = Search::from_environment()?.find(program)?;
    found.insert(program, path.clone());
    Ok(path)
}

/// The path of a program that takes long to build. `None`, and a line that says so, when it is not built and `CACHED`
/// forbids to build it.
pub fn released(program: Released) -> Result<Option<PathBuf>> {
    let found = find_released(program)?;
    if found.is_none() {
        say(&format!("skipped: {} is not built, `make e2e` builds it", program.name()));
    }
    Ok(found)
}

/// As [`released()`], without the line.
pub(crate) fn find_released(program: Released) -> Result<Option<PathBuf>> {
    program.find(&cache_base()?)
}

/// The path of a small program of ours over released Go modules, built when it is missing or has changed.
pub fn peer(peer: Peer) -> Result<PathBuf> {
    peer.find(&cache_base()?)
}

/// The folder with KEDA's CRDs, as KEDA has released them.
pub(crate) fn keda_crds() -> Result<PathBuf> {
    released::keda_crds()
}

/// The folder with Istio's CRDs, as Istio has released them.
pub(crate) fn istio_crds() -> Result<PathBuf> {
    released::istio_crds()
}

/// The folder with the CRDs of KEDA's add-on for HTTP, as it has released them.
pub(crate) fn http_add_on_crds() -> Result<PathBuf> {
    released::http_add_on_crds()
}

/// What Reeve's images are made of: the pins, and the packages with their files; fetched when they are missing.
pub(crate) fn image_packages() -> Result<(Pins, BTreeMap<String, Package>)> {
    packages::find(&cache_base()?)
}

/// The path of a tool that comes as a Debian package; installs it when it is missing and we may.
pub fn tool(tool: Tool) -> Result<PathBuf> {
    tool.find()
}

/// Finds or makes everything that any level of the harness needs.
pub fn ensure_all() -> Result<()> {
    debian::ensure(&Tool::ALL)?;
    image_packages()?;
    let search = Search::from_environment()?;
    for program in Program::ALL {
        search.find(program)?;
    }
    for each in Peer::ALL {
        peer(each)?;
    }
    Ok(())
}

/// The places that are searched, in order.
#[derive(Debug)]
struct Search {
    envtest: Option<PathBuf>,
    path: Vec<PathBuf>,
    cache: PathBuf,
}

impl Search {
    fn from_environment() -> Result<Self> {
        let envtest = std::env::var_os("KUBEBUILDER_ASSETS").filter(|value| !value.is_empty()).map(PathBuf::from);
        let path = std::env::var_os("PATH").map(|value| std::env::split_paths(&value).collect()).unwrap_or_default();
        Ok(Self { envtest, path, cache: cache_folder()? })
    }

    fn find(&self, program: Program) -> Result<PathBuf> {
        if let Some(folder) = self.envtest.as_deref().filter(|_| program.is_envtest()) {
            return from_envtest(folder, program);
        }
        let cached = self.cache.join(program.name());
        if let Some(found) = self.on_path(program) {
            return Ok(found);
        }
        if is_executable(&cached) {
            return Ok(cached);
        }
        go::build(program, &self.cache).with_context(|| format!("cannot build {}", program.name()))?;
        Ok(cached)
    }

    /// A program on `PATH` counts only if its version is that of the pin, up to the patch level.
    fn on_path(&self, program: Program) -> Option<PathBuf> {
        self.path.iter().map(|folder| folder.join(program.name())).filter(|file| is_executable(file)).find(|file| {
            printed(Command::new(file).args(program.version_args())).is_some_and(|text| program.accepts(&text))
        })
    }
}

/// What a command prints, unless it fails or takes longer than telling a version should.
fn printed(command: &mut Command) -> Option<String> {
    let limit = Instant::now() + Duration::from_secs(5);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    while child.try_wait().ok()?.is_none() {
        if Instant::now() > limit {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut text = String::new();
    child.stdout.take()?.read_to_string(&mut text).ok()?;
    Some(text)
}

/// `KUBEBUILDER_ASSETS` is the user's word: it is not searched past, and its versions are theirs to choose.
fn from_envtest(folder: &Path, program: Program) -> Result<PathBuf> {
    let file = folder.join(program.name());
    if !is_executable(&file) {
        bail!(
            "KUBEBUILDER_ASSETS is {} but there is no executable {} in it: point it at a folder with kube-apiserver, \
             etcd and kubectl, or unset it to have them built",
            folder.display(),
            program.name()
        );
    }
    Ok(file)
}

/// `${XDG_CACHE_HOME:-~/.cache}/reeve`
fn cache_base() -> Result<PathBuf> {
    let base = match std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute()) {
        Some(folder) => folder,
        None => {
            std::env::home_dir().context("set HOME or XDG_CACHE_HOME: built servers are cached there")?.join(".cache")
        }
    };
    Ok(base.join("reeve"))
}

/// Where the pinned control plane is: another pin is another folder.
fn cache_folder() -> Result<PathBuf> {
    Ok(cache_base()?.join(format!("{}+etcd-{}", kubernetes_version(), etcd_version())))
}

pub(crate) fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// A line on the terminal even inside a captured test: a first build takes minutes and must not look like a hang.
pub(crate) fn say(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "reeve-harness: {line}");
}

#[cfg(test)]
mod tests;
