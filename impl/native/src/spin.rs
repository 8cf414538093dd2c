//! The threads of a fan-out pool as machines of single steps: a worker, a dispatcher, the barrier of the builder.
//!
//! A machine owns nothing that is shared: what it shares, it reads and writes through a `Memory`, one atomic access a method. The model
//! of a trace implements `Memory` over cells, the pool over atomics: both run these very machines.
use crate::faults::Faults;
use crate::spin_window::Shape;
use crate::spin_words::{Profile, Setup};

pub use barrier::Barrier;
pub use did::{Counter, Decline, Did, Idle};
pub use dispatcher::Dispatcher;
pub use worker::Worker;

pub mod barrier;
mod did;
pub mod dispatcher;
pub mod scan;
pub mod worker;

pub type Slot = usize;

/// The shared words of a pool. Each method is exactly one atomic access (`take_free` and `park` as said there), with the ordering named:
/// it is the implementor's to keep. Slots are numbered from 0 to 31, workers from 0.
pub trait Memory {
    /// Relaxed load: the epoch moves with it, and a parked worker is woken for it.
    fn shutdown(&self) -> bool;
    /// Store; release.
    fn set_shutdown(&self);

    /// Acquire load: what was published before the epoch moved is seen by whoever sees it move.
    fn epoch(&self) -> u32;
    /// Add 1, wrapping, release; the epoch after it. Comes after `activate`, before `wake`.
    fn bump_epoch(&self) -> u32;

    /// The slots that are published; acquire load.
    fn active(&self) -> u32;
    /// Or the slot's bit; release: whoever sees the bit sees remaining, stamp, claim and the job.
    fn activate(&self, slot: Slot);
    /// And the slot's bit away; release.
    fn deactivate(&self, slot: Slot);

    /// Acquire load.
    fn claim(&self, slot: Slot) -> i64;
    /// Subtract 1, acquire; the claim before it. Who gets 1 or more owns the task of that number less 1, and proves that the fan-out lives.
    fn take(&self, slot: Slot) -> i64;
    /// Store, release: absolute, so that what losing claimants took away is not carried on.
    fn set_claim(&self, slot: Slot, tasks: i64);

    /// Tasks not settled; acquire load: who sees 0 sees everything that the tasks did.
    fn remaining(&self, slot: Slot) -> u32;
    /// Subtract 1, acquire and release; what remains after it. Comes after the counters of the task.
    fn settle(&self, slot: Slot) -> u32;
    /// Store, relaxed: `set_claim` publishes it.
    fn set_remaining(&self, slot: Slot, tasks: u32);

    /// When it was published; relaxed store: `set_claim` publishes it.
    fn stamp(&self, slot: Slot, at: u64);
    /// Relaxed load, only by whoever owns a task of the slot.
    fn published_at(&self, slot: Slot) -> u64;

    /// Did a task panic? Relaxed load, after `remaining` was seen to be 0.
    fn panicked(&self, slot: Slot) -> bool;
    /// Relaxed store: `settle` publishes it, or `set_claim`.
    fn set_panicked(&self, slot: Slot, panicked: bool);

    /// Take the lowest free slot at or after this one, wrapping; none if all are taken. One successful compare-and-swap, acquire.
    fn take_free(&self, from: Slot) -> Option<Slot>;
    /// Give a slot back; release.
    fn give_free(&self, slot: Slot);

    /// One worker more is ready: add 1, release; how many there are now.
    fn announce(&self) -> u32;
    /// Acquire load.
    fn ready(&self) -> u32;

    /// Relaxed add.
    fn count(&self, counter: Counter, more: u64);

    /// Sleep while the epoch is `expected`, which is compared when the worker is known to be a sleeper: no wake after that is lost. Did it sleep?
    /// A thread returns when it is woken, for whatever reason; a model at once, and then `is_parked` says whether the worker sleeps on.
    fn park(&self, worker: usize, expected: u32) -> bool;
    /// Only a model's worker steps while it is parked.
    fn is_parked(&self, _worker: usize) -> bool {
        false
    }
    /// Wake so many sleepers at most, those that parked first first; all, if None. How many there were. If there are any, first the call is
    /// noted, if there is one: the publication's epoch and stamp, at the place of its epoch.
    fn wake(&self, most: Option<u32>, call: Option<Call>) -> u32;
    /// What is noted at the place of the epoch, if it is of that epoch.
    fn called_at(&self, epoch: u32) -> Option<u64>;
}

/// Calls that are noted, each at the place of its epoch.
pub const CALLS: usize = 16;

/// A publication that wakes somebody: its epoch, and when it was.
pub type Call = (u32, u64);

/// When the first call after the epoch `last` was published, of those that are still noted.
pub fn first_call(memory: &impl Memory, last: u32) -> Option<u64> {
    let epoch = memory.epoch();
    let behind = epoch.wrapping_sub(last).min(CALLS as u32);
    (0..behind).rev().find_map(|back| memory.called_at(epoch.wrapping_sub(back)))
}

/// What all machines of a pool know.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub shape: Shape,
    pub workers: u32,
    pub slots: u32,
    pub straggler_stride: u32,
    pub ready_within: u64,
    pub barrier_unbounded: bool,
    pub wakes_all: bool,
    pub empty_catch_counts: bool,
    faults: Faults,
}

impl Terms {
    pub fn new(profile: &Profile, setup: &Setup, faults: Faults) -> Self {
        Terms {
            shape: Shape::new(profile, faults),
            workers: setup.workers() as u32,
            slots: profile.slots as u32,
            straggler_stride: profile.straggler_stride as u32,
            ready_within: profile.ready_within as u64,
            barrier_unbounded: profile.barrier_unbounded,
            wakes_all: profile.wakes_all,
            empty_catch_counts: profile.empty_catch_counts,
            faults,
        }
    }

    /// Is something left to claim there? Looking changes nothing (SPN).
    #[inline]
    fn look(&self, memory: &impl Memory, slot: Slot) -> bool {
        memory.claim(slot) >= 1 || self.faults.on("claim_not_looked_at_before")
    }

    /// Take a task: its index, if there was one.
    #[inline]
    fn take(&self, memory: &impl Memory, slot: Slot) -> Option<u32> {
        let left = memory.take(slot);
        let least = i64::from(!self.faults.on("claim_of_none_is_a_task"));
        (left >= least).then(|| (left - 1).max(0) as u32)
    }

    /// A task is over. It is counted before it is settled: a snapshot after the fan-out misses none.
    #[inline]
    fn end(&self, memory: &impl Memory, slot: Slot, panics: bool) -> Did {
        if self.faults.on("settled_before_it_is_counted") {
            memory.settle(slot);
        } else {
            memory.count(Counter::Tasks, 1);
        }
        if panics {
            memory.count(Counter::Panics, 1);
            memory.set_panicked(slot, true);
        }
        Did::Ended(slot)
    }

    #[inline]
    fn settle(&self, memory: &impl Memory, slot: Slot) -> u32 {
        if self.faults.on("settled_before_it_is_counted") {
            memory.count(Counter::Tasks, 1);
            return memory.remaining(slot);
        }
        memory.settle(slot)
    }
}

/// The pool ends: the flag, the epoch, and a wake for all. The epoch is the answer; a fan-out under way goes on.
pub fn shut_down(memory: &impl Memory) -> u32 {
    memory.set_shutdown();
    let epoch = memory.bump_epoch();
    memory.wake(None, None);
    epoch
}
