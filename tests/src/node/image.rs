//! Container images made from static binaries, without a registry and without a builder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::assets::{self, Tool};

pub(super) const PAUSE: &str = "reeve.local/pause:tests";

/// An image of one layer. Equal parts give equal bytes.
#[derive(Clone, Debug)]
pub struct Image {
    name: String,
    files: BTreeMap<String, Entry>,
    entrypoint: Vec<String>,
}

#[derive(Clone, Debug)]
enum Entry {
    Program(Vec<u8>),
    Text(String),
    Link(String),
}

impl Image {
    /// An image that runs one static binary, such as one of ours built for musl.
    pub fn from_binary(name: &str, binary: &Path) -> Result<Self> {
        let bytes = fs::read(binary).with_context(|| format!("cannot read {}", binary.display()))?;
        let program = binary.file_name().context("the binary has no name")?.to_string_lossy();
        let path = format!("bin/{program}");
        let entrypoint = vec![format!("/{path}")];
        Ok(Self { name: name.into(), files: [(path, Entry::Program(bytes))].into(), entrypoint })
    }

    /// An image with Debian's static busybox and its common applets, `sh` and `httpd` among them.
    pub fn busybox() -> Result<Self> {
        let mut image = Self::from_binary("reeve.local/busybox:tests", &assets::tool(Tool::Busybox)?)?;
        for applet in
            ["cat", "echo", "env", "false", "httpd", "ls", "mkdir", "nc", "sh", "sleep", "tail", "true", "wget"]
        {
            image.files.insert(format!("bin/{applet}"), Entry::Link("busybox".into()));
        }
        Ok(image)
    }

    /// What holds a pod's namespaces open.
    pub(super) fn pause() -> Result<Self> {
        let mut image = Self::busybox()?;
        image.name = PAUSE.into();
        image.entrypoint = ["/bin/tail", "-f", "/dev/null"].map(String::from).into();
        Ok(image)
    }

    /// Adds a text file.
    #[must_use]
    pub fn file(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.trim_start_matches('/').into(), Entry::Text(text.into()));
        self
    }

    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// What a pod writes as `image`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes it as an archive in Docker's format, which `ctr images import` reads.
    pub(super) fn write(&self, to: &Path) -> Result<()> {
        let layer = self.layer().context("cannot write the layer")?;
        let config = json!({
            "architecture": architecture(),
            "os": "linux",
            "config": {"Entrypoint": self.entrypoint, "Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", hex(&layer))]},
        })
        .to_string();
        let config_name = format!("{}.json", hex(config.as_bytes()));
        let manifest = json!([{"Config": config_name, "RepoTags": [self.name], "Layers": ["layer.tar"]}]).to_string();

        let write = || -> std::io::Result<()> {
            let mut archive = tar::Builder::new(File::create(to)?);
            append(&mut archive, "manifest.json", manifest.as_bytes(), 0o644)?;
            append(&mut archive, &config_name, config.as_bytes(), 0o644)?;
            append(&mut archive, "layer.tar", &layer, 0o644)?;
            archive.into_inner()?.flush()
        };
        write().with_context(|| format!("cannot write {}", to.display()))
    }

    fn layer(&self) -> std::io::Result<Vec<u8>> {
        let mut layer = tar::Builder::new(Vec::new());
        for (path, entry) in &self.files {
            match entry {
                Entry::Program(bytes) => append(&mut layer, path, bytes, 0o755)?,
                Entry::Text(text) => append(&mut layer, path, text.as_bytes(), 0o644)?,
                Entry::Link(target) => {
                    let mut header = tar::Header::new_gnu();
                    header.set_entry_type(tar::EntryType::Symlink);
                    header.set_size(0);
                    header.set_mode(0o777);
                    layer.append_link(&mut header, path, target)?;
                }
            }
        }
        layer.into_inner()
    }
}

fn append<W: Write>(archive: &mut tar::Builder<W>, path: &str, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(mode);
    archive.append_data(&mut header, path, bytes)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_parts_give_equal_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, image: &Image| {
            let file = folder.path().join(name);
            image.write(&file).unwrap();
            fs::read(file).unwrap()
        };
        let image = |text| Image::from_binary("x:y", Path::new("/proc/self/exe")).unwrap().file("/etc/motd", text);
        let first = write("first", &image("hello"));
        assert_eq!(first, write("second", &image("hello")));
        assert_ne!(first, write("third", &image("goodbye")));
    }
}
