//! The service's clock against the local one: when a refresh that has a service's stamp is to be asked for.
use std::collections::VecDeque;

use crate::batching_words::Time;
use crate::faults::Faults;

#[derive(Clone, Debug)]
pub struct Clock {
    remembered: usize,
    resolution: Time,
    hint: Time,
    /// Of the last stamped requests: stamp minus local time of sending, and round trip.
    pub ring: VecDeque<(Time, Time)>,
    /// How much later the service has shown operations done than it had said.
    pub slack: Time,
    faults: Faults,
}

impl Clock {
    pub fn new(remembered: i64, resolution: i64, hint: i64, faults: Faults) -> Self {
        Clock { remembered: remembered as usize, resolution: resolution.into(), hint: hint.into(), ring: VecDeque::new(), slack: 0, faults }
    }

    /// A response carries a stamp. What cannot be true together with the ring means that a clock was set: the ring begins anew.
    pub fn learn(&mut self, ahead: Time, round_trip: Time) {
        let least = self.ring.iter().map(|&(d, r)| d - r).max();
        let most = self.ring.iter().map(|&(d, _)| d).min();
        let was_set = least.is_some_and(|least| ahead + self.resolution < least)
            || most.is_some_and(|most| ahead - round_trip > most + self.resolution);
        if was_set && !self.faults.on("ring_kept_on_a_clock_step") {
            self.ring.clear();
        }
        if self.ring.len() == self.remembered {
            self.ring.pop_front();
        }
        self.ring.push_back((ahead, round_trip));
    }

    /// Local time to ask for what the service stamps 0.
    pub fn shift(&self) -> Time {
        let Some(quickest) = self.ring.iter().map(|&(_, r)| r).min() else {
            return self.resolution - self.hint + self.slack;
        };
        let (mut first, mut second) = (Time::MAX, Time::MAX);
        for &(d, _) in &self.ring {
            second = second.min(first.max(d));
            first = first.min(d);
        }
        let guard = if self.ring.len() == 1 { quickest / 4 } else { (second - first).min(quickest / 4) };
        self.resolution + self.slack + guard - first
    }

    /// A request has come back. Had an operation not ended that was asked for the first time? Or had it asked for one at all?
    pub fn judge(&mut self, too_early: bool, first_asked: bool, round_trip: Time) {
        if too_early {
            self.slack = (self.slack + round_trip / 4).min(4 * round_trip);
        } else if first_asked && !self.faults.on("slack_never_shrinks") {
            self.slack -= (self.slack + 31) / 32;
        }
    }
}
