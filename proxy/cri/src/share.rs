//! Which pods get which revision of a NodeHook: the same pod always the same, whatever the node, chosen by its uid.

use sha2::{Digest, Sha256};

/// A part of all pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    All,
    /// So many percent of them.
    Within(u8),
    /// Those that are not within so many percent.
    Beyond(u8),
}

impl Share {
    pub(crate) fn has(self, uid: &str) -> bool {
        match self {
            Share::All => true,
            Share::Within(percent) => place(uid) < percent,
            Share::Beyond(percent) => place(uid) >= percent,
        }
    }
}

/// From 0 to 99, and spread evenly.
fn place(uid: &str) -> u8 {
    let hash = Sha256::digest(uid.as_bytes());
    let number = hash.iter().take(4).fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    u8::try_from(number % 100).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_pod_is_on_one_side_and_stays_within_a_share_that_grows(
            uid in "[0-9a-f-]{8,36}", percent in 0..=100_u8, more in 0..=100_u8
        ) {
            prop_assert_ne!(Share::Within(percent).has(&uid), Share::Beyond(percent).has(&uid));
            if more >= percent && Share::Within(percent).has(&uid) {
                prop_assert!(Share::Within(more).has(&uid));
            }
            prop_assert!(Share::All.has(&uid) && Share::Within(100).has(&uid) && !Share::Within(0).has(&uid));
        }
    }

    #[test]
    fn a_tenth_of_many_pods_is_a_tenth() {
        let within = (0..10_000).filter(|number| Share::Within(10).has(&format!("uid-{number}"))).count();
        assert!((900..1100).contains(&within), "{within}");
    }
}
