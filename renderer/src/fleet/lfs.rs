//! Files that Git keeps elsewhere: what is in the repository is a pointer of Git LFS in their place. Pure.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Location};

/// Bytes that a pointer may have, by its specification.
const LONGEST: usize = 1024;

/// What is wrong with a file that is one.
pub(super) fn found_in(file: &Arc<str>, content: &[u8]) -> Option<Diagnostic> {
    is_pointer(content).then(|| {
        Diagnostic::error("lfs-pointer", "this is a pointer of Git LFS, and what it points to is not fetched")
            .at(Location::file(file.clone()))
            .help("keep the file itself in Git: take it out of .gitattributes, and add it anew")
    })
}

/// Whether a file is a pointer of Git LFS and not what its name says.
fn is_pointer(content: &[u8]) -> bool {
    let starts = [&b"version https://git-lfs.github.com/spec/"[..], b"version https://hawser.github.com/spec/"];
    content.len() < LONGEST
        && starts.iter().any(|start| content.starts_with(start))
        && content.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"oid sha256:"))
}

#[cfg(test)]
mod tests {
    use super::is_pointer;

    #[test]
    fn only_a_small_file_in_the_form_of_a_pointer_is_one() {
        let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12\n", "a".repeat(64));
        assert!(is_pointer(pointer.as_bytes()));
        assert!(!is_pointer(b"version https://git-lfs.github.com/spec/v1\nis where the format is written\n"));
        assert!(!is_pointer(format!("{pointer}{}", " ".repeat(1024)).as_bytes()));
        assert!(!is_pointer(b"kind: Layer\n"));
        assert!(!is_pointer(b""));
    }
}
