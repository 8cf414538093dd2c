//! The slots of a pool, and the lending of a borrowed callable to threads that outlive the borrow: the only unsafe code of the pool.
//!
//! **Why it is safe.** A thread calls the callable only with a `Ticket`, and only `Slots::take` makes tickets, one for each value of the claim
//! from `total` to 1. The claim is above 0 only after `Loan::set_claim`, which can be done once for each time that the slot is held, with the
//! number that `remaining` was set to before. Only `Ticket::settle` lowers `remaining`, by one, and the ticket is gone with it. So while a
//! ticket is out, or can still be made, `remaining` is above 0; and `lend`, inside which the borrow lives, does not end while it is: it
//! ends the process sooner. The borrow therefore outlives every call. Nothing here trusts the machines that drive it, or the caller.
//!
//! What is written for a fan-out (the callable, the stamp) is written before the release of the claim, and read after the acquire of `take`;
//! it is written again only by a later holder, who has seen `remaining` at 0, hence after every settled ticket's reads.
#![allow(unsafe_code)]
use std::cell::Cell;
use std::mem;

#[cfg(loom)]
use crate::spin_loom::Break;
use crate::spin_sync::{Apart, AtomicBool, AtomicI64, AtomicU32, Ordering, Plain, UnsafeCell};

/// What a fan-out runs, for each number below its total.
pub type Job<'a> = dyn Fn(usize) + Sync + 'a;

#[derive(Debug)]
struct Slot {
    claim: Apart<AtomicI64>,
    remaining: Apart<AtomicU32>,
    panicked: AtomicBool,
    stamp: Plain,
    job: UnsafeCell<Option<*const Job<'static>>>,
    #[cfg(loom)]
    broken: Break,
}

// SAFETY: `job` is a pointer to what is `Sync`, written by the slot's holder alone while no ticket is out, and read with a ticket (see above).
unsafe impl Send for Slot {}
// SAFETY: the same.
unsafe impl Sync for Slot {}

/// The slots, each for one fan-out at a time.
#[derive(Debug)]
pub struct Slots {
    free: Apart<AtomicU32>,
    slots: Box<[Slot]>,
}

/// One task of a fan-out that has not been settled: the proof that the fan-out lives.
#[derive(Debug)]
pub struct Ticket<'s> {
    slot: &'s Slot,
    index: u32,
}

/// A callable that is lent, and the slot that it is lent through once there is one.
pub struct Loan<'s> {
    slots: &'s Slots,
    job: *const Job<'static>,
    held: Cell<Option<usize>>,
    total: Cell<u32>,
    offered: Cell<bool>,
}

impl Slots {
    /// So many slots, 1 to 32.
    pub fn new(number: u32, #[cfg(loom)] broken: Break) -> Self {
        assert!((1..=32).contains(&number), "slots must be 1 to 32, found {number}");
        let slot = |_| Slot {
            claim: Apart(AtomicI64::new(0)),
            remaining: Apart(AtomicU32::new(0)),
            panicked: AtomicBool::new(false),
            stamp: Plain::new(0),
            job: UnsafeCell::new(None),
            #[cfg(loom)]
            broken,
        };
        Slots { free: Apart(AtomicU32::new(u32::MAX >> (32 - number))), slots: (0..number).map(slot).collect() }
    }

    #[inline(always)]
    pub fn claim(&self, slot: usize) -> i64 {
        self.slots[slot].claim.load(Ordering::Acquire)
    }

    /// Lower the claim; what it was, and the ticket of a task if it was 1 or more.
    #[inline(always)]
    pub fn take(&self, slot: usize) -> (i64, Option<Ticket<'_>>) {
        let slot = &self.slots[slot];
        let left = slot.claim.fetch_sub(1, Ordering::Acquire);
        (left, (left > 0).then(|| Ticket { slot, index: (left - 1) as u32 }))
    }

    #[inline(always)]
    pub fn remaining(&self, slot: usize) -> u32 {
        self.slots[slot].remaining.load(Ordering::Acquire)
    }

    #[inline(always)]
    pub fn published_at(&self, slot: usize) -> u64 {
        self.slots[slot].stamp.load()
    }

    #[inline(always)]
    pub fn panicked(&self, slot: usize) -> bool {
        self.slots[slot].panicked.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub fn set_panicked(&self, slot: usize, panicked: bool) {
        self.slots[slot].panicked.store(panicked, Ordering::Relaxed);
    }

    /// Lend `job` through a slot while `body` runs. Does not return, nor unwind, while a thread may still call it: the process ends sooner.
    pub fn lend<R>(&self, job: &Job<'_>, body: impl FnOnce(&Loan<'_>) -> R) -> R {
        // SAFETY: only the lifetime changes. The pointer is read with a ticket only, and no ticket outlives this call (see above).
        let job = unsafe { mem::transmute::<*const Job<'_>, *const Job<'static>>(job) };
        let loan = Loan { slots: self, job, held: Cell::new(None), total: Cell::new(0), offered: Cell::new(false) };
        let end = End(&loan);
        let result = body(end.0);
        drop(end);
        result
    }
}

impl Ticket<'_> {
    /// Run the task.
    #[inline(always)]
    pub fn run(&self) {
        // SAFETY: the ticket was made by an acquire of the claim that was released after the pointer was written, and nobody writes it while
        // the ticket is out.
        let job = self.slot.job.with(|job| unsafe { *job });
        let job = job.expect("a claim is offered after its callable");
        // SAFETY: while the ticket is out, `lend` has not returned, and the borrow that it was given is alive.
        (unsafe { &*job })(self.index as usize);
    }

    /// The task is done, or given up; how many remain.
    #[inline(always)]
    pub fn settle(self) -> u32 {
        #[cfg(loom)]
        if self.slot.broken == Break::RelaxedSettle {
            return self.slot.remaining.fetch_sub(1, Ordering::Relaxed) - 1;
        }
        self.slot.remaining.fetch_sub(1, Ordering::AcqRel) - 1
    }
}

impl Loan<'_> {
    fn slot(&self) -> &Slot {
        &self.slots.slots[self.held.get().expect("a slot is held")]
    }

    /// Hold the lowest free slot at or after this one, wrapping; none if all are taken.
    pub fn take_free(&self, from: usize) -> Option<usize> {
        assert_eq!(self.held.get(), None, "one slot holds the callable already");
        let mut free = self.slots.free.load(Ordering::Relaxed);
        loop {
            let after = free & u32::MAX.checked_shl(from as u32).unwrap_or(0);
            let bits = if after == 0 { free } else { after };
            if bits == 0 {
                return None;
            }
            let slot = bits.trailing_zeros();
            match self.slots.free.compare_exchange_weak(free, free & !(1 << slot), Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => {
                    self.held.set(Some(slot as usize));
                    return Some(slot as usize);
                }
                Err(now) => free = now,
            }
        }
    }

    pub fn set_remaining(&self, tasks: u32) {
        assert!(!self.offered.get(), "the tasks are offered already");
        self.slot().remaining.store(tasks, Ordering::Relaxed);
        self.total.set(tasks);
    }

    pub fn stamp(&self, at: u64) {
        self.slot().stamp.store(at);
    }

    /// Offer as many tasks as remain, once; or, with 0, no more.
    pub fn set_claim(&self, tasks: i64) {
        let slot = self.slot();
        if tasks > 0 {
            assert!(!self.offered.replace(true) && tasks == i64::from(self.total.get()), "what remains is offered, and once");
            // SAFETY: the slot is held, and has not been offered since: no ticket is out, nobody else reads or writes the pointer.
            slot.job.with_mut(|job| unsafe { *job = Some(self.job) });
        }
        #[cfg(not(loom))]
        slot.claim.store(tasks, Ordering::Release);
        // A model keeps stores in one order with what is read and written at once only if they are of that kind, too; the standard does.
        #[cfg(loom)]
        match slot.broken {
            Break::IncrementalClaim => slot.claim.fetch_add(tasks, Ordering::Release), // with what losing claimants took away
            Break::RelaxedClaim => slot.claim.swap(tasks, Ordering::Relaxed),
            _ => slot.claim.swap(tasks, Ordering::Release),
        };
    }

    /// The slot that is held.
    pub fn held(&self) -> Option<usize> {
        self.held.get()
    }

    /// Give the slot back, when nothing remains.
    pub fn give_free(&self) {
        let slot = self.held.get().expect("a slot is held");
        assert!(self.is_over(), "tasks remain");
        self.offered.set(false);
        self.held.set(None);
        self.slots.free.fetch_or(1 << slot, Ordering::Release);
    }

    fn is_over(&self) -> bool {
        !self.offered.get() || self.slot().remaining.load(Ordering::Acquire) == 0
    }
}

struct End<'l, 's>(&'l Loan<'s>);

impl Drop for End<'_, '_> {
    fn drop(&mut self) {
        if !self.0.is_over() {
            #[cfg(not(loom))] // a model that has failed unwinds: no thread of it runs any more
            std::process::abort();
        }
    }
}
