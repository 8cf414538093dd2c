//! Where a dispatcher and its one worker meet, and the worker's loop: wait for a publication, run its task, learn from the gap.
use crate::machine::{futex_wait, futex_wake, now, thread_cpu, tid};
use crossbeam_utils::CachePadded;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64};
use std::thread::JoinHandle;

#[derive(Default)]
pub struct Board {
    pub epoch: CachePadded<AtomicU32>,
    pub asleep: CachePadded<AtomicU32>,
    pub published: CachePadded<AtomicU64>,
    pub started: CachePadded<AtomicU64>,
    pub done: CachePadded<AtomicU32>,
    pub since: CachePadded<AtomicU64>,
    pub spun: CachePadded<AtomicBool>,
    pub tid: AtomicI32,
    pub over: AtomicBool,
    /// The publication after which the tally begins.
    pub from: AtomicU32,
}

impl Board {
    /// Parks while the epoch is `last`.
    pub fn park(&self, last: u32) {
        self.asleep.store(1, SeqCst);
        while self.epoch.load(SeqCst) == last {
            futex_wait(&self.epoch, last);
        }
        self.asleep.store(0, Relaxed);
    }

    /// The worker spins no longer in this stretch: whoever wants to publish against it may know.
    pub fn gave_up(&self) {
        self.spun.store(true, Release);
    }
}

/// What one wait came to.
#[derive(Clone, Copy, Default)]
pub struct Waited {
    pub window: u64,
    pub caught: bool,
    pub pauses: u64,
    pub readings: u64,
    pub yields: u64,
}

/// How a worker waits.
pub trait Waiter: Send {
    /// Returns when the epoch is no longer `last`. The stretch began at `since`.
    fn wait(&mut self, board: &Board, last: u32, since: u64) -> Waited;
    /// The task came so long after the stretch began.
    fn learn(&mut self, _gap: u64, _waited: &Waited) {}
}

/// What a worker did from the publication `from` on.
#[derive(Clone, Copy, Default, serde::Serialize)]
pub struct Tally {
    pub gaps: u64,
    pub parks: u64,
    pub pauses: u64,
    pub readings: u64,
    pub yields: u64,
    /// What the policy cost by its own windows and gaps, and what the offline optimum would have.
    pub cost_ns: u64,
    pub best_ns: u64,
    pub user_us: u64,
    pub sys_us: u64,
    pub self_cpu: u64,
}

impl Tally {
    fn add(&mut self, gap: u64, waited: &Waited, price: u64) {
        self.gaps += 1;
        self.parks += u64::from(!waited.caught);
        self.pauses += waited.pauses;
        self.readings += waited.readings;
        self.yields += waited.yields;
        self.cost_ns += if gap <= waited.window { gap } else { waited.window + price };
        self.best_ns += gap.min(price);
    }
}

pub fn worker(board: Arc<Board>, mut waiter: Box<dyn Waiter>, price: u64) -> JoinHandle<Tally> {
    std::thread::spawn(move || {
        let (mut tally, mut last) = (Tally::default(), 0);
        let (mut begun, mut used) = (thread_cpu(tid()), crate::machine::split());
        board.tid.store(tid(), Release);
        loop {
            let since = now();
            board.since.store(since, Release);
            let waited = waiter.wait(&board, last, since);
            last = board.epoch.load(Acquire);
            if board.over.load(Acquire) {
                let (user, sys) = crate::machine::split();
                (tally.user_us, tally.sys_us, tally.self_cpu) = (user - used.0, sys - used.1, thread_cpu(tid()) - begun);
                return tally;
            }
            board.started.store(now(), Relaxed);
            let gap = board.published.load(Acquire).saturating_sub(since);
            board.spun.store(false, Relaxed);
            board.done.store(last, Release);
            waiter.learn(gap, &waited);
            let from = board.from.load(Relaxed);
            if last > from {
                tally.add(gap, &waited, price);
            } else if last == from {
                (begun, used) = (thread_cpu(tid()), crate::machine::split());
            }
        }
    })
}

/// The dispatcher's side of one publication: stamps it, moves the epoch, wakes as the worker's way of sleeping demands.
pub fn publish(board: &Board, wake: &dyn Fn()) -> (u64, u32) {
    let at = now();
    board.published.store(at, Release);
    let epoch = board.epoch.fetch_add(1, SeqCst) + 1;
    wake();
    (at, epoch)
}

pub fn wake_sleeper(board: &Board) {
    if board.asleep.load(SeqCst) != 0 {
        futex_wake(&board.epoch);
    }
}
