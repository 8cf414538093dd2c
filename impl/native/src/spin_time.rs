//! How long each worker of a pool has done what. The worker counts where it turns from one to another, and reads no clock for it on the way
//! to a task: a spin that was of use has ended when what it found was published. Anybody may read while it goes on.
use std::sync::atomic::{Ordering, fence};

use crate::spin::{Did, Memory, Slot, first_call};
use crate::spin_sync::Plain;
use crate::spin_window::Seams;

/// What a worker does. Looking for tasks is spinning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum State {
    Spin,
    Run,
    Yield,
    Park,
    Left,
}

impl State {
    const LASTING: usize = 4;

    pub const ALL: [State; 5] = [State::Spin, State::Run, State::Yield, State::Park, State::Left];

    pub const fn word(self) -> &'static str {
        match self {
            State::Spin => "spin",
            State::Run => "run",
            State::Yield => "yield",
            State::Park => "park",
            State::Left => "left",
        }
    }
}

/// Eight buckets of durations to each power of two of nanoseconds, as in `slotwise.impl.meter_rows`.
pub const BUCKETS: usize = 496;

pub fn bucket(ns: u64) -> usize {
    let exponent = (64 - ns.leading_zeros()).saturating_sub(4);
    ((exponent as usize) << 3) + (ns >> exponent) as usize
}

/// Nanoseconds of one worker. Only the worker writes.
#[derive(Debug)]
pub struct Times {
    /// Odd while the words below are being written.
    turns: Plain,
    state: Plain,
    since: Plain,
    spent: [Plain; State::LASTING],
    /// Windows that ended in a park, and the time spun in them.
    misses: Plain,
    wasted: Plain,
    /// From a publication to the first look of a worker that was parked.
    wakes: Box<[Plain]>,
    woken: Plain,
}

impl Default for Times {
    fn default() -> Self {
        Times {
            turns: Plain::default(),
            state: Plain::default(),
            since: Plain::default(),
            spent: Default::default(),
            misses: Plain::default(),
            wasted: Plain::default(),
            wakes: (0..BUCKETS).map(|_| Plain::default()).collect(),
            woken: Plain::default(),
        }
    }
}

/// What a worker has done until now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub state: State,
    pub spin: u64,
    pub run: u64,
    pub yielded: u64,
    pub parked: u64,
    pub misses: u64,
    pub wasted: u64,
    /// Bucket and count, of those that have any.
    pub wakes: Vec<(usize, u64)>,
    pub woken: u64,
}

impl Times {
    #[inline]
    fn write(&self, write: impl FnOnce()) {
        let turn = self.turns.load();
        self.turns.store(turn + 1);
        fence(Ordering::Release);
        write();
        fence(Ordering::Release);
        self.turns.store(turn + 2);
    }

    fn spent(&self, state: State) -> u64 {
        self.spent[state as usize].load()
    }

    /// Until `at` it did what it did; from then on it does that.
    #[inline]
    pub fn turn_to(&self, state: State, at: u64) {
        self.write(|| {
            let since = self.since.load();
            if let Some(spent) = self.spent.get(self.state.load() as usize) {
                spent.store(spent.load() + at.saturating_sub(since));
            }
            self.since.store(since.max(at));
            self.state.store(state as u64);
        });
    }

    pub fn row(&self, now: u64) -> Row {
        // A worker that lost its core while it wrote is waited for a little; in a process forked off, it never comes.
        let mut tries = 0;
        let (state, since, mut spent, misses, wasted): (u64, u64, [u64; State::LASTING], u64, u64) = loop {
            let turn = self.turns.load();
            fence(Ordering::Acquire);
            let read = (
                self.state.load(),
                self.since.load(),
                std::array::from_fn(|i| self.spent[i].load()),
                self.misses.load(),
                self.wasted.load(),
            );
            fence(Ordering::Acquire);
            tries += 1;
            if (turn % 2 == 0 && self.turns.load() == turn) || tries == 1000 {
                break read;
            }
            std::thread::yield_now();
        };
        if let Some(spent) = spent.get_mut(state as usize) {
            *spent += now.saturating_sub(since);
        }
        let [spin, run, yielded, parked] = spent;
        let wakes = self.wakes.iter().map(Plain::load).enumerate().filter(|pair| pair.1 > 0).collect();
        Row { state: State::ALL[state as usize], spin, run, yielded, parked, misses, wasted, wakes, woken: self.woken.load() }
    }
}

/// A worker's own side of it.
pub struct Teller<'t> {
    times: &'t Times,
    runs: bool,
    slept: bool,
    /// What had been spun when the stretch began.
    spun: u64,
}

impl<'t> Teller<'t> {
    pub fn new(times: &'t Times, at: u64) -> Self {
        times.since.store(at);
        Teller { times, runs: false, slept: false, spun: 0 }
    }

    /// It has a task of that slot, and runs it.
    #[inline]
    pub fn took(&mut self, memory: &impl Memory, slot: Slot) {
        if !self.runs {
            self.runs = true;
            self.times.turn_to(State::Run, memory.published_at(slot));
        }
    }

    /// Anything else that it did; `last` is the epoch that its scans have seen, `since` when its stretch began.
    #[inline]
    pub fn did(&mut self, did: Did, last: u32, since: u64, memory: &(impl Memory + Seams)) {
        match did {
            Did::Again(1..) => {
                self.runs = false;
                self.spins(since);
            }
            Did::Expired(_) | Did::NothingNew { parks: Some(_) } => self.parks(did, memory.clock()),
            Did::Slept => self.slept = true,
            Did::Woke(_) => self.woke(last, memory),
            Did::Left => self.times.turn_to(State::Left, memory.clock()),
            _ => {}
        }
    }

    #[inline]
    fn spins(&mut self, at: u64) {
        self.times.turn_to(State::Spin, at);
        self.spun = self.times.spent(State::Spin);
    }

    #[cold]
    fn parks(&mut self, did: Did, at: u64) {
        self.times.turn_to(State::Park, at);
        if let Did::Expired(_) = did {
            let wasted = self.times.spent(State::Spin) - self.spun;
            self.times.write(|| {
                self.times.misses.store(self.times.misses.load() + 1);
                self.times.wasted.store(self.times.wasted.load() + wasted);
            });
        }
    }

    #[cold]
    fn woke(&mut self, last: u32, memory: &(impl Memory + Seams)) {
        let now = memory.clock();
        self.spins(now);
        if std::mem::take(&mut self.slept)
            && let Some(called) = first_call(memory, last)
        {
            let late = now.saturating_sub(called);
            let wakes = &self.times.wakes[bucket(late)];
            wakes.store(wakes.load() + 1);
            self.times.woken.store(self.times.woken.load() + late);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_its_bucket() {
        for (ns, right) in [(0, 0), (7, 7), (8, 8), (15, 15), (16, 16), (17, 16), (18, 17), (1000, 63), (u64::MAX, 495)] {
            assert_eq!(bucket(ns), right, "{ns}");
        }
    }

    #[test]
    fn every_nanosecond_belongs_to_one_state() {
        let times = Times::default();
        let mut teller = Teller::new(&times, 100);
        teller.spins(100);
        times.turn_to(State::Run, 130);
        times.turn_to(State::Run, 120); // a clock read before another's
        times.turn_to(State::Spin, 200);
        times.turn_to(State::Park, 250);
        let row = times.row(1000);
        assert_eq!((row.spin, row.run, row.parked, row.yielded), (80, 70, 750, 0));
        assert_eq!(row.state, State::Park);
        times.turn_to(State::Left, 1500);
        let row = times.row(9000);
        assert_eq!((row.spin + row.run + row.parked, row.state), (1400, State::Left));
    }
}
