//! Refreshes that wait, by name, by owner and by when they are due.
//!
//! Those with a service's stamp stand in the order of their stamps, apart from those with a local time: when the clocks are seen to be
//! further apart, all of the former move together, and nothing is done for any of them.
use std::sync::Arc;

use crate::batching_words::Time;
use crate::faults::Faults;
use crate::tables::{Map, Slab};

use shelf::merged;
pub use shelf::{Crowd, Shelf};

pub mod audit;
pub mod clock;
mod shelf;

pub const NOBODY: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub struct Waiter {
    pub id: Arc<str>,
    pub owner: Arc<str>,
    pub index: i64,
    /// The service's stamp.
    pub key: Option<i64>,
    /// A local time; it comes before the stamp.
    pub due: Option<Time>,
    pub seq: u64,
    /// It was due when it was asked for.
    pub late: bool,
    /// Times that it was asked for in vain.
    pub tries: u64,
    pub in_flight: bool,
    /// Its neighbours among the owner's, in order of `seq`.
    before: u32,
    after: u32,
}

/// A waiter of a request; not of it any more if its number is vacant, or another's.
pub type Ticket = (u32, u64);

/// What a branch asks for.
pub struct Asked {
    pub id: Arc<str>,
    pub owner: Arc<str>,
    pub index: i64,
    pub key: Option<i64>,
    pub due: Option<Time>,
}

#[derive(Clone, Debug)]
pub struct Refreshes {
    pub waiters: Slab<Waiter>,
    pub by_id: Map<Arc<str>, u32>,
    /// The first and the last of each owner's.
    pub by_owner: Map<Arc<str>, (u32, u32)>,
    pub stamped: Shelf,
    pub timed: Shelf,
    /// Local time to ask for what the service stamps 0. It stays while anybody is counted as due.
    shift: Time,
    /// Up to when waiters are counted as due: the last pump that found no request in flight.
    counted: Option<Time>,
    due: Crowd,
    pub asked: u64,
    /// Waiters and instants looked at so far.
    pub looked: u64,
    faults: Faults,
}

impl Refreshes {
    pub fn new(shift: Time, faults: Faults) -> Self {
        Refreshes {
            waiters: Slab::default(),
            by_id: Map::default(),
            by_owner: Map::default(),
            stamped: Shelf::default(),
            timed: Shelf::default(),
            shift,
            counted: None,
            due: Crowd::default(),
            asked: 0,
            looked: 0,
            faults,
        }
    }

    pub fn when(&self, waiter: &Waiter) -> Time {
        waiter.due.unwrap_or_else(|| Time::from(waiter.key.unwrap_or(0)) + self.shift)
    }

    pub fn set_shift(&mut self, shift: Time) {
        debug_assert!(self.counted.is_none() && self.due == Crowd::default());
        self.shift = shift;
    }

    /// Local time to ask for that stamp.
    pub fn at_stamp(&self, key: i64) -> Time {
        Time::from(key) + self.shift
    }

    pub fn is_empty(&self) -> bool {
        self.stamped.order.is_empty() && self.timed.order.is_empty()
    }

    /// A new waiter; was it due when it was asked for?
    pub fn ask(&mut self, asked: Asked, at: Time) -> bool {
        let Asked { id, owner, index, key, due } = asked;
        let before = self.by_owner.get(&owner).map_or(NOBODY, |ends| ends.1);
        let waiter = Waiter {
            id: id.clone(),
            owner: owner.clone(),
            index,
            key,
            due,
            seq: self.asked + 1,
            late: false,
            tries: 0,
            in_flight: false,
            before,
            after: NOBODY,
        };
        let late = self.when(&waiter) <= at;
        let slot = self.waiters.insert(Waiter { late, ..waiter });
        self.asked += 1;
        self.by_id.insert(id, slot);
        if before == NOBODY {
            self.by_owner.insert(owner, (slot, slot));
        } else {
            self.waiters[before].after = slot;
            self.by_owner.entry(owner).and_modify(|ends| ends.1 = slot);
        }
        self.shelve(slot);
        late
    }

    /// Not done yet: it waits again, until then.
    pub fn ask_again(&mut self, slot: u32, due: Time) {
        let waiter = &mut self.waiters[slot];
        (waiter.due, waiter.late, waiter.in_flight) = (Some(due), false, false);
        waiter.tries += 1;
        self.shelve(slot);
    }

    fn shelve(&mut self, slot: u32) {
        let waiter = &self.waiters[slot];
        let (seq, late) = (waiter.seq, waiter.late);
        match (waiter.due, waiter.key) {
            (None, Some(key)) => self.stamped.add(key.into(), seq, late, slot),
            (due, _) => self.timed.add(due.unwrap_or(0), seq, late, slot),
        }
        if self.is_counted(slot) {
            self.due.waiters += 1;
            self.due.late += u64::from(late);
        }
    }

    fn unshelve(&mut self, slot: u32) {
        let waiter = &self.waiters[slot];
        let (seq, late) = (waiter.seq, waiter.late);
        match (waiter.due, waiter.key) {
            (None, Some(key)) => self.stamped.take(key.into(), seq, late),
            (due, _) => self.timed.take(due.unwrap_or(0), seq, late),
        }
        if self.is_counted(slot) {
            self.due.waiters -= 1;
            self.due.late -= u64::from(late);
        }
    }

    fn is_counted(&self, slot: u32) -> bool {
        self.counted.is_some_and(|until| self.when(&self.waiters[slot]) <= until)
    }

    /// It waits no longer, wherever it is.
    pub fn remove(&mut self, slot: u32) -> Waiter {
        if !self.waiters[slot].in_flight {
            self.unshelve(slot);
        }
        let waiter = self.waiters.remove(slot);
        self.by_id.remove(&waiter.id);
        if waiter.before == NOBODY && waiter.after == NOBODY {
            self.by_owner.remove(&waiter.owner);
            if self.faults.on("owner_never_forgotten") {
                self.by_owner.insert(waiter.owner.clone(), (NOBODY, NOBODY));
            }
        } else if waiter.before == NOBODY {
            self.by_owner.entry(waiter.owner.clone()).and_modify(|ends| ends.0 = waiter.after);
        } else if waiter.after == NOBODY {
            self.by_owner.entry(waiter.owner.clone()).and_modify(|ends| ends.1 = waiter.before);
        }
        if waiter.before != NOBODY {
            self.waiters[waiter.before].after = waiter.after;
        }
        if waiter.after != NOBODY {
            self.waiters[waiter.after].before = waiter.before;
        }
        waiter
    }

    /// The first of an owner's, in order of `seq`.
    pub fn first_of(&self, owner: &str) -> Option<u32> {
        self.by_owner.get(owner).map(|ends| ends.0).filter(|&first| first != NOBODY)
    }

    /// The waiter of a ticket, unless it waits no longer.
    pub fn holder(&self, (slot, seq): Ticket) -> Option<&Waiter> {
        self.waiters.get(slot).filter(|waiter| waiter.seq == seq)
    }

    /// Those due by then. Every waiter is counted once, however often this is asked, until a request takes it.
    pub fn due(&mut self, at: Time) -> Crowd {
        let (from, shift) = (self.counted.map(|until| until + 1), self.shift);
        if from.is_none_or(|from| from <= at) {
            let count = |shelf: &Shelf, shift: Time| {
                let from = from.map_or(Time::MIN, |from| from - shift);
                let new = shelf.crowds.range(from..=at - shift);
                new.fold((Crowd::default(), 0), |(sum, n), (_, more)| {
                    (Crowd { waiters: sum.waiters + more.waiters, late: sum.late + more.late }, n + 1)
                })
            };
            for (more, instants) in [count(&self.stamped, shift), count(&self.timed, 0)] {
                self.due.waiters += more.waiters;
                self.due.late += more.late;
                self.looked += instants;
            }
            self.counted = Some(at);
        }
        self.due
    }

    /// When the earliest is due.
    pub fn earliest(&self) -> Option<Time> {
        let first = |shelf: &Shelf, shift: Time| shelf.crowds.first_key_value().map(|(time, _)| time + shift);
        first(&self.stamped, self.shift).into_iter().chain(first(&self.timed, 0)).min()
    }

    /// When the latest that is due by then became due.
    pub fn latest_due(&self, at: Time) -> Option<Time> {
        let last = |shelf: &Shelf, shift: Time| shelf.crowds.range(..=at - shift).next_back().map(|(time, _)| time + shift);
        last(&self.stamped, self.shift).max(last(&self.timed, 0))
    }

    /// The distinct instants after `at` and up to `until`, at most so many, with how many are due at each; none if the first is after `limit`.
    pub fn near(&mut self, at: Time, until: Time, most: usize, limit: Time, into: &mut Vec<(Time, Time)>) {
        into.clear();
        let until_first = until.min(limit);
        let any = |shelf: &Shelf, shift: Time| shelf.crowds.range(at + 1 - shift..=until_first - shift).next().is_some();
        if until_first <= at || !any(&self.stamped, self.shift) && !any(&self.timed, 0) {
            return;
        }
        let mut looked = 0;
        for (time, waiters) in merged(self.stamped.between(at, until, self.shift), self.timed.between(at, until, 0)) {
            let full = into.len() == most;
            looked += 1;
            match into.last_mut() {
                Some(last) if last.0 == time => last.1 += waiters,
                _ if full => break,
                _ => into.push((time, waiters)),
            }
        }
        self.looked += looked;
    }

    /// All that wait, in order of (when, seq).
    pub fn in_order(&self) -> impl Iterator<Item = (Time, u64, u32)> {
        merged(self.stamped.all(self.shift), self.timed.all(0))
    }

    /// A request takes those due by then, in order of (when, seq).
    pub fn board(&mut self, at: Time) -> Vec<Ticket> {
        let mut board = Vec::with_capacity(self.due.waiters as usize);
        loop {
            let head = |shelf: &Shelf, shift: Time| shelf.order.first_key_value().map(|(&(time, seq), &slot)| (time + shift, seq, slot));
            let heads = [head(&self.stamped, self.shift), head(&self.timed, 0)];
            let Some((when, seq, slot)) = heads.into_iter().flatten().min() else { break };
            if when > at {
                break;
            }
            self.looked += 1;
            self.unshelve(slot);
            self.waiters[slot].in_flight = true;
            board.push((slot, seq));
        }
        self.forget_count();
        board
    }

    /// Somebody who is gone stays counted as due. Only a fault does so.
    pub fn count_for_ever(&mut self) {
        self.due.waiters += u64::from(self.counted.is_some());
    }

    /// A request is in flight: nobody is counted until the next pump that finds none.
    fn forget_count(&mut self) {
        (self.counted, self.due) = (None, Crowd::default());
    }

    /// Nobody waits any longer. Answers all that were not in flight, in order of (when, seq).
    pub fn clear_waiting(&mut self) -> Vec<Waiter> {
        let all: Vec<u32> = self.in_order().map(|(_, _, slot)| slot).collect();
        all.into_iter().map(|slot| self.remove(slot)).collect()
    }
}
