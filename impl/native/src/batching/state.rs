//! The collector's whole state, canonical, and its audit.
use super::Collector;
use super::line::Item;
use crate::refresh::Waiter;
use crate::state::{Node, dict, sorted, text_list};

fn item(item: &Item) -> Node {
    let flags = [item.sync, item.empty, item.is_final].map(|flag| Node::from(i64::from(flag)));
    let [sync, empty, is_final] = flags;
    Node::List(vec![Node::Text(item.id.clone()), item.size.into(), sync, empty, is_final, item.at.into()])
}

fn waiter(waiter: &Waiter) -> Node {
    let mut found: Vec<(&str, Node)> = vec![
        ("id", Node::Text(waiter.id.clone())),
        ("owner", Node::Text(waiter.owner.clone())),
        ("index", waiter.index.into()),
        ("seq", waiter.seq.into()),
        ("late", i64::from(waiter.late).into()),
        ("tries", waiter.tries.into()),
    ];
    found.extend(waiter.key.map(|key| ("key", key.into())));
    found.extend(waiter.due.map(|due| ("due", Node::Integer(due))));
    dict(found)
}

impl Collector {
    /// The state as the specification gives it: the same keys and values.
    pub fn state(&self) -> Node {
        let mut waiting: Vec<&Waiter> = self.refreshes.waiters.iter().map(|(_, waiter)| waiter).filter(|w| !w.in_flight).collect();
        waiting.sort_unstable_by_key(|waiter| waiter.seq);
        let parents = self.parents.iter().map(|(id, parent)| (id.clone(), Node::Text(parent.clone())));
        let ring = self.clock.ring.iter().map(|&(ahead, trip)| Node::List(vec![Node::Integer(ahead), Node::Integer(trip)]));
        let mut found: Vec<(&str, Node)> = vec![
            ("now", self.now.into()),
            ("token", Node::Text(self.token.clone())),
            ("queue", Node::List(self.line.items.iter().map(item).collect())),
            ("waiters", Node::List(waiting.into_iter().map(waiter).collect())),
            ("known", text_list(self.known.iter())),
            ("parents", sorted(parents.collect())),
            ("closed", text_list(self.closed.iter())),
            ("running", self.running.into()),
            ("outside", self.outside.into()),
            ("stale", self.stale.into()),
            ("moved", self.moved.into()),
            ("fell", self.fell.into()),
            ("round_trip", Node::Integer(self.round_trip)),
            ("measured", i64::from(self.measured).into()),
            ("ring", Node::List(ring.collect())),
            ("slack", Node::Integer(self.clock.slack)),
            ("asked", self.refreshes.asked.into()),
            ("stopped", i64::from(self.stopped).into()),
        ];
        found.extend(self.open.map(|open| ("open", open.into())));
        found.extend(self.over.map(|why| ("over", Node::Text(why.word().into()))));
        if let Some(flight) = &self.flight {
            let board = flight.board.iter().filter_map(|&ticket| self.refreshes.holder(ticket));
            let flight = vec![
                ("items", Node::List(flight.items.iter().map(item).collect())),
                ("waiters", Node::List(board.map(waiter).collect())),
                ("sent", flight.sent.into()),
                ("done", text_list(flight.done.iter())),
                ("fetching", i64::from(flight.fetching).into()),
            ];
            found.push(("flight", dict(flight)));
        }
        dict(found)
    }

    /// Items, waiters, instants and plans looked at since the beginning.
    pub fn examined(&self) -> u64 {
        self.line.looked + self.refreshes.looked + self.plan.looked
    }

    /// What is wrong inside, a line each.
    pub fn audit(&self) -> Vec<String> {
        let board: Vec<_> = self.flight.iter().flat_map(|flight| flight.board.iter().copied()).collect();
        let mut wrong = self.line.audit();
        wrong.extend(self.refreshes.audit(&board, self.clock.shift()));
        if self.over.is_some() && (self.flight.is_some() || !self.line.is_empty() || !self.refreshes.waiters.is_empty()) {
            wrong.push("something is left after the end".into());
        }
        wrong
    }
}
