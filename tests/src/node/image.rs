//! Container images, without a registry and without a builder: of static binaries, and those that Reeve ships.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use reeve_images::revision::Revision;
use reeve_images::{Compression, Layer, Parts, Settings, Shipped, assemble, crates};

use crate::assets::{self, Tool};

pub(super) const PAUSE: &str = "reeve.local/pause:tests";

/// An image of a few layers. Equal parts give equal bytes.
#[derive(Clone, Debug)]
pub struct Image {
    name: String,
    settings: Settings,
    layers: Vec<Layer>,
}

impl Image {
    /// An image that runs one static binary, such as one of ours built for musl.
    pub fn from_binary(name: &str, binary: &Path) -> Result<Self> {
        let bytes = fs::read(binary).with_context(|| format!("cannot read {}", binary.display()))?;
        let program = binary.file_name().context("the binary has no name")?.to_string_lossy();
        let path = format!("/bin/{program}");
        let layers = vec![Layer::default().program(&path, bytes)];
        Ok(Self { name: name.into(), settings: starts_with(&[&path]), layers })
    }

    /// An image with Debian's static busybox and its common applets, `sh` and `httpd` among them.
    pub fn busybox() -> Result<Self> {
        let mut image = Self::from_binary("reeve.local/busybox:tests", &assets::tool(Tool::Busybox)?)?;
        let applets =
            ["cat", "echo", "env", "false", "httpd", "ls", "mkdir", "nc", "sh", "sleep", "tail", "true", "wget"];
        let links =
            applets.iter().fold(Layer::default(), |links, applet| links.link(&format!("bin/{applet}"), "busybox"));
        image.layers = image.layers.into_iter().map(|layer| layer.with(links.clone())).collect();
        Ok(image)
    }

    /// The image that Reeve ships of one of its binaries, made as `make images` makes it but for two things: the binary is
    /// the one that is given, without its symbols, and nothing is compressed.
    pub fn shipped(binary: &Path) -> Result<Self> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no workspace")?;
        let name = binary.file_name().context("the binary has no name")?.to_string_lossy();
        let shipped = Shipped::find(&name)?;
        let program = tempfile::NamedTempFile::new().context("cannot create a file")?;
        strip(binary, program.path())?;
        let (pins, packages) = assets::image_packages()?;
        let built = assemble(&Parts {
            shipped,
            version: env!("CARGO_PKG_VERSION"),
            revision: &Revision::of(workspace)?,
            program: program.path(),
            crates: &crates::crates(workspace, shipped.package)?,
            packages: &packages,
            release: &pins.release,
        })?;
        Ok(Self { name: built.name, settings: built.settings, layers: built.layers.into() })
    }

    /// What holds a pod's namespaces open.
    pub(super) fn pause() -> Result<Self> {
        let mut image = Self::busybox()?.named(PAUSE);
        image.settings = starts_with(&["/bin/tail", "-f", "/dev/null"]);
        Ok(image)
    }

    /// Adds a text file.
    #[must_use]
    pub fn file(mut self, path: &str, text: &str) -> Self {
        self.layers.push(Layer::default().file(path, text));
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

    /// The text of a file in it.
    pub fn read(&self, path: &str) -> Option<String> {
        self.layers.iter().rev().find_map(|layer| match layer.get(path)? {
            reeve_images::layer::Entry::File { bytes, .. } => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        })
    }

    /// Publishes it to a registry, such as `localhost:5000`, as `make images PUSH=` does. Returns the digest there.
    pub fn publish(&self, registry: &str) -> Result<String> {
        assets::tool(Tool::Skopeo)?;
        let archive = tempfile::NamedTempFile::new().context("cannot create a file")?;
        let image = reeve_images::Image::new(&self.name, &self.settings, &self.layers, Compression::Gzip)?;
        image.write(archive.path())?;
        let (_, name) = self.name.rsplit_once('/').context("the image has no name")?;
        let published = reeve_images::push::push(&registry.parse()?, archive.path(), &format!("{registry}/{name}"))?;
        if published != *image.digest() {
            bail!("{name} was published as {published}, and is {}", image.digest());
        }
        Ok(published.to_string())
    }

    /// Writes it as an archive that `ctr images import` reads.
    pub(super) fn write(&self, to: &Path) -> Result<()> {
        let image = reeve_images::Image::new(&self.name, &self.settings, &self.layers, Compression::None)?;
        Ok(image.write(to)?)
    }
}

fn starts_with(words: &[&str]) -> Settings {
    let entrypoint = words.iter().map(|word| (*word).to_owned()).collect();
    Settings { entrypoint, env: vec!["PATH=/bin".into()], ..Settings::default() }
}

/// What was built for tests is mostly symbols.
fn strip(binary: &Path, to: &Path) -> Result<()> {
    let output = Command::new("strip").arg("-o").arg(to).arg(binary).output().context("cannot start `strip`")?;
    if !output.status.success() {
        bail!("cannot strip {}: {}", binary.display(), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
