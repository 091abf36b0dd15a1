//! Builds the container images of Reeve: one for each binary, with what the binary needs to run and nothing else.
//!
//! Owns the table of images, the pinned Debian packages, the layers, the image layout and the SBOM. The same commit gives
//! the same bytes: no clock, no file order, no user and no build folder gets into them. It needs no daemon, no
//! registry and no rights; `cargo`, `apt-get`, `dpkg-deb` and `readelf` do the work that they are for.

pub mod args;
pub mod assemble;
pub mod base;
pub mod catalog;
pub mod command;
pub mod compile;
pub mod crates;
pub mod debian;
pub mod digest;
mod document;
pub mod elf;
pub mod error;
pub mod layer;
pub mod oci;
pub mod pins;
pub mod push;
pub mod revision;
pub mod sbom;

pub use assemble::{Assembled, Parts, assemble};
pub use catalog::{IMAGES, Shipped};
pub use digest::Digest;
pub use error::ImageError;
pub use layer::Layer;
pub use oci::{Compression, Image, Settings};
