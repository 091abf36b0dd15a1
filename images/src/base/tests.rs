//! What the base layer takes from packages.

use super::*;
use crate::pins::Pin;

fn package(name: &str, files: Layer) -> (String, Package) {
    let pin = Pin { version: "1".to_owned(), sha256: String::new() };
    let package = Package { name: name.to_owned(), pin, control: format!("Package: {name}\n"), files };
    (name.to_owned(), package)
}

fn packages() -> Packages {
    let zone = |path: &str| format!("usr/share/zoneinfo/{path}");
    let libraries = "lib/x86_64-linux-gnu";
    [
        package("base-files", {
            let files = Layer::default().file("etc/debian_version", "12").file("usr/lib/os-release", "ID=debian");
            files.link("etc/os-release", "../usr/lib/os-release").program("bin/sh", "#!")
        }),
        package("ca-certificates", {
            let folder = "usr/share/ca-certificates/mozilla";
            let files = Layer::default().file(&format!("{folder}/b.crt"), "B").file(&format!("{folder}/a.crt"), "A\n");
            files.program("usr/sbin/update-ca-certificates", "#!/bin/sh")
        }),
        package("libc6", {
            let files = Layer::default()
                .program(&format!("{libraries}/libc.so.6"), "libc")
                .program(&format!("{libraries}/ld-linux-x86-64.so.2"), "loader")
                .file(&format!("{libraries}/libm.so.6"), "libm")
                .file("libx32/libc.so.6", "another");
            files
                .link("lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
                .file("usr/share/doc/libc6/copyright", "LGPL")
        }),
        package("gcc-12-base", Layer::default().file("usr/share/doc/gcc-12-base/copyright", "GPL")),
        package("libgcc-s1", {
            let files = Layer::default().file(&format!("{libraries}/libgcc_s.so.1"), "libgcc");
            files.link("usr/share/doc/libgcc-s1", "gcc-12-base")
        }),
        package("netbase", Layer::default().file("etc/protocols", "tcp").file("etc/services", "https")),
        package("tzdata", {
            let zones =
                Layer::default().file(&zone("Europe/Berlin"), "TZif").file(&zone("right/Europe/Berlin"), "TZif");
            zones.link(&zone("posix/Europe"), "../Europe").program("usr/sbin/tzconfig", "#!")
        }),
        package("zlib1g", {
            let files = Layer::default().file(&format!("{libraries}/libz.so.1.2.13"), "libz");
            files.link(&format!("{libraries}/libz.so.1"), "libz.so.1.2.13")
        }),
    ]
    .into()
}

#[test]
fn it_has_libraries_authorities_and_zones_and_no_program() {
    let layer = layer(&packages()).unwrap();
    for path in [
        "lib64/ld-linux-x86-64.so.2",
        "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
        "lib/x86_64-linux-gnu/libgcc_s.so.1",
        "usr/share/zoneinfo/Europe/Berlin",
        "usr/share/doc/libc6/copyright",
        "usr/share/doc/libgcc-s1/copyright",
        "var/lib/dpkg/status.d/tzdata",
        "etc/os-release",
    ] {
        assert!(layer.get(path).is_some(), "{path} is missing");
    }
    let bundle = Entry::File { bytes: b"A\nB\n".to_vec(), mode: 0o644 };
    assert_eq!(layer.get(AUTHORITIES), Some(&bundle));
    let extra: Vec<&str> = layer.entries().map(|(path, _)| path).filter(|path| is_unwanted(path)).collect();
    assert!(extra.is_empty(), "{extra:?}");
}

fn is_unwanted(path: &str) -> bool {
    ["bin/", "sbin/", "libx32", "zoneinfo/right", "zoneinfo/posix", "libz"].iter().any(|part| path.contains(part))
}

#[test]
fn a_library_comes_with_what_it_links_to() {
    let found = extra_library(&packages(), "libz.so.1").unwrap();
    assert!(has_library(&found, "libz.so.1") && found.get("lib/x86_64-linux-gnu/libz.so.1.2.13").is_some());
    assert!(found.get("var/lib/dpkg/status.d/zlib1g").is_some());
    assert_eq!(extra_library(&packages(), "libfoo.so.1"), None);
    assert!(!has_library(&layer(&packages()).unwrap(), "libz.so.1"));
}

#[test]
fn a_package_that_is_not_pinned_is_named() {
    let mut packages = packages();
    packages.remove("tzdata");
    assert!(layer(&packages).unwrap_err().to_string().contains("tzdata"));
}
