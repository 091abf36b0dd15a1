//! Why an image was not built. A variant says what was being done; its source says why it failed.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum ImageError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot write the layer")]
    Layer(#[source] io::Error),
    #[error("cannot start `{program}`: {hint}")]
    Start { program: String, hint: &'static str, source: io::Error },
    #[error("`{command}` failed: {message}")]
    Failed { command: String, message: String },
    #[error("{} has a mistake", path.display())]
    Pins { path: PathBuf, source: toml::de::Error },
    #[error("no package is pinned for {architecture}: `make image-pins` on such a machine pins them")]
    NoPins { architecture: String },
    #[error(
        "the archive that apt-get is set up for has no {package}={version}: it must be one of Debian {release}; if that \
         version was replaced, `make image-pins` pins the one of today"
    )]
    NotInArchive { package: String, version: String, release: String },
    #[error("{package}={version} has SHA-256 {found}, and {pinned} is pinned")]
    Checksum { package: String, version: String, pinned: String, found: String },
    #[error("package {package} has no file {file}")]
    NoFile { package: String, file: String },
    #[error("{} needs {library}, which no pinned package has: add its package to images/debian.toml", program.display())]
    NoLibrary { program: PathBuf, library: String },
    #[error(
        "{} needs glibc {needed}, and the image has {pinned}: build it on the Debian release that is pinned, or an older one",
        program.display()
    )]
    TooNew { program: PathBuf, needed: String, pinned: String },
    #[error("there is no image `{name}`: it may be {known}")]
    NoImage { name: String, known: String },
    #[error("Cargo.lock has a mistake")]
    Lock(#[source] toml::de::Error),
    #[error("`{line}` is not what `cargo tree` prints")]
    Tree { line: String },
    #[error("`{address}` is no registry: write HOST[:PORT][/PATH]")]
    Registry { address: String },
    #[error("{seconds} s after 1970 is no time")]
    Time { seconds: i64, source: jiff::Error },
    #[error("{} belongs to somebody else: what is compiled there cannot be trusted", path.display())]
    Foreign { path: PathBuf },
}
