//! What an answer means: a settlement of the batch, or the end.
use super::batch::Item;
use super::{Collector, Queued};
use crate::batching_words::{Outcome, Seen, Why};

impl Collector {
    pub(super) fn respond(&mut self, token: Option<&str>, marker: Option<&str>, saw: &mut Vec<Seen>) {
        let Some(flight) = &self.flight else { return };
        if let Some(token) = token {
            self.token = token.into();
            return self.page(marker, saw);
        }
        let completes =
            if self.p.revokes { flight.items.iter().any(|item| item.is_final) } else { flight.items.iter().any(|item| !item.empty) };
        let without = if self.p.revokes { Why::Revoked } else { Why::Failed };
        self.end(if completes { Why::Completed } else { without }, saw);
    }

    pub(super) fn page(&mut self, marker: Option<&str>, saw: &mut Vec<Seen>) {
        let Some(mut flight) = self.flight.take() else { return };
        if let Some(marker) = marker {
            flight.fetching = true;
            self.flight = Some(flight);
            return saw.push(Seen::Fetch(marker.into(), self.token.clone()));
        }
        settle(flight.items, Outcome::Ok, saw);
        if self.switches.settles_by_older || self.faults.on("published_settles_by_an_older_request") {
            saw.extend(self.heap.take_live(self.now.into()).into_iter().map(|entry| Seen::Settled(entry.id, Outcome::Ok)));
        }
    }

    /// The end for all: the batch, what did not fit, the queue, the refreshes.
    pub(super) fn end(&mut self, why: Why, saw: &mut Vec<Seen>) {
        let Some(flight) = self.flight.take() else { return };
        self.over = Some(why);
        settle(flight.items, if why == Why::Completed { Outcome::Ok } else { why.outcome() }, saw);
        self.settle_queued(why.outcome(), saw);
        self.settle_heap(why.outcome(), saw);
    }

    pub(super) fn settle_queued(&mut self, outcome: Outcome, saw: &mut Vec<Seen>) {
        settle(std::mem::take(&mut self.overflow), outcome, saw);
        let items = std::mem::take(&mut self.queue).into_iter().filter_map(|queued| match queued {
            Queued::Item(item) => Some(item),
            Queued::Wake => None,
        });
        settle(items, outcome, saw);
        self.woken = false;
    }

    pub(super) fn settle_heap(&mut self, outcome: Outcome, saw: &mut Vec<Seen>) {
        saw.extend(self.heap.clear().into_iter().map(|entry| Seen::Settled(entry.id, outcome)));
    }
}

/// Tell those who are blocked.
fn settle(items: impl IntoIterator<Item = Item>, outcome: Outcome, saw: &mut Vec<Seen>) {
    saw.extend(items.into_iter().filter(|item| item.sync).map(|item| Seen::Settled(item.id, outcome)));
}
