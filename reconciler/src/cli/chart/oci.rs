//! Charts of OCI registries: tags, manifests and blobs, each held to the digest that names it.

use http::StatusCode;
use reeve_renderer::value::Digest;
use serde::Deserialize;

use super::error::ChartError;
use super::fetch::Fetched;
use super::http::{Answer, Client};
use super::versions;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CHART: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// A repository of a registry.
pub(super) struct Registry<'a> {
    pub(super) client: &'a Client,
    pub(super) host: &'a str,
    pub(super) repository: &'a str,
    pub(super) is_plain: bool,
}

#[derive(Deserialize)]
struct Manifest {
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Layer {
    media_type: String,
    digest: String,
}

#[derive(Deserialize)]
struct Tags {
    #[serde(default)]
    tags: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Registry<'_> {
    /// The archive under a tag or digest, or of the version that is wanted.
    pub(super) async fn fetch(&self, reference: Option<&str>, wanted: Option<&str>) -> Result<Fetched, ChartError> {
        let reference = match reference {
            Some(reference) => reference.to_owned(),
            None => self.tag(wanted).await?,
        };
        let (path, place) = (format!("manifests/{reference}"), self.place());
        let answer = self.get(&path, Some(MANIFEST)).await?;
        if reference.starts_with("sha256:") {
            check(&place, &answer.body, &reference)?;
        }
        let manifest: Manifest = serde_json::from_slice(&answer.body)
            .map_err(|error| ChartError::Answer { place: place.clone(), why: error.to_string() })?;
        let layer = manifest.layers.into_iter().find(|layer| layer.media_type == CHART);
        let Some(layer) = layer else {
            return Err(ChartError::NoChart {
                place: format!("{place}:{reference}"),
                why: "it has no layer with a chart".to_owned(),
            });
        };
        let archive = self.get(&format!("blobs/{}", layer.digest), None).await?.body;
        check(&place, &archive, &layer.digest)?;
        // A tag cannot hold the `+` of a version.
        let version = (!reference.starts_with("sha256:")).then(|| reference.replace('_', "+"));
        Ok(Fetched { archive: archive.to_vec(), digest: layer.digest, version })
    }

    fn place(&self) -> String {
        format!("oci://{}/{}", self.host, self.repository)
    }

    async fn tag(&self, wanted: Option<&str>) -> Result<String, ChartError> {
        let answer = self.get("tags/list?n=10000", None).await?;
        let tags: Tags = serde_json::from_slice(&answer.body)
            .map_err(|error| ChartError::Answer { place: self.place(), why: error.to_string() })?;
        let tags = tags.tags.unwrap_or_default();
        let versions: Vec<String> = tags.iter().map(|tag| tag.replace('_', "+")).collect();
        let chosen = versions::choose(wanted, versions.iter().map(String::as_str).zip(&tags));
        let name = self.repository.rsplit('/').next().unwrap_or_default().to_owned();
        chosen.map(|(_, tag)| tag.clone()).ok_or_else(|| ChartError::NoVersion {
            name,
            wanted: wanted.unwrap_or("any release").to_owned(),
            place: self.place(),
        })
    }

    /// A page of the registry; asks for a token where the registry wants one.
    async fn get(&self, path: &str, accept: Option<&str>) -> Result<Answer, ChartError> {
        let scheme = if self.is_plain { "http" } else { "https" };
        let url = format!("{scheme}://{}/v2/{}/{path}", self.host, self.repository);
        let mut answer = self.client.get(&url, None, accept).await?;
        if answer.status == StatusCode::UNAUTHORIZED {
            let challenge = answer.headers.get(http::header::WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
            let challenge = challenge.map(str::to_owned).unwrap_or_default();
            let authorization = match challenge.strip_prefix("Bearer ") {
                Some(challenge) => Some(format!("Bearer {}", self.token(challenge).await?)),
                None => self.client.basic().map(str::to_owned),
            };
            answer = self.client.get(&url, authorization.as_deref(), accept).await?;
        }
        match answer.status {
            status if status.is_success() => Ok(answer),
            StatusCode::NOT_FOUND => Err(ChartError::Missing { name: path.to_owned(), place: self.place() }),
            status => Err(ChartError::Refused { place: self.place(), status: status.as_u16() }),
        }
    }

    async fn token(&self, challenge: &str) -> Result<String, ChartError> {
        let part = |key: &str| {
            let start = challenge.find(&format!("{key}=\""))? + key.len() + 2;
            challenge.get(start..)?.split('"').next()
        };
        let place = self.place();
        let unreadable = |why: &str| ChartError::Answer { place: place.clone(), why: why.to_owned() };
        let realm = part("realm").ok_or_else(|| unreadable("it wants a token and does not say from whom"))?;
        let scope = part("scope").map_or_else(|| format!("repository:{}:pull", self.repository), str::to_owned);
        let url = format!("{realm}?service={}&scope={scope}", part("service").unwrap_or_default());
        let body = self.client.page(&url, self.client.basic()).await?;
        let token: Token = serde_json::from_slice(&body).map_err(|error| unreadable(&error.to_string()))?;
        token.token.or(token.access_token).ok_or_else(|| unreadable("there is no token in its answer"))
    }
}

/// Holds bytes to the digest that names them.
pub(super) fn check(place: &str, bytes: &[u8], wanted: &str) -> Result<(), ChartError> {
    let found = Digest::of(bytes).to_string();
    if found == wanted {
        return Ok(());
    }
    Err(ChartError::Digest { place: place.to_owned(), found, wanted: wanted.to_owned() })
}
