//! The shared words of a model's pool: plain cells, for one step after another.
use std::cell::{Cell, RefCell};

use crate::spin::{CALLS, Call, Counter, Memory, Slot};
use crate::spin_window::Seams;

#[derive(Clone, Debug, Default)]
pub struct SlotCells {
    pub claim: Cell<i64>,
    pub remaining: Cell<u32>,
    pub panicked: Cell<bool>,
    pub published_at: Cell<u64>,
}

#[derive(Clone, Debug)]
pub struct Cells {
    shutdown: Cell<bool>,
    epoch: Cell<u32>,
    ready: Cell<u32>,
    active: Cell<u32>,
    free: Cell<u32>,
    pub slots: Vec<SlotCells>,
    pub counters: [Cell<u64>; Counter::ALL.len()],
    /// Workers that are parked, as they parked.
    pub sleepers: RefCell<Vec<usize>>,
    /// By the place of their epoch.
    pub calls: Cell<[Option<Call>; CALLS]>,
    /// Whom the last wake woke.
    pub woken: RefCell<Vec<usize>>,
}

impl Cells {
    pub fn new(slots: u32, ready: u32) -> Self {
        Cells {
            shutdown: Cell::default(),
            epoch: Cell::default(),
            ready: Cell::new(ready),
            active: Cell::default(),
            free: Cell::new(u32::MAX >> (32 - slots)),
            slots: vec![SlotCells::default(); slots as usize],
            counters: Default::default(),
            sleepers: RefCell::default(),
            calls: Cell::default(),
            woken: RefCell::default(),
        }
    }

    /// Slots that somebody holds.
    pub fn taken(&self) -> u32 {
        !self.free.get() & (u32::MAX >> (32 - self.slots.len() as u32))
    }

    /// Its wait returns though nobody woke it; was it parked?
    pub fn stir(&self, worker: usize) -> bool {
        let mut sleepers = self.sleepers.borrow_mut();
        let before = sleepers.len();
        sleepers.retain(|&sleeper| sleeper != worker);
        sleepers.len() < before
    }
}

impl Memory for Cells {
    fn shutdown(&self) -> bool {
        self.shutdown.get()
    }
    fn set_shutdown(&self) {
        self.shutdown.set(true);
    }
    fn epoch(&self) -> u32 {
        self.epoch.get()
    }
    fn bump_epoch(&self) -> u32 {
        self.epoch.set(self.epoch.get().wrapping_add(1));
        self.epoch.get()
    }
    fn active(&self) -> u32 {
        self.active.get()
    }
    fn activate(&self, slot: Slot) {
        self.active.set(self.active.get() | 1 << slot);
    }
    fn deactivate(&self, slot: Slot) {
        self.active.set(self.active.get() & !(1 << slot));
    }
    fn claim(&self, slot: Slot) -> i64 {
        self.slots[slot].claim.get()
    }
    fn take(&self, slot: Slot) -> i64 {
        self.slots[slot].claim.replace(self.claim(slot) - 1)
    }
    fn set_claim(&self, slot: Slot, tasks: i64) {
        self.slots[slot].claim.set(tasks);
    }
    fn remaining(&self, slot: Slot) -> u32 {
        self.slots[slot].remaining.get()
    }
    fn settle(&self, slot: Slot) -> u32 {
        self.set_remaining(slot, self.remaining(slot).wrapping_sub(1));
        self.remaining(slot)
    }
    fn set_remaining(&self, slot: Slot, tasks: u32) {
        self.slots[slot].remaining.set(tasks);
    }
    fn stamp(&self, slot: Slot, at: u64) {
        self.slots[slot].published_at.set(at);
    }
    fn published_at(&self, slot: Slot) -> u64 {
        self.slots[slot].published_at.get()
    }
    fn panicked(&self, slot: Slot) -> bool {
        self.slots[slot].panicked.get()
    }
    fn set_panicked(&self, slot: Slot, panicked: bool) {
        self.slots[slot].panicked.set(panicked);
    }
    fn take_free(&self, from: Slot) -> Option<Slot> {
        let free = self.free.get();
        let above = free & (u32::MAX << from);
        let slot = if above == 0 { free } else { above }.trailing_zeros();
        self.free.set(free & !1u32.checked_shl(slot)?);
        Some(slot as Slot)
    }
    fn give_free(&self, slot: Slot) {
        self.free.set(self.free.get() | 1 << slot);
    }
    fn announce(&self) -> u32 {
        self.ready.set(self.ready.get() + 1);
        self.ready.get()
    }
    fn ready(&self) -> u32 {
        self.ready.get()
    }
    fn count(&self, counter: Counter, more: u64) {
        let cell = &self.counters[counter as usize];
        cell.set(cell.get() + more);
    }
    fn park(&self, worker: usize, expected: u32) -> bool {
        let sleeps = self.epoch() == expected;
        if sleeps {
            self.sleepers.borrow_mut().push(worker);
        }
        sleeps
    }
    fn is_parked(&self, worker: usize) -> bool {
        self.sleepers.borrow().contains(&worker)
    }
    fn called_at(&self, epoch: u32) -> Option<u64> {
        self.calls.get()[epoch as usize % CALLS].filter(|call| call.0 == epoch).map(|call| call.1)
    }
    fn wake(&self, most: Option<u32>, call: Option<Call>) -> u32 {
        let (mut sleepers, mut woken) = (self.sleepers.borrow_mut(), self.woken.borrow_mut());
        let number = most.map_or(sleepers.len(), |most| sleepers.len().min(most as usize));
        if let Some(call) = call.filter(|_| number > 0) {
            let mut calls = self.calls.get();
            calls[call.0 as usize % CALLS] = Some(call);
            self.calls.set(calls);
        }
        woken.clear();
        woken.extend(sleepers.drain(..number));
        number as u32
    }
}

/// The pool as one command sees it: the clock stands still. What is passed is counted.
pub struct Standing<'a> {
    pub cells: &'a Cells,
    pub at: u64,
    pub pauses: Cell<u64>,
    pub yields: Cell<u64>,
}

impl<'a> Standing<'a> {
    pub fn new(cells: &'a Cells, at: u64) -> Self {
        Standing { cells, at, pauses: Cell::default(), yields: Cell::default() }
    }
}

impl Seams for Standing<'_> {
    fn shutdown(&self) -> bool {
        self.cells.shutdown.get()
    }
    fn epoch(&self) -> u32 {
        self.cells.epoch.get()
    }
    fn clock(&self) -> u64 {
        self.at
    }
    fn pause(&self) {
        self.pauses.set(self.pauses.get() + 1);
    }
    fn yield_now(&self) {
        self.yields.set(self.yields.get() + 1);
    }
}
