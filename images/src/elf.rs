//! Which shared libraries a binary needs, and which glibc: from what `readelf` prints.

use std::path::Path;
use std::process::Command;

use crate::command;
use crate::error::ImageError;

const NEEDS_BINUTILS: &str = "install binutils";

/// What a binary asks of the system that it runs on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// File names such as `libc.so.6`, in order.
    pub libraries: Vec<String>,
    /// The newest version of glibc's symbols that it uses.
    pub glibc: Version,
}

/// `2.34`; the default is older than any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u32, u32);

impl Version {
    /// The version at the start of a text, such as that of Debian's package `2.36-9+deb12u14`.
    pub fn leading(text: &str) -> Self {
        let mut numbers = text.split(|letter: char| !letter.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
        Self(numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// Asks `readelf`.
pub fn needs(program: &Path) -> Result<Needs, ImageError> {
    let mut readelf = Command::new("readelf");
    readelf.args(["--wide", "--dynamic", "--version-info"]).arg(program).env("LC_ALL", "C");
    command::text(&mut readelf, NEEDS_BINUTILS).map(|text| read(&text))
}

fn read(text: &str) -> Needs {
    let between = |line: &str| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned());
    let mut libraries: Vec<String> =
        text.lines().filter(|line| line.contains("(NEEDED)")).filter_map(between).collect();
    libraries.sort();
    let versions = text.split("GLIBC_").skip(1).map(Version::leading);
    Needs { libraries, glibc: versions.max().unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_the_newest_glibc_are_read() {
        let text = " 0x0000000000000001 (NEEDED)             Shared library: [libm.so.6]\n \
                     0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]\n \
                     000: 0 (*local*) 2 (GLIBC_2.4) 3 (GLIBC_2.34)\n  0x0020:   Name: GLIBC_2.2.5  Flags: none  Version: 5\n";
        let wanted = Needs { libraries: ["libc.so.6", "libm.so.6"].map(str::to_owned).into(), glibc: Version(2, 34) };
        assert_eq!(read(text), wanted);
        assert_eq!(read(""), Needs::default());
    }

    #[test]
    fn versions_are_numbers_and_not_text() {
        assert!(Version::leading("2.4") < Version::leading("2.34"));
        assert!(Version::leading("2.36-9+deb12u14") >= Version::leading("2.34"));
    }
}
