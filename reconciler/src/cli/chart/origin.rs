//! Where a chart comes from, as a person writes it.

use std::path::{Component, Path, PathBuf};

use reeve_process::secret::scrub;

use super::error::ChartError;

/// Where a chart comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A folder.
    Folder(String),
    /// An archive on disk.
    Archive(String),
    /// A repository of an OCI registry, with a tag or a digest if one is named.
    Oci { registry: String, repository: String, reference: Option<String> },
    /// A chart of a Helm repository.
    Repository { url: String, name: String },
}

impl Origin {
    /// What was written down for a fleet repository: a path is one from there.
    pub(super) fn known(text: &str, name: Option<&str>, fleet: &Path) -> Result<Self, ChartError> {
        if text.contains("://") {
            return Self::parse(text, name);
        }
        let path = fleet.join(text).display().to_string();
        Self::parse(&path, name)
    }

    pub(super) fn parse(text: &str, name: Option<&str>) -> Result<Self, ChartError> {
        if text.is_empty() {
            return Err(ChartError::NoOrigin);
        }
        if let Some((_, rest)) = text.split_once("://")
            && rest.split('/').next().is_some_and(|host| host.contains('@'))
        {
            return Err(ChartError::Credentials { place: scrub(text).into_owned() });
        }
        if let Some(rest) = text.strip_prefix("oci://") {
            return oci(rest).ok_or_else(|| ChartError::Origin(text.to_owned()));
        }
        if text.starts_with("https://") || text.starts_with("http://") {
            let name = name.ok_or(ChartError::NoName)?.to_owned();
            return Ok(Self::Repository { url: text.trim_end_matches('/').to_owned(), name });
        }
        let path = Path::new(text);
        if path.is_dir() {
            Ok(Self::Folder(text.to_owned()))
        } else if path.is_file() {
            Ok(Self::Archive(text.to_owned()))
        } else if text.contains("://") {
            Err(ChartError::Origin(text.to_owned()))
        } else {
            Err(ChartError::NotThere(text.to_owned()))
        }
    }

    /// As messages show it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Folder(path) | Self::Archive(path) => path.clone(),
            Self::Oci { registry, repository, .. } => format!("oci://{registry}/{repository}"),
            Self::Repository { url, name } => format!("{name} of {url}"),
        }
    }

    /// As it is written down for a fleet repository, without the version: a path as seen from there, so that it means the
    /// same wherever one stands, unless it was given as an absolute one.
    pub(super) fn written(&self, fleet: &Path) -> String {
        match self {
            Self::Folder(path) | Self::Archive(path) if Path::new(path).is_absolute() => path.clone(),
            Self::Folder(path) | Self::Archive(path) => from_there(Path::new(path), fleet).unwrap_or(path.clone()),
            Self::Oci { .. } => self.shown(),
            Self::Repository { url, .. } => url.clone(),
        }
    }
}

/// A path relative to a folder; nothing if one of the two is not there.
fn from_there(path: &Path, folder: &Path) -> Option<String> {
    let (path, folder) = (path.canonicalize().ok()?, folder.canonicalize().ok()?);
    let shared = path.components().zip(folder.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(path.components().skip(shared)).collect();
    Some(relative.display().to_string())
}

fn oci(rest: &str) -> Option<Origin> {
    let (registry, path) = rest.split_once('/')?;
    let (path, digest) = match path.split_once('@') {
        Some((path, digest)) => (path, Some(digest)),
        None => (path, None),
    };
    let (repository, tag) = match path.rsplit_once(':') {
        Some((repository, tag)) => (repository, Some(tag)),
        None => (path, None),
    };
    let is_plain = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/:".contains(&byte))
    };
    let fine = is_plain(registry) && is_plain(repository) && [digest, tag].into_iter().flatten().all(is_plain);
    fine.then(|| Origin::Oci {
        registry: registry.to_owned(),
        repository: repository.trim_end_matches('/').to_owned(),
        reference: digest.or(tag).map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::Origin;

    #[test]
    fn references_of_registries_are_taken_apart() {
        let read = |text: &str| Origin::parse(text, None).ok();
        let oci = |reference: Option<&str>| Origin::Oci {
            registry: "host:5000".to_owned(),
            repository: "team/web".to_owned(),
            reference: reference.map(str::to_owned),
        };
        assert_eq!(read("oci://host:5000/team/web"), Some(oci(None)));
        assert_eq!(read("oci://host:5000/team/web:1.2.3"), Some(oci(Some("1.2.3"))));
        assert_eq!(read("oci://host:5000/team/web:1.2.3@sha256:ab"), Some(oci(Some("sha256:ab"))));
        for wrong in ["oci://host", "oci:///web", "oci://host/we b", "oci://host/", "ftp://host/web", "/no/such/path"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_repository_needs_the_name_of_a_chart() {
        assert!(Origin::parse("https://host/charts/", None).is_err());
        let found = Origin::parse("https://host/charts/", Some("web")).ok();
        assert_eq!(found, Some(Origin::Repository { url: "https://host/charts".into(), name: "web".into() }));
    }
}
