//! The builder's barrier: it waits until every worker has announced itself, and not for ever.
use super::{Did, Idle, Memory, Terms, shut_down};
use crate::spin_window::Seams;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    Barrier,
    /// The time is up; a worker may have come between the two looks.
    LastLook,
    Done,
}

#[derive(Clone, Debug)]
pub struct Barrier {
    terms: Terms,
    pub at: At,
    /// The clock at the first step.
    pub start: Option<u64>,
    pub passes: u64,
}

impl Barrier {
    pub fn new(terms: Terms) -> Self {
        Barrier { terms, at: At::Barrier, start: None, passes: 0 }
    }

    /// The barrier of a pool whose workers are all there.
    pub fn passed(terms: Terms) -> Self {
        Barrier { at: At::Done, ..Self::new(terms) }
    }

    /// One pass, or one look. Abandoning ends the pool and joins nobody.
    pub fn step(&mut self, memory: &impl Memory, seams: &impl Seams) -> Did {
        let faults = self.terms.faults;
        let (workers, at) = (self.terms.workers, self.at);
        if at == At::Done {
            return Did::Idle(Idle::Built);
        }
        let start = *self.start.get_or_insert_with(|| seams.clock());
        let ready = memory.ready();
        if ready >= workers && !(at == At::LastLook && faults.on("barrier_looks_once")) {
            self.at = At::Done;
            return Did::BuiltAll(workers);
        }
        if at == At::LastLook {
            if faults.on("abandoning_joins") {
                seams.pause();
                return Did::Paused;
            }
            self.at = At::Done;
            shut_down(memory);
            return Did::Abandoned { ready, workers };
        }
        self.passes += 1;
        if self.terms.barrier_unbounded || self.passes < u64::from(self.terms.shape.budget) {
            seams.pause();
            return Did::Paused;
        }
        if faults.on("barrier_never_yields") {
            seams.pause();
        } else {
            seams.yield_now();
        }
        let strided = faults.on("barrier_clock_strided") && self.passes % u64::from(self.terms.shape.stride) != 0;
        if !strided && seams.clock().saturating_sub(start) >= self.terms.ready_within {
            self.at = At::LastLook;
            return Did::LooksAgain;
        }
        Did::Yielded
    }
}
