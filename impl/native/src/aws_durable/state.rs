//! The collector's whole state, canonical, and its audit.
use super::batch::Item;
use super::{Collector, Phase, Queued};
use crate::state::{Node, dict, sorted, text_list};

fn item(item: &Item) -> Node {
    let flags = [item.sync, item.empty, item.is_final, item.refresh].map(|flag| Node::from(i64::from(flag)));
    Node::List([Node::Text(item.id.clone()), item.size.into()].into_iter().chain(flags).collect())
}

fn items<'a>(of: impl IntoIterator<Item = &'a Item>) -> Node {
    Node::List(of.into_iter().map(item).collect())
}

impl Collector {
    /// The state as the specification gives it: the same keys and values.
    pub fn state(&self) -> Node {
        let (phase, deadline) = match self.phase {
            Phase::Idle => ("idle", 0),
            Phase::First => ("first", 0),
            Phase::More(deadline) => ("more", deadline),
        };
        let queued = |queued: &Queued| match queued {
            Queued::Item(of) => item(of),
            Queued::Wake => Node::List(vec![Node::Text("wake".into())]),
        };
        let heap = self.heap.entries.iter().map(|(&(due, seq), entry)| {
            let cancelled = i64::from(entry.cancelled).into();
            Node::List(vec![Node::Text(entry.id.clone()), Node::Text(entry.owner.clone()), Node::Integer(due), seq.into(), cancelled])
        });
        let children = self.children.iter().map(|(parent, below)| (parent.clone(), text_list(below.iter())));
        let mut found: Vec<(&str, Node)> = vec![
            ("now", self.now.into()),
            ("token", Node::Text(self.token.clone())),
            ("phase", Node::Text(phase.into())),
            ("deadline", Node::Integer(deadline)),
            ("queue", Node::List(self.queue.iter().map(queued).collect())),
            ("overflow", items(&self.overflow)),
            ("batch", items(&self.batch.items)),
            ("heap", Node::List(heap.collect())),
            ("woken", i64::from(self.woken).into()),
            ("children", sorted(children.collect())),
            ("orphans", text_list(self.orphans.iter())),
            ("asked", self.heap.asked.into()),
            ("stopped", i64::from(self.stopped).into()),
        ];
        found.extend(self.quiet_until.map(|until| ("quiet_until", Node::Integer(until))));
        found.extend(self.until.map(|until| ("until", Node::Integer(until))));
        found.extend(self.over.map(|why| ("over", Node::Text(why.word().into()))));
        if let Some(flight) = &self.flight {
            let fetching = i64::from(flight.fetching).into();
            found.push(("flight", dict(vec![("batch", items(&flight.items)), ("sent", flight.sent.into()), ("fetching", fetching)])));
        }
        dict(found)
    }

    /// Turns of the thread and refreshes that came due, since the beginning.
    pub fn examined(&self) -> u64 {
        self.looked
    }

    /// What is wrong inside, a line each.
    pub fn audit(&self) -> Vec<String> {
        let mut wrong = self.batch.audit();
        wrong.extend(self.heap.audit());
        let wakes = self.queue.iter().filter(|queued| matches!(queued, Queued::Wake)).count();
        if wakes != usize::from(self.woken) {
            wrong.push(format!("{wakes} wakes are in the queue, and woken is {}", self.woken));
        }
        if self.over.is_some() && (self.flight.is_some() || !self.heap.entries.is_empty()) {
            wrong.push("something is left after the end".into());
        }
        wrong
    }
}
