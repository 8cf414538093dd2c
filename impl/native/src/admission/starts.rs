//! Who starts next, and what is said of it: rounds, grants, pumps, selections and commits.
use std::sync::Arc;

use super::{Admission, Kind, with_rule};
use crate::fair_queue::{GroupId, Key, NameId};
use crate::heads::Borrowed;
use crate::leases::Lease;
use crate::ledger::ShapeId;
use crate::words::{About, Refusal, Seen};

/// Who is to start, as the discipline found it.
enum Chosen {
    Tagged(Key, GroupId, Borrowed),
    Timed(GroupId),
}

impl Admission {
    /// The group whose head is the first that nothing holds back (ADM-3).
    fn round(&mut self) -> Option<Chosen> {
        self.ready();
        let (ledger, heads) = (&self.ledger, &mut self.heads);
        let chosen = with_rule!(&mut self.kind,
            rule => heads.choose(ledger, rule).map(|(key, g, borrowed)| Chosen::Tagged(key, g, borrowed)),
            time => return time.choose(ledger, self.now).map(Chosen::Timed));
        let key = chosen.as_ref().and_then(|chosen| if let Chosen::Tagged(key, ..) = chosen { Some(*key) } else { None });
        while let Some(idle) = self.queue.idle_before(key) {
            self.forget_ghosts(idle);
        }
        chosen
    }

    /// Head-of-line blocking: nothing starts unless it is the very first head.
    #[cfg(feature = "faults")]
    fn only_the_first(&mut self, chosen: Option<Chosen>) -> Option<Chosen> {
        let first = self.order().first().copied();
        chosen.filter(|chosen| matches!(chosen, Chosen::Tagged(_, g, _) | Chosen::Timed(g) if Some(*g) == first))
    }

    /// The head of the chosen group starts (ADM-2).
    fn grant(&mut self, chosen: Chosen) -> (u64, NameId, ShapeId) {
        let (g, borrowed) = match chosen {
            Chosen::Tagged(_, g, borrowed) => (g, borrowed),
            Chosen::Timed(g) => (g, Vec::new()),
        };
        self.heads.unfile(g);
        let entry = self.queue.take(g);
        let shape = entry.shape;
        self.ledger.lease(shape);
        if let (Some(&(r, units)), true) = (self.ledger.needs(shape).last(), self.faults.on("last_need_not_leased")) {
            self.ledger.free[r as usize] += units;
        }
        let number = self.leases.grant(Lease { name: entry.name, group: g, shape, at: self.now });
        match &mut self.kind {
            Kind::SlotTime(time) => {
                let next = self.queue.head(g).map(|head| head.shape);
                time.started(&self.ledger, g, next, number, shape, self.now);
            }
            Kind::Strict(strict) => strict.started(g),
            Kind::BoundedBorrow(borrow) => borrow.started(&self.ledger, g, shape, &borrowed),
        }
        if !matches!(self.kind, Kind::SlotTime(_)) {
            self.queue.move_tag(g, entry.weight);
            self.forget_ghosts(g);
            if self.queue.groups[g as usize].waiting > 0 {
                self.queue.take_turn(g);
                self.file(g);
            }
        }
        (number, entry.name, shape)
    }

    fn started(&self, (number, name, shape): (u64, NameId, ShapeId)) -> Seen {
        Seen("started", About::Start(number, self.queue.text(name), self.ledger.needs(shape).clone()))
    }

    pub(super) fn pump(&mut self, at_most: usize, saw: &mut Vec<Seen>) {
        let at_most = at_most + usize::from(self.faults.on("pump_one_too_many"));
        let mut started = 0;
        while started < at_most {
            let Some(start) = self.start_next() else { break };
            saw.push(self.started(start));
            started += 1;
        }
        saw.push(self.closing_word(started == at_most));
    }

    /// Start the next task that may start: its lease, its name and what it asks.
    pub(crate) fn start_next(&mut self) -> Option<(u64, NameId, ShapeId)> {
        let chosen = if self.queue.waiting > 0 { self.round() } else { None };
        #[cfg(feature = "faults")]
        let chosen = if self.faults.on("first_head_blocks_the_rest") { self.only_the_first(chosen) } else { chosen };
        chosen.map(|chosen| self.grant(chosen))
    }

    /// Why a pump or a round ends (ADM-11).
    fn closing_word(&self, full: bool) -> Seen {
        let word = match (self.queue.waiting, full) {
            (0, _) => "drained",
            (_, true) => "full",
            (_, false) => "blocked",
        };
        Seen(word, About::Nothing)
    }

    pub(super) fn select(&mut self) -> Seen {
        let chosen = if self.queue.waiting > 0 { self.round() } else { None };
        match chosen {
            Some(Chosen::Tagged(_, g, _) | Chosen::Timed(g)) => Seen("selected", About::Version(self.head_text(g), self.queue.version)),
            None => self.closing_word(false),
        }
    }

    pub(super) fn head_text(&self, g: GroupId) -> Arc<str> {
        self.queue.head(g).map_or_else(|| "".into(), |head| self.queue.text(head.name))
    }

    pub(super) fn commit(&mut self, id: &str, version: u64) -> Seen {
        let stale = || Seen("stale_selection", About::Task(id.into()));
        if version != self.queue.version && !self.faults.on("commit_ignores_a_stale_selection") {
            return stale();
        }
        let Some(n) = self.queue.waits(id) else { return stale() };
        let g = self.queue.names[n].group;
        if !matches!(self.kind, Kind::SlotTime(_)) {
            self.settle(g);
        }
        if self.queue.head(g).is_none_or(|head| head.name != n) {
            return stale();
        }
        self.ready();
        match self.verdict(g) {
            Ok(borrowed) => {
                let start = self.grant(Chosen::Tagged(Key::default(), g, borrowed));
                self.started(start)
            }
            Err(refusal) => Seen("refused", About::Reason(id.into(), refusal)),
        }
    }

    pub(super) fn verdict(&mut self, g: GroupId) -> Result<Borrowed, Refusal> {
        with_rule!(&mut self.kind,
            rule => self.heads.verdict(&self.ledger, g, rule),
            time => time.verdict(&self.ledger, g, self.now).map_or(Ok(Vec::new()), Err))
    }
}
