//! The first send of the plan with the least waiting, for all the refreshes that are known to come.
//!
//! What follows a send depends on its time only. So it is worked out once for a send at each due instant, from the last to the first;
//! a send that begins as soon as the channel is free leads from one such instant to another, by a chain of sends a round trip apart.
use crate::batching_words::Time;

/// The waiting, and the number of sends.
type Cost = (Time, u64);

#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The due instants to come, in order, each with the number of refreshes.
    pub known: Vec<(Time, Time)>,
    /// Of the first so many: the refreshes, and the sum of their times.
    sums: Vec<(Time, Time)>,
    /// What follows a send at that instant.
    after: Vec<Cost>,
    /// For which instants, and which round trip, that was worked out.
    solved: (Vec<(Time, Time)>, Time),
    chain: Vec<(usize, usize, Time)>,
    /// Sends weighed so far.
    pub looked: u64,
}

impl Plan {
    /// It may be now, or at a due instant by the limit. `blocked` wait already.
    pub fn first(&mut self, now: Time, blocked: u64, limit: Time, round_trip: Time) -> Time {
        if self.known.first().is_none_or(|&(due, _)| due > limit) {
            return now;
        }
        if self.solved.1 != round_trip || self.solved.0 != self.known {
            self.solve(round_trip);
        }
        let (waiting, sends) = self.rest(0, now + round_trip, round_trip);
        let mut best = (waiting, sends + 1, now);
        for (i, &(due, _)) in self.known.iter().enumerate() {
            let waiting = Time::from(blocked) * (due - now) + self.covering(0, i + 1, due);
            // from one instant to the next this only grows
            if due > limit || waiting > best.0 {
                break;
            }
            best = best.min((waiting + self.after[i].0, self.after[i].1 + 1, due));
        }
        best.2
    }

    fn solve(&mut self, round_trip: Time) {
        self.sums.clear();
        self.sums.push((0, 0));
        let (mut refreshes, mut times) = (0, 0);
        for &(due, count) in &self.known {
            (refreshes, times) = (refreshes + count, times + count * due);
            self.sums.push((refreshes, times));
        }
        self.after.clear();
        self.after.resize(self.known.len(), (0, 0));
        for i in (0..self.known.len()).rev() {
            self.after[i] = self.rest(i + 1, self.known[i].0 + round_trip, round_trip);
        }
        self.solved.0.clone_from(&self.known);
        self.solved.1 = round_trip;
    }

    /// The waiting for a send of those that are due from the i-th to before the n-th instant.
    fn covering(&self, i: usize, n: usize, at: Time) -> Time {
        let (from, to) = (self.sums[i], self.sums[n]);
        at * (to.0 - from.0) - (to.1 - from.1)
    }

    /// The best for all from the i-th on, once the channel is free. What follows later instants is known.
    fn rest(&mut self, mut i: usize, mut free: Time, round_trip: Time) -> Cost {
        let mut chain = std::mem::take(&mut self.chain);
        let known = &self.known;
        let mut cost = loop {
            let Some(&(due, _)) = known.get(i) else { break (0, 0) };
            let soonest = due.max(free);
            let covered = i + known[i..].partition_point(|&(due, _)| due <= soonest);
            chain.push((i, covered, soonest));
            self.looked += 1;
            if known[covered - 1].0 == soonest {
                break self.after[covered - 1];
            }
            (i, free) = (covered, soonest + round_trip);
        };
        while let Some((i, covered, soonest)) = chain.pop() {
            cost = (self.covering(i, covered, soonest) + cost.0, cost.1 + 1);
            for (n, &(due, _)) in known.iter().enumerate().skip(covered) {
                self.looked += 1;
                let waiting = self.covering(i, n + 1, due);
                if due >= soonest + round_trip || waiting > cost.0 {
                    break;
                }
                cost = cost.min((waiting + self.after[n].0, self.after[n].1 + 1));
            }
        }
        self.chain = chain;
        cost
    }
}
