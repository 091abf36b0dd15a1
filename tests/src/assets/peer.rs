//! Small programs of our own over released Go modules, which stand in for what speaks to a part of Reeve.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::{go, is_executable};

/// A program below `tests/assets`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A client of the CRI, and an echo of any gRPC call.
    Cri,
    /// What KEDA asks an external scaler, with KEDA's own client.
    Keda,
    /// A hook server that speaks Koordinator's protocol.
    Koordinator,
    /// An application to scale, which speaks what applications speak.
    Web,
}

impl Peer {
    pub const ALL: [Peer; 4] = [Peer::Cri, Peer::Keda, Peer::Koordinator, Peer::Web];

    fn name(self) -> &'static str {
        match self {
            Peer::Cri => "cri",
            Peer::Keda => "keda",
            Peer::Koordinator => "koordinator",
            Peer::Web => "web",
        }
    }

    fn folder(self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("assets").join(self.name())
    }

    /// Its name has the digest of its source in it: a changed source is another program.
    pub(super) fn find(self, base: &Path) -> Result<PathBuf> {
        let cache = base.join("peers");
        let name = format!("{}-{}", self.name(), self.digest()?);
        let target = cache.join(&name);
        if !is_executable(&target) {
            go::build_into(&cache, &target, &name, |output| {
                let mut command = go::build_command(output);
                command.arg("-ldflags=-s -w").arg(".").current_dir(self.folder());
                Ok(command)
            })
            .with_context(|| format!("cannot build the peer {}", self.name()))?;
        }
        Ok(target)
    }

    fn digest(self) -> Result<String> {
        let folder = self.folder();
        let unreadable = || format!("cannot read {}", folder.display());
        let mut files = fs::read_dir(&folder)
            .with_context(unreadable)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<std::io::Result<Vec<_>>>()
            .with_context(unreadable)?;
        files.sort();
        let mut digest = Sha256::new();
        for file in files {
            digest.update(file.file_name().unwrap_or_default().as_encoded_bytes());
            digest.update(fs::read(&file).with_context(unreadable)?);
        }
        let first = digest.finalize().iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        Ok(format!("{first:016x}"))
    }
}
