//! The document says what is in the image, in the words of SPDX.

use super::*;

fn subject() -> Subject<'static> {
    Subject {
        image: "reeve",
        version: "0.1.0",
        commit: "0123456789ab",
        created: "2026-11-18T00:00:00Z",
        architecture: "amd64",
        release: "12",
    }
}

fn found(name: &str, version: &str, license: &str, role: Role) -> Crate {
    let checksum = Some("ab".repeat(32));
    Crate { name: name.to_owned(), version: version.to_owned(), license: license.to_owned(), role, checksum }
}

fn example() -> Value {
    let crates = [
        found("serde_json", "1.0.154", "MIT OR Apache-2.0", Role::Linked),
        found("openssl-src", "300.6.1+3.6.3", "MIT/Apache-2.0", Role::Build),
    ];
    let libc =
        DebianPackage { name: "libc6".to_owned(), version: "2.36-9+deb12u14".to_owned(), sha256: "cd".repeat(32) };
    serde_json::from_str(&document(&subject(), &crates.into(), &[libc].into())).unwrap()
}

fn package(document: &Value, name: &str) -> Value {
    let packages = document["packages"].as_array().unwrap();
    packages.iter().find(|package| package["name"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
}

fn relations(document: &Value) -> Vec<String> {
    let texts = ["spdxElementId", "relationshipType", "relatedSpdxElement"];
    let all = document["relationships"].as_array().unwrap().iter();
    all.map(|relation| texts.map(|text| relation[text].as_str().unwrap().to_owned()).join(" ")).collect()
}

#[test]
fn crates_and_debian_packages_have_a_purl_and_a_checksum() {
    let document = example();
    let purl = |name: &str| package(&document, name)["externalRefs"][0]["referenceLocator"].clone();
    assert_eq!(purl("serde_json"), "pkg:cargo/serde_json@1.0.154");
    assert_eq!(purl("libc6"), "pkg:deb/debian/libc6@2.36-9%2Bdeb12u14?arch=amd64&distro=debian-12");
    assert_eq!(package(&document, "libc6")["checksums"][0]["checksumValue"], "cd".repeat(32));
    assert_eq!(package(&document, "openssl-src")["licenseDeclared"], "MIT OR Apache-2.0");
}

#[test]
fn a_library_that_a_crate_brings_along_is_a_package_of_its_own() {
    let document = example();
    assert_eq!(package(&document, "openssl")["versionInfo"], "3.6.3");
    let told = relations(&document);
    for wanted in [
        "SPDXRef-DOCUMENT DESCRIBES SPDXRef-Image",
        "SPDXRef-Image CONTAINS SPDXRef-Crate-serde-json-1.0.154",
        "SPDXRef-Crate-openssl-src-300.6.1-3.6.3 BUILD_DEPENDENCY_OF SPDXRef-Image",
        "SPDXRef-Image STATIC_LINK SPDXRef-Library-openssl-3.6.3",
        "SPDXRef-Image CONTAINS SPDXRef-Debian-libc6-2.36-9-deb12u14",
    ] {
        assert!(told.iter().any(|relation| relation == wanted), "{wanted} is not in {told:#?}");
    }
}

#[test]
fn every_relation_is_between_packages_that_are_there() {
    let document = example();
    let ids: BTreeSet<&str> =
        document["packages"].as_array().unwrap().iter().map(|package| package["SPDXID"].as_str().unwrap()).collect();
    for relation in relations(&document) {
        let mut words = relation.split(' ');
        for id in [words.next().unwrap(), words.nth(1).unwrap()] {
            assert!(ids.contains(id) || id == "SPDXRef-DOCUMENT", "{id} is nowhere");
        }
    }
}
