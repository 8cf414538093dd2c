//! A worker: it looks for tasks, waits for an epoch in a window, and parks.
use super::scan::Scan;
use super::{Counter, Did, Idle, Memory, Slot, Terms, first_call};
use crate::spin_policy::Policy;
use crate::spin_window::{Outcome, Pass, Seams, Window};

/// What the next step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    Announce,
    Top,
    Scan,
    Take(Slot),
    Running(Slot),
    Settle(Slot),
    Read,
    Window,
    Wait,
    Asleep,
    Woken,
    Gone,
}

#[derive(Clone, Debug)]
pub struct Worker {
    terms: Terms,
    pub number: usize,
    pub policy: Policy,
    pub at: At,
    /// The epoch that its scans have seen; a window watches whether it moves.
    pub last: u32,
    pub scan: Scan,
    /// Tasks of the scan.
    pub ran: u32,
    /// When the stretch began.
    pub since: u64,
    /// The window of the stretch, which goes on after a catch in vain unless such a catch counts.
    pub window: Window,
    /// Has the stretch a window, and is its policy to learn from it?
    pub entered: bool,
    /// That window has expired: it is not spun again.
    pub expired: bool,
    /// The scan follows a catch.
    pub caught: bool,
    /// Yields of the window that are counted.
    pub told: u64,
}

impl Worker {
    /// A worker that has still to announce itself.
    pub fn new(terms: Terms, policy: Policy, number: usize) -> Self {
        Worker {
            terms,
            number,
            policy,
            at: At::Announce,
            last: 0,
            scan: Scan::default(),
            ran: 0,
            since: 0,
            window: Window::default(),
            entered: false,
            expired: false,
            caught: false,
            told: 0,
        }
    }

    /// A worker that announced itself at time 0 and epoch 0.
    pub fn ready(terms: Terms, policy: Policy, number: usize) -> Self {
        Worker { at: At::Top, ..Self::new(terms, policy, number) }
    }

    /// One step. At `Took` the caller runs the task and then calls `end`.
    #[inline]
    pub fn step(&mut self, memory: &impl Memory, seams: &impl Seams) -> Did {
        match self.at {
            At::Announce => {
                let ready = memory.announce();
                self.last = memory.epoch();
                self.begin_stretch(seams.clock());
                self.at = At::Top;
                Did::Announced(ready)
            }
            At::Top => self.look_around(memory),
            At::Scan => self.look(memory),
            At::Take(slot) => self.take(memory, slot),
            At::Running(_) => Did::Idle(Idle::Running),
            At::Settle(slot) => {
                let remaining = self.terms.settle(memory, slot);
                self.ran += 1;
                self.at = At::Scan;
                Did::Settled { slot, remaining }
            }
            At::Read => self.read(memory, seams),
            At::Window => self.spin(memory, seams, 1).1,
            At::Wait => self.park(memory),
            At::Asleep if memory.is_parked(self.number) => Did::Idle(Idle::Parked),
            At::Asleep | At::Woken => {
                if self.terms.faults.on("park_counted_afterwards") {
                    memory.count(Counter::Parks, 1);
                }
                self.missed(memory);
                self.policy.shrink();
                self.at = At::Top;
                Did::Woke(self.policy.window())
            }
            At::Gone => Did::Idle(Idle::Gone),
        }
    }

    /// The task that it runs is over.
    #[inline]
    pub fn end(&mut self, memory: &impl Memory, panics: bool) -> Did {
        let At::Running(slot) = self.at else { return Did::Idle(Idle::NoTask) };
        self.at = if panics && self.terms.faults.on("panic_is_not_settled") { At::Scan } else { At::Settle(slot) };
        self.terms.end(memory, slot, panics)
    }

    /// Its whole life, until it leaves; `run` runs a task of a slot, and says whether it panicked.
    #[inline]
    pub fn run(&mut self, memory: &impl Memory, seams: &impl Seams, mut run: impl FnMut(Slot, u32) -> bool) {
        loop {
            let did = if self.at == At::Window { self.spin(memory, seams, u64::MAX).1 } else { self.step(memory, seams) };
            match did {
                Did::Took { slot, index } => {
                    let panics = run(slot, index);
                    self.end(memory, panics);
                }
                Did::Left | Did::Idle(_) => return,
                _ => {}
            }
        }
    }

    fn begin_stretch(&mut self, at: u64) {
        self.since = at;
        self.window = Window::default();
        self.told = 0;
        self.entered = false;
        self.expired = false;
    }

    fn look_around(&mut self, memory: &impl Memory) -> Did {
        if memory.shutdown() && !self.terms.faults.on("shutdown_seen_in_windows_only") {
            self.at = At::Gone;
            return Did::Left;
        }
        let active = memory.active();
        let first = if self.terms.faults.on("scan_begins_at_the_first_slot") { 0 } else { self.number % self.terms.slots as usize };
        self.scan = Scan { left: active, cursor: first };
        self.ran = 0;
        self.at = if active == 0 { At::Read } else { At::Scan };
        Did::Looks(active.count_ones())
    }

    /// Look at the next slot, before it takes anything there.
    fn look(&mut self, memory: &impl Memory) -> Did {
        let slot = self.scan.next().unwrap_or(self.scan.cursor);
        if self.terms.look(memory, slot) {
            self.at = At::Take(slot);
            return Did::Sees(slot);
        }
        self.pass_on(slot);
        Did::Passed { slot, straggles: false }
    }

    fn pass_on(&mut self, slot: Slot) {
        self.scan.pass_on(slot, self.terms.slots);
        self.at = if self.scan.left == 0 { At::Read } else { At::Scan };
    }

    #[inline]
    fn take(&mut self, memory: &impl Memory, slot: Slot) -> Did {
        let Some(index) = self.terms.take(memory, slot) else {
            self.pass_on(slot);
            return Did::Lost { slot, straggles: false };
        };
        if self.entered {
            self.learn(memory.published_at(slot));
        }
        self.scan.cursor = slot;
        self.at = At::Running(slot);
        Did::Took { slot, index }
    }

    /// The gap has ended there.
    fn learn(&mut self, published_at: u64) {
        self.policy.learn(i128::from(published_at.saturating_sub(self.since)), self.window.length);
        self.entered = self.terms.faults.on("every_task_teaches") && !self.terms.empty_catch_counts;
    }

    /// The first call since it parked: it has missed that, whether or not it now finds a task.
    fn missed(&mut self, memory: &impl Memory) {
        if !self.entered || (self.terms.faults.on("a_park_hides_what_is_missed") && !self.terms.empty_catch_counts) {
            return;
        }
        if let Some(at) = first_call(memory, self.last) {
            self.learn(at);
        }
    }

    fn read(&mut self, memory: &impl Memory, seams: &impl Seams) -> Did {
        let faults = self.terms.faults;
        let (epoch, caught) = (memory.epoch(), std::mem::take(&mut self.caught));
        let moved = std::mem::replace(&mut self.last, epoch) != epoch && !faults.on("moved_epoch_stored_without_a_scan");
        if self.ran == 0 && !moved {
            return self.enter_window(memory, seams);
        }
        self.at = At::Top;
        if self.ran > 0 {
            if caught && !self.terms.empty_catch_counts && !faults.on("every_catch_is_a_hit") {
                memory.count(Counter::SpinHits, 1);
            }
            self.policy.grow();
            self.begin_stretch(seams.clock());
        } else if faults.on("catch_in_vain_is_forgotten") && !self.terms.empty_catch_counts {
            self.begin_stretch(seams.clock());
        } else if faults.on("grows_without_a_task") {
            self.policy.grow();
        }
        Did::Again(self.ran)
    }

    /// Nothing is new. A window begins; or it goes on; or it is over already, and the worker parks again.
    fn enter_window(&mut self, memory: &impl Memory, seams: &impl Seams) -> Did {
        let again = self.terms.empty_catch_counts;
        if (self.entered || self.expired) && !again && !(self.expired && self.terms.faults.on("window_spun_again_after_a_park")) {
            if self.expired {
                memory.count(Counter::Parks, 1);
                self.at = At::Wait;
                return Did::NothingNew { parks: Some(self.window.length) };
            }
        } else {
            if again || self.terms.faults.on("gap_counted_from_the_window") {
                self.since = seams.clock();
            }
            self.window = Window::new(&self.terms.shape, self.policy.window(), self.since);
            self.entered = true;
            self.expired = false;
            self.told = 0;
        }
        self.at = At::Window;
        Did::NothingNew { parks: None }
    }

    /// Up to so many passes of the window; how many they were, and what the last did.
    #[inline]
    pub fn spin(&mut self, memory: &impl Memory, seams: &impl Seams, most: u64) -> (u64, Did) {
        let mut window = self.window;
        let (mut passes, mut last) = (0, Pass::Paused);
        while passes < most {
            passes += 1;
            last = window.pass(&self.terms.shape, self.last, seams);
            if let Pass::Over(_) = last {
                break;
            }
        }
        self.window = window;
        let did = match last {
            Pass::Paused => Did::Paused,
            Pass::Yielded => Did::Yielded,
            Pass::Over(outcome) => self.leave_window(memory, outcome),
        };
        (passes, did)
    }

    fn leave_window(&mut self, memory: &impl Memory, outcome: Outcome) -> Did {
        let faults = self.terms.faults;
        let more = self.window.y - if faults.on("yields_counted_again") { 0 } else { self.told };
        self.told = self.window.y;
        if more > 0 {
            memory.count(Counter::SpinYields, more);
        }
        match outcome {
            Outcome::Shutdown => {
                self.at = At::Gone;
                Did::Left
            }
            Outcome::Caught => {
                if self.terms.empty_catch_counts {
                    memory.count(Counter::SpinHits, 1);
                    self.policy.grow();
                } else {
                    self.caught = true;
                    if faults.on("every_catch_is_a_hit") {
                        memory.count(Counter::SpinHits, 1);
                    }
                }
                if faults.on("catch_stores_the_epoch") {
                    self.last = memory.epoch();
                }
                self.at = At::Top;
                Did::Caught(self.policy.window())
            }
            Outcome::Expired => {
                if !faults.on("park_counted_afterwards") {
                    memory.count(Counter::Parks, 1);
                }
                self.expired = true;
                self.at = At::Wait;
                Did::Expired(self.window.length)
            }
        }
    }

    fn park(&mut self, memory: &impl Memory) -> Did {
        let expected = if self.terms.faults.on("park_without_a_second_look") { memory.epoch() } else { self.last };
        let slept = memory.park(self.number, expected);
        self.at = if slept { At::Asleep } else { At::Woken };
        if slept { Did::Slept } else { Did::Stayed }
    }
}
