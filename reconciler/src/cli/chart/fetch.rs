//! Gets the files of a chart from wherever it comes.

use std::fs;
use std::path::Path;

use reeve_renderer::fleet::helm::archive::{self, Room};
use reeve_renderer::value::Digest;

use super::error::ChartError;
use super::http::{Client, is_as_trusted, joined};
use super::oci::{self, Registry};
use super::origin::Origin;
use super::versions::{self, Listed};
use crate::cli::args::chart::PlaceArgs;

/// Bytes and files of a folder.
const LARGEST: u64 = 64 << 20;
const MOST_FILES: usize = 20_000;

/// Files by their path in the chart.
pub(super) type Files = Vec<(String, Vec<u8>)>;

/// An archive as it was sent.
pub(super) struct Fetched {
    pub(super) archive: Vec<u8>,
    pub(super) digest: String,
    /// The version as it is called where it came from.
    pub(super) version: Option<String>,
}

/// The files of a chart, the digest of what it came as, and the version as it is called there.
pub(super) fn fetch(
    origin: &Origin,
    wanted: Option<&str>,
    place: &PlaceArgs,
) -> Result<(Files, String, Option<String>), ChartError> {
    let fetched = match origin {
        Origin::Folder(path) => {
            let files = folder(Path::new(path))?;
            let parts = files.iter().flat_map(|(name, content)| [name.as_bytes(), content.as_slice()]);
            let digest = Digest::of_parts(parts).to_string();
            return Ok((files, digest, None));
        }
        Origin::Archive(path) => {
            let archive = fs::read(path).map_err(|cause| ChartError::Read { path: path.clone(), cause })?;
            let digest = Digest::of(&archive).to_string();
            Fetched { archive, digest, version: None }
        }
        Origin::Oci { registry, repository, reference } => {
            let client = Client::new(place);
            let registry = Registry { client: &client, host: registry, repository, is_plain: place.plain_http };
            block_on(registry.fetch(reference.as_deref(), wanted))?
        }
        Origin::Repository { url, name } => block_on(repository(&Client::new(place), url, name, wanted))?,
    };
    let files = archive::unpack(&fetched.archive, &mut Room::default())
        .map_err(|cause| ChartError::Archive { place: origin.shown(), cause })?;
    Ok((files, fetched.digest, fetched.version))
}

fn block_on<T>(work: impl Future<Output = Result<T, ChartError>>) -> Result<T, ChartError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ChartError::Start)?;
    runtime.block_on(work)
}

/// The archive of a chart in a Helm repository, by its index.
async fn repository(client: &Client, url: &str, name: &str, wanted: Option<&str>) -> Result<Fetched, ChartError> {
    let place = reeve_process::secret::scrub(url).into_owned();
    let page = format!("{url}/index.yaml");
    let index = client.page(&page, client.basic()).await?;
    let unreadable = |why: String| ChartError::Answer { place: place.clone(), why };
    let text = std::str::from_utf8(&index).map_err(|error| unreadable(error.to_string()))?;
    let listed = versions::listed(text, name).map_err(unreadable)?;
    let Some(listed) = listed else { return Err(ChartError::Missing { name: name.to_owned(), place }) };
    let chosen = versions::choose(wanted, listed.iter().map(|one| (one.version.as_str(), one)));
    let Some((_, Listed { version, url: link, digest })) = chosen else {
        let wanted = wanted.unwrap_or("any release").to_owned();
        return Err(ChartError::NoVersion { name: name.to_owned(), wanted, place });
    };
    let link = joined(&page, link);
    // Credentials are for the repository's host, not for whoever else keeps its archives.
    let archive = client.page(&link, client.basic().filter(|_| is_as_trusted(&link, url))).await?;
    if let Some(digest) = digest {
        let wanted = format!("sha256:{}", digest.trim_start_matches("sha256:"));
        oci::check(&reeve_process::secret::scrub(&link), &archive, &wanted)?;
    }
    let digest = Digest::of(&archive).to_string();
    Ok(Fetched { archive: archive.to_vec(), digest, version: Some(version.clone()) })
}

/// All files of a folder, without what is Git's.
fn folder(root: &Path) -> Result<Files, ChartError> {
    let mut files = Vec::new();
    let mut left = LARGEST;
    let mut open = vec![root.to_owned()];
    while let Some(below) = open.pop() {
        let fail = |cause| ChartError::Read { path: below.display().to_string(), cause };
        for entry in fs::read_dir(&below).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let path = entry.path();
            let kind = entry.file_type().map_err(fail)?;
            if kind.is_dir() {
                if entry.file_name() != ".git" {
                    open.push(path);
                }
                continue;
            }
            if !kind.is_file() {
                return Err(ChartError::Link { path: path.display().to_string() });
            }
            let size = entry.metadata().map_err(fail)?.len();
            left = left.checked_sub(size).ok_or(ChartError::TooLarge)?;
            let content =
                fs::read(&path).map_err(|cause| ChartError::Read { path: path.display().to_string(), cause })?;
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            files.push((name, content));
            if files.len() > MOST_FILES {
                return Err(ChartError::TooLarge);
            }
        }
    }
    files.sort();
    Ok(files)
}
