//! The words that a pool's threads share, and each thread's hands on them: `Memory` and `Seams` over atomics and a real clock.
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex as Lock, PoisonError};
#[cfg(not(loom))]
use std::time::Instant;

use crate::spin::{CALLS, Call, Counter, Memory, Slot, Terms};
use crate::spin_futex::{Epoch, Waited};
#[cfg(loom)]
use crate::spin_loom::Break;
use crate::spin_slot::{Loan, Slots, Ticket};
use crate::spin_sync::{Apart, AtomicBool, AtomicU32, Ordering, Plain, fence, pause, thread};
#[cfg(not(loom))]
use crate::spin_time::{State, Times};
use crate::spin_window::Seams;

pub const COUNTERS: usize = Counter::ALL.len();
/// What a task panicked with.
pub type Payload = Box<dyn std::any::Any + Send>;

#[cfg(not(loom))]
thread_local! {
    /// The pool whose task the thread runs, by its address; 0: none.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

/// What one thread has counted; the last row is that of all dispatchers.
#[derive(Debug, Default)]
struct Tally([Plain; COUNTERS]);

/// What a worker shows of itself.
#[derive(Debug, Default)]
pub struct Face {
    /// The window that it would spin now.
    pub window: Plain,
    /// The kernel's number of its thread; 0 before it is known.
    pub thread: Plain,
    #[cfg(not(loom))]
    pub times: Times,
}

#[derive(Debug)]
pub struct Shared {
    slots: Slots,
    active: Apart<AtomicU32>,
    epoch: Apart<Epoch>,
    /// Workers that are parked, or about to be, or just woken.
    sleepers: Apart<AtomicU32>,
    shutdown: Apart<AtomicBool>,
    ready: AtomicU32,
    /// By the place of its epoch: the epoch plus 1, and the stamp. Whoever reads one while it is written learns a little wrongly, once.
    calls: [(Plain, Plain); CALLS],
    tallies: Box<[Apart<Tally>]>,
    pub faces: Box<[Apart<Face>]>,
    payloads: Box<[Lock<Option<Payload>>]>,
    #[cfg(not(loom))]
    start: Instant,
    #[cfg(loom)]
    pub broken: Break,
}

impl Shared {
    pub fn new(terms: &Terms, workers: usize, #[cfg(loom)] broken: Break) -> Self {
        Shared {
            slots: Slots::new(
                terms.slots,
                #[cfg(loom)]
                broken,
            ),
            active: Apart(AtomicU32::new(0)),
            epoch: Apart(Epoch::new()),
            sleepers: Apart(AtomicU32::new(0)),
            shutdown: Apart(AtomicBool::new(false)),
            ready: AtomicU32::new(0),
            calls: Default::default(),
            tallies: (0..=workers).map(|_| Apart::default()).collect(),
            faces: (0..workers).map(|_| Apart::default()).collect(),
            payloads: (0..terms.slots).map(|_| Lock::default()).collect(),
            #[cfg(not(loom))]
            start: Instant::now(),
            #[cfg(loom)]
            broken,
        }
    }

    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// What has been counted, in the order of `Counter`.
    pub fn counters(&self) -> [u64; COUNTERS] {
        std::array::from_fn(|counter| self.tallies.iter().map(|tally| tally.0.0[counter].load()).sum())
    }

    /// The same of one worker.
    pub fn counted_by(&self, worker: usize, counter: Counter) -> u64 {
        self.tallies[worker].0.0[counter as usize].load()
    }

    pub fn is_shut_down(&self) -> bool {
        self.shutdown.load(Ordering::Relaxed)
    }

    /// Is the thread inside a task of this pool?
    pub fn is_inside(&self) -> bool {
        #[cfg(not(loom))]
        return INSIDE.get() == self.address();
        #[cfg(loom)]
        false
    }

    #[cfg(not(loom))]
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    pub fn hands(&self) -> Hands<'_> {
        Hands::new(self, self.faces.len(), None, None)
    }

    pub fn worker(&self, number: usize) -> Hands<'_> {
        Hands::new(self, number, None, None)
    }
}

/// One thread's hands on a pool. A worker's number, or the number of workers for all others.
pub struct Hands<'p> {
    shared: &'p Shared,
    number: usize,
    loan: Option<&'p Loan<'p>>,
    /// Called now and then while the dispatcher waits for stragglers.
    meanwhile: Option<&'p dyn Fn()>,
    ticket: Cell<Option<Ticket<'p>>>,
    payload: Cell<Option<Payload>>,
    #[cfg(loom)]
    ticks: Cell<u64>,
    #[cfg(loom)]
    early: Cell<u32>,
}

impl<'p> Hands<'p> {
    pub fn new(shared: &'p Shared, number: usize, loan: Option<&'p Loan<'p>>, meanwhile: Option<&'p dyn Fn()>) -> Self {
        Hands {
            shared,
            number,
            loan,
            meanwhile,
            ticket: Cell::new(None),
            payload: Cell::new(None),
            #[cfg(loom)]
            ticks: Cell::new(0),
            #[cfg(loom)]
            early: Cell::new(0),
        }
    }

    fn loan(&self) -> &'p Loan<'p> {
        self.loan.expect("only a dispatcher holds a slot")
    }

    /// Run the task that was taken. Did it panic? The first panic of a fan-out is kept for its dispatcher.
    #[inline]
    pub fn run(&self, slot: Slot) -> bool {
        let ticket = self.ticket.take().expect("a task was taken");
        #[cfg(not(loom))]
        let outside = INSIDE.replace(self.shared.address());
        let result = guarded(|| ticket.run());
        #[cfg(not(loom))]
        INSIDE.set(outside);
        self.ticket.set(Some(ticket));
        let Err(payload) = result else { return false };
        let mut kept = self.shared.payloads[slot].lock().unwrap_or_else(PoisonError::into_inner);
        let late = if kept.is_some() { Some(payload) } else { kept.replace(payload) };
        drop(kept);
        discard(late);
        true
    }

    /// What the first panic of the fan-out was raised with.
    pub fn payload(&self) -> Option<Payload> {
        self.payload.take()
    }
}

/// Run what may panic. A model's own panics pass: they say that the model failed.
#[inline]
pub fn guarded(run: impl FnOnce()) -> Result<(), Payload> {
    #[cfg(not(loom))]
    return catch_unwind(AssertUnwindSafe(run));
    #[cfg(loom)]
    {
        run();
        Ok(())
    }
}

/// Drop a payload, whose own drop may panic: that must not cost a worker.
pub fn discard(payload: Option<Payload>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
}

impl Memory for Hands<'_> {
    #[inline(always)]
    fn shutdown(&self) -> bool {
        self.shared.shutdown.load(Ordering::Relaxed)
    }

    fn set_shutdown(&self) {
        self.shared.shutdown.store(true, Ordering::Release);
    }

    #[inline(always)]
    fn epoch(&self) -> u32 {
        self.shared.epoch.load()
    }

    #[inline(always)]
    fn bump_epoch(&self) -> u32 {
        #[cfg(loom)]
        self.early.set(self.shared.sleepers.load(Ordering::Relaxed));
        let epoch = self.shared.epoch.bump();
        #[cfg(loom)]
        if self.shared.broken == Break::EpochBeforeActive {
            let slot = self.loan.and_then(Loan::held);
            self.shared.active.fetch_or(slot.map_or(0, |slot| 1 << slot), Ordering::Release);
        }
        epoch
    }

    #[inline(always)]
    fn active(&self) -> u32 {
        self.shared.active.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn activate(&self, slot: Slot) {
        #[cfg(loom)]
        if self.shared.broken == Break::EpochBeforeActive {
            return;
        }
        self.shared.active.fetch_or(1 << slot, Ordering::Release);
    }

    #[inline(always)]
    fn deactivate(&self, slot: Slot) {
        self.shared.active.fetch_and(!(1 << slot), Ordering::Release);
    }

    #[inline(always)]
    fn claim(&self, slot: Slot) -> i64 {
        #[cfg(loom)]
        if self.shared.broken == Break::NoPreCheck && self.loan.is_none() {
            return 1;
        }
        self.shared.slots.claim(slot)
    }

    #[inline(always)]
    fn take(&self, slot: Slot) -> i64 {
        let (left, ticket) = self.shared.slots.take(slot);
        self.ticket.set(ticket);
        left
    }

    #[inline(always)]
    fn set_claim(&self, _slot: Slot, tasks: i64) {
        #[cfg(loom)]
        if tasks == 0 && self.shared.broken != Break::IncrementalClaim {
            let least = -(self.shared.faces.len() as i64);
            assert!(self.shared.slots.claim(_slot) >= least, "each participant loses at most once");
        }
        self.loan().set_claim(tasks);
    }

    #[inline(always)]
    fn remaining(&self, slot: Slot) -> u32 {
        self.shared.slots.remaining(slot)
    }

    #[inline(always)]
    fn settle(&self, _slot: Slot) -> u32 {
        self.ticket.take().expect("a task was taken").settle()
    }

    #[inline(always)]
    fn set_remaining(&self, _slot: Slot, tasks: u32) {
        self.loan().set_remaining(tasks);
    }

    #[inline(always)]
    fn stamp(&self, _slot: Slot, at: u64) {
        self.loan().stamp(at);
    }

    #[inline(always)]
    fn published_at(&self, slot: Slot) -> u64 {
        self.shared.slots.published_at(slot)
    }

    #[inline(always)]
    fn panicked(&self, slot: Slot) -> bool {
        self.shared.slots.panicked(slot)
    }

    #[inline(always)]
    fn set_panicked(&self, slot: Slot, panicked: bool) {
        self.shared.slots.set_panicked(slot, panicked);
    }

    #[inline(always)]
    fn take_free(&self, from: Slot) -> Option<Slot> {
        self.loan().take_free(from)
    }

    #[inline(always)]
    fn give_free(&self, slot: Slot) {
        if self.shared.slots.panicked(slot) {
            self.payload.set(self.shared.payloads[slot].lock().unwrap_or_else(PoisonError::into_inner).take());
        }
        self.loan().give_free();
    }

    fn announce(&self) -> u32 {
        self.shared.ready.fetch_add(1, Ordering::Release) + 1
    }

    fn ready(&self) -> u32 {
        self.shared.ready.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn count(&self, counter: Counter, more: u64) {
        let count = &self.shared.tallies[self.number].0.0[counter as usize];
        if self.number < self.shared.faces.len() {
            count.store(count.load() + more); // nobody else writes a worker's row
        } else {
            count.add(more);
        }
    }

    /// First it is known to be a sleeper, then the epoch is compared; `wake` moves the epoch first, then looks for sleepers. Between each
    /// two is a fence of the one order that all agree on: either the worker sees the epoch moved, or it is seen.
    fn park(&self, _worker: usize, expected: u32) -> bool {
        self.shared.sleepers.fetch_add(1, Ordering::Relaxed);
        #[cfg(loom)]
        if self.shared.broken != Break::NoFence {
            fence(Ordering::SeqCst);
        }
        #[cfg(not(loom))]
        fence(Ordering::SeqCst);
        #[cfg(loom)]
        let waited = self.shared.epoch.wait(expected, self.shared.broken == Break::NoReCheck);
        #[cfg(not(loom))]
        let waited = self.shared.epoch.wait(expected);
        self.shared.sleepers.fetch_sub(1, Ordering::Relaxed);
        waited == Waited::Parked
    }

    fn called_at(&self, epoch: u32) -> Option<u64> {
        let (of, at) = &self.shared.calls[epoch as usize % CALLS];
        (of.load() == u64::from(epoch) + 1).then(|| at.load())
    }

    #[inline(always)]
    fn wake(&self, most: Option<u32>, call: Option<Call>) -> u32 {
        fence(Ordering::SeqCst);
        let sleepers = self.shared.sleepers.load(Ordering::Relaxed);
        #[cfg(loom)]
        let sleepers = if self.shared.broken == Break::SleepersBeforeEpoch { self.early.get() } else { sleepers };
        match most.map_or(sleepers, |most| sleepers.min(most)) {
            0 => 0,
            some => {
                if let Some((epoch, at)) = call {
                    let place = &self.shared.calls[epoch as usize % CALLS];
                    place.1.store(at);
                    place.0.store(u64::from(epoch) + 1);
                }
                self.shared.epoch.wake(some)
            }
        }
    }
}

impl Seams for Hands<'_> {
    #[inline(always)]
    fn shutdown(&self) -> bool {
        Memory::shutdown(self)
    }

    #[inline(always)]
    fn epoch(&self) -> u32 {
        self.shared.epoch.load()
    }

    #[cfg(not(loom))]
    #[inline(always)]
    fn clock(&self) -> u64 {
        self.shared.start.elapsed().as_nanos() as u64
    }

    /// A model's clock moves on by one when it is read.
    #[cfg(loom)]
    fn clock(&self) -> u64 {
        self.ticks.set(self.ticks.get() + 1);
        self.ticks.get()
    }

    #[inline(always)]
    fn pause(&self) {
        #[cfg(loom)]
        if self.number < self.shared.faces.len() {
            return; // its windows end by themselves: another thread need not go first
        }
        pause();
    }

    fn yield_now(&self) {
        #[cfg(loom)]
        if self.number < self.shared.faces.len() {
            return;
        }
        #[cfg(not(loom))]
        if let Some(face) = self.shared.faces.get(self.number) {
            face.times.turn_to(State::Yield, self.clock());
            thread::yield_now();
            return face.times.turn_to(State::Spin, self.clock());
        }
        thread::yield_now();
        if let Some(meanwhile) = self.meanwhile {
            meanwhile();
        }
    }
}
