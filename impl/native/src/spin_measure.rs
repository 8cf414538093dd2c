//! A pool measured: how fast it dispatches one fan-out after another, and what it uses while it has nothing to do.
use std::time::{Duration, Instant};
use std::{fs, thread};

use crate::spin_pool::{Refused, SpinPool};

/// Keep the core busy for so long.
pub fn busy(long: Duration) {
    let start = Instant::now();
    while start.elapsed() < long {
        std::hint::spin_loop();
    }
}

/// Nanoseconds of each of so many fan-outs of `total` tasks, one right after the other; each task is busy for so long.
pub fn back_to_back(pool: &SpinPool, rounds: usize, total: usize, work: Duration) -> Result<Vec<u64>, Refused> {
    let mut took = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let start = Instant::now();
        pool.run(total, &|_| busy(work))?;
        took.push(start.elapsed().as_nanos() as u64);
    }
    Ok(took)
}

/// Processor time that each worker has used, in nanoseconds, as the kernel accounts it; none where it doesn't tell.
pub fn worker_time(pool: &SpinPool) -> Option<Vec<u64>> {
    let of = |thread: u64| fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?.split(' ').next()?.parse().ok();
    pool.thread_ids().into_iter().map(of).collect()
}

/// The share of one core that all workers together use in so long, while nobody dispatches. One fan-out goes before, and the time for the
/// windows after it to end.
pub fn idle_share(pool: &SpinPool, over: Duration) -> Result<Option<f64>, Refused> {
    pool.run(pool.width(), &|_| {})?;
    thread::sleep(Duration::from_millis(20));
    let (before, start) = (worker_time(pool), Instant::now());
    thread::sleep(over);
    let (after, wall) = (worker_time(pool), start.elapsed().as_nanos() as f64);
    let used = before.zip(after).map(|(before, after)| after.iter().sum::<u64>().saturating_sub(before.iter().sum()));
    Ok(used.map(|used| used as f64 / wall))
}
