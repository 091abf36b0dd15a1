//! What is in an image, as an SPDX 2.3 document. Pure.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::crates::{Crate, Role};
use crate::document::readable;

const UNKNOWN: &str = "NOASSERTION";
const ROOT: &str = "SPDXRef-Image";

/// A package of Debian, as far as it is told of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DebianPackage {
    pub name: String,
    pub version: String,
    /// Of the package file.
    pub sha256: String,
}

/// What the document is about.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    pub image: &'a str,
    pub version: &'a str,
    pub commit: &'a str,
    /// As RFC 3339 writes it.
    pub created: &'a str,
    pub architecture: &'a str,
    /// Of Debian.
    pub release: &'a str,
}

/// The document. It names itself by what it says, so that two that differ are never taken for one.
pub fn document(subject: &Subject<'_>, crates: &BTreeSet<Crate>, debian: &BTreeSet<DebianPackage>) -> String {
    let mut packages = vec![root(subject)];
    let mut relationships = vec![related("SPDXRef-DOCUMENT", "DESCRIBES", ROOT)];
    for found in crates {
        let id = identifier("Crate", &found.name, &found.version);
        packages.push(crate_package(&id, found));
        relationships.push(match found.role {
            Role::Linked => related(ROOT, "CONTAINS", &id),
            Role::Build => related(&id, "BUILD_DEPENDENCY_OF", ROOT),
        });
        if let Some((library, version)) = bundled(found) {
            let bundled = identifier("Library", library, version);
            let purl = format!("pkg:generic/{library}@{version}");
            packages.push(package(&bundled, library, version, &purl, UNKNOWN, None));
            relationships.push(related(ROOT, "STATIC_LINK", &bundled));
            relationships.push(related(&id, "CONTAINS", &bundled));
        }
    }
    for found in debian {
        let id = identifier("Debian", &found.name, &found.version);
        packages.push(debian_package(&id, found, subject));
        relationships.push(related(ROOT, "CONTAINS", &id));
    }
    let namespace = format!("urn:reeve:spdx:{}:{}:{}", subject.image, subject.version, subject.commit);
    readable(&json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": format!("{}-{}", subject.image, subject.version),
        "documentNamespace": namespace,
        "creationInfo": {
            "created": subject.created,
            "creators": [format!("Tool: reeve-images-{}", env!("CARGO_PKG_VERSION"))],
        },
        "packages": packages,
        "relationships": relationships,
    }))
}

fn root(subject: &Subject<'_>) -> Value {
    let (image, version) = (subject.image, subject.version);
    let purl = format!("pkg:oci/{image}?arch={}&tag={version}", subject.architecture);
    let mut root = package(ROOT, image, version, &purl, env!("CARGO_PKG_LICENSE"), None);
    root["primaryPackagePurpose"] = json!("CONTAINER");
    root["sourceInfo"] = json!(format!("built from commit {}", subject.commit));
    root
}

fn crate_package(id: &str, found: &Crate) -> Value {
    let license = if found.license.is_empty() { UNKNOWN.to_owned() } else { expression(&found.license) };
    let purl = format!("pkg:cargo/{}@{}", found.name, found.version.replace('+', "%2B"));
    package(id, &found.name, &found.version, &purl, &license, found.checksum.as_deref())
}

fn debian_package(id: &str, found: &DebianPackage, subject: &Subject<'_>) -> Value {
    let version = found.version.replace('+', "%2B").replace(':', "%3A");
    let purl = format!(
        "pkg:deb/debian/{}@{version}?arch={}&distro=debian-{}",
        found.name, subject.architecture, subject.release
    );
    package(id, &found.name, &found.version, &purl, UNKNOWN, Some(&found.sha256))
}

fn package(id: &str, name: &str, version: &str, purl: &str, license: &str, sha256: Option<&str>) -> Value {
    let mut package = json!({
        "SPDXID": id,
        "name": name,
        "versionInfo": version,
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": false,
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": license,
        "copyrightText": UNKNOWN,
        "externalRefs": [
            { "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl },
        ],
    });
    if let Some(sha256) = sha256 {
        package["checksums"] = json!([{ "algorithm": "SHA256", "checksumValue": sha256 }]);
    }
    package
}

/// Crates that bring a C library along name its version after theirs: `openssl-src 300.6.1+3.6.3` has OpenSSL 3.6.3. An
/// advisory names the library and not the crate.
fn bundled(found: &Crate) -> Option<(&str, &str)> {
    let library = found.name.strip_suffix("-src").or_else(|| found.name.strip_suffix("-sys"))?;
    let (_, version) = found.version.split_once('+')?;
    version.starts_with(|first: char| first.is_ascii_digit()).then_some((library, version))
}

/// Old crates write `MIT/Apache-2.0`, which SPDX writes with OR.
fn expression(license: &str) -> String {
    license.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ")
}

/// Letters, digits, dots and dashes are all that an identifier may have.
fn identifier(kind: &str, name: &str, version: &str) -> String {
    let text = format!("SPDXRef-{kind}-{name}-{version}");
    text.chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || ".-".contains(letter) { letter } else { '-' })
        .collect()
}

fn related(from: &str, how: &str, to: &str) -> Value {
    json!({ "spdxElementId": from, "relationshipType": how, "relatedSpdxElement": to })
}

#[cfg(test)]
mod tests;
