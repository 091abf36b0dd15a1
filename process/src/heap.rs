//! How the heap of a process is laid out.

/// Gives all threads one heap. glibc gives each its own by default, and what one of them freed is of no use to the others:
/// for a process that mostly waits that is memory for nothing. To be called before there are other threads.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "the allocator is told by a C function alone")]
pub fn use_one_arena() {
    // SAFETY: it changes a number that malloc reads, and no other thread is there to read it meanwhile.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Other allocators do as they like.
#[cfg(not(target_env = "gnu"))]
pub fn use_one_arena() {}
