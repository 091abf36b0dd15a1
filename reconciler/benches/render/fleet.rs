//! 10,000 runtimes of five components from one Git tree: everything from nothing, then one change to one layer.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use reeve_reconciler_git::GitRepository;
use reeve_renderer::affected::affected;
use reeve_renderer::cache::MemoryCache;
use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer::render::Renderer;
use reeve_renderer::resolve;

use crate::{measure, repository};

const RUNTIMES: usize = 10_000;
/// As the command line has it.
const CACHE: u64 = 64 << 20;

pub(crate) fn run() -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    repository::make(folder.path(), RUNTIMES)?;
    let open = || -> Result<_> { Ok(GitRepository::open(folder.path())?.tree("main", "")?) };
    println!("{RUNTIMES} runtimes of 5 components, 5 charts, 20 layers, from Git, on one thread");

    let (loader, cache) = (Loader::new(), MemoryCache::new(CACHE));
    let begin = Instant::now();
    let before = load(&loader, &open()?)?;
    let files_read = begin.elapsed();
    let names: Vec<Arc<str>> = before.runtimes.keys().cloned().collect();
    let objects = render(&before, &cache, &names)?;
    let cold = begin.elapsed();
    let (hits, misses) = cache.counts();
    measure::line("everything from nothing: reading all files", files_read);
    measure::line("everything from nothing: all bundles", cold);
    measure::count("objects", objects);
    measure::count("components rendered", misses);
    measure::count("components found in the cache", hits);
    measure::count("peak memory, MiB", format!("{:.0}", measure::peak_memory("self")?));

    repository::change_canary(folder.path())?;
    let begin = Instant::now();
    let after = load(&loader, &open()?)?;
    let read = begin.elapsed();
    let changed: Vec<Arc<str>> = affected(&before, &after).into_iter().map(|(name, _)| name).collect();
    let found = begin.elapsed();
    render(&after, &cache, &changed)?;
    let done = begin.elapsed();
    let (hits_after, misses_after) = cache.counts();
    measure::line("a layer of 10 runtimes changed: reading the new tree", read);
    measure::line("a layer of 10 runtimes changed: which runtimes it affects", found.saturating_sub(read));
    measure::line("a layer of 10 runtimes changed: to their bundles, in all", done);
    measure::count("runtimes affected", changed.len());
    measure::count("components rendered", misses_after - misses);
    measure::count("components found in the cache", hits_after - hits);
    measure::compare("everything from nothing / the change", measure::ratio(cold, done), "");
    if changed.len() != repository::CANARIES {
        bail!("{} runtimes are affected, and {} use the layer", changed.len(), repository::CANARIES);
    }
    Ok(())
}

fn load(loader: &Loader, tree: &dyn reeve_renderer::tree::Tree) -> Result<Fleet> {
    let (fleet, said) = loader.load(tree)?;
    match said.first() {
        None => Ok(fleet),
        Some(first) => bail!("the bench's own repository is wrong: {first:?}"),
    }
}

/// Renders these runtimes, keeps none of them, and counts their objects.
fn render(fleet: &Fleet, cache: &MemoryCache, names: &[Arc<str>]) -> Result<usize> {
    let renderer = Renderer::new(&fleet.settings, cache);
    let mut objects = 0;
    for name in names {
        let resolved = resolve::resolve(fleet, name).context("the runtime is in the fleet")?;
        match resolved.and_then(|resolved| renderer.runtime(&resolved)) {
            Ok(bundle) => objects += bundle.components.iter().map(|component| component.objects.len()).sum::<usize>(),
            Err(said) => bail!("the bench's own repository is wrong: {:?}", said.first()),
        }
    }
    Ok(objects)
}
