//! What a daprd of some version takes over without a restart.

use semver::Version;

/// A sidecar as far as reloading goes. Of a workload with several it is the least capable one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sidecar {
    /// Version of daprd, where it is known.
    pub version: Option<Version>,
    /// Whether hot reload is on in the running process.
    pub hot_reload: bool,
}

impl Sidecar {
    /// A sidecar of which nothing is known: it reloads nothing.
    pub const UNKNOWN: Self = Self { version: None, hot_reload: false };

    /// A sidecar of this version, by what its Configuration says of the feature `HotReload`.
    pub fn new(version: Option<Version>, feature: Option<bool>) -> Self {
        let hot_reload = version.as_ref().is_some_and(|version| hot_reloads(version, feature));
        Self { version, hot_reload }
    }

    /// Whether hot reload is on and the version is at least this one.
    pub(crate) fn reloads_since(&self, major: u64, minor: u64, patch: u64) -> bool {
        self.hot_reload && self.is_at_least(major, minor, patch)
    }

    /// Whether the version is known to be at least this one. A release candidate counts as its release.
    pub(crate) fn is_at_least(&self, major: u64, minor: u64, patch: u64) -> bool {
        self.version.as_ref().is_some_and(|known| (known.major, known.minor, known.patch) >= (major, minor, patch))
    }

    /// The less capable of two.
    #[must_use]
    pub fn least(self, other: Self) -> Self {
        let version = match (self.version, other.version) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (None, _) | (_, None) => None,
        };
        Self { version, hot_reload: self.hot_reload && other.hot_reload }
    }

    /// The name of the sidecar in a sentence.
    pub(crate) fn name(&self) -> String {
        self.version
            .as_ref()
            .map_or_else(|| "a daprd of unknown version".to_owned(), |version| format!("daprd {version}"))
    }
}

/// Whether a daprd reloads, by what its Configuration says of the feature `HotReload`: since 1.13 if asked to, since 1.18
/// unless told not to.
fn hot_reloads(version: &Version, feature: Option<bool>) -> bool {
    match (version.major, version.minor) {
        (1, minor) if minor < 13 => false,
        (1, minor) if minor < 18 => feature == Some(true),
        (0, _) => false,
        _ => feature != Some(false),
    }
}

/// The version in the tag of an image, such as `1.18.1` of `daprio/daprd:1.18.1-mariner`.
pub fn version_of_image(image: &str) -> Option<Version> {
    let tagged = image.split('@').next()?;
    let (_, tag) = tagged.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'))?;
    let tag = tag.strip_prefix('v').unwrap_or(tag);
    let numbers: Vec<u64> = tag.split('-').next()?.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    match numbers[..] {
        [major, minor, patch] => Some(Version::new(major, minor, patch)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_is_off_before_1_18_and_on_since() {
        let hot = |version: &str, feature| Sidecar::new(version.parse().ok(), feature).hot_reload;
        assert!(!hot("1.12.9", Some(true)));
        assert!(hot("1.13.0", Some(true)) && !hot("1.13.0", None));
        assert!(hot("1.17.6", Some(true)) && !hot("1.17.6", None));
        assert!(hot("1.18.0", None) && !hot("1.18.0", Some(false)));
        assert!(hot("2.0.0", None) && !hot("0.11.0", Some(true)));
        assert!(!Sidecar::new(None, Some(true)).hot_reload);
    }

    #[test]
    fn the_version_is_the_tag_of_the_image() {
        assert_eq!(version_of_image("docker.io/daprio/daprd:1.18.1"), Some(Version::new(1, 18, 1)));
        assert_eq!(version_of_image("localhost:5000/daprd:v1.17.2-mariner@sha256:00"), Some(Version::new(1, 17, 2)));
        assert_eq!(version_of_image("localhost:5000/daprd"), None);
        assert_eq!(version_of_image("daprd:latest"), None);
        assert_eq!(version_of_image("daprd@sha256:00"), None);
    }

    #[test]
    fn of_several_sidecars_the_least_capable_counts() {
        let new = Sidecar::new(Some(Version::new(1, 18, 3)), None);
        let old = Sidecar::new(Some(Version::new(1, 17, 0)), None);
        assert_eq!(new.clone().least(old.clone()), old);
        assert_eq!(new.least(Sidecar::UNKNOWN), Sidecar::UNKNOWN);
    }
}
