//! Waiters in order of a time, with the crowds of each instant.
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::iter::Peekable;

use crate::batching_words::Time;

/// How many are due at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crowd {
    pub waiters: u64,
    pub late: u64,
}

/// Waiters in order of a time and then of `seq`, and how many there are of each time.
#[derive(Clone, Debug, Default)]
pub struct Shelf {
    pub order: BTreeMap<(Time, u64), u32>,
    pub crowds: BTreeMap<Time, Crowd>,
}

impl Shelf {
    pub fn add(&mut self, time: Time, seq: u64, late: bool, slot: u32) {
        self.order.insert((time, seq), slot);
        let crowd = self.crowds.entry(time).or_default();
        crowd.waiters += 1;
        crowd.late += u64::from(late);
    }

    pub fn all(&self, shift: Time) -> impl Iterator<Item = (Time, u64, u32)> {
        self.order.iter().map(move |(&(time, seq), &slot)| (time + shift, seq, slot))
    }

    /// The instants after `at` and up to a later `until`, in local time, with how many are due at each.
    pub fn between(&self, at: Time, until: Time, shift: Time) -> impl Iterator<Item = (Time, Time)> {
        self.crowds.range(at + 1 - shift..=until - shift).map(move |(time, crowd)| (time + shift, Time::from(crowd.waiters)))
    }

    pub fn take(&mut self, time: Time, seq: u64, late: bool) {
        self.order.remove(&(time, seq));
        if let Entry::Occupied(mut crowd) = self.crowds.entry(time) {
            crowd.get_mut().waiters -= 1;
            crowd.get_mut().late -= u64::from(late);
            if crowd.get().waiters == 0 {
                crowd.remove();
            }
        }
    }
}

/// Two sorted rows as one.
pub fn merged<T: Ord>(one: impl Iterator<Item = T>, other: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
    let (mut one, mut other): (Peekable<_>, Peekable<_>) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(a), Some(b)) if b < a => other.next(),
        (None, _) => other.next(),
        _ => one.next(),
    })
}
