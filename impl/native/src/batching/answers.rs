//! What an answer means: the end, or a settlement of all that flew, and of what it shows done.
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::Collector;
use crate::batching_words::{Outcome, Seen, Time, Why};
use crate::refresh::Waiter;
use crate::tables::Map;
use crate::words::Text;

impl Collector {
    pub(super) fn respond(&mut self, token: Option<&str>, stamp: Option<i64>, done: &[Text], marker: Option<&str>, saw: &mut Vec<Seen>) {
        let Some(flight) = &self.flight else { return };
        let Some(token) = token else {
            let completed = flight.items.iter().any(|item| item.is_final);
            return self.end(if completed { Why::Completed } else { Why::Revoked }, saw);
        };
        self.token = token.into();
        if let Some(stamp) = stamp {
            let sent = Time::from(flight.sent);
            self.clock.learn(Time::from(stamp) - sent, Time::from(self.now) - sent);
            self.refreshes.set_shift(self.clock.shift());
        }
        self.page(done, marker, saw);
    }

    pub(super) fn page(&mut self, done: &[Text], marker: Option<&str>, saw: &mut Vec<Seen>) {
        let Some(flight) = &mut self.flight else { return };
        flight.done.extend(done.iter().map(|id| Arc::from(&**id)));
        flight.fetching = marker.is_some();
        match marker {
            Some(marker) => saw.push(Seen::Fetch(marker.into(), self.token.clone())),
            None => self.settle(saw),
        }
    }

    fn settle(&mut self, saw: &mut Vec<Seen>) {
        let Some(flight) = self.flight.take() else { return };
        let trip = Time::from(self.now) - Time::from(flight.sent);
        self.round_trip = if self.measured { self.round_trip + (trip - self.round_trip).div_euclid(8) } else { trip };
        self.measured = true;
        let before = saw.len();
        saw.extend(flight.items.into_iter().filter(|item| item.sync).map(|item| Seen::Settled(item.id, Outcome::Ok)));
        let told = saw.len() - before;
        self.known.extend(flight.done.iter().cloned());

        let (mut back, mut in_vain) = (Vec::new(), Vec::new());
        let (mut first_asked, mut too_early) = (false, false);
        for ticket in flight.board {
            let Some(waiter) = self.refreshes.holder(ticket) else { continue };
            let shown = waiter.key.is_none() || self.known.contains(&waiter.id);
            first_asked |= waiter.key.is_some() && waiter.tries == 0;
            too_early |= !shown && waiter.tries == 0;
            if shown { &mut back } else { &mut in_vain }.push(ticket.0);
        }
        self.clock.judge(too_early, first_asked, trip);
        self.refreshes.set_shift(self.clock.shift());
        let waiting = |slot: &u32| !self.refreshes.waiters[*slot].in_flight;
        back.extend(flight.done.iter().filter_map(|id| self.refreshes.by_id.get(id).copied()).filter(waiting));
        if self.faults.on("settled_by_an_older_request") {
            let due = self.refreshes.in_order().take_while(|&(when, _, _)| when <= self.now.into()).map(|(_, _, slot)| slot);
            let due: Vec<u32> = due.filter(|slot| self.refreshes.waiters[*slot].key.is_none() && !back.contains(slot)).collect();
            back.extend(due);
        }
        let back = back.into_iter().map(|slot| self.refreshes.remove(slot)).collect();
        for slot in in_vain {
            saw.push(self.not_yet(slot, trip));
        }
        let before = saw.len();
        self.resume(back, saw);
        self.credit((told + saw.len() - before) as i64, 0);
    }

    /// It is asked for again, and its branch is not re-run.
    fn not_yet(&mut self, slot: u32, trip: Time) -> Seen {
        if self.stopped {
            return Seen::Settled(self.refreshes.remove(slot).id, Outcome::Orphaned);
        }
        let waiter = &self.refreshes.waiters[slot];
        let (id, longest) = (waiter.id.clone(), Time::from(self.p.pause));
        let pause = match waiter.tries {
            _ if self.faults.on("asked_again_after_the_longest_pause") => longest,
            0 => 0,
            tries => (trip.max(1) << (tries - 1).min(60)).min(longest),
        };
        let due = (Time::from(self.now) + pause).max(self.refreshes.at_stamp(waiter.key.unwrap_or(0)));
        self.refreshes.ask_again(slot, due);
        Seen::Again(id, due)
    }

    /// Branches of one owner that waited for one instant go on together; earlier instants first, those without a stamp last.
    fn resume(&mut self, mut back: Vec<Waiter>, saw: &mut Vec<Seen>) {
        back.sort_unstable_by_key(|waiter| (waiter.key.is_none(), waiter.key, waiter.seq));
        let mut waves: Vec<Vec<Waiter>> = Vec::new();
        let mut wave_of: Map<(Option<i64>, Arc<str>), usize> = Map::default();
        for waiter in back {
            match wave_of.entry((waiter.key, waiter.owner.clone())) {
                Entry::Occupied(wave) => waves[*wave.get()].push(waiter),
                Entry::Vacant(wave) => {
                    wave.insert(waves.len());
                    waves.push(vec![waiter]);
                }
            }
        }
        for mut wave in waves {
            if !self.faults.on("waves_in_suspension_order") {
                wave.sort_by_key(|waiter| waiter.index);
            }
            let (owner, key) = (wave[0].owner.clone(), wave[0].key);
            saw.push(Seen::Resumed(owner, key, wave.into_iter().map(|waiter| waiter.id).collect()));
        }
    }

    /// The end for all: who was on the request, then the queue, then the refreshes.
    pub(super) fn end(&mut self, why: Why, saw: &mut Vec<Seen>) {
        let Some(flight) = self.flight.take() else { return };
        self.over = Some(why);
        let (outcome, flown) = (why.outcome(), if why == Why::Completed { Outcome::Ok } else { why.outcome() });
        saw.extend(flight.items.into_iter().filter(|item| item.sync).map(|item| Seen::Settled(item.id, flown)));
        for ticket in flight.board {
            if self.refreshes.holder(ticket).is_some() {
                saw.push(Seen::Settled(self.refreshes.remove(ticket.0).id, outcome));
            }
        }
        saw.extend(self.line.clear().into_iter().filter(|item| item.sync).map(|item| Seen::Settled(item.id, outcome)));
        saw.extend(self.refreshes.clear_waiting().into_iter().map(|waiter| Seen::Settled(waiter.id, outcome)));
    }
}
