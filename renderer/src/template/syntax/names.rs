//! Gives every name of a template a slot, so that running it looks up no names.
//!
//! A name lives in the frame (a loop, a `with`, a macro, the file) whose statements set it. All names of a frame are known
//! before its first statement is read, since a macro may use what is set after it.

use std::sync::Arc;

use crate::template::program::{SlotRef, Slots, Variable};

/// The open routines, each inside the one before.
#[derive(Default)]
pub(super) struct Names {
    routines: Vec<Open>,
}

#[derive(Default)]
struct Open {
    names: Vec<Arc<str>>,
    frames: Vec<Vec<(Arc<str>, u32)>>,
    used: Vec<bool>,
}

impl Names {
    pub(super) fn open_routine(&mut self) {
        self.routines.push(Open::default());
    }

    /// The names of its slots.
    pub(super) fn close_routine(&mut self) -> Vec<Arc<str>> {
        self.routines.pop().unwrap_or_default().names
    }

    pub(super) fn open_frame(&mut self) -> u32 {
        let Some(routine) = self.routines.last_mut() else { return 0 };
        routine.frames.push(Vec::new());
        count(&routine.names)
    }

    pub(super) fn close_frame(&mut self) {
        if let Some(routine) = self.routines.last_mut() {
            routine.frames.pop();
        }
    }

    /// From this slot to the newest.
    pub(super) fn since(&self, start: u32) -> Slots {
        Slots { start, end: self.routines.last().map_or(start, |routine| count(&routine.names)) }
    }

    /// The names of the innermost frame.
    pub(super) fn frame_names(&self) -> Vec<(Arc<str>, u32)> {
        self.routines.last().and_then(|routine| routine.frames.last()).cloned().unwrap_or_default()
    }

    /// The slot of a name in the innermost frame.
    pub(super) fn declare(&mut self, name: &str) -> u32 {
        let Some(routine) = self.routines.last_mut() else { return 0 };
        let Some(frame) = routine.frames.last_mut() else { return 0 };
        if let Some((_, slot)) = frame.iter().find(|(known, _)| &**known == name) {
            return *slot;
        }
        let slot = count(&routine.names);
        let name: Arc<str> = name.into();
        routine.names.push(Arc::clone(&name));
        routine.used.push(false);
        frame.push((name, slot));
        slot
    }

    /// A slot without a name.
    pub(super) fn hidden(&mut self) -> u32 {
        let Some(routine) = self.routines.last_mut() else { return 0 };
        let slot = count(&routine.names);
        routine.names.push("".into());
        routine.used.push(false);
        slot
    }

    /// Whether anything read this slot of the innermost routine.
    pub(super) fn is_used(&self, slot: u32) -> bool {
        self.routines.last().and_then(|routine| routine.used.get(slot as usize)).copied().unwrap_or(false)
    }

    /// All places where a name may be, the nearest first.
    pub(super) fn resolve(&mut self, name: &str) -> Variable {
        let mut places = Vec::new();
        for (level, routine) in (0..).zip(self.routines.iter_mut().rev()) {
            for frame in routine.frames.iter().rev() {
                if let Some((_, slot)) = frame.iter().find(|(known, _)| &**known == name) {
                    if let Some(used) = routine.used.get_mut(*slot as usize) {
                        *used = true;
                    }
                    places.push(SlotRef { level, slot: *slot });
                }
            }
        }
        Variable { name: name.into(), places: places.into() }
    }
}

fn count(names: &[Arc<str>]) -> u32 {
    u32::try_from(names.len()).unwrap_or(u32::MAX)
}
