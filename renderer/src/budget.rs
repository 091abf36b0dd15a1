//! What one render may cost: steps and bytes, counted as they are spent.
//!
//! Bytes are never given back: the sum of all that was ever made bounds what can be alive at once. Whoever makes a value
//! or walks one pays first, so that a template which doubles a string sixty times stops at the limit, not at the end of
//! the machine's memory.

use std::cell::Cell;

/// How much one component's render may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Statements, expressions, loop turns, nodes walked.
    pub steps: u64,
    /// Bytes of text and nodes made, all in all.
    pub memory: u64,
    /// Bytes of output of one template.
    pub output: u64,
    /// Calls inside calls: macros, includes, `tpl`.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 2_000_000, memory: 128 << 20, output: 8 << 20, depth: 64 }
    }
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exceeded {
    /// Too many steps.
    #[error("takes more than {0} steps")]
    Steps(u64),
    /// Too many bytes.
    #[error("makes more than {} MiB of values", .0 >> 20)]
    Memory(u64),
    /// Too much output.
    #[error("writes more than {} MiB", .0 >> 20)]
    Output(u64),
    /// Too many calls inside calls.
    #[error("calls itself more than {0} levels deep")]
    Depth(u32),
}

/// What is left of the limits.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    steps: Cell<u64>,
    memory: Cell<u64>,
}

impl Budget {
    /// A full budget.
    pub fn new(limits: Limits) -> Self {
        Self { limits, steps: Cell::new(limits.steps), memory: Cell::new(limits.memory) }
    }

    /// The limits it began with.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Pays for work.
    pub fn steps(&self, count: u64) -> Result<(), Exceeded> {
        let left = self.steps.get().checked_sub(count).ok_or(Exceeded::Steps(self.limits.steps))?;
        self.steps.set(left);
        Ok(())
    }

    /// Pays for bytes about to be made.
    pub fn memory(&self, bytes: u64) -> Result<(), Exceeded> {
        let left = self.memory.get().checked_sub(bytes).ok_or(Exceeded::Memory(self.limits.memory))?;
        self.memory.set(left);
        Ok(())
    }
}
