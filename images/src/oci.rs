//! An image of layers, as the OCI's layout says it, and the archive of that layout.
//!
//! The documents are written here and not by `oci-spec`, whose annotations and labels are hash maps: their order, and so the
//! digest of the image, would be another in every process. See docs/decisions/0013-images-without-a-builder.md.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::GzBuilder;
use serde_json::{Value, json};

use crate::digest::Digest;
use crate::document::canonical;
use crate::error::ImageError;
use crate::layer::{Layer, append_file};

const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// How layers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// For images that are loaded where they are built.
    None,
    Gzip,
}

impl Compression {
    fn media_type(self) -> &'static str {
        match self {
            Compression::None => "application/vnd.oci.image.layer.v1.tar",
            Compression::Gzip => "application/vnd.oci.image.layer.v1.tar+gzip",
        }
    }

    /// The header has no name and no time, and zlib-rs takes the same matches on every processor.
    fn compress(self, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        match self {
            Compression::None => Ok(bytes),
            Compression::Gzip => {
                let mut gzip = GzBuilder::new().write(Vec::new(), flate2::Compression::best());
                gzip.write_all(&bytes)?;
                gzip.finish()
            }
        }
    }
}

/// What a container of the image starts with.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub entrypoint: Vec<String>,
    pub env: Vec<String>,
    /// As `65532:65532`; root if empty.
    pub user: String,
    /// What is said of the image, on its manifest and in its configuration.
    pub annotations: BTreeMap<String, String>,
    /// As RFC 3339 writes it.
    pub created: Option<String>,
}

/// A finished image: its documents and layers by digest.
#[derive(Clone, Debug)]
pub struct Image {
    name: String,
    blobs: BTreeMap<Digest, Vec<u8>>,
    config: Digest,
    layers: Vec<Digest>,
    manifest: Digest,
    unpacked: u64,
}

impl Image {
    /// `name` is what a pod writes as `image`, such as `reeve.local/reeve:0.1.0`.
    pub fn new(
        name: &str,
        settings: &Settings,
        layers: &[Layer],
        compression: Compression,
    ) -> Result<Self, ImageError> {
        let mut blobs = BTreeMap::new();
        let (mut diff_ids, mut descriptors, mut digests) = (Vec::new(), Vec::new(), Vec::new());
        let mut unpacked = 0;
        for layer in layers {
            let archive = layer.archive().map_err(ImageError::Layer)?;
            unpacked += archive.len() as u64;
            diff_ids.push(Digest::of(&archive).to_string());
            let bytes = compression.compress(archive).map_err(ImageError::Layer)?;
            let digest = Digest::of(&bytes);
            descriptors.push(descriptor(compression.media_type(), &digest, bytes.len()));
            blobs.insert(digest.clone(), bytes);
            digests.push(digest);
        }
        let config = configuration(settings, &diff_ids);
        let config_digest = Digest::of(config.as_bytes());
        let manifest = canonical(&json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": descriptor(CONFIG, &config_digest, config.len()),
            "layers": descriptors,
            "annotations": settings.annotations,
        }));
        let manifest_digest = Digest::of(manifest.as_bytes());
        blobs.insert(config_digest.clone(), config.into_bytes());
        blobs.insert(manifest_digest.clone(), manifest.into_bytes());
        let (name, config, manifest) = (name.to_owned(), config_digest, manifest_digest);
        Ok(Self { name, blobs, config, layers: digests, manifest, unpacked })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// What pins the image: the digest of its manifest.
    pub fn digest(&self) -> &Digest {
        &self.manifest
    }

    /// How many bytes a node fetches.
    pub fn size(&self) -> u64 {
        self.blobs.values().map(|bytes| bytes.len() as u64).sum()
    }

    /// How many bytes its layers have when they are unpacked.
    pub fn unpacked(&self) -> u64 {
        self.unpacked
    }

    /// Writes the image as an archive that `ctr images import`, `podman load`, `docker load` and `skopeo` read.
    pub fn write(&self, to: &Path) -> Result<(), ImageError> {
        let write = || -> io::Result<()> {
            let mut archive = tar::Builder::new(BufWriter::new(File::create(to)?));
            append_file(&mut archive, "oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#, 0o644)?;
            append_file(&mut archive, "index.json", self.index().as_bytes(), 0o644)?;
            append_file(&mut archive, "manifest.json", self.docker_manifest().as_bytes(), 0o644)?;
            for (digest, bytes) in &self.blobs {
                append_file(&mut archive, &blob_path(digest), bytes, 0o644)?;
            }
            archive.into_inner()?.flush()
        };
        write().map_err(|source| ImageError::Write { path: to.to_owned(), source })
    }

    fn index(&self) -> String {
        let manifest = self.blobs.get(&self.manifest).map_or(0, Vec::len);
        let mut descriptor = descriptor(MANIFEST, &self.manifest, manifest);
        let tag = self.name.rsplit_once(':').map_or("latest", |(_, tag)| tag);
        descriptor["annotations"] =
            json!({ "io.containerd.image.name": self.name, "org.opencontainers.image.ref.name": tag });
        descriptor["platform"] = json!({ "architecture": architecture(), "os": "linux" });
        canonical(&json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [descriptor] }))
    }

    /// What a Docker that knows no OCI layout looks for.
    fn docker_manifest(&self) -> String {
        let layers: Vec<String> = self.layers.iter().map(blob_path).collect();
        canonical(&json!([{ "Config": blob_path(&self.config), "RepoTags": [self.name], "Layers": layers }]))
    }
}

fn configuration(settings: &Settings, diff_ids: &[String]) -> String {
    let mut container = json!({ "Entrypoint": settings.entrypoint, "Env": settings.env, "WorkingDir": "/" });
    if !settings.user.is_empty() {
        container["User"] = json!(settings.user);
    }
    if !settings.annotations.is_empty() {
        container["Labels"] = json!(settings.annotations);
    }
    let mut config = json!({
        "architecture": architecture(),
        "os": "linux",
        "config": container,
        "rootfs": { "type": "layers", "diff_ids": diff_ids },
    });
    if let Some(created) = &settings.created {
        config["created"] = json!(created);
    }
    canonical(&config)
}

fn descriptor(media_type: &str, digest: &Digest, size: usize) -> Value {
    json!({ "mediaType": media_type, "digest": digest.to_string(), "size": size })
}

fn blob_path(digest: &Digest) -> String {
    format!("blobs/sha256/{}", digest.hex())
}

/// The processor that we build for, as images and Debian name it.
pub fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(text: &str, compression: Compression) -> Image {
        let settings = Settings {
            entrypoint: vec!["/x".to_owned()],
            annotations: ["c", "a", "b"].map(|key| (key.to_owned(), key.to_owned())).into(),
            ..Settings::default()
        };
        Image::new("reeve.local/x:1", &settings, &[Layer::default().file("x", text)], compression).unwrap()
    }

    fn written(image: &Image) -> Vec<u8> {
        let file = tempfile::NamedTempFile::new().unwrap();
        image.write(file.path()).unwrap();
        std::fs::read(file.path()).unwrap()
    }

    #[test]
    fn equal_parts_give_equal_bytes() {
        for compression in [Compression::None, Compression::Gzip] {
            let first = image("hello", compression);
            assert_eq!(written(&first), written(&image("hello", compression)));
            assert_ne!(first.digest(), image("goodbye", compression).digest());
        }
    }

    #[test]
    fn a_layer_is_named_by_its_stored_bytes_and_in_the_configuration_by_its_files() {
        let image = image(&"long ".repeat(1000), Compression::Gzip);
        let manifest: Value = serde_json::from_slice(&image.blobs[image.digest()]).unwrap();
        let config: Value = serde_json::from_slice(&image.blobs[&image.config]).unwrap();
        let stored = &image.blobs[&image.layers[0]];
        assert_eq!(manifest["layers"][0]["digest"], Digest::of(stored).to_string());
        assert_eq!(manifest["layers"][0]["size"], stored.len());
        let mut unpacked = Vec::new();
        io::Read::read_to_end(&mut flate2::read::GzDecoder::new(stored.as_slice()), &mut unpacked).unwrap();
        assert_eq!(config["rootfs"]["diff_ids"][0], Digest::of(&unpacked).to_string());
        assert!(image.size() < image.unpacked(), "{} {}", image.size(), image.unpacked());
        // Bytes 4 to 7 of gzip's header are its time, byte 3 says whether there is a name.
        assert_eq!(stored[3..8], [0; 5]);
    }
}
