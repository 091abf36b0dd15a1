//! Work on many things on all cores, with the results in their order and only a few of them in memory.

use std::sync::mpsc;
use std::thread;

/// Results that wait per worker; what bounds memory.
const WAITING: usize = 2;

/// Does `work` on each item and hands the results to `take` in the order of the items. The first error of `take` ends it.
pub(super) fn in_order<T: Sync, R: Send, E>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let workers = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    if workers < 2 {
        return items.iter().try_for_each(|item| take(work(item)));
    }
    let work = &work;
    thread::scope(|scope| {
        let mut queues = Vec::with_capacity(workers);
        for first in 0..workers {
            let (tx, rx) = mpsc::sync_channel(WAITING);
            queues.push(rx);
            scope.spawn(move || {
                // A queue that nobody reads any more ends its worker.
                items.iter().skip(first).step_by(workers).map(work).try_for_each(|result| tx.send(result))
            });
        }
        for at in 0..items.len() {
            // A worker that panicked sends nothing more; the scope passes its panic on.
            let Ok(result) = queues[at % workers].recv() else { break };
            take(result)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..1000).collect();
        let mut seen = Vec::new();
        let result: Result<(), ()> = in_order(
            &items,
            |item| item * 2,
            |result| {
                seen.push(result);
                Ok(())
            },
        );
        assert_eq!(result, Ok(()));
        assert_eq!(seen, items.iter().map(|item| item * 2).collect::<Vec<_>>());
    }

    #[test]
    fn whoever_stops_taking_stops_the_work() {
        let done = AtomicUsize::new(0);
        let items: Vec<usize> = (0..100_000).collect();
        let result = in_order(&items, |_| done.fetch_add(1, Ordering::Relaxed), |_| Err("enough"));
        assert_eq!(result, Err("enough"));
        assert!(done.load(Ordering::Relaxed) < 1000, "{} were done", done.load(Ordering::Relaxed));
    }
}
