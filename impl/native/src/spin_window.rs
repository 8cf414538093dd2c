//! One spin window, as a function of what it reads: two flags and a clock.
//!
//! The same code waits on real atomics and a real clock, and on a trace's: `Seams` is whatever it stands on. Nothing in here allocates or is shared.
use crate::faults::Faults;
use crate::spin_words::Profile;

/// What a window stands on. Flags are read in every pass, the shutdown before the epoch (SPN T1, T2), and what they show may be late but
/// must come: relaxed loads will do for the shutdown; the epoch is an acquire load, for what is read after it.
pub trait Seams {
    fn shutdown(&self) -> bool;
    fn epoch(&self) -> u32;
    /// Nanoseconds of a clock that never goes back. Where it starts is the same for all that use these seams and these slots' stamps.
    fn clock(&self) -> u64;
    /// The processor's hint of a spin loop.
    fn pause(&self);
    /// Give the core to another thread, if one waits for it.
    fn yield_now(&self);
}

/// The numbers and switches of every window of a profile.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Passes below it only pause.
    pub budget: u32,
    /// Passes between two readings of the clock among those.
    pub stride: u32,
    /// Between two yields, at least.
    pub interval: u64,
    pub deadline_strided: bool,
    pub yields_unbounded: bool,
    faults: Faults,
}

impl Shape {
    pub fn new(profile: &Profile, faults: Faults) -> Self {
        let double = |name| 1 << u32::from(faults.on(name));
        Shape {
            budget: profile.budget as u32,
            stride: profile.stride as u32 * double("stride_doubled"),
            interval: profile.yield_interval as u64 * u64::from(double("interval_doubled")),
            deadline_strided: profile.deadline_strided || faults.on("deadline_strided"),
            yields_unbounded: profile.yields_unbounded,
            faults,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Shutdown,
    Caught,
    Expired,
}

impl Outcome {
    pub const fn word(self) -> &'static str {
        match self {
            Outcome::Shutdown => "shutdown",
            Outcome::Caught => "caught",
            Outcome::Expired => "expired",
        }
    }
}

/// One pass: it paused, it yielded, or the window is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    Paused,
    Yielded,
    Over(Outcome),
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    /// Until when it lasts, counted from `since`.
    pub length: u64,
    /// The clock at its beginning, or at that of the stretch.
    pub since: u64,
    /// Passes begun; wraps.
    pub n: u32,
    /// The next yield is due then, counted from `since`.
    pub q: u64,
    /// Yields.
    pub y: u64,
    /// Readings of the clock.
    pub reads: u64,
    /// Did the last pass yield? Only a fault asks.
    yielded: bool,
}

impl Window {
    pub fn new(shape: &Shape, length: u64, since: u64) -> Self {
        let late = shape.faults.on("first_yield_an_interval_from_the_start") && !shape.yields_unbounded;
        let q = if late { shape.interval } else { 0 };
        Window { length, since, q, ..Window::default() }
    }

    /// How long since the beginning.
    #[inline]
    fn read(&mut self, seams: &impl Seams) -> u64 {
        self.reads += 1;
        seams.clock().saturating_sub(self.since)
    }

    #[inline]
    fn is_over(&self, shape: &Shape, elapsed: u64) -> bool {
        if shape.faults.on("deadline_after_equality") { elapsed > self.length } else { elapsed >= self.length }
    }

    /// What the flags say: the shutdown goes before the epoch (T1, T2).
    #[inline]
    fn flags(&self, shape: &Shape, watched: u32, seams: &impl Seams) -> Option<Outcome> {
        let caught = || !self.is_blind(shape) && seams.epoch() != watched;
        if shape.faults.on("epoch_before_shutdown") && caught() {
            return Some(Outcome::Caught);
        }
        if seams.shutdown() {
            return Some(Outcome::Shutdown);
        }
        caught().then_some(Outcome::Caught)
    }

    /// A fault: in the second phase the epoch is looked at only after a yield, when the next one is not due for a whole interval.
    #[inline]
    fn is_blind(&self, shape: &Shape) -> bool {
        shape.faults.on("epoch_read_after_a_yield_only") && self.n >= shape.budget && !self.yielded
    }

    /// One pass (T1 to T7): the first that applies.
    #[inline]
    pub fn pass(&mut self, shape: &Shape, watched: u32, seams: &impl Seams) -> Pass {
        if let Some(outcome) = self.flags(shape, watched, seams) {
            return Pass::Over(outcome);
        }
        self.n = self.n.wrapping_add(1);
        if self.n >= shape.budget {
            return if shape.yields_unbounded { self.yield_first(shape, seams) } else { self.look_first(shape, seams) };
        }
        seams.pause();
        if shape.faults.on("pause_counted_as_a_yield") {
            self.y += 1;
        }
        let reads = self.n % shape.stride == 0 && !shape.faults.on("no_deadline_while_pausing");
        if reads {
            let elapsed = self.read(seams);
            if self.is_over(shape, elapsed) {
                return Pass::Over(Outcome::Expired);
            }
        }
        Pass::Paused
    }

    /// After the budget: the deadline, then a yield if one is due, else a pause (T5 to T7).
    #[inline]
    fn look_first(&mut self, shape: &Shape, seams: &impl Seams) -> Pass {
        let faults = shape.faults;
        if shape.deadline_strided && self.n % shape.stride != 0 {
            return self.pause(shape, seams);
        }
        let elapsed = self.read(seams);
        if faults.on("first_yield_an_interval_late") && self.q == 0 {
            self.q = elapsed + shape.interval;
        }
        let due = if faults.on("due_after_equality") { elapsed > self.q } else { elapsed >= self.q } || faults.on("yields_without_limit");
        let over = self.is_over(shape, elapsed);
        if over && !(due && faults.on("yield_before_the_deadline")) {
            return Pass::Over(Outcome::Expired);
        }
        if !due {
            return self.pause(shape, seams);
        }
        seams.yield_now();
        self.yielded = true;
        self.y += 1;
        self.q = if faults.on("next_yield_from_after_the_last") {
            self.read(seams) + shape.interval
        } else if faults.on("next_yield_on_a_lattice") {
            self.q + shape.interval
        } else {
            elapsed + shape.interval
        };
        if over { Pass::Over(Outcome::Expired) } else { Pass::Yielded }
    }

    #[inline]
    fn pause(&mut self, shape: &Shape, seams: &impl Seams) -> Pass {
        if shape.faults.on("pass_without_a_yield_not_counted") {
            self.n = self.n.wrapping_sub(1);
        }
        seams.pause();
        self.yielded = false;
        Pass::Paused
    }

    /// After the budget, before yields were limited: every pass yields, then looks at the deadline.
    #[inline]
    fn yield_first(&mut self, shape: &Shape, seams: &impl Seams) -> Pass {
        seams.yield_now();
        self.yielded = true;
        self.y += 1;
        if !shape.deadline_strided || self.n % shape.stride == 0 {
            let elapsed = self.read(seams);
            if self.is_over(shape, elapsed) {
                return Pass::Over(Outcome::Expired);
            }
        }
        Pass::Yielded
    }

    /// Passes until the window is over.
    #[inline]
    pub fn whole(&mut self, shape: &Shape, watched: u32, seams: &impl Seams) -> Outcome {
        loop {
            if let Pass::Over(outcome) = self.pass(shape, watched, seams) {
                return outcome;
            }
        }
    }
}
