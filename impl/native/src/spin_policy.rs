//! How long a worker's next window shall be: five policies, each a few integers of one worker. Nothing about them is shared.
use crate::faults::Faults;
use crate::spin_words::{Discipline, Setup};

/// A policy and what it has learned. Times are nanoseconds.
#[derive(Clone, Debug)]
pub enum Policy {
    Ratchet {
        floor: u64,
        cap: u64,
        window: u64,
    },
    Fixed {
        window: u64,
    },
    BreakEven {
        even: u64,
    },
    /// `mean`: of the gaps, a moving average.
    Average {
        floor: u64,
        cap: u64,
        park: u64,
        mean: u64,
    },
    Guarded(Guarded),
}

/// Follow the candidate that would have cost least, and break even while that goes wrong.
#[derive(Clone, Debug)]
pub struct Guarded {
    pub even: i64,
    /// What each candidate would have cost, older gaps counting less.
    pub ledgers: [i64; 6],
    /// How much more than breaking even the windows chosen have cost.
    pub guard: i64,
    faults: Faults,
}

/// No park is worth more: the ledgers stay within 64 bits.
const DEAREST: i128 = 1 << 54;

impl Policy {
    /// As a worker begins. Fails if a park is worth more than can be counted.
    pub fn new(discipline: &Discipline, setup: &Setup, faults: Faults) -> Result<Self, String> {
        Ok(match *discipline {
            Discipline::Ratchet { floor, cap } => {
                let (floor, cap) = (floor as u64, cap as u64);
                let (least, most) = (faults.on("window_halves_below_the_floor"), faults.on("window_doubles_beyond_the_cap"));
                Policy::Ratchet { floor: if least { 1 } else { floor }, cap: if most { 2 * cap } else { cap }, window: floor }
            }
            Discipline::Fixed { window } => Policy::Fixed { window: window as u64 },
            Discipline::BreakEven { latency } => Policy::BreakEven { even: even(latency, setup)? as u64 },
            Discipline::Average { floor, cap } => {
                Policy::Average { floor: floor as u64, cap: cap as u64, park: setup.park as u64, mean: 0 }
            }
            Discipline::Guarded { latency } => Policy::Guarded(Guarded { even: even(latency, setup)?, ledgers: [0; 6], guard: 0, faults }),
        })
    }

    /// The window of a stretch that enters one now.
    pub fn window(&self) -> u64 {
        match self {
            Policy::Ratchet { window, .. } | Policy::Fixed { window } => *window,
            Policy::BreakEven { even } => *even,
            Policy::Average { floor, cap, mean, .. } => (2 * mean).clamp(*floor, *cap),
            Policy::Guarded(guarded) => guarded.window() as u64,
        }
    }

    /// There was work: a scan ran a task (or, where that counts, a publication was caught).
    pub fn grow(&mut self) {
        if let Policy::Ratchet { cap, window, .. } = self {
            *window = (2 * *window).min(*cap);
        }
    }

    /// It parked.
    pub fn shrink(&mut self) {
        if let Policy::Ratchet { floor, window, .. } = self {
            *window = (*window / 2).max(*floor);
        }
    }

    /// A stretch that entered a window of length `used` ended with a task that was published `gap` after its beginning.
    pub fn learn(&mut self, gap: i128, used: u64) {
        match self {
            // who measures by itself has seen no more of a longer gap than its window and a park
            Policy::Average { park, mean, .. } => {
                let seen = gap.min(i128::from(used + *park)) as i64;
                *mean = mean.saturating_add_signed((seen - *mean as i64) >> 3);
            }
            Policy::Guarded(guarded) => guarded.learn(gap, used as i64),
            _ => {}
        }
    }
}

/// What a park is worth of spinning: its own cost, and the latency it adds.
fn even(latency: i64, setup: &Setup) -> Result<i64, String> {
    let later = (setup.wake - setup.catch).max(0);
    let even = i128::from(setup.park) + i128::from(latency) * i128::from(later) / 1024;
    if even > DEAREST {
        Err(format!("latency {latency} and wake {} make a park worth {even} ns: at most {DEAREST}", setup.wake))
    } else {
        Ok(even as i64)
    }
}

impl Guarded {
    /// Windows to choose from, ascending.
    pub const fn candidates(even: i64) -> [i64; 6] {
        [0, even / 8, even / 4, even / 2, even, 2 * even]
    }

    fn window(&self) -> i64 {
        let limit = if self.faults.on("guard_begins_early") { 4 } else { 8 };
        let cold = self.ledgers == [0; 6] && !self.faults.on("cold_worker_does_not_spin");
        if cold || self.guard > limit * self.even && !self.faults.on("guard_ignored") {
            return self.even;
        }
        let both = Self::candidates(self.even).into_iter().zip(self.ledgers);
        let least =
            if self.faults.on("tie_goes_to_the_longer_window") { both.rev().min_by_key(|of| of.1) } else { both.min_by_key(|of| of.1) };
        least.map_or(self.even, |of| of.0)
    }

    /// What a gap costs with this window.
    fn cost(&self, window: i64, gap: i128) -> i64 {
        let within = if self.faults.on("gap_as_long_as_the_window_parks") { gap < i128::from(window) } else { gap <= i128::from(window) };
        if within { gap as i64 } else { window + self.even }
    }

    fn learn(&mut self, gap: i128, used: i64) {
        for (i, candidate) in Self::candidates(self.even).into_iter().enumerate() {
            let kept = if self.faults.on("ledger_never_forgets") { self.ledgers[i] } else { self.ledgers[i] - (self.ledgers[i] >> 6) };
            self.ledgers[i] = kept + self.cost(candidate, gap);
        }
        let even = self.cost(self.even, gap);
        let allowed = if self.faults.on("guard_allows_nothing") { 0 } else { even >> 3 };
        let guard = self.guard + self.cost(used, gap) - even - allowed;
        self.guard = if self.faults.on("guard_saves_without_end") { guard } else { guard.max(-16 * self.even) };
    }
}
