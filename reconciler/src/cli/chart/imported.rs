//! A chart at hand: what it is called, what will not work of it, and its files written into the repository.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use reeve_renderer::cache::NoCache;
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer::render::Renderer;
use reeve_renderer::tree::{MemoryTree, TreeError};
use reeve_renderer::value::Value;
use reeve_renderer::yaml::{self, Dialect, Interner, Options};
use reeve_renderer::{names, resolve};
use reeve_renderer_objects::version::Version;

use super::error::ChartError;
use super::fetch::Files;
use super::lock::{Lock, contents};
use crate::cli::failure::Failure;

/// A chart that is not in the repository yet.
pub(super) struct Imported {
    pub(super) name: String,
    /// The version that its folder is called.
    pub(super) version: String,
    pub(super) files: Files,
    /// Files that say to Git what to do, and would say it to that of the fleet.
    pub(super) left_out: Vec<String>,
}

/// What would hide files of the chart from Git, change them on their way, or is Git's own.
const FOR_GIT: &[&str] = &[".git", ".gitattributes", ".gitignore", ".gitmodules"];

/// What was found out about a chart before it is used.
pub(super) struct Trial {
    pub(super) tree: MemoryTree,
    /// What is wrong with the chart itself.
    pub(super) findings: Vec<Diagnostic>,
    /// What is wrong when it is rendered with its own values alone.
    pub(super) unset: Vec<Diagnostic>,
}

impl Imported {
    /// The chart of these files, which came from a place.
    pub(super) fn read(place: &str, mut files: Files) -> Result<Self, ChartError> {
        let is_for_git =
            |name: &str| name.split('/').any(|part| FOR_GIT.iter().any(|one| part.eq_ignore_ascii_case(one)));
        let left_out = files.extract_if(.., |(name, _)| is_for_git(name)).map(|(name, _)| name).collect();
        let no_chart = |why: &str| ChartError::NoChart { place: place.to_owned(), why: why.to_owned() };
        let metadata = files.iter().find(|(name, _)| name == "Chart.yaml").map(|(_, content)| content);
        let metadata = metadata.ok_or_else(|| no_chart("it has no Chart.yaml"))?;
        let text = std::str::from_utf8(metadata).map_err(|_| no_chart("its Chart.yaml is not UTF-8 text"))?;
        let options = Options { dialect: Dialect::Helm, ..Options::default() };
        let documents = yaml::values(text, &options, &mut Interner::default());
        let documents = documents.map_err(|problems| {
            let problem = problems.first().map(|one| format!(" in line {}: {}", one.span.line, one.message));
            no_chart(&format!("its Chart.yaml is wrong{}", problem.unwrap_or_default()))
        })?;
        let value = documents.first().map(|document| &document.value);
        let field = |key: &str| {
            let found = value.and_then(|value| value.get(key)).and_then(Value::as_text).unwrap_or_default();
            if found.is_empty() { Err(no_chart(&format!("its Chart.yaml has no {key}"))) } else { Ok(found.to_owned()) }
        };
        let (name, version) = (field("name")?, field("version")?);
        if !names::is_label(&name) {
            return Err(no_chart(&format!("`{name}` is not a name that Kubernetes takes")));
        }
        // `v1.2` is fine for Helm, and no name of a folder here.
        let version = Version::parse(&version).map_or(version.clone(), |version| version.to_string());
        if semver::Version::parse(&version).is_err() {
            return Err(no_chart(&format!("`{version}` is not a semantic version")));
        }
        Ok(Self { name, version, files, left_out })
    }

    pub(super) fn folder(&self) -> String {
        format!("charts/{}/{}", self.name, self.version)
    }

    /// The chart in a fleet of its own, loaded and rendered.
    pub(super) fn trial(&self) -> Result<Trial, TreeError> {
        let mut tree = self.tree();
        tree.write("fleet.yaml", "kind: Fleet\n");
        let (name, version) = (&self.name, &self.version);
        tree.write(
            "runtimes/trial.yaml",
            format!("kind: Runtime\ncapabilities: {{kubernetesVersion: v1.35.0}}\ncomponents:\n  {name}: {{version: {version}}}\n"),
        );
        let (fleet, mut findings) = Loader::new().load(&tree)?;
        let unset = if findings.iter().any(Diagnostic::is_error) { Vec::new() } else { rendered(&fleet) };
        findings.sort();
        Ok(Trial { tree, findings, unset })
    }

    /// The files where they would be in a fleet repository.
    pub(super) fn tree(&self) -> MemoryTree {
        let mut tree = MemoryTree::new();
        for (name, content) in &self.files {
            tree.write(format!("{}/{name}", self.folder()), content);
        }
        tree
    }

    /// Writes the files and the lock below a fleet repository, where neither is yet.
    pub(super) fn write(&self, fleet: &Path, lock: Lock) -> Result<(), Failure> {
        let lock = Lock { files: Some(contents(&self.files)), ..lock };
        let folder = fleet.join(self.folder());
        let above = folder.parent().unwrap_or(fleet).to_owned();
        let archives = [format!("{}.tgz", self.version), format!("{}-{}.tgz", self.name, self.version)];
        let taken = archives.iter().map(|name| above.join(name)).chain([folder.clone()]);
        for path in taken {
            if fs::symlink_metadata(&path).is_ok() {
                return Err(Failure::Exists { path: path.display().to_string() });
            }
        }
        // Written beside and moved in one step: a chart is there whole or not at all.
        let partial = above.join(format!(".{}.partial", self.version));
        let fail = |path: &Path| {
            let path = path.display().to_string();
            |cause| Failure::Create { path, cause }
        };
        let _ = fs::remove_dir_all(&partial);
        if let Err(failure) = self.write_files(&partial) {
            let _ = fs::remove_dir_all(&partial);
            return Err(failure);
        }
        let note = above.join(format!("{}.lock", self.version));
        let mut file = fs::File::create(&note).map_err(fail(&note))?;
        file.write_all(lock.to_string().as_bytes()).map_err(fail(&note))?;
        fs::rename(&partial, &folder).map_err(fail(&folder))
    }

    fn write_files(&self, folder: &Path) -> Result<(), Failure> {
        for (name, content) in &self.files {
            let file = folder.join(name);
            let fail = |cause| Failure::Create { path: file.display().to_string(), cause };
            if let Some(parent) = file.parent() {
                fs::create_dir_all(parent).map_err(fail)?;
            }
            fs::write(&file, content).map_err(fail)?;
        }
        Ok(())
    }
}

/// What is wrong when the one runtime of a fleet is rendered.
fn rendered(fleet: &Fleet) -> Vec<Diagnostic> {
    let resolved = match resolve::resolve(fleet, "trial") {
        Some(Ok(resolved)) => resolved,
        Some(Err(findings)) => return findings,
        None => return Vec::new(),
    };
    Renderer::new(&fleet.settings, &NoCache).runtime(&resolved).err().unwrap_or_default()
}
