//! Strict: a group at its limit of leases makes way under pressure. Nothing is owed.
use crate::fair_queue::GroupId;
use crate::faults::Faults;
use crate::heads::{ALWAYS, Borrowed, Head, NEVER, Rivals, Rule, Thresholds, WATCHED};
use crate::ledger::{Ledger, ResourceId, ShapeId};
use crate::words::Refusal;

#[derive(Clone, Debug, Default)]
pub struct Strict {
    /// Leases of each group.
    pub running: Vec<i64>,
    faults: Faults,
}

impl Strict {
    pub fn new(faults: Faults) -> Self {
        Strict { running: Vec::new(), faults }
    }

    pub fn add_group(&mut self) {
        self.running.push(0);
    }

    pub fn started(&mut self, g: GroupId) {
        self.running[g as usize] += 1;
    }

    pub fn finished(&mut self, g: GroupId) {
        self.running[g as usize] -= 1;
    }

    fn at_limit(&self, g: GroupId, head: &Head) -> bool {
        let more = i64::from(self.faults.on("strict_limit_off_by_one"));
        head.share_limit.is_some_and(|limit| self.running[g as usize] >= limit + more)
    }
}

fn pressed(ledger: &Ledger, shape: ShapeId, rivals: &Rivals) -> bool {
    ledger.needs(shape).iter().any(|&(r, _)| rivals.press(ledger, shape, r))
}

impl Rule for Strict {
    fn thresholds(&self, _: &Ledger, g: GroupId, head: &Head) -> Thresholds {
        Thresholds { most: [if self.at_limit(g, head) { NEVER } else { ALWAYS }; WATCHED], alone: u8::MAX }
    }

    fn asked(&self, _: ResourceId, _: &Rivals) -> i64 {
        ALWAYS
    }

    /// Under pressure, a group that holds as many leases as its share limit starts nothing (STR-1).
    fn judge(&self, ledger: &Ledger, g: GroupId, head: &Head, rivals: &Rivals) -> Result<Borrowed, Refusal> {
        if self.at_limit(g, head) && pressed(ledger, head.shape, rivals) { Err(Refusal::GroupCap) } else { Ok(Vec::new()) }
    }
}
