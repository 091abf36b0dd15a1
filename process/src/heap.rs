//! How the heap of a process is laid out, and what it gives back.

use std::time::Duration;

/// How often a process looks whether it has memory to give back.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// Less than this is not worth it: it will be needed again.
const WORTH_IT: usize = 32 << 20;

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

/// Gives memory back to the system that the process has and does not use, for ever. By itself glibc gives back the end of
/// its heap alone: one small allocation there keeps all that a large piece of work needed.
pub async fn give_back() {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if unused() > WORTH_IT {
            // It walks the heap, which may take a while.
            let _ = tokio::task::spawn_blocking(trim).await;
        }
    }
}

/// How many bytes the process has in memory beyond those that it allocated.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "the allocator tells by a C function alone")]
fn unused() -> usize {
    // SAFETY: it takes nothing and reads what malloc counts, under malloc's own lock.
    let counted = unsafe { libc::mallinfo2() };
    anonymous().saturating_sub(counted.uordblks + counted.hblkhd)
}

/// How many bytes of the process are in memory that no file stands for: heap and stacks.
#[cfg(target_env = "gnu")]
fn anonymous() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kibibytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<usize>().ok());
    kibibytes.unwrap_or_default() << 10
}

#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "the allocator is told by a C function alone")]
fn trim() {
    // SAFETY: it gives back pages that hold no allocation, under malloc's own lock.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(target_env = "gnu"))]
fn unused() -> usize {
    0
}

#[cfg(not(target_env = "gnu"))]
fn trim() {}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn what_large_work_needed_is_given_back_although_something_small_is_kept_at_its_end() {
        use_one_arena();
        // Small enough that malloc takes none of them from the system by itself.
        let mut work: Vec<Box<[u8]>> = (0..100_000).map(|_| vec![1; 1024].into_boxed_slice()).collect();
        let last = work.pop();
        drop(work);
        assert!(unused() > WORTH_IT, "glibc gives it back by itself: {}", unused());
        trim();
        assert!(unused() < WORTH_IT, "{} bytes are still there", unused());
        drop(last);
    }
}
