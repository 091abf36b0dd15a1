//! Charts that Helm itself packed and pushed: from a real registry, open and behind TLS and a password, and from a real
//! index.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use reeve_tests::assets::{self, Released};
use reeve_tests::{Process, Server, Supervisor, eventually};

use super::super::repository::{Repository, ended};
use super::shelf::Shelf;
use super::{note, read, write};

/// bcrypt of `sesame`.
const PASSWORDS: &str = "ann:$2a$05$UWoaQb6vXnorV3jaWHEdeODKhHKubKq.0B5wqvEprjwb6UuRb1fAu\n";

/// A registry on a loopback port.
struct Registry {
    address: String,
    folder: PathBuf,
    _process: Process,
    _supervisor: Supervisor,
}

impl Registry {
    async fn start(program: &Path, is_guarded: bool) -> Self {
        let supervisor = Supervisor::start("registry").unwrap();
        let folder = supervisor.data();
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        let mut config = format!(
            "version: 0.1\nstorage:\n  filesystem: {{rootdirectory: {}}}\nhttp:\n  addr: {address}\n",
            folder.join("storage").display()
        );
        if is_guarded {
            certificate(&folder);
            std::fs::write(folder.join("passwords"), PASSWORDS).unwrap();
            let guard = format!(
                "  tls: {{certificate: {0}/cert.pem, key: {0}/key.pem}}\nauth:\n  htpasswd: {{realm: here, path: {0}/passwords}}\n",
                folder.display()
            );
            config.push_str(&guard);
        }
        let file = folder.join("registry.yaml");
        std::fs::write(&file, config).unwrap();
        let server = Server::new("registry", program).args(["serve".to_owned(), file.display().to_string()]);
        let process = supervisor.spawn(server).unwrap();
        eventually("the registry accepts connections", || async {
            std::net::TcpStream::connect(&address).map_err(anyhow::Error::from)
        })
        .await;
        Self { address, folder, _process: process, _supervisor: supervisor }
    }

    fn authority(&self) -> String {
        self.folder.join("cert.pem").display().to_string()
    }
}

/// A certificate for loopback that is its own authority.
fn certificate(folder: &Path) {
    let output = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=registry"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Helm with a home of its own.
fn helm(program: &Path, home: &Repository, args: &[&str]) -> String {
    let mut command = Command::new(program);
    for variable in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
        command.env(variable, home.path());
    }
    let output = command.args(args).current_dir(home.path()).output().unwrap();
    assert!(output.status.success(), "helm {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Versions of `note`, packed by Helm.
fn packed(program: &Path, versions: &[&str]) -> Repository {
    let home = Repository::empty();
    for version in versions {
        for (name, content) in note(version) {
            write(&home, &name, &content);
        }
        helm(program, &home, &["package", "note"]);
    }
    home
}

fn programs() -> Option<(PathBuf, PathBuf)> {
    Some((assets::released(Released::Helm).unwrap()?, assets::released(Released::Registry).unwrap()?))
}

#[tokio::test]
#[ignore = "needs Helm and a registry: run `make e2e ONLY=charts`"]
async fn a_chart_is_imported_from_an_open_registry_by_tag_range_and_digest() {
    let Some((program, registry)) = programs() else { return };
    let home = packed(&program, &["1.0.0", "1.1.0+build.5"]);
    let registry = Registry::start(&registry, false).await;
    let origin = format!("oci://{}/team", registry.address);
    helm(&program, &home, &["push", "note-1.0.0.tgz", &origin, "--plain-http"]);
    helm(&program, &home, &["push", "note-1.1.0+build.5.tgz", &origin, "--plain-http"]);

    let fleet = Repository::fleet();
    let import = |reference: &str, more: &[&str]| {
        let origin = format!("{origin}/note{reference}");
        fleet.reeve(&[&["chart", "import", &origin, "--plain-http"], more].concat())
    };
    import("", &[]).with(0);
    let lock = read(&fleet, "charts/note/1.1.0+build.5.lock");
    let archive = std::fs::read(home.file("note-1.1.0+build.5.tgz")).unwrap();
    assert!(lock.contains(&super::digest(&archive)), "{lock}");
    import(":1.0.0", &[]).with(0);
    fleet.reeve(&["validate"]).with(0);
    assert!(import(":9.9.9", &[]).with(2).err.contains("there is no `manifests/9.9.9`"));
    assert!(import("", &["--version", "^7"]).with(2).err.contains("fits ^7"));

    fleet.change("channels/regular.yaml", "web: 1.0.0", "web: 1.0.0\n  note: 1.0.0");
    fleet.change("fleet.yaml", "  web: {}", "  web: {}\n  note: {}");
    std::fs::remove_dir_all(fleet.file("charts/note/1.1.0+build.5")).unwrap();
    std::fs::remove_file(fleet.file("charts/note/1.1.0+build.5.lock")).unwrap();
    let shown = fleet.reeve(&["chart", "update", "note", "--plain-http"]).with(1);
    assert!(shown.out.contains("note 1.0.0 -> 1.1.0+build.5"), "{}", shown.out);

    // Somebody changes what the registry keeps.
    let blob = super::digest(&archive);
    let data =
        registry.folder.join("storage/docker/registry/v2/blobs/sha256").join(&blob[..2]).join(&blob).join("data");
    let mut changed = archive.clone();
    changed[20] ^= 1;
    std::fs::write(&data, changed).unwrap();
    let ended = import(":1.1.0_build.5", &[]).with(2);
    assert!(ended.err.contains("was announced"), "{}", ended.err);
    assert!(!fleet.file("charts/note/1.1.0+build.5").exists());
}

#[tokio::test]
#[ignore = "needs Helm and a registry: run `make e2e ONLY=charts`"]
async fn a_registry_behind_tls_and_a_password_lets_in_who_has_both() {
    let Some((program, registry)) = programs() else { return };
    let home = packed(&program, &["1.0.0"]);
    let registry = Registry::start(&registry, true).await;
    let (address, authority) = (registry.address.as_str(), registry.authority());
    helm(&program, &home, &["registry", "login", address, "-u", "ann", "-p", "sesame", "--ca-file", &authority]);
    helm(&program, &home, &["push", "note-1.0.0.tgz", &format!("oci://{address}/team"), "--ca-file", &authority]);

    let fleet = Repository::fleet();
    let origin = format!("oci://{address}/team/note");
    let import = |authority: Option<&str>, password: Option<&str>| {
        let mut command = fleet.command(&["chart", "import", &origin]);
        if let Some(authority) = authority {
            command.env("SSL_CERT_FILE", authority);
        }
        if let Some(password) = password {
            command.env("REEVE_CHART_USERNAME", "ann").env("REEVE_CHART_PASSWORD", password);
        }
        ended(command.output().unwrap())
    };
    let ended = import(None, Some("sesame")).with(2);
    assert!(ended.err.contains("cannot connect") && ended.err.contains("SSL_CERT_FILE"), "{}", ended.err);
    assert!(import(Some(&authority), None).with(2).err.contains("answered 401"));
    assert!(import(Some(&authority), Some("wrong")).with(2).err.contains("answered 401"));
    import(Some(&authority), Some("sesame")).with(0);
    assert!(read(&fleet, "charts/note/1.0.0.lock").contains(&origin));
}

#[tokio::test]
#[ignore = "needs Helm: run `make e2e ONLY=charts`"]
async fn an_index_that_helm_wrote_is_read() {
    let Some((program, _)) = programs() else { return };
    let home = packed(&program, &["1.0.0", "1.1.0"]);
    helm(&program, &home, &["repo", "index", "."]);
    let mut files = Vec::new();
    for name in ["index.yaml", "note-1.0.0.tgz", "note-1.1.0.tgz"] {
        files.push((format!("/{name}"), std::fs::read(home.file(name)).unwrap()));
    }
    let shelf = Shelf::open(files, None);
    let fleet = Repository::fleet();
    fleet.reeve(&["chart", "import", &shelf.url(""), "note"]).with(0);
    assert!(fleet.file("charts/note/1.1.0/Chart.yaml").exists());
}
