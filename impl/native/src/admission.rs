//! Admission: one command at a time, and what is seen of it. Everything is kept up to date incrementally; nothing is scanned.
use std::sync::Arc;

use crate::bounded_borrow::BoundedBorrow;
use crate::fair_queue::{FairQueue, GroupId, Key, NameId};
use crate::faults::Faults;
use crate::heads::{Borrowed, Head, Heads};
use crate::leases::{Lease, Leases};
use crate::ledger::{Ledger, ResourceId, ShapeId};
use crate::slot_time::SlotTime;
use crate::strict::Strict;
use crate::words::{About, Claim, Command, Discipline, GroupIn, MOST, Profile, Refusal, Seen, Spec, TaskIn, Text, WEIGHT_UNIT};

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
                let $rule: &Strict = strict;
                $do
            }
            Kind::BoundedBorrow(borrow) => {
                let $rule: &BoundedBorrow = borrow;
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

/// Who is to start, as the discipline found it.
enum Chosen {
    Tagged(Key, GroupId, Borrowed),
    Timed(GroupId),
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

    fn enqueue(&mut self, tasks: &[TaskIn], groups: &[GroupIn], saw: &mut Vec<Seen>) {
        let mut accepted = false;
        let (mut needs, mut last): (_, Option<(&TaskIn, ShapeId)>) = (Vec::new(), None);
        self.queue.reserve(tasks.len());
        for task in tasks {
            let known = self.queue.group(&task.group);
            let deaf = known.is_some() && self.faults.on("new_specification_ignored");
            let sent = groups.iter().rev().find(|group| group.name == task.group && !deaf).map(|group| group.spec);
            let spec = sent.or(known.map(|g| self.queue.groups[g as usize].spec)).unwrap_or_default();
            if let Some(refusal) = self.impossible(&task.needs, spec) {
                saw.push(Seen("refused", About::Reason((*task.id).into(), refusal)));
            } else if let Some(n) = self.queue.waits(&task.id) {
                saw.push(Seen("duplicate", About::Task(self.queue.text(n))));
                accepted |= self.faults.on("duplicate_moves_the_version");
            } else {
                let shape = match last {
                    Some((other, shape)) if other.needs == task.needs => self.ledger.hold_shape_again(shape),
                    _ => self.shape(&task.needs, &mut needs),
                };
                last = Some((task, shape));
                let g = known.unwrap_or_else(|| self.group(&task.group));
                let n = self.queue.name(&task.id);
                self.accept(g, n, shape, spec);
                saw.push(Seen("accepted", About::Task(self.queue.text(n))));
                accepted = true;
            }
        }
        self.queue.version += u64::from(accepted);
    }

    /// The number of what is asked; one more user.
    pub(crate) fn shape(&mut self, asked: &[(Text, i64)], needs: &mut Vec<(ResourceId, i64)>) -> ShapeId {
        needs.clear();
        needs.extend(asked.iter().map(|(name, units)| (self.ledger.resource(name), *units)));
        self.ledger.hold_shape(needs)
    }

    /// A task that could never start is refused (ADM-9), unless the profile accepts it.
    pub(crate) fn impossible(&self, needs: &[(Text, i64)], spec: Spec) -> Option<Refusal> {
        if self.accepts_the_impossible {
            return None;
        }
        for (name, units) in needs {
            match self.ledger.known(name).map_or(0, |r| self.ledger.capacity[r as usize]) {
                0 => return Some(Refusal::NeverFits),
                capacity if *units > capacity && !self.faults.on("never_fits_accepted") => return Some(Refusal::NeverFits),
                _ => {}
            }
        }
        if spec.weight == 0 {
            return Some(Refusal::NoWeight);
        }
        (spec.running_limit == Some(0)).then_some(Refusal::LimitBelowOne)
    }

    /// The number of the group of that name.
    pub(crate) fn group(&mut self, name: &str) -> GroupId {
        let (g, new) = self.queue.hold_group(name);
        if new {
            match &mut self.kind {
                Kind::Strict(strict) => strict.add_group(),
                Kind::BoundedBorrow(borrow) => borrow.add_group(name),
                Kind::SlotTime(time) => {
                    time.add_group();
                }
            }
            self.heads.add_group();
        }
        g
    }

    fn accept(&mut self, g: GroupId, n: NameId, shape: ShapeId, spec: Spec) {
        self.queue.accept(g, n, shape, spec);
        if let Kind::SlotTime(time) = &mut self.kind {
            let head = (self.queue.groups[g as usize].waiting == 1).then_some(shape);
            return time.accepted(&self.ledger, g, head, spec.weight, spec.running_limit, self.now);
        }
        if self.queue.groups[g as usize].turn == 0 {
            self.queue.bring_tag(g);
            self.queue.take_turn(g);
        }
        self.settle(g);
    }

    /// A task without an id arrives, which asks what others ask already. (For those who know tasks by the numbers that this answers.)
    pub(crate) fn accept_nameless(&mut self, g: GroupId, shape: ShapeId, spec: Spec, text: &Arc<str>) -> NameId {
        self.ledger.hold_shape_again(shape);
        let n = self.queue.nameless(text.clone());
        self.accept(g, n, shape, spec);
        n
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

    fn discard(&mut self, n: NameId) -> Seen {
        let text = self.queue.text(n);
        let e = self.queue.names[n].entry;
        let g = self.queue.forget(n);
        let was_head = self.queue.head(g).is_some_and(|head| head.name == n);
        if self.queue.lingers {
            if was_head {
                self.heads.unfile(g);
                self.queue.unsettle(g);
            }
        } else {
            let entry = self.queue.unlink(g, e);
            if was_head {
                self.heads.unfile(g);
                self.file(g);
            }
            self.queue.drop_name(n);
            if let Kind::SlotTime(time) = &mut self.kind
                && was_head
            {
                time.head_discarded(&self.ledger, g, self.queue.head(g).map(|head| head.shape));
            }
            forget_shape(&mut self.ledger, entry.shape, self.faults);
        }
        self.queue.give_up_place(g);
        Seen("discarded", About::Task(text))
    }

    fn pump(&mut self, at_most: usize, saw: &mut Vec<Seen>) {
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

    fn select(&mut self) -> Seen {
        let chosen = if self.queue.waiting > 0 { self.round() } else { None };
        match chosen {
            Some(Chosen::Tagged(_, g, _) | Chosen::Timed(g)) => Seen("selected", About::Version(self.head_text(g), self.queue.version)),
            None => self.closing_word(false),
        }
    }

    fn head_text(&self, g: GroupId) -> Arc<str> {
        self.queue.head(g).map_or_else(|| "".into(), |head| self.queue.text(head.name))
    }

    fn commit(&mut self, id: &str, version: u64) -> Seen {
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

    fn verdict(&mut self, g: GroupId) -> Result<Borrowed, Refusal> {
        with_rule!(&mut self.kind,
            rule => self.heads.verdict(&self.ledger, g, rule),
            time => time.verdict(&self.ledger, g, self.now).map_or(Ok(Vec::new()), Err))
    }

    fn release(&mut self, number: u64, claim: &Claim) -> Seen {
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
