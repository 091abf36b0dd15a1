//! A repository read from a folder, and everything that can be found wrong with one.

use std::fmt::Write as _;
use std::path::Path;

use reeve_renderer::bundle::Bundle;
use reeve_renderer::cache::NoCache;
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::findings::Findings;
use reeve_renderer::fleet::Loader;
use reeve_renderer::render::Renderer;
use reeve_renderer::resolve;
use reeve_renderer::tree::MemoryTree;

/// A path from the root of the source tree.
pub(crate) fn path(below: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(below)
}

/// All files of a folder.
pub(crate) fn read(folder: &Path) -> MemoryTree {
    let mut tree = MemoryTree::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/");
                tree.write(name, std::fs::read(&path).unwrap());
            }
        }
    }
    tree
}

/// Every runtime that renders, and every finding, warnings included.
pub(crate) fn render(tree: &MemoryTree) -> (Vec<Bundle>, Vec<Diagnostic>) {
    let (fleet, said) = Loader::new().load(tree).unwrap();
    let mut findings = Findings::new();
    findings.extend(said);
    findings.extend(resolve::check(&fleet));
    let mut bundles = Vec::new();
    for name in fleet.runtimes.keys() {
        let rendered = resolve::resolve(&fleet, name)
            .unwrap()
            .and_then(|resolved| Renderer::new(&fleet.settings, &NoCache).runtime(&resolved));
        match rendered {
            Ok(bundle) => {
                findings.add_for(name, bundle.warnings.iter().cloned());
                bundles.push(bundle);
            }
            Err(said) => findings.add_for(name, said),
        }
    }
    (bundles, findings.into_sorted())
}

/// Findings as text, to be compared and to be read when a test fails.
pub(crate) fn text(findings: &[Diagnostic]) -> String {
    let mut text = String::new();
    for finding in findings {
        let _ = writeln!(text, "{}: {finding}", finding.code);
        for note in &finding.notes {
            let _ = writeln!(text, "  note: {}", note.message);
        }
        if let Some(help) = &finding.help {
            let _ = writeln!(text, "  help: {help}");
        }
    }
    text
}
