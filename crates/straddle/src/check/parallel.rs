//! Many jobs on all cores, their results in order.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

/// How far workers may run ahead of the slowest job, in jobs: bounds the results held in memory.
const AHEAD: usize = 1024;
/// Fewer jobs than this are not worth a thread, unless two of them are long.
const FEW: usize = 16;
/// Most jobs that a worker takes at once; a hand-over for each of them would cost as much as checking a small image.
const LARGEST_BATCH: usize = 64;
/// Into how many batches a list is cut at least, so that no worker is left with the rest of it.
const BATCHES: usize = 64;

/// Calls `work` for every job, on several threads when there are several jobs, and `deliver` on this thread for every
/// result, in the order of the jobs; `progress` hears now and then how many are done. `is_long` says of a job whether it takes much longer than
/// to start a thread; it is asked only where there are few.
///
/// Stops early when `deliver` fails, and gives its error.
pub(super) fn in_order<J: Sync, R: Send, E>(
    jobs: &[J],
    is_long: impl Fn(&J) -> bool,
    work: impl Fn(&J) -> R + Sync,
    mut deliver: impl FnMut(R) -> Result<(), E>,
    mut progress: impl FnMut(usize),
) -> Result<(), E> {
    // Asking for the number of cores means reading several files of the kernel; a few jobs need no answer.
    let workers = match jobs.len() {
        0..=FEW if jobs.iter().filter(|job| is_long(job)).nth(1).is_none() => 1,
        _ => thread::available_parallelism().map_or(1, NonZero::get),
    };
    let batch = (jobs.len() / BATCHES).clamp(1, LARGEST_BATCH);
    if workers == 1 {
        return jobs.iter().try_for_each(|job| deliver(work(job)));
    }
    keep_freed_memory();
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let done = Done {
        state: Mutex::new((BTreeMap::new(), 0)),
        changed: Condvar::new(),
    };
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let first = next.fetch_add(batch, Ordering::Relaxed);
                    let Some(taken) = jobs
                        .get(first..jobs.len().min(first + batch))
                        .filter(|b| !b.is_empty())
                    else {
                        break;
                    };
                    done.put(first, taken.iter().map(&work).collect(), &stop);
                }
            });
        }
        let mut at = 0;
        while at < jobs.len() {
            let batch = done.take(at);
            at += batch.len();
            progress(at);
            if let Err(error) = batch.into_iter().try_for_each(&mut deliver) {
                stop.store(true, Ordering::Relaxed);
                done.changed.notify_all();
                return Err(error);
            }
        }
        Ok(())
    })
}

/// Lets the allocator keep what a job freed for the next one.
///
/// glibc gives the end of a thread's heap back to the kernel whenever 128 KiB of it are free, which each job leaves behind,
/// and gets it back with as many page faults. Freeing one large block raises that limit to twice its size (`mallopt(3)`,
/// dynamic mmap threshold); other allocators are not bothered.
fn keep_freed_memory() {
    const BLOCK: usize = 4 << 20;
    drop(std::hint::black_box(Vec::<u8>::with_capacity(BLOCK)));
}

/// Finished batches by the index of their first job, and the index that is delivered next.
struct Done<R> {
    state: Mutex<(BTreeMap<usize, Vec<R>>, usize)>,
    changed: Condvar,
}

impl<R> Done<R> {
    /// Hands over a batch; waits while it is too far ahead.
    fn put(&self, first: usize, batch: Vec<R>, stop: &AtomicBool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while first > state.1 + AHEAD && !stop.load(Ordering::Relaxed) {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.0.insert(first, batch);
        if first == state.1 {
            self.changed.notify_all();
        }
    }

    /// Waits for the batch that starts at `first`.
    fn take(&self, first: usize) -> Vec<R> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(batch) = state.0.remove(&first) {
                state.1 = first + batch.len();
                self.changed.notify_all();
                return batch;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_jobs_whatever_their_duration() {
        let jobs: Vec<u64> = (0..500).collect();
        let mut got = Vec::new();
        let work = |n: &u64| {
            thread::sleep(std::time::Duration::from_micros(n * 7 % 300));
            *n
        };
        let deliver = |n| {
            got.push(n);
            Ok::<(), ()>(())
        };
        let mut heard = Vec::new();
        in_order(&jobs, |_| false, work, deliver, |done| heard.push(done)).expect("nothing fails");
        assert_eq!(got, jobs);
        assert!(heard.is_sorted() && heard.last() == Some(&500), "{heard:?}");
    }

    /// True when a few jobs, of which these are long, are done by threads of their own.
    fn are_shared_out(long: &[usize]) -> bool {
        let jobs: Vec<usize> = (0..4).collect();
        let here = thread::current().id();
        let mut elsewhere = Vec::new();
        let deliver = |thread| {
            elsewhere.push(thread != here);
            Ok::<(), ()>(())
        };
        let work = |_: &usize| thread::current().id();
        in_order(&jobs, |n| long.contains(n), work, deliver, |_| ()).expect("nothing fails");
        assert_eq!(elsewhere.len(), jobs.len());
        elsewhere.contains(&true)
    }

    #[test]
    fn a_few_jobs_are_shared_out_when_two_are_long() {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        assert!(!are_shared_out(&[]));
        assert!(!are_shared_out(&[2]));
        assert_eq!(are_shared_out(&[0, 3]), cores > 1);
    }

    #[test]
    fn a_failed_delivery_stops_everything() {
        let jobs: Vec<u32> = (0..100_000).collect();
        let mut seen = 0;
        let result = in_order(
            &jobs,
            |_| false,
            |n| *n,
            |n| {
                seen += 1;
                if n == 100 { Err(n) } else { Ok(()) }
            },
            |_| (),
        );
        assert_eq!((result, seen), (Err(100), 101));
    }
}
