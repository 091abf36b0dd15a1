//! Which Debian packages images are made of: name, version and checksum, from `images/debian.toml`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

use crate::error::ImageError;

/// Written by `make image-pins`, which keeps this text.
const PREAMBLE: &str = "\
# The Debian packages whose files are in the images. `make image-pins` writes the versions that the archive has today for
# the processor that it runs on; their names are the user's to change. A package must have this checksum, wherever it comes from.
";

/// All pins.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    /// The release of Debian, such as `12`.
    pub release: String,
    /// By processor, then by package.
    pub packages: BTreeMap<String, BTreeMap<String, Pin>>,
}

/// One version of a package.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    pub version: String,
    pub sha256: String,
}

impl Pins {
    /// Reads a text; `path` is what an error names.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ImageError> {
        toml::from_str(text).map_err(|source| ImageError::Pins { path: path.to_owned(), source })
    }

    /// The packages for a processor.
    pub fn of(&self, architecture: &str) -> Result<&BTreeMap<String, Pin>, ImageError> {
        self.packages.get(architecture).ok_or_else(|| ImageError::NoPins { architecture: architecture.to_owned() })
    }

    /// The names that are pinned for any processor.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.packages.values().flat_map(|pins| pins.keys().cloned()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The text that [`parse`](Self::parse) reads.
    pub fn text(&self) -> String {
        let mut text = format!("{PREAMBLE}release = \"{}\"\n", self.release);
        for (architecture, pins) in &self.packages {
            let _ = writeln!(text, "\n[packages.{architecture}]");
            for (name, pin) in pins {
                let _ = writeln!(text, "{name} = {{ version = \"{}\", sha256 = \"{}\" }}", pin.version, pin.sha256);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_checked_in_is_what_would_be_written() {
        let text = include_str!("../debian.toml");
        assert_eq!(Pins::parse(text, Path::new("debian.toml")).unwrap().text(), text);
    }

    #[test]
    fn a_processor_without_pins_is_named() {
        let pins = Pins { release: "12".to_owned(), packages: BTreeMap::new() };
        let told = pins.of("riscv64").unwrap_err().to_string();
        assert_eq!(told, "no package is pinned for riscv64: `make image-pins` on such a machine pins them");
    }
}
