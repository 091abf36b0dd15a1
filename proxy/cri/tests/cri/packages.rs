//! The packages, as people install them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use reeve_tests::assets::{self, Released};

const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}{}", String::from_utf8_lossy(&output.stdout));
    output
}

/// Makes a package of the binary that is tested.
fn make(program: Released, arguments: &[&str], to: &Path) {
    let program = assets::released(program).unwrap().expect("not built");
    let target = Path::new(env!("CARGO_BIN_EXE_reeve-cri")).parent().unwrap().parent().unwrap();
    run(Command::new(program).args(arguments).arg(to).current_dir(WORKSPACE).env("CARGO_TARGET_DIR", target));
}

fn dpkg(root: &Path, arguments: &[&str]) -> Output {
    std::fs::create_dir_all(root.join("var/lib/dpkg/updates")).unwrap();
    std::fs::create_dir_all(root.join("var/lib/dpkg/info")).unwrap();
    for file in ["status", "available"] {
        let file = root.join("var/lib/dpkg").join(file);
        if !file.exists() {
            std::fs::write(file, "").unwrap();
        }
    }
    let root = format!("--root={}", root.display());
    // Of the packages that it depends on none is in this root.
    run(Command::new("dpkg").args([&root, "--force-depends", "--force-script-chrootless"]).args(arguments))
}

fn exists(root: &Path, paths: &[&str]) -> Vec<PathBuf> {
    paths.iter().map(|path| root.join(path)).filter(|path| path.exists()).collect()
}

#[test]
#[ignore = "needs cargo-deb; make e2e ONLY=cri-packages"]
fn the_debian_package_installs_and_its_removal_leaves_kubelet_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (package, root) = (folder.path().join("reeve-cri.deb"), folder.path().join("root"));
    make(
        Released::CargoDeb,
        &["--package", "reeve-proxy-cri", "--no-build", "--no-strip", "--fast", "--profile=dev", "--output"],
        &package,
    );
    dpkg(&root, &["--install", package.to_str().unwrap()]);
    let configuration = ["etc/default/reeve-cri", "etc/reeve-cri/config.toml"];
    let files = ["usr/bin/reeve-cri", "usr/lib/systemd/system/reeve-cri.service", configuration[0], configuration[1]];
    assert_eq!(exists(&root, &files).len(), 4);

    let kubelet = root.join("etc/systemd/system/kubelet.service");
    std::fs::create_dir_all(kubelet.parent().unwrap()).unwrap();
    std::fs::write(&kubelet, "[Service]\nExecStart=/usr/bin/kubelet $KUBELET_EXTRA_ARGS\n").unwrap();
    let installed = run(Command::new(root.join("usr/bin/reeve-cri"))
        .args(["install", "--program=/usr/bin/reeve-cri", "--root"])
        .arg(&root));
    let said = String::from_utf8(installed.stdout).unwrap();
    assert!(said.contains("systemctl restart kubelet"), "{said}");
    let ours = [
        "etc/systemd/system/reeve-cri.service",
        "etc/systemd/system/kubelet.service.d/90-reeve-cri.conf",
        "etc/reeve-cri/kubelet.env",
    ];
    assert_eq!(exists(&root, &ours).len(), 3);

    dpkg(&root, &["--remove", "reeve-proxy-cri"]);
    assert_eq!(exists(&root, &ours), Vec::<PathBuf>::new(), "what install wrote is gone");
    assert_eq!(exists(&root, &files), configuration.map(|file| root.join(file)), "configuration stays until a purge");
    assert!(kubelet.exists());
    dpkg(&root, &["--purge", "reeve-proxy-cri"]);
    assert_eq!(exists(&root, &files), Vec::<PathBuf>::new());
    println!("deb: installed, removed, purged");
}

#[test]
#[ignore = "needs cargo-generate-rpm; make e2e ONLY=cri-packages"]
fn the_red_hat_package_has_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("reeve-cri.rpm");
    make(
        Released::CargoGenerateRpm,
        &["--package", "proxy/cri", "--profile=dev", "--payload-compress=none", "--output"],
        &package,
    );
    // The header of a package has the names of its files as text.
    let bytes = std::fs::read(&package).unwrap();
    assert_eq!(bytes[..4], [0xed, 0xab, 0xee, 0xdb], "it is a package");
    for name in ["reeve-cri.service", "/usr/bin/", "/etc/default/", "config.toml", "uninstall --root"] {
        assert!(bytes.windows(name.len()).any(|window| window == name.as_bytes()), "{name}");
    }
}
