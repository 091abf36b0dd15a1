//! `crdgen FOLDER` writes the CRD of every kind into a folder, one file each; `make crds` runs it for `crds/yaml`.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use reeve_crds::definitions;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args_os().nth(1).map(PathBuf::from).ok_or("usage: crdgen FOLDER")?;
    for crd in definitions::all()? {
        let (name, contents) = definitions::file(&crd)?;
        let path = folder.join(name);
        fs::write(&path, contents).map_err(|cause| format!("cannot write {}: {cause}", path.display()))?;
    }
    Ok(())
}
