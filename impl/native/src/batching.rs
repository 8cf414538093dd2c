//! Checkpoint batching (slotwise): drain, look ahead on known due times, hold only while somebody can still add work.
//!
//! No step looks through the queue or the refreshes that wait: the queue's prefix is kept as items come, refreshes are counted when they
//! become due, and a plan looks at the nearest few instants only.
use std::sync::Arc;

use crate::batching_words::{Command, LookAhead, Outcome, Refresh, Seen, Submit, Time, Why};
use crate::faults::Faults;
use crate::refresh::clock::Clock;
use crate::refresh::{Asked, Crowd, Refreshes, Ticket};
use crate::tables::{Map, Set};

use line::{Item, Line};
use plan::Plan;

mod answers;
pub mod line;
pub mod plan;
mod state;

/// The request that is out.
#[derive(Clone, Debug)]
pub struct Flight {
    items: Vec<Item>,
    board: Vec<Ticket>,
    sent: i64,
    done: Set<Arc<str>>,
    pub fetching: bool,
}

#[derive(Clone, Debug)]
pub struct Collector {
    p: LookAhead,
    token: Arc<str>,
    pub now: i64,
    line: Line,
    refreshes: Refreshes,
    clock: Clock,
    pub flight: Option<Flight>,
    known: Set<Arc<str>>,
    parents: Map<Arc<str>, Arc<str>>,
    closed: Set<Arc<str>>,
    running: i64,
    outside: i64,
    stale: i64,
    open: Option<i64>,
    moved: i64,
    fell: i64,
    round_trip: Time,
    measured: bool,
    stopped: bool,
    over: Option<Why>,
    plan: Plan,
    faults: Faults,
}

impl Collector {
    pub fn new(p: &LookAhead, token: &str, hint: i64, faults: Faults) -> Self {
        let clock = Clock::new(p.remembered, p.resolution, hint, faults);
        Collector {
            p: *p,
            token: token.into(),
            now: 0,
            line: Line::new(p, faults),
            refreshes: Refreshes::new(clock.shift(), faults),
            clock,
            flight: None,
            known: Set::default(),
            parents: Map::default(),
            closed: Set::default(),
            running: 0,
            outside: 0,
            stale: 0,
            open: None,
            moved: 0,
            fell: 0,
            round_trip: p.round_trip.into(),
            measured: false,
            stopped: false,
            over: None,
            plan: Plan::default(),
            faults,
        }
    }

    pub fn do_command(&mut self, command: &Command, saw: &mut Vec<Seen>) {
        match command {
            Command::Submit(item) => saw.push(self.submit(item)),
            Command::Refresh(refresh) => saw.push(self.refresh(refresh)),
            Command::Cancel { id, owner } => self.cancel(id.as_deref(), owner, saw),
            Command::Credit { running, outside } => self.credit(*running, *outside),
            Command::Stop => self.stop(saw),
            Command::Pump => saw.push(self.pump()),
            Command::Respond { token, stamp, done, marker } => self.respond(token.as_deref(), *stamp, done, marker.as_deref(), saw),
            Command::Page { done, marker } => self.page(done, marker.as_deref(), saw),
            Command::Fail => self.end(Why::Failed, saw),
        }
    }

    fn refusal(&self) -> Option<Why> {
        self.over.or(self.stopped.then_some(Why::Stopped))
    }

    /// Has its parent ended, or a context above? A context above itself ends the search.
    fn is_orphan<'a>(&'a self, mut parent: &'a str) -> bool {
        let (mut seen, mut steps, mut power) = (parent, 0, 1);
        while !self.closed.contains(parent) {
            match self.parents.get(parent) {
                Some(above) if **above != *seen => parent = above,
                _ => return false,
            }
            steps += 1;
            if steps == power {
                (seen, steps, power) = (parent, 0, 2 * power);
            }
        }
        true
    }

    fn submit(&mut self, item: &Submit) -> Seen {
        let id: Arc<str> = (*item.id).into();
        let orphan = item.parent.as_deref().is_some_and(|parent| !self.closed.is_empty() && self.is_orphan(parent));
        if let Some(why) = if orphan { Some(Why::Orphaned) } else { self.refusal() } {
            return Seen::Rejected(id, why);
        }
        if let Some(parent) = item.parent.as_deref() {
            self.parents.insert(id.clone(), parent.into());
        }
        if item.ends {
            self.closed.insert(id.clone());
        }
        let size = if item.empty { 0 } else { item.size };
        self.line.push(Item {
            id: id.clone(),
            size,
            sync: item.sync,
            empty: item.empty,
            is_final: item.is_final && !item.empty,
            at: self.now,
        });
        self.moved = self.now;
        if item.sync {
            self.credit(-1, 0);
        }
        Seen::Accepted(id)
    }

    fn refresh(&mut self, refresh: &Refresh) -> Seen {
        let id: Arc<str> = (*refresh.id).into();
        let duplicate = || self.refreshes.by_id.contains_key(&id).then_some(Why::Duplicate);
        if let Some(why) = self.refusal().or_else(duplicate) {
            return Seen::Rejected(id, why);
        }
        if self.known.contains(&id) {
            self.credit(1, 0);
            return Seen::Resumed((*refresh.owner).into(), refresh.key, vec![id]);
        }
        let due = refresh.due.or(if refresh.key.is_none() { Some(self.now) } else { None }).map(Time::from);
        let asked = Asked { id: id.clone(), owner: (*refresh.owner).into(), index: refresh.index, key: refresh.key, due };
        if self.refreshes.ask(asked, self.now.into()) {
            self.moved = self.now;
        }
        Seen::Accepted(id)
    }

    /// Nobody waits for it any more: it is settled now, wherever it is.
    fn cancel(&mut self, id: Option<&str>, owner: &str, saw: &mut Vec<Seen>) {
        let next = |of: &Refreshes| match id {
            Some(id) => of.by_id.get(id).copied(),
            None => of.first_of(owner),
        };
        let mut left = usize::MAX;
        while let Some(slot) = next(&self.refreshes).filter(|_| left > 0) {
            if self.faults.on("cancelled_in_flight_settled_again") && self.refreshes.waiters[slot].in_flight {
                saw.push(Seen::Settled(self.refreshes.waiters[slot].id.clone(), Outcome::Cancelled));
                left = 0;
                continue;
            }
            let waiter = self.refreshes.remove(slot);
            if self.faults.on("cancelled_refresh_holds_a_batch_open") && !waiter.in_flight {
                self.refreshes.count_for_ever();
            }
            saw.push(Seen::Settled(waiter.id, Outcome::Cancelled));
            left -= 1;
        }
    }

    /// Who can add work without the service's help: running, or outside in user code.
    fn credit(&mut self, running: i64, outside: i64) {
        self.running = (self.running + running).max(0);
        self.outside = (self.outside + outside).max(0);
        if running < 0 {
            self.fell = self.now;
        }
        if self.running < self.stale && !self.faults.on("stale_never_reset") {
            self.stale = 0;
        }
    }

    fn stop(&mut self, saw: &mut Vec<Seen>) {
        self.stopped = true;
        let mut gone = self.refreshes.clear_waiting();
        if self.faults.on("stop_leaves_a_waiter_unsettled") {
            gone.pop();
        }
        saw.extend(gone.into_iter().map(|waiter| Seen::Settled(waiter.id, Outcome::Orphaned)));
    }

    fn pump(&mut self) -> Seen {
        if self.over.is_some() {
            return Seen::Exit;
        }
        if self.flight.is_some() {
            return Seen::Sleep(None);
        }
        if self.stopped {
            if self.line.is_empty() {
                self.over = Some(Why::Stopped);
                return Seen::Exit;
            }
            return self.send();
        }
        let due = self.refreshes.due(self.now.into());
        let blocked = self.line.syncs + due.waiters;
        self.open = if blocked == 0 { None } else { self.open.or(Some(self.now)) };
        match self.wait_until(due, blocked) {
            Some(until) => Seen::Sleep(until),
            None => self.send(),
        }
    }

    /// Nothing is sent before then, or another command; without a time, only after one. None: it is sent now.
    fn wait_until(&mut self, due: Crowd, blocked: u64) -> Option<Option<Time>> {
        let (now, collection) = (Time::from(self.now), Time::from(self.p.collection));
        let ends = self.line.items.front().zip(self.line.items.back()).map(|(first, last)| (Time::from(first.at), Time::from(last.at)));
        let full = self.line.is_full();
        let gate = match ends {
            Some((first, last)) if !full => (first + collection).min(last + Time::from(self.p.quiet)),
            _ => now,
        };
        if blocked == 0 && (ends.is_none() || gate > now) {
            let gate = ends.map(|_| gate);
            return Some(self.refreshes.earliest().into_iter().chain(gate).min());
        }
        let open = self.open.map(Time::from);
        // no collection is longer, counted from whatever has waited the longest
        let latest = ends.map(|(first, _)| first).into_iter().chain(open).min().unwrap_or(now) + collection;
        let limit = (open.unwrap_or(gate) + self.round_trip - 1).min(latest);
        let first = self.look_ahead(blocked, limit);
        if first > now {
            return Some(Some(first));
        }
        let open = open.filter(|_| blocked > 0 && !full)?;
        let hold = self.hold(open, due).min(open + Time::from(self.p.hold) * self.round_trip - 1).min(latest);
        if now < hold {
            return Some(Some(hold));
        }
        self.stale = self.stale.max(self.running);
        None
    }

    /// When the best plan for what is known to come begins.
    fn look_ahead(&mut self, blocked: u64, limit: Time) -> Time {
        let now = Time::from(self.now);
        let horizon = now + Time::from(self.p.horizon) * self.round_trip;
        self.refreshes.near(now, horizon, self.p.instants as usize, limit, &mut self.plan.known);
        if self.faults.on("plan_ignores_multiplicities") {
            self.plan.known.iter_mut().for_each(|known| known.1 = 1);
        }
        self.plan.first(now, blocked, limit, self.round_trip)
    }

    /// Until when it pays to wait for producers, if nothing happens before.
    fn hold(&self, open: Time, due: Crowd) -> Time {
        let (now, may_come) = (Time::from(self.now), Time::from(self.p.may_come));
        let last = open.max(self.moved.into()).max(self.refreshes.latest_due(now).unwrap_or(open));
        let certain = if self.p.counted { self.running - self.stale } else { 0 };
        if certain >= 2 {
            let fell = if self.faults.on("hold_ignores_a_fall") { last } else { self.fell.into() };
            return last.max(fell) + may_come.max(self.round_trip / Time::from(self.p.will_come));
        }
        let unforeseen = self.line.syncs > 0 || due.late > 0;
        if certain == 1 || unforeseen && (self.outside > 0 || !self.p.counted) { last + may_come } else { now }
    }

    /// A request takes what it can carry of the queue, and every refresh that is due.
    fn send(&mut self) -> Seen {
        let due = if self.faults.on("due_while_filling_misses_the_batch") { self.open.unwrap_or(self.now) } else { self.now };
        let (items, board) = (self.line.take(), self.refreshes.board(due.into()));
        let updates = items.iter().filter(|item| !item.empty).map(|item| item.id.clone()).collect();
        let asked = board.iter().filter_map(|&ticket| Some(self.refreshes.holder(ticket)?.id.clone())).collect();
        self.flight = Some(Flight { items, board, sent: self.now, done: Set::default(), fetching: false });
        self.open = None;
        Seen::Send(updates, asked, self.token.clone())
    }
}

#[cfg(feature = "faults")]
const OURS: &[&str] = &["slotwise"];

#[cfg(feature = "faults")]
#[rustfmt::skip]
pub const FAULTS: &[crate::faults::Fault] = &[
    ("stale_never_reset", "BAT-7", "producers that were waited for in vain are never waited for again", OURS),
    ("count_limit_off_by_one", "BAT-8", "a request carries one update more than it may", OURS),
    ("empties_counted", "BAT-8", "empty items count as updates", OURS),
    ("first_update_may_be_too_large", "BAT-9", "the first update, too, must fit: one that is too large is never sent", OURS),
    ("plan_ignores_multiplicities", "BAT-15", "the plan takes all due instants for equal, however many are due", OURS),
    ("hold_ignores_a_fall", "BAT-16", "a producer that stops running does not restart the silence", OURS),
    ("overflow_head_at_the_tail", "BAT-21", "what does not fit goes to the back of the queue", OURS),
    ("due_while_filling_misses_the_batch", "BAT-21", "a refresh that came due during a hold waits for the next request", OURS),
    ("stop_leaves_a_waiter_unsettled", "BAT-28", "a stop does not tell the last refresh", OURS),
    ("ring_kept_on_a_clock_step", "REF-4", "what was measured before a clock was set is kept", OURS),
    ("cancelled_refresh_holds_a_batch_open", "REF-9", "a cancelled refresh that was due still counts as blocked", OURS),
    ("cancelled_in_flight_settled_again", "REF-9", "a refresh that is cancelled in flight comes back with the answer, too", OURS),
    ("owner_never_forgotten", "REF-9", "an owner stays known when its last refresh is settled; only an audit sees it", OURS),
    ("slack_never_shrinks", "REF-11", "a service that was slow once is never trusted again", OURS),
    ("settled_by_an_older_request", "REF-12", "a refresh that came due during a request is settled by its answer", OURS),
    ("asked_again_after_the_longest_pause", "REF-14", "what is not done yet is asked for only after the whole pause", OURS),
    ("waves_in_suspension_order", "REF-15", "branches go on in the order in which they were suspended", OURS),
];
