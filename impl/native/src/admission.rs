//! Admission: one command at a time, and what is seen of it. Everything is kept up to date incrementally; nothing is scanned. Tasks come and go in
//! `arrivals`, start in `starts` and end in `releases`.
mod arrivals;
mod releases;
mod starts;

use crate::bounded_borrow::BoundedBorrow;
use crate::fair_queue::{FairQueue, GroupId, Key};
use crate::faults::Faults;
use crate::heads::{Head, Heads};
use crate::leases::Leases;
use crate::ledger::{Ledger, ShapeId};
use crate::slot_time::SlotTime;
use crate::strict::Strict;
use crate::words::{About, Command, Discipline, MOST, Profile, Seen, WEIGHT_UNIT};

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Strict(Strict),
    BoundedBorrow(Box<BoundedBorrow>),
    SlotTime(Box<SlotTime>),
}

/// Do the same for the discipline's rule, whichever of the two tagged ones it is.
macro_rules! with_rule {
    ($kind:expr, $rule:ident => $do:expr, $other:ident => $else:expr) => {
        match $kind {
            Kind::Strict(strict) => {
                let $rule: &$crate::strict::Strict = strict;
                $do
            }
            Kind::BoundedBorrow(borrow) => {
                let $rule: &$crate::bounded_borrow::BoundedBorrow = borrow;
                $do
            }
            Kind::SlotTime($other) => $else,
        }
    };
}
pub(crate) use with_rule;

#[derive(Clone, Debug)]
pub struct Admission {
    pub(crate) queue: FairQueue,
    pub(crate) ledger: Ledger,
    pub(crate) leases: Leases,
    pub(crate) heads: Heads,
    pub(crate) kind: Kind,
    pub(crate) now: i64,
    accepts_the_impossible: bool,
    faults: Faults,
    #[cfg(feature = "faults")]
    last_released: (u64, Option<crate::ledger::Needs>),
}

impl Admission {
    /// A scheduler with nothing waiting and nothing running. The error says which argument is wrong.
    pub fn new(profile: &Profile, capacity: &[(String, i64)], faults: Faults) -> Result<Self, String> {
        profile.check()?;
        if capacity.is_empty() {
            return Err("capacity must list at least one resource".into());
        }
        for (i, (name, units)) in capacity.iter().enumerate() {
            if !(1..=MOST).contains(units) {
                return Err(format!("capacity of {name} must be 1 to {MOST}, found {units}"));
            }
            if capacity[..i].iter().any(|other| other.0 == *name) {
                return Err(format!("capacity lists {name} twice"));
            }
        }
        let ledger = Ledger::new(capacity);
        let kind = match &profile.discipline {
            Discipline::Strict {} => Kind::Strict(Strict::new(faults)),
            Discipline::BoundedBorrow(p) => Kind::BoundedBorrow(Box::new(BoundedBorrow::new(p, &ledger, faults))),
            Discipline::SlotTime(p) => Kind::SlotTime(Box::new(SlotTime::new(*p, faults))),
        };
        let heads = Heads::new(&ledger, faults);
        Ok(Admission {
            queue: FairQueue::new(profile, faults),
            ledger,
            leases: Leases::new(profile.released_memory),
            heads,
            kind,
            now: 0,
            accepts_the_impossible: profile.accepts_the_impossible,
            faults,
            #[cfg(feature = "faults")]
            last_released: (0, None),
        })
    }

    /// Heads examined by rounds since the beginning.
    pub fn examined(&self) -> u64 {
        match &self.kind {
            Kind::SlotTime(time) => time.examined(),
            _ => self.heads.examined,
        }
    }

    /// Do one command. What is seen is added to `saw`.
    pub fn step(&mut self, command: &Command, at: i64, saw: &mut Vec<Seen>) {
        if at < self.now && !self.faults.on("time_reversal_ignored") {
            saw.push(Seen("time_reversed", About::Number(self.now)));
            return;
        }
        self.now = at;
        match command {
            Command::Enqueue { tasks, groups } => self.enqueue(tasks, groups, saw),
            Command::Discard { task } => saw.push(match self.queue.waits(task) {
                Some(n) => self.discard(n),
                None => {
                    self.queue.version += u64::from(self.faults.on("unknown_discard_moves_the_version"));
                    Seen("unknown_task", About::Task((**task).into()))
                }
            }),
            Command::DiscardWhere { group, prefix } => {
                for n in self.queue.matching(group.as_deref(), prefix) {
                    let seen = self.discard(n);
                    saw.push(seen);
                }
            }
            Command::Pump { at_most } => self.pump(*at_most as usize, saw),
            Command::Select => {
                let seen = self.select();
                saw.push(seen);
            }
            Command::Commit { task, version } => {
                let seen = self.commit(task, *version as u64);
                saw.push(seen);
            }
            Command::Release { lease, claim } => {
                let seen = self.release(*lease as u64, claim);
                saw.push(seen);
            }
            Command::Explain => self.explain(saw),
        }
    }

    fn forget_ghosts(&mut self, g: GroupId) {
        self.queue.forget_ghosts(g, |shape| forget_shape(&mut self.ledger, shape, self.faults));
    }

    /// Forget the ghosts at the head of a waiting group, and file its head.
    fn settle(&mut self, g: GroupId) {
        if self.heads.of(g).is_none() {
            self.forget_ghosts(g);
            self.file(g);
        }
    }

    /// The head that this group should have filed.
    pub(crate) fn head(&self, g: GroupId) -> Option<Head> {
        let entry = self.queue.head(g)?;
        let weight = i64::from(entry.weight).max(WEIGHT_UNIT);
        Some(Head { key: self.queue.key(g), shape: entry.shape, weight, share_limit: entry.share_limit.map(i64::from) })
    }

    fn file(&mut self, g: GroupId) {
        if let Some(head) = self.head(g) {
            with_rule!(&self.kind, rule => self.heads.file(&self.ledger, g, head, rule), _time => {});
        }
    }

    /// Every head is known and every rival counted: what a round needs.
    fn ready(&mut self) {
        while let Some(g) = self.queue.unsettled() {
            self.settle(g);
        }
        with_rule!(&self.kind, rule => self.heads.count(&self.ledger, rule), _time => {});
    }

    /// All groups with a head, in the order of their places.
    fn order(&mut self) -> Vec<GroupId> {
        match &mut self.kind {
            Kind::SlotTime(time) => time.order(&self.ledger, self.now),
            _ => {
                let mut keys: Vec<(Key, GroupId)> = self.heads.iter().map(|(g, head)| (head.key, g)).collect();
                keys.sort_unstable();
                keys.into_iter().map(|(_, g)| g).collect()
            }
        }
    }

    fn explain(&mut self, saw: &mut Vec<Seen>) {
        if self.queue.waiting == 0 {
            return;
        }
        self.ready();
        for g in self.order() {
            let text = self.head_text(g);
            saw.push(match self.verdict(g) {
                Ok(_) => Seen("startable", About::Task(text)),
                Err(refusal) => Seen("refused", About::Reason(text, refusal)),
            });
        }
    }
}

/// The entry of a discarded task is gone, and with it one user of its shape.
fn forget_shape(ledger: &mut Ledger, shape: ShapeId, faults: Faults) {
    if !faults.on("discarded_task_leaves_its_shape") {
        ledger.drop_shape(shape);
    }
}
