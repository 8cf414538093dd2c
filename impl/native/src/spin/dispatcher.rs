//! A dispatcher: it publishes a fan-out, takes part in it, waits for those that still run, and cleans up.
use super::{Call, Counter, Decline, Did, Idle, Memory, Slot, Terms};
use crate::spin_window::Seams;

/// What the next step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    Remaining,
    Stamp,
    Claim,
    Active,
    Epoch,
    Wake,
    Look,
    Take,
    Running,
    Settle,
    Straggling,
    Inactive,
    Unclaim,
    Return,
    /// Between fan-outs.
    Outside,
}

#[derive(Clone, Debug)]
pub struct Dispatcher {
    terms: Terms,
    pub at: At,
    /// Of this fan-out; between fan-outs, of the last: all else is forgotten.
    pub slot: Slot,
    pub total: u32,
    /// Tasks that it ran itself.
    pub own: u32,
    /// Pauses of this wait for stragglers.
    pub pauses: u64,
    /// Of its publication: the epoch, and when.
    call: Call,
}

impl Dispatcher {
    pub fn new(terms: Terms) -> Self {
        Dispatcher { terms, at: At::Outside, slot: 0, total: 0, own: 0, pauses: 0, call: (0, 0) }
    }

    /// A fan-out of so many tasks; a slot is taken for it, unless it is declined.
    pub fn begin(&mut self, memory: &impl Memory, total: u32) -> Did {
        match self.at {
            At::Outside => {}
            At::Running => return Did::Declined(Decline::Nested),
            _ => return Did::Declined(Decline::Busy),
        }
        if total == 0 {
            return Did::Nothing;
        }
        if self.terms.workers == 0 {
            return Did::Declined(Decline::NoWorkers);
        }
        if memory.shutdown() {
            return Did::Declined(Decline::Shutdown);
        }
        let Some(slot) = memory.take_free(if self.terms.faults.on("slot_from_the_first_one_on") { 0 } else { self.slot }) else {
            memory.count(Counter::SlotExhausted, 1);
            return Did::Declined(Decline::Slots);
        };
        if self.terms.faults.on("slot_shared") {
            memory.give_free(slot);
        }
        *self = Dispatcher { terms: self.terms, at: At::Remaining, slot, total, own: 0, pauses: 0, call: (0, 0) };
        Did::Held(slot)
    }

    fn wrote(&mut self, word: &'static str, next: At) -> Did {
        self.at = next;
        Did::Wrote(self.slot, word)
    }

    /// One step. At `Took` the caller runs the task and then calls `end`.
    #[inline]
    pub fn step(&mut self, memory: &impl Memory, seams: &impl Seams) -> Did {
        let (slot, total, faults) = (self.slot, self.total, self.terms.faults);
        match self.at {
            At::Remaining => {
                if !faults.on("panic_of_the_last_fan_out_kept") {
                    memory.set_panicked(slot, false);
                }
                memory.set_remaining(slot, total);
                self.wrote("remaining", At::Stamp)
            }
            At::Stamp => {
                self.call.1 = seams.clock();
                memory.stamp(slot, self.call.1);
                self.wrote("stamp", At::Claim)
            }
            At::Claim => {
                let before = if faults.on("claim_added_to_what_is_left") { memory.claim(slot) } else { 0 };
                memory.set_claim(slot, before + i64::from(total));
                self.wrote("claim", if faults.on("epoch_before_active") { At::Epoch } else { At::Active })
            }
            At::Active => {
                memory.activate(slot);
                self.wrote("active", if faults.on("epoch_before_active") { At::Wake } else { At::Epoch })
            }
            At::Epoch => {
                let epoch = memory.bump_epoch();
                self.call.0 = if faults.on("call_noted_under_the_epoch_before") { epoch.wrapping_sub(1) } else { epoch };
                self.at = if faults.on("epoch_before_active") { At::Active } else { At::Wake };
                Did::Published(slot, epoch)
            }
            At::Wake => {
                let most = if faults.on("one_wake_too_few") { total.saturating_sub(2) } else { total - 1 };
                let number = memory.wake(if self.terms.wakes_all { None } else { Some(most) }, Some(self.call));
                memory.count(Counter::Dispatches, 1);
                self.at = At::Look;
                Did::Wakes(number)
            }
            At::Look => {
                if self.terms.look(memory, slot) {
                    self.at = At::Take;
                    return Did::Sees(slot);
                }
                Did::Passed { slot, straggles: self.is_done(memory) }
            }
            At::Take => match self.terms.take(memory, slot) {
                Some(index) => {
                    self.at = At::Running;
                    Did::Took { slot, index }
                }
                None => Did::Lost { slot, straggles: self.is_done(memory) },
            },
            At::Running => Did::Idle(Idle::Running),
            At::Settle => {
                let remaining = self.terms.settle(memory, slot);
                self.own += 1;
                if !faults.on("own_tasks_not_counted") {
                    memory.count(Counter::TasksByDispatcher, 1);
                }
                self.at = At::Look;
                Did::Settled { slot, remaining }
            }
            At::Straggling => self.wait(memory, seams),
            At::Inactive => {
                memory.deactivate(slot);
                self.wrote("inactive", At::Unclaim)
            }
            At::Unclaim => {
                if !faults.on("claim_left_as_it_is") {
                    memory.set_claim(slot, 0);
                }
                self.wrote("unclaim", At::Return)
            }
            At::Return => {
                let raised = memory.panicked(slot) && !faults.on("panic_not_raised");
                memory.give_free(slot);
                let own = self.own;
                *self = Dispatcher { slot, ..Self::new(self.terms) };
                Did::Finished { slot, own, raised }
            }
            At::Outside => Did::Idle(Idle::Unknown),
        }
    }

    /// Its own share is done. Does it wait for others?
    fn is_done(&mut self, memory: &impl Memory) -> bool {
        let straggles = memory.remaining(self.slot) != 0 && !self.terms.faults.on("stragglers_not_waited_for");
        if straggles && !self.terms.faults.on("straggler_wait_not_counted") {
            memory.count(Counter::StragglerWaits, 1);
        }
        self.at = if straggles { At::Straggling } else { At::Inactive };
        straggles
    }

    #[inline]
    fn wait(&mut self, memory: &impl Memory, seams: &impl Seams) -> Did {
        if memory.remaining(self.slot) == 0 {
            self.at = At::Inactive;
            return Did::Together;
        }
        seams.pause();
        self.pauses += 1;
        if self.pauses % u64::from(self.terms.straggler_stride) != 0 || self.terms.faults.on("stragglers_get_no_core") {
            return Did::Paused;
        }
        seams.yield_now();
        memory.count(Counter::StragglerYields, 1);
        Did::Yielded
    }

    /// The task that it runs is over.
    #[inline]
    pub fn end(&mut self, memory: &impl Memory, panics: bool) -> Did {
        if self.at != At::Running {
            return Did::Idle(if self.at == At::Outside { Idle::Unknown } else { Idle::NoTask });
        }
        self.at = At::Settle;
        self.terms.end(memory, self.slot, panics)
    }

    /// The rest of a fan-out that has begun; `run` as in `Worker::run`. Did a task panic?
    #[inline]
    pub fn run(&mut self, memory: &impl Memory, seams: &impl Seams, mut run: impl FnMut(Slot, u32) -> bool) -> bool {
        loop {
            match self.step(memory, seams) {
                Did::Took { slot, index } => {
                    let panics = run(slot, index);
                    self.end(memory, panics);
                }
                Did::Finished { raised, .. } => return raised,
                Did::Idle(_) => return false,
                _ => {}
            }
        }
    }
}
