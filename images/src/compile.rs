//! Compiles a binary so that neither the folder of the checkout, nor the user's home, nor the day gets into it.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::catalog::Shipped;
use crate::command;
use crate::error::ImageError;
use crate::revision::Revision;

/// Where images are compiled, always: OpenSSL writes the folder that it is built in into its code, and nothing turns that
/// off. Cargo locks the folder, and what one checkout built of other people's crates serves the next.
pub const BUILD_FOLDER: &str = "/var/tmp/reeve-images";

/// What a user's environment may say to compilers, and must not here.
const NOT_OURS: [&str; 9] = [
    "AR",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CC",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
];

/// Builds one binary with the features that its package has alone, so that no image depends on which others there are.
pub fn compile(
    shipped: &Shipped,
    workspace: &Path,
    cargo_home: &Path,
    revision: &Revision,
) -> Result<PathBuf, ImageError> {
    let folder = own_folder(Path::new(BUILD_FOLDER))?;
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "--package", shipped.package, "--bin", shipped.name]);
    // We are run by cargo ourselves: what it says of our own package is not about this one.
    let of_our_own = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).filter(|name| {
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "CARGO_BIN_NAME"
    });
    for name in of_our_own.chain(NOT_OURS.map(str::to_owned)) {
        cargo.env_remove(name);
    }
    cargo
        .current_dir(workspace)
        .env("CARGO_TARGET_DIR", &folder)
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_ENCODED_RUSTFLAGS", format!("--remap-path-prefix={}=/cargo", cargo_home.display()))
        // Whether the machine has a zlib to link must not matter.
        .env("LIBZ_SYS_STATIC", "1")
        .env("REEVE_COMMIT", &revision.commit)
        // OpenSSL writes the day of its build into its code. It is not built again for a later commit: not its time, then.
        .env("SOURCE_DATE_EPOCH", "0");
    command::visible(&mut cargo, "install Rust")?;
    Ok(folder.join("release").join(shipped.name))
}

/// Forgets what was compiled before.
pub fn forget() -> Result<(), ImageError> {
    let folder = own_folder(Path::new(BUILD_FOLDER))?;
    fs::remove_dir_all(&folder).map_err(|source| ImageError::Write { path: folder, source })
}

/// Everybody may write beside it, so it has to be ours and closed to others.
fn own_folder(folder: &Path) -> Result<PathBuf, ImageError> {
    let cannot = |source| ImageError::Write { path: folder.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(cannot)?;
    let found = fs::symlink_metadata(folder).map_err(cannot)?;
    let us = fs::metadata("/proc/self").map_err(cannot)?.uid();
    if !found.is_dir() || found.uid() != us || found.mode() & 0o022 != 0 {
        return Err(ImageError::Foreign { path: folder.to_owned() });
    }
    Ok(folder.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("build");
        assert_eq!(own_folder(&folder).unwrap(), folder);
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(own_folder(&folder).is_err());
        let link = above.path().join("link");
        std::os::unix::fs::symlink("/etc", &link).unwrap();
        assert!(own_folder(&link).is_err(), "a link leads elsewhere");
    }
}
