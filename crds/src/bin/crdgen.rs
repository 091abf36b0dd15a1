//! `crdgen FOLDER PAGE` writes the CRD of every kind into a folder, one file each, and a page with all their fields;
//! `make crds` runs it for `crds/yaml` and `docs/crds.md`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use reeve_crds::{definitions, docs};

fn main() -> Result<(), Box<dyn Error>> {
    let mut paths = env::args_os().skip(1).map(PathBuf::from);
    let (folder, file) = paths.next().zip(paths.next()).ok_or("usage: crdgen FOLDER PAGE")?;
    let crds = definitions::all()?;
    for crd in &crds {
        let (name, contents) = definitions::file(crd)?;
        write(&folder.join(name), &contents)?;
    }
    write(&file, &docs::markdown(&crds)?)
}

fn write(path: &Path, contents: &str) -> Result<(), Box<dyn Error>> {
    fs::write(path, contents).map_err(|cause| format!("cannot write {}: {cause}", path.display()).into())
}
