//! A cluster that objects are applied to, with what is known of them.

use reeve_crds::runtime_component::ComponentTarget;

use crate::clock::Clock;
use crate::cluster::Cluster;
use crate::live::WatchCache;

/// A cluster that objects are applied to, with what is known of them. Clones are the same.
#[derive(Clone, Debug)]
pub struct Target {
    /// The cluster.
    pub cluster: Cluster,
    /// What is known of its objects.
    pub watch_cache: WatchCache,
}

impl Target {
    /// Nothing is known of it yet.
    pub fn new(cluster: Cluster, clock: Clock) -> Self {
        Self { watch_cache: WatchCache::new(cluster.clone(), clock), cluster }
    }
}

/// The two clusters of a runtime, which may be one.
#[derive(Clone, Debug)]
pub struct Targets {
    /// Where its Runtime is, and what its components have in the control plane.
    pub home: Target,
    /// Where everything else of it is.
    pub runtime: Target,
    reach: Reach,
}

/// What of a runtime is in the cluster of its Runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// All of it.
    One,
    /// What its components have in the control plane.
    Two,
    /// Nothing that is looked at.
    Former,
}

impl Targets {
    /// A runtime that is kept in the cluster that its Runtime is in.
    pub fn one(target: Target) -> Self {
        Self { home: target.clone(), runtime: target, reach: Reach::One }
    }

    /// A runtime that is kept in another cluster.
    pub fn two(home: Target, runtime: Target) -> Self {
        Self { home, runtime, reach: Reach::Two }
    }

    /// A runtime that was kept in a cluster and is not any more: of its components only what they have there counts.
    pub fn former(home: Target, runtime: Target) -> Self {
        Self { home, runtime, reach: Reach::Former }
    }

    /// The one that a component has.
    pub fn of(&self, target: ComponentTarget) -> &Target {
        match target {
            ComponentTarget::ControlPlane => &self.home,
            ComponentTarget::Runtime => &self.runtime,
        }
    }

    /// Whether what is in the one is also in the other.
    pub fn is_one(&self) -> bool {
        self.reach == Reach::One
    }

    /// Whether the runtime leaves.
    pub fn is_former(&self) -> bool {
        self.reach == Reach::Former
    }

    /// Each of them once, with what of the runtime it has.
    pub fn each(&self) -> impl Iterator<Item = (&Target, &'static [ComponentTarget])> {
        const RUNTIME: &[ComponentTarget] = &[ComponentTarget::Runtime];
        const CONTROL_PLANE: &[ComponentTarget] = &[ComponentTarget::ControlPlane];
        let (runtime, home) = match self.reach {
            Reach::One => (ComponentTarget::ALL, None),
            Reach::Two => (RUNTIME, Some((&self.home, CONTROL_PLANE))),
            Reach::Former => (RUNTIME, None),
        };
        std::iter::once((&self.runtime, runtime)).chain(home)
    }
}
