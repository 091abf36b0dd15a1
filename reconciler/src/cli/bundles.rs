//! The bundles of many runtimes of one fleet, one after the other.

use std::sync::Arc;

use reeve_renderer::bundle::Bundle;
use reeve_renderer::cache::MemoryCache;
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::fleet::Fleet;
use reeve_renderer::render::Renderer;
use reeve_renderer::resolve;

use super::failure::Failure;
use super::workers;

/// What is kept of components that many runtimes have alike.
const CACHE: u64 = 64 << 20;

/// A cache for one command.
pub(super) fn cache() -> MemoryCache {
    MemoryCache::new(CACHE)
}

/// A bundle, or what is in the way of it: nothing, if it was found when the repository was read.
pub(super) type Rendered = Result<Bundle, Vec<Diagnostic>>;

/// The bundle of one runtime; `None` if there is no such runtime.
pub(super) fn one(fleet: &Fleet, cache: &MemoryCache, name: &str) -> Option<Rendered> {
    placed(fleet, cache, name).map(|(rendered, _)| rendered)
}

/// As [`one`], and whether it goes into the cluster that Reeve runs in.
fn placed(fleet: &Fleet, cache: &MemoryCache, name: &str) -> Option<(Rendered, bool)> {
    Some(match resolve::resolve(fleet, name)? {
        Ok(resolved) => {
            let in_cluster = resolved.runtime.target.kind.as_deref().is_none_or(|kind| kind == "InCluster");
            (Renderer::new(&fleet.settings, cache).runtime(&resolved), in_cluster)
        }
        Err(findings) => (Err(findings), false),
    })
}

/// Renders these runtimes and hands them on in this order, with whether they go into the cluster that Reeve runs in. Memory
/// does not grow with their number.
pub(super) fn each(
    fleet: &Fleet,
    names: &[Arc<str>],
    mut take: impl FnMut(&Arc<str>, Rendered, bool) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let cache = cache();
    let mut next = names.iter();
    workers::in_order(
        names,
        |name| placed(fleet, &cache, name),
        |rendered| match (next.next(), rendered) {
            (Some(name), Some((rendered, in_cluster))) => take(name, rendered, in_cluster),
            _ => Ok(()),
        },
    )
}
