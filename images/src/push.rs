//! Publishes a finished image to a registry. `skopeo` does it: it knows every way in which registries ask who one is.

use std::path::Path;
use std::process::Command;

use crate::command;
use crate::digest::Digest;
use crate::error::ImageError;

const NEEDS_SKOPEO: &str =
    "install skopeo, which publishes images (on Debian or Ubuntu: `sudo apt-get install skopeo`)";

/// A registry, or a path in one: `localhost:5000`, `registry.example.com/platform`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registry(String);

impl std::str::FromStr for Registry {
    type Err = ImageError;

    fn from_str(text: &str) -> Result<Self, ImageError> {
        let text = text.trim_end_matches('/');
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._:/[]".contains(letter);
        if text.is_empty() || text.contains("//") || !text.chars().all(is_plain) {
            return Err(ImageError::Registry { address: text.to_owned() });
        }
        Ok(Self(text.to_owned()))
    }
}

impl Registry {
    /// What a pod writes as `image`.
    pub fn name_of(&self, image: &str, version: &str) -> String {
        format!("{}/{image}:{version}", self.0)
    }

    /// A registry on this machine speaks plain HTTP, by everybody's convention.
    fn is_local(&self) -> bool {
        let host = self.0.split('/').next().unwrap_or_default();
        let host = host
            .strip_prefix('[')
            .and_then(|rest| rest.split(']').next())
            .unwrap_or_else(|| host.rsplit_once(':').map_or(host, |(host, _port)| host));
        host == "localhost" || host == "::1" || host.starts_with("127.")
    }
}

/// Publishes the image in `archive` under `name`, and returns the digest that the registry has it by.
pub fn push(registry: &Registry, archive: &Path, name: &str) -> Result<Digest, ImageError> {
    let digest =
        tempfile::NamedTempFile::new().map_err(|source| ImageError::Write { path: std::env::temp_dir(), source })?;
    let mut skopeo = Command::new("skopeo");
    // The policy says whose signatures count for what is fetched; this comes from our own disk.
    skopeo.args(["--insecure-policy", "copy", "--preserve-digests", "--quiet"]);
    skopeo.arg(format!("--dest-tls-verify={}", !registry.is_local()));
    skopeo.arg("--digestfile").arg(digest.path());
    skopeo.arg(format!("oci-archive:{}", archive.display())).arg(format!("docker://{name}"));
    command::output(&mut skopeo, NEEDS_SKOPEO)?;
    let said = std::fs::read_to_string(digest.path())
        .map_err(|source| ImageError::Read { path: digest.path().to_owned(), source })?;
    Ok(Digest::parse(said.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_registry_of_this_machine_is_spoken_to_without_tls() {
        for (address, local) in [
            ("localhost:5000", true),
            ("127.0.0.1:5000/team", true),
            ("[::1]:5000", true),
            ("registry.example.com", false),
            ("localhost.example.com:5000", false),
            ("example.com/localhost:5000", false),
        ] {
            assert_eq!(address.parse::<Registry>().unwrap().is_local(), local, "{address}");
        }
    }

    #[test]
    fn a_name_has_the_registry_before_it() {
        let registry: Registry = "registry.example.com/platform/".parse().unwrap();
        assert_eq!(registry.name_of("reeve", "0.1.0"), "registry.example.com/platform/reeve:0.1.0");
        for wrong in ["", "https://registry.example.com", "a b"] {
            assert!(wrong.parse::<Registry>().is_err(), "{wrong}");
        }
    }
}
