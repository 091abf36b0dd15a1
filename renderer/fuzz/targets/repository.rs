//! Any bytes in any file of a repository: loaded, resolved and rendered.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reeve_renderer::cache::NoCache;
use reeve_renderer::fleet::Loader;
use reeve_renderer::render::Renderer;
use reeve_renderer::resolve;
use reeve_renderer::tree::MemoryTree;

const FILES: &[(&str, &str)] = &[
    ("fleet.yaml", "kind: Fleet\ndefaults: {channel: c}\nlayers: [{name: l}]\nlimits: {steps: 50000, memoryMiB: 4, outputMiB: 1}\n"),
    ("channels/c.yaml", "kind: Channel\ncomponents: {web: 1.0.0}\n"),
    ("layers/l.yaml", "kind: Layer\nvalues: {a: 1}\n"),
    ("runtimes/r.yaml", "kind: Runtime\nlabels: {x: z}\ncomponents: {web: {values: {b: 2}}}\n"),
    ("charts/web/1.0.0/Chart.yaml", "name: web\nversion: 1.0.0\n"),
    ("charts/web/1.0.0/values.yaml", "a: 0\nb: 0\n"),
    ("charts/web/1.0.0/templates/x.yaml.j2", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: \"{{ Values.a }}\"}\n"),
    ("charts/web/1.0.0/templates/plain.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n"),
];

fuzz_target!(|input: (u8, &[u8])| {
    let (at, bytes) = input;
    let mut tree: MemoryTree = FILES.iter().copied().collect();
    tree.write(FILES[usize::from(at) % FILES.len()].0, bytes);
    let (fleet, _) = Loader::new().load(&tree).expect("a tree in memory can be read");
    resolve::check(&fleet);
    for name in fleet.runtimes.keys() {
        if let Some(Ok(resolved)) = resolve::resolve(&fleet, name) {
            let _ = Renderer::new(&fleet.settings, &NoCache).runtime(&resolved);
        }
    }
});
