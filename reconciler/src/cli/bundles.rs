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
    let resolved = resolve::resolve(fleet, name)?;
    Some(resolved.and_then(|resolved| Renderer::new(&fleet.settings, cache).runtime(&resolved)))
}

/// Renders these runtimes and hands them on in this order. Memory does not grow with their number.
pub(super) fn each(
    fleet: &Fleet,
    names: &[Arc<str>],
    mut take: impl FnMut(&Arc<str>, Rendered) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let cache = cache();
    let mut next = names.iter();
    workers::in_order(
        names,
        |name| one(fleet, &cache, name),
        |rendered| match (next.next(), rendered) {
            (Some(name), Some(rendered)) => take(name, rendered),
            _ => Ok(()),
        },
    )
}
