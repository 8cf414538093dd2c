//! What waiting costs on this machine: a park, and how late a parked and a spinning thread see a publication. Measured between real threads.
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::spin_futex::Epoch;
use crate::spin_words::Setup;

/// Publications of each kind.
pub const ROUNDS: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Processor time of one park and its wake, the waker's part included, in nanoseconds.
    pub park: i64,
    /// From a publication to a parked thread's look, in nanoseconds.
    pub wake: i64,
    /// From a publication to a spinning thread's look, in nanoseconds.
    pub catch: i64,
}

struct Board {
    start: Instant,
    epoch: Epoch,
    published: AtomicU64,
    /// Threads that are about to wait.
    waiting: AtomicU32,
    ends: AtomicBool,
}

impl Board {
    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn wait_for(&self, threads: u32) {
        while self.waiting.load(Ordering::Acquire) < threads {
            thread::yield_now();
        }
    }

    fn publish(&self) {
        self.waiting.store(0, Ordering::Relaxed);
        self.published.store(self.now(), Ordering::Relaxed);
        self.epoch.bump();
    }

    /// One thread of those that wait: how late it saw each publication, and its processor time from look to look.
    fn wait(&self, rounds: usize, spins: bool) -> Vec<(u64, u64)> {
        let mut seen = Vec::with_capacity(rounds);
        let mut epoch = self.epoch.load();
        let mut used = thread_time();
        while seen.len() < rounds && !self.ends.load(Ordering::Relaxed) {
            self.waiting.fetch_add(1, Ordering::AcqRel);
            while self.epoch.load() == epoch {
                if spins {
                    std::hint::spin_loop();
                } else {
                    self.epoch.wait(epoch);
                }
            }
            let late = self.now().saturating_sub(self.published.load(Ordering::Relaxed));
            epoch = self.epoch.load();
            let now = thread_time();
            seen.push((late, now - used));
            used = now;
        }
        seen
    }
}

fn thread_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn median(mut of: Vec<u64>) -> i64 {
    let middle = of.len() / 2;
    if of.is_empty() { 0 } else { *of.select_nth_unstable(middle).1 as i64 }
}

/// Publish so often to threads that wait, each time when all of them do; what they saw, and the publisher's processor time for each publication.
fn ping(threads: usize, rounds: usize, spins: bool) -> (Vec<(u64, u64)>, Vec<u64>) {
    let board = Board {
        start: Instant::now(),
        epoch: Epoch::new(),
        published: AtomicU64::new(0),
        waiting: AtomicU32::new(0),
        ends: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let waiters: Vec<_> =
            (0..threads).map_while(|_| thread::Builder::new().spawn_scoped(scope, || board.wait(rounds, spins)).ok()).collect();
        let mut cost = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            board.wait_for(waiters.len() as u32);
            thread::sleep(Duration::from_micros(if spins { 5 } else { 50 })); // until they have gone to sleep
            let before = thread_time();
            board.publish();
            if !spins {
                board.epoch.wake(waiters.len() as u32);
            }
            cost.push(thread_time() - before);
        }
        (waiters.into_iter().flat_map(|waiter| waiter.join().unwrap_or_default()).collect(), cost)
    })
}

/// Measure with so many threads that wait; medians of `ROUNDS` publications. Takes some tens of milliseconds.
pub fn calibrate(threads: usize) -> Costs {
    let threads = threads.max(1);
    let reading = median((0..ROUNDS).map(|_| thread_time()).collect::<Vec<_>>().windows(2).map(|two| two[1] - two[0]).collect());
    let (parked, waking) = ping(threads, ROUNDS, false);
    let (late, used): (Vec<u64>, Vec<u64>) = parked.into_iter().unzip();
    let waking = (median(waking) - reading) / threads as i64;
    // With one processor a spinning thread keeps the publisher from publishing: nothing is to be measured.
    let alone = thread::available_parallelism().is_ok_and(|number| number.get() == 1);
    let catch = if alone { 0 } else { median(ping(1, ROUNDS, true).0.into_iter().map(|(late, _)| late).collect()) };
    Costs { park: (median(used) - reading + waking).max(8), wake: median(late), catch }
}

impl Costs {
    pub fn setup(self, width: i64) -> Setup {
        Setup { width, park: self.park, wake: self.wake, catch: self.catch, ..Setup::default() }
    }
}
