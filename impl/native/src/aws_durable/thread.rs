//! The thread: steps A to G, up to the next read, request, or its end.
use super::batch::Item;
use super::{Collector, Flight, Phase, Queued};
use crate::batching_words::{Outcome, Seen, Time, Why};

impl Collector {
    /// The thread runs until it sleeps, sends or ends.
    pub(super) fn pump(&mut self, saw: &mut Vec<Seen>) -> Seen {
        if self.over.is_some() {
            return Seen::Exit;
        }
        if self.flight.is_some() {
            return Seen::Sleep(None);
        }
        loop {
            self.looked += 1;
            if let Some(until) = self.until {
                let ended_by_stop = self.stopped && !self.switches.stop_waits_for_poll;
                if Time::from(self.now) < until && self.queue.is_empty() && !ended_by_stop {
                    return Seen::Sleep(Some(until));
                }
                if self.end_read(saw) {
                    return self.send(saw);
                }
            } else if self.stopped && !matches!(self.phase, Phase::More(_)) {
                return self.leave(saw);
            } else if self.begin_read(saw) {
                return self.send(saw);
            }
        }
    }

    /// Is enough collected? Else a read is going on.
    fn begin_read(&mut self, saw: &mut Vec<Seen>) -> bool {
        let now = Time::from(self.now);
        if self.phase == Phase::Idle {
            self.phase = Phase::First;
            self.drain_overflow();
            self.join_due(saw);
            self.begin_collection();
        }
        let Phase::More(deadline) = self.phase else {
            self.forget_cancelled(saw);
            let poll = now + Time::from(self.p.quiet);
            self.until = Some(self.heap.next_due().map_or(poll, |due| due.min(poll)).max(now));
            return false;
        };
        if self.stopped || self.is_full() {
            return true;
        }
        self.join_due(saw);
        self.forget_cancelled(saw);
        if self.quiet_until.is_none() || self.switches.wakes_extend {
            let blocked = self.p.blocked_window.filter(|_| self.batch.blocked > 0 && !self.faults.on("window_not_shortened_when_blocked"));
            self.quiet_until = Some(now + Time::from(self.p.quiet.min(blocked.unwrap_or(self.p.quiet))));
        }
        let next_due = self.heap.next_due().filter(|_| !self.faults.on("published_read_ignores_the_heap"));
        let until = [Some(deadline), self.quiet_until, next_due].into_iter().flatten().min().unwrap_or(now);
        self.until = (until > now).then_some(until);
        self.until.is_none()
    }

    /// What a read has brought, or what has become due meanwhile. Is that the end of the collection?
    fn end_read(&mut self, saw: &mut Vec<Seen>) -> bool {
        self.until = None;
        let first = self.phase == Phase::First;
        match self.queue.pop_front() {
            Some(Queued::Wake) => self.woken = self.faults.on("wake_flag_never_cleared"),
            Some(Queued::Item(item)) => {
                let checked = !first || self.faults.on("published_first_item_may_not_fit");
                if checked && !self.batch.fits(&item, &self.p) {
                    self.overflow.push_back(item);
                    return !first;
                }
                self.join(item);
            }
            None => {
                if !self.join_due(saw) && !first {
                    return true;
                }
            }
        }
        if first {
            self.begin_collection();
        }
        false
    }

    fn begin_collection(&mut self) {
        if !self.batch.items.is_empty() {
            self.phase = Phase::More(Time::from(self.now) + Time::from(self.p.collection));
        }
    }

    /// A collection begins with what did not fit before; what does not fit now goes to the back.
    fn drain_overflow(&mut self) {
        while !self.is_full() {
            let Some(item) = self.overflow.pop_front() else { break };
            let waits = !self.batch.items.is_empty() || self.switches.oversize_overflow_waits;
            if waits && !self.batch.fits(&item, &self.p) {
                self.overflow.push_back(item);
                break;
            }
            self.join(item);
        }
    }

    /// Refreshes that are due join, whatever the batch holds; did any?
    fn join_due(&mut self, saw: &mut Vec<Seen>) -> bool {
        let mut any = false;
        while let Some(entry) = self.heap.pop_due(self.now.into()) {
            self.looked += 1;
            if entry.cancelled && !self.faults.on("published_cancelled_refresh_joins") {
                saw.push(Seen::Settled(entry.id, Outcome::Ok));
            } else {
                self.join(Item { id: entry.id, size: 0, sync: true, empty: true, is_final: false, refresh: true });
                any = true;
            }
        }
        any
    }

    fn forget_cancelled(&mut self, saw: &mut Vec<Seen>) {
        while let Some(entry) = self.heap.pop_cancelled() {
            saw.push(Seen::Settled(entry.id, Outcome::Ok));
        }
    }

    fn join(&mut self, item: Item) {
        self.batch.add(item);
        self.quiet_until = None;
    }

    fn is_full(&self) -> bool {
        self.batch.is_full(&self.p, self.faults)
    }

    fn send(&mut self, saw: &mut Vec<Seen>) -> Seen {
        if !self.faults.on("final_due_check_skipped") {
            self.join_due(saw);
        }
        let items = std::mem::take(&mut self.batch).items;
        let ids = |of: fn(&Item) -> bool| items.iter().filter(|item| of(item)).map(|item| item.id.clone()).collect();
        let sent = Seen::Send(ids(|item| !item.empty), ids(|item| item.refresh), self.token.clone());
        self.flight = Some(Flight { items, sent: self.now, fetching: false });
        (self.phase, self.quiet_until) = (Phase::Idle, None);
        sent
    }

    /// A stopped thread ends.
    fn leave(&mut self, saw: &mut Vec<Seen>) -> Seen {
        (self.phase, self.over) = (Phase::Idle, Some(Why::Stopped));
        if !self.switches.stop_abandons {
            self.settle_queued(Outcome::Orphaned, saw);
        }
        if !self.faults.on("published_stop_forgets_the_heap") {
            self.settle_heap(Outcome::Orphaned, saw);
        }
        Seen::Exit
    }
}
