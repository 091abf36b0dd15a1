//! Writes files of a container's control group.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Control groups of a node, of either version.
#[derive(Clone, Debug)]
pub(crate) struct Cgroups {
    root: PathBuf,
}

impl Cgroups {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Writes each file. Returns what could not be written, and why.
    pub(crate) fn write(&self, parent: &str, container: &str, files: &BTreeMap<String, String>) -> Vec<String> {
        let mut failures = Vec::new();
        for (file, value) in files {
            let Some(folder) = self.find(parent, container, file) else {
                failures.push(format!("no control group of container {container} has {file}"));
                continue;
            };
            if let Err(error) = std::fs::write(folder.join(file), value) {
                failures.push(format!("cannot write {value} to {file}: {error}"));
            }
        }
        failures
    }

    /// The folder of the container's group that has such a file.
    fn find(&self, parent: &str, container: &str, file: &str) -> Option<PathBuf> {
        // Version 1 has a tree for each controller, of which the file's name begins with the name.
        let controller = file.split('.').next().unwrap_or_default();
        let below = [groups(parent, container), vec![slice(parent, container)]].concat();
        let roots = [self.root.join(controller), self.root.clone()];
        let folders = roots.iter().flat_map(|root| below.iter().map(|below| root.join(below)));
        folders.into_iter().find(|folder| folder.join(file).is_file())
    }
}

/// As kubelet and runtime name it when they make groups themselves.
fn groups(parent: &str, container: &str) -> Vec<PathBuf> {
    vec![Path::new(parent.trim_start_matches('/')).join(container)]
}

/// As systemd names it: a slice `a-b.slice` is inside `a.slice`.
fn slice(parent: &str, container: &str) -> PathBuf {
    let name = parent.rsplit('/').next().unwrap_or_default().trim_end_matches(".slice");
    let mut path = PathBuf::new();
    let mut prefix = String::new();
    for part in name.split('-') {
        if !prefix.is_empty() {
            prefix.push('-');
        }
        prefix.push_str(part);
        path.push(format!("{prefix}.slice"));
    }
    path.join(format!("cri-containerd-{container}.scope"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_with_either_driver_and_either_version() {
        let root = tempfile::tempdir().unwrap();
        let cgroups = Cgroups::new(root.path());
        for (folder, parent, file) in [
            ("memory/kubepods/podx/c1", "/kubepods/podx", "memory.soft_limit_in_bytes"),
            ("kubepods/pody/c1", "/kubepods/pody", "memory.high"),
            (
                "kubepods.slice/kubepods-podz.slice/cri-containerd-c1.scope",
                "/kubepods.slice/kubepods-podz.slice",
                "cpu.max.burst",
            ),
        ] {
            let folder = root.path().join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(file), "").unwrap();
            let files = [(file.to_owned(), "7".to_owned())].into();
            assert_eq!(cgroups.write(parent, "c1", &files), Vec::<String>::new(), "{parent}");
            assert_eq!(std::fs::read_to_string(folder.join(file)).unwrap(), "7");
        }
        let files = [("memory.high".to_owned(), "7".to_owned())].into();
        assert_eq!(
            cgroups.write("/kubepods/podx", "gone", &files),
            ["no control group of container gone has memory.high"]
        );
    }
}
