//! Charts as archives: beside the folders of other versions, and below a chart.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use reeve_renderer::cache::NoCache;
use reeve_renderer::tree::MemoryTree;

use crate::repository::{bundle, findings, load, with};

const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-{{ .Chart.Name }}\n";

/// One entry of an archive, whatever its name and kind.
fn entry(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
    let mut header = [0u8; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
    header[156] = kind;
    header[257..263].copy_from_slice(b"ustar\0");
    header[148..156].copy_from_slice(b"        ");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut entry = header.to_vec();
    entry.extend(content);
    entry.resize(entry.len().next_multiple_of(512), 0);
    entry
}

fn gzip(tar: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(tar).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// An archive of these files.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar: Vec<u8> = files.iter().flat_map(|(name, content)| entry(name, b'0', content)).collect();
    tar.resize(tar.len() + 1024, 0);
    gzip(&tar)
}

/// The chart `web` 1.0.0 packed, with more entries of an archive behind its own.
fn web(more: &[Vec<u8>]) -> Vec<u8> {
    let mut tar = entry("web/Chart.yaml", b'0', b"apiVersion: v2\nname: web\nversion: 1.0.0\n");
    tar.extend(entry("web/templates/config.yaml", b'0', CONFIG.as_bytes()));
    tar.extend(more.concat());
    tar.resize(tar.len() + 1024, 0);
    gzip(&tar)
}

/// The small repository with its chart replaced by an archive at this path.
fn packed(path: &str, bytes: &[u8]) -> MemoryTree {
    let mut tree = with(&[
        ("charts/web/1.0.0/Chart.yaml", ""),
        ("charts/web/1.0.0/values.yaml", ""),
        ("charts/web/1.0.0/templates/config.yaml.j2", ""),
    ]);
    tree.write(path, bytes);
    tree
}

fn names(tree: &MemoryTree) -> Vec<String> {
    let bundle = bundle(tree, "us-1", &NoCache);
    bundle.components[0].objects.iter().map(|object| object.key.name.to_string()).collect()
}

/// What is wrong with a repository whose chart is this archive.
fn said(bytes: &[u8]) -> String {
    let found: Vec<String> = load(&packed("charts/web/1.0.0.tgz", bytes)).1.iter().map(ToString::to_string).collect();
    found.join("\n")
}

#[test]
fn a_chart_may_be_an_archive_of_either_name() {
    for path in ["charts/web/1.0.0.tgz", "charts/web/web-1.0.0.tgz"] {
        let tree = packed(path, &web(&[]));
        assert_eq!(findings(&tree), [], "{path}");
        assert_eq!(names(&tree), ["web-web"], "{path}");
    }
}

#[test]
fn a_mistake_in_an_archive_points_into_it() {
    let broken = entry("web/templates/other.yaml", b'0', b"a: b\nc: {{ .Values.x.y }}\n");
    let found = findings(&packed("charts/web/1.0.0.tgz", &web(&[broken])));
    let location = found[0].location.as_ref().map(ToString::to_string);
    assert_eq!(location.as_deref(), Some("charts/web/1.0.0.tgz/templates/other.yaml:2:7"));
}

#[test]
fn a_version_that_is_a_folder_and_an_archive_is_refused() {
    let mut tree = with(&[]);
    tree.write("charts/web/1.0.0.tgz", web(&[]));
    let found: Vec<String> = load(&tree).1.iter().map(ToString::to_string).collect();
    assert!(found.iter().any(|line| line.contains("version `1.0.0` of `web` is there twice")), "{found:?}");
}

#[test]
fn an_archive_below_a_chart_is_a_chart_below_it() {
    let sub = archive(&[
        ("sub/Chart.yaml", b"apiVersion: v2\nname: sub\nversion: 1.2.3\n"),
        ("sub/templates/config.yaml", CONFIG.as_bytes()),
    ]);
    let below = entry("web/charts/sub-1.2.3.tgz", b'0', &sub);
    assert_eq!(names(&packed("charts/web/1.0.0.tgz", &web(std::slice::from_ref(&below)))), ["web-sub", "web-web"]);
    let mut tree = with(&[("charts/web/1.0.0/templates/config.yaml.j2", "")]);
    tree.write("charts/web/1.0.0/charts/sub-1.2.3.tgz", &sub);
    assert_eq!(names(&tree), ["web-sub"]);
}

#[test]
fn what_leads_out_of_the_chart_is_refused() {
    for name in ["web/../../etc/passwd", "../web/x", "/etc/passwd", "web\\..\\..\\x", "c:/x"] {
        let said = said(&web(&[entry(name, b'0', b"x")]));
        assert!(said.contains("which leads out of the chart"), "{name}: {said}");
    }
    assert!(said(&web(&[entry("beside", b'0', b"x")])).contains("which is in no folder"));
}

#[test]
fn links_and_devices_are_refused() {
    for kind in *b"12" {
        assert!(said(&web(&[entry("web/templates/link.yaml", kind, b"")])).contains("which is a link"));
    }
    for kind in *b"346" {
        assert!(said(&web(&[entry("web/device", kind, b"")])).contains("which is no file"));
    }
}

#[test]
fn a_damaged_archive_is_refused_wherever_it_is_damaged() {
    let whole = web(&[]);
    assert!(said(b"no archive").contains("it is no gzip archive"));
    assert!(said(b"").contains("it is no gzip archive"));
    for end in 1..whole.len() {
        assert!(!said(&whole[..end]).is_empty(), "cut at {end}");
    }
    for at in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        let _ = said(&damaged);
    }
    let mut tar = entry("web/Chart.yaml", b'0', b"apiVersion: v2\n");
    tar[0] = b'x';
    assert!(said(&gzip(&tar)).contains("a header has the wrong sum"));
    let cut = entry("web/Chart.yaml", b'0', &[b'a'; 2000]);
    assert!(said(&gzip(&cut[..1000])).contains("a file is cut off"));
}

#[test]
fn a_bomb_ends_at_the_bound() {
    let zeros = vec![0u8; 65 << 20];
    assert!(said(&gzip(&zeros)).contains("more than 64 MiB"));
    let many: Vec<u8> = (0..20_001).flat_map(|at| entry(&format!("web/f{at}"), b'0', b"")).collect();
    assert!(said(&gzip(&many)).contains("20000 files"));
}

#[test]
fn archives_in_archives_share_one_bound() {
    let filled = vec![b'#'; 4 << 20];
    let sub =
        archive(&[("sub/Chart.yaml", b"apiVersion: v2\nname: sub\nversion: 1.2.3\n"), ("sub/values.yaml", &filled)]);
    let many: Vec<Vec<u8>> = (0..20).map(|at| entry(&format!("web/charts/sub{at}-1.2.3.tgz"), b'0', &sub)).collect();
    assert!(said(&web(&many)).contains("more than 64 MiB"));
    assert_eq!(said(&web(&many[..2])), "");
}
