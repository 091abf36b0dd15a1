//! The commands of `reeve-images`, which `make images` and `make image-pins` call.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};

use crate::assemble::{Parts, assemble};
use crate::catalog::{IMAGES, Shipped};
use crate::compile;
use crate::crates;
use crate::debian;
use crate::oci::{Compression, architecture};
use crate::pins::Pins;
use crate::push::{self, Registry};
use crate::revision::Revision;

const PINS: &str = "images/debian.toml";

/// Builds the container images of Reeve
#[derive(Debug, Parser)]
#[command(name = "reeve-images")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Compile the binaries and write an image and an SBOM of each
    Build(Build),
    /// Write the versions that the archive has today to images/debian.toml
    Pin,
}

#[derive(Debug, clap::Args)]
struct Build {
    /// Only this image; may be given more than once
    #[arg(long)]
    only: Vec<String>,
    /// Where to write them
    #[arg(long, default_value = "target/images")]
    output: PathBuf,
    /// Publish them to this registry, as `HOST[:PORT][/PATH]`
    #[arg(long, value_name = "REGISTRY")]
    push: Option<Registry>,
    /// Forget what was compiled before
    #[arg(long)]
    from_scratch: bool,
}

impl Args {
    pub fn run(self) -> ExitCode {
        let outcome = match self.action {
            Action::Build(build) => build.run(),
            Action::Pin => pin(),
        };
        match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "reeve-images: {error:#}");
                ExitCode::FAILURE
            }
        }
    }
}

impl Build {
    fn run(self) -> Result<()> {
        let workspace = std::env::current_dir().context("cannot find out where we are")?;
        let pins = read_pins()?;
        let packages = debian::packages(&pins, architecture(), &cache()?)?;
        let revision = Revision::of(&workspace)?;
        if revision.is_dirty() {
            say("the checkout has changes that are not committed: these are not the images of a commit")?;
        }
        if self.from_scratch {
            compile::forget()?;
        }
        fs::create_dir_all(&self.output).with_context(|| format!("cannot create {}", self.output.display()))?;
        for shipped in self.chosen()? {
            let program = compile::compile(shipped, &workspace, &cargo_home()?, &revision)?;
            let parts = Parts {
                shipped,
                version: env!("CARGO_PKG_VERSION"),
                revision: &revision,
                program: &program,
                crates: &crates::crates(&workspace, shipped.package)?,
                packages: &packages,
                release: &pins.release,
            };
            self.finish(&parts)?;
        }
        Ok(())
    }

    fn chosen(&self) -> Result<Vec<&'static Shipped>> {
        if self.only.is_empty() {
            return Ok(IMAGES.iter().collect());
        }
        self.only.iter().map(|name| Ok(Shipped::find(name)?)).collect()
    }

    /// Writes the image and its SBOM, publishes it if asked to, and says what it is.
    fn finish(&self, parts: &Parts<'_>) -> Result<()> {
        let built = assemble(parts)?;
        let file = |ending: &str| self.output.join(format!("{}.{ending}", parts.shipped.name));
        let (archive, sbom) = (file("tar"), file("spdx.json"));
        let image = built.image(Compression::Gzip)?;
        image.write(&archive)?;
        fs::write(&sbom, &built.sbom).with_context(|| format!("cannot write {}", sbom.display()))?;
        let digest = image.digest();
        say(&format!("{} {digest}", image.name()))?;
        let (size, unpacked) = (mebibytes(image.size()), mebibytes(image.unpacked()));
        say(&format!("  {size} to fetch, {unpacked} unpacked: {}, {}", archive.display(), sbom.display()))?;
        if let Some(registry) = &self.push {
            let name = registry.name_of(parts.shipped.name, parts.version);
            let published = push::push(registry, &archive, &name)?;
            if published != *digest {
                bail!("{name} was published as {published}, and is {digest}");
            }
            say(&format!("  published as {name}@{digest}"))?;
        }
        Ok(())
    }
}

fn pin() -> Result<()> {
    let mut pins = read_pins()?;
    let mut today = std::collections::BTreeMap::new();
    for name in pins.names() {
        let pin = debian::newest(&name)?;
        say(&format!("{name} {}", pin.version))?;
        today.insert(name, pin);
    }
    pins.packages.insert(architecture().to_owned(), today);
    fs::write(PINS, pins.text()).with_context(|| format!("cannot write {PINS}"))
}

fn read_pins() -> Result<Pins> {
    let text = fs::read_to_string(PINS).with_context(|| format!("cannot read {PINS}: run this in the checkout"))?;
    Ok(Pins::parse(&text, Path::new(PINS))?)
}

/// `${XDG_CACHE_HOME:-~/.cache}/reeve/debian`
fn cache() -> Result<PathBuf> {
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let base = match named {
        Some(folder) => folder,
        None => std::env::home_dir().context("set HOME or XDG_CACHE_HOME: packages are kept there")?.join(".cache"),
    };
    Ok(base.join("reeve").join("debian"))
}

fn cargo_home() -> Result<PathBuf> {
    match std::env::var_os("CARGO_HOME") {
        Some(folder) => Ok(PathBuf::from(folder)),
        None => Ok(std::env::home_dir().context("set HOME or CARGO_HOME")?.join(".cargo")),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a size for people, to a tenth")]
fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

fn say(line: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{line}").context("cannot print")
}
