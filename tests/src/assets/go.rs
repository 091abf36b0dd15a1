//! Builds a pinned server from the Go module proxy, once per machine.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::{Program, is_executable, kubernetes_version, say};

/// What a first build of all of Kubernetes leaves in Go's caches, with room to spare.
const NEEDED_BYTES: u64 = 6 << 30;

/// Builds `program` into `cache`.
pub(super) fn build(program: Program, cache: &Path) -> Result<()> {
    build_into(cache, &cache.join(program.name()), program.name(), |output| Ok(command(program, output)))
}

/// Builds `target` below `cache` with the command for a temporary name. Two processes that ask at once build once: the
/// second waits for the first. A build that is killed leaves nothing half-made, and the next one goes on from Go's own
/// build cache.
pub(super) fn build_into(
    cache: &Path,
    target: &Path,
    name: &str,
    command: impl FnOnce(&Path) -> Result<Command>,
) -> Result<()> {
    fs::create_dir_all(cache).with_context(|| format!("cannot create the cache folder {}", cache.display()))?;
    let lock_file = cache.join(".lock");
    let lock = File::create(&lock_file).with_context(|| format!("cannot create {}", lock_file.display()))?;
    if lock.try_lock().is_err() {
        say(&format!("another process is building into {}; waiting for it", cache.display()));
        lock.lock().with_context(|| format!("cannot lock {}", lock_file.display()))?;
    }
    if is_executable(target) {
        return Ok(());
    }
    check_prerequisites(cache)?;

    let partial = cache.join(format!(".{name}.partial"));
    compile(name, &mut command(&partial)?)?;
    fs::rename(&partial, target).with_context(|| format!("cannot move the built program to {}", target.display()))
}

fn check_prerequisites(cache: &Path) -> Result<()> {
    if Command::new("go").arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        bail!(
            "`go` is not on PATH: install Go 1.25 or newer, or set KUBEBUILDER_ASSETS to a folder with kube-apiserver, \
             etcd and kubectl"
        );
    }
    let stat =
        rustix::fs::statvfs(cache).with_context(|| format!("cannot read the free space of {}", cache.display()))?;
    let free = stat.f_bavail * stat.f_frsize;
    if free < NEEDED_BYTES {
        bail!(
            "{} has {} MiB free and building Kubernetes needs {} MiB: free some space, or set XDG_CACHE_HOME, GOCACHE and \
             GOMODCACHE to a larger disk",
            cache.display(),
            free >> 20,
            NEEDED_BYTES >> 20
        );
    }
    Ok(())
}

fn compile(name: &str, command: &mut Command) -> Result<()> {
    let started = Instant::now();
    say(&format!("building {name} (minutes the first time, never again on this machine)"));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start `go`")?;

    let stderr = child.stderr.take().context("`go` has no standard error")?;
    let mut errors = Vec::new();
    let mut progress = Progress::new(name, started);
    for line in BufReader::new(stderr).lines() {
        let line = line.context("cannot read what `go` prints")?;
        progress.tick(&line);
        if !line.starts_with("go: downloading") && !is_package_name(&line) {
            errors.push(line);
        }
    }
    let status = child.wait().context("cannot wait for `go`")?;
    if !status.success() {
        bail!("{}", explain(&errors));
    }
    say(&format!("built {name} in {} s", started.elapsed().as_secs()));
    Ok(())
}

/// `go build` with what all our builds have in common.
pub(super) fn build_command(output: &Path) -> Command {
    let mut go = Command::new("go");
    // `-v` prints each package as it is compiled: the sign of life that the progress line is made of.
    go.args(["build", "-v", "-mod=readonly", "-trimpath", "-o"])
        .arg(output)
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off");
    go
}

fn command(program: Program, output: &Path) -> Command {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let mut go = build_command(output);
    match program {
        Program::Etcd => go.arg("-ldflags=-s -w").arg(".").current_dir(assets.join("etcd")),
        _ => go
            .arg(format!("-ldflags={}", kubernetes_linker_flags()))
            .arg(format!("k8s.io/kubernetes/cmd/{}", program.name()))
            .current_dir(assets.join("kubernetes")),
    };
    go
}

/// Without these the programs report v0.0.0, which clients and the kubelet's skew check refuse.
fn kubernetes_linker_flags() -> String {
    let version = kubernetes_version();
    let mut parts = version.trim_start_matches('v').split('.');
    let (major, minor) = (parts.next().unwrap_or("0"), parts.next().unwrap_or("0"));
    let package = "k8s.io/component-base/version";
    format!("-s -w -X {package}.gitVersion={version} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}")
}

fn is_package_name(line: &str) -> bool {
    !line.is_empty() && !line.contains([' ', '\t'])
}

/// One line that says what to do, from what `go` printed.
pub(super) fn explain(errors: &[String]) -> String {
    let text = errors.join("\n");
    let hint = if text.contains("no space left on device") {
        "the disk is full: free some space, or set GOCACHE, GOMODCACHE and XDG_CACHE_HOME to a larger disk"
    } else if ["dial tcp", "no such host", "i/o timeout", "connection refused", "module lookup disabled"]
        .iter()
        .any(|sign| text.contains(sign))
    {
        "the Go module proxy cannot be reached: check the network and `go env GOPROXY`, or set KUBEBUILDER_ASSETS to a \
         folder with kube-apiserver, etcd and kubectl"
    } else {
        "`go build` failed"
    };
    let last = errors.iter().rev().find(|line| !line.trim().is_empty()).map_or("no output", String::as_str);
    format!("{hint} (go said: {})", last.trim())
}

/// Says every ten seconds how far a build is.
struct Progress<'a> {
    name: &'a str,
    started: Instant,
    last: Instant,
    packages: usize,
    modules: usize,
}

impl<'a> Progress<'a> {
    fn new(name: &'a str, started: Instant) -> Self {
        Self { name, started, last: started, packages: 0, modules: 0 }
    }

    fn tick(&mut self, line: &str) {
        if line.starts_with("go: downloading") {
            self.modules += 1;
        } else if is_package_name(line) {
            self.packages += 1;
        }
        if self.last.elapsed() >= Duration::from_secs(10) {
            self.last = Instant::now();
            let (seconds, packages, modules) = (self.started.elapsed().as_secs(), self.packages, self.modules);
            say(&format!(
                "building {}: {seconds} s, {modules} modules fetched, {packages} packages compiled",
                self.name
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::explain;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_full_disk_is_named_with_what_to_do() {
        let message = explain(&lines("# k8s.io/x\nwrite /x: no space left on device"));
        assert!(message.starts_with("the disk is full: free some space"), "{message}");
        assert_eq!(message.lines().count(), 1);
    }

    #[test]
    fn no_network_is_named_with_what_to_do() {
        let message = explain(&lines("go: k8s.io/api@v0.35.4: Get \"x\": dial tcp: lookup x: no such host"));
        assert!(message.starts_with("the Go module proxy cannot be reached"), "{message}");
        assert!(message.contains("KUBEBUILDER_ASSETS"), "{message}");
    }
}
