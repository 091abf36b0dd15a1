//! Mirrors in a folder of their own, and requests to them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::ByteString;
use reeve_crds::git_source::GitRef;
use reeve_reconciler_git::{Credentials, FetchError, FetchRequest, Fetched, Mirrors};
use reeve_renderer::tree::Tree as _;
use tempfile::TempDir;

/// Longer than any fetch here takes, however busy the machine.
const GENEROUS: Duration = Duration::from_mins(1);

pub(crate) struct Fixture {
    pub(crate) mirrors: Mirrors,
    data: TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let data = tempfile::tempdir().unwrap();
        Self { mirrors: Self::mirrors_in(data.path()), data }
    }

    pub(crate) fn mirrors_in(data: &Path) -> Mirrors {
        Mirrors::new(data.to_owned(), PathBuf::from(env!("CARGO_BIN_EXE_reeve")))
    }

    /// Where all mirrors are.
    pub(crate) fn data(&self) -> &Path {
        self.data.path()
    }

    /// The one mirror that there is.
    fn mirror(&self) -> PathBuf {
        let mut found = std::fs::read_dir(self.data.path()).unwrap().map(|entry| entry.unwrap().path());
        let only = found.next().expect("no mirror was made");
        assert_eq!(found.next(), None);
        only
    }

    /// The bare repository in use.
    pub(crate) fn repository(&self) -> PathBuf {
        self.mirror().join("current").canonicalize().unwrap()
    }

    pub(crate) async fn fetch(&self, request: &FetchRequest) -> Fetched {
        self.mirrors.fetch(request).await.unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) async fn refused(&self, request: &FetchRequest) -> FetchError {
        self.mirrors.fetch(request).await.expect_err("it should not have been fetched")
    }

    /// The text of a file at a commit.
    pub(crate) fn text(&self, url: &str, commit: &str, path: &str) -> Option<String> {
        let tree = self.mirrors.tree(url, commit, "").unwrap();
        tree.read(path).unwrap().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
    }
}

pub(crate) fn request(url: &str, reference: GitRef) -> FetchRequest {
    FetchRequest {
        url: url.to_owned(),
        reference,
        credentials: Credentials::default(),
        proxy: None,
        timeout: GENEROUS,
        last_seen: None,
    }
}

/// Credentials as a Secret with these keys gives them.
pub(crate) fn credentials(url: &str, pairs: &[(&str, &str)]) -> Credentials {
    let data = pairs.iter().map(|(key, value)| ((*key).to_owned(), ByteString(value.as_bytes().to_vec()))).collect();
    Credentials::from_secret(&data, url).unwrap()
}

pub(crate) fn main() -> GitRef {
    branch("main")
}

pub(crate) fn branch(name: &str) -> GitRef {
    GitRef { branch: Some(name.to_owned()), ..GitRef::default() }
}

pub(crate) fn tag(name: &str) -> GitRef {
    GitRef { tag: Some(name.to_owned()), ..GitRef::default() }
}

pub(crate) fn semver(range: &str) -> GitRef {
    GitRef { semver: Some(range.to_owned()), ..GitRef::default() }
}

pub(crate) fn commit(id: &str) -> GitRef {
    GitRef { commit: Some(id.to_owned()), ..GitRef::default() }
}

pub(crate) fn named(name: &str) -> GitRef {
    GitRef { name: Some(name.to_owned()), ..GitRef::default() }
}

/// Text that does not compress well.
pub(crate) fn noise(seed: u64, lines: u64) -> String {
    use std::fmt::Write as _;
    let mix = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (0..lines).fold(String::new(), |mut text, line| {
        writeln!(text, "{:016x}", mix(seed * 1_000_003 + line)).unwrap();
        text
    })
}
