//! What was started ends: its units come back, once.
use super::{Admission, Kind};
use crate::leases::Lease;
use crate::words::{About, Claim, Seen};

impl Admission {
    pub(super) fn release(&mut self, number: u64, claim: &Claim) -> Seen {
        let seen = |word| Seen(word, About::Number(number as i64));
        if claim.generation != 0 && !self.faults.on("other_generation_released") {
            return seen("wrong_controller_generation");
        }
        let Some(&lease) = self.leases.live.get(&number) else {
            #[cfg(feature = "faults")]
            if self.faults.on("duplicate_release_frees_twice") && self.last_released.0 == number {
                for &(r, units) in self.last_released.1.iter().flat_map(|needs| needs.iter()) {
                    self.ledger.free[r as usize] += units;
                    self.heads.moved(r);
                }
            }
            return seen(if self.leases.was_released(number) || self.faults.on("unknown_lease_called_duplicate") {
                "duplicate"
            } else {
                "unknown_lease"
            });
        };
        if claim.task.as_ref().is_some_and(|task| **task != *self.queue.names[lease.name].text) && !self.faults.on("stale_lease_released") {
            return seen("stale_lease");
        }
        self.finish(number, lease, claim);
        seen("released")
    }

    /// A release frees the units that the ledger itself recorded, once (ADM-4).
    fn finish(&mut self, number: u64, lease: Lease, claim: &Claim) {
        let (g, shape) = (lease.group, lease.shape);
        self.leases.release(number);
        self.ledger.unlease(shape);
        self.ledger.needs(shape).iter().for_each(|&(r, _)| self.heads.moved(r));
        if let (Some(claimed), true) = (&claim.needs, self.faults.on("release_frees_the_callers_amounts")) {
            self.ledger.lease(shape);
            for (name, units) in claimed {
                if let Some(r) = self.ledger.known(name) {
                    self.ledger.free[r as usize] += units;
                    self.heads.moved(r);
                }
            }
        }
        #[cfg(feature = "faults")]
        {
            self.last_released = (number, Some(self.ledger.needs(shape).clone()));
        }
        match &mut self.kind {
            Kind::SlotTime(time) => time.finished(&self.ledger, number, self.now),
            Kind::Strict(strict) => {
                strict.finished(g);
                self.heads.refresh(&self.ledger, g, &*strict);
            }
            Kind::BoundedBorrow(borrow) => {
                let debtor = borrow.finished(&self.ledger, g, shape);
                self.heads.refresh(&self.ledger, g, &**borrow);
                if debtor != g {
                    self.heads.refresh(&self.ledger, debtor, &**borrow);
                }
            }
        }
        self.queue.drop_name(lease.name);
        self.ledger.drop_shape(shape);
    }
}
