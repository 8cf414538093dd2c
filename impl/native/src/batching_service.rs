//! The simulated service: what it knows of operations, and how it answers a request.
//!
//! Its updates are applied in order; then whatever wait or retry is due is shown as ready, in the order in which they were scheduled.
use std::collections::BTreeMap;

use crate::batching_scenarios::{Known, Name, Service};
use crate::tables::Map;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Start,
    Wait,
    Retry,
    Succeed,
    Fail,
}

#[derive(Clone, Copy, Debug)]
pub struct Update {
    pub op: Name,
    pub action: Action,
    /// Of a wait or a retry.
    pub delay: i64,
    /// It ends the execution.
    pub is_final: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Started,
    Pending,
    Ready,
    Succeeded,
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    pub status: Status,
    /// The service's stamp of the end of a wait, or of the next attempt.
    pub end: Option<i64>,
    /// Waits and retries so far.
    pub tries: i64,
}

/// What is not known has been started, if anything.
pub const STARTED: Operation = Operation { status: Status::Started, end: None, tries: 0 };

/// An operation's attempts are counted by its tries.
pub type Attempt = (Name, i64);

#[derive(Debug, Default)]
pub struct Answer {
    pub stamp: Option<i64>,
    /// Of an operation that comes more than once, the last counts.
    pub changes: Vec<(Name, Operation)>,
    pub done: Vec<Attempt>,
    /// The execution has ended: there is no next token.
    pub is_final: bool,
}

/// When a pending operation ends, and where it stands among those that were scheduled.
type Place = (i64, u64);

/// The service's side.
#[derive(Debug)]
pub struct Backend {
    pub service: Service,
    pub operations: Map<Name, Operation>,
    pending: BTreeMap<Place, Name>,
    places: Map<Name, Place>,
    scheduled: u64,
    /// Of all attempts ever scheduled.
    pub ends: Vec<(Attempt, i64)>,
}

impl Backend {
    pub fn new(service: Service, earlier: &[Known]) -> Self {
        let mut backend = Backend {
            service,
            operations: Map::default(),
            pending: BTreeMap::new(),
            places: Map::default(),
            scheduled: 0,
            ends: Vec::new(),
        };
        for known in earlier {
            let operation = match known.end {
                Some(end) => backend.schedule(known.op, end, 1),
                None => STARTED,
            };
            backend.operations.insert(known.op, operation);
        }
        backend
    }

    /// A request is handled at a local time.
    pub fn handle(&mut self, updates: &[Update], at: i64) -> Answer {
        let clock = at + self.service.ahead;
        let mut answer = Answer { stamp: (!updates.is_empty()).then_some(clock), ..Answer::default() };
        for update in updates {
            answer.is_final |= update.is_final;
            answer.changes.push((update.op, self.apply(update, clock)));
        }
        let due = self.pending.range(..=(clock - self.service.lag, u64::MAX));
        let mut due: Vec<(u64, Name)> = due.map(|(&(_, number), &op)| (number, op)).collect();
        due.sort_unstable();
        for (_, op) in due {
            self.withdraw(op);
            if let Some(operation) = self.operations.get_mut(&op) {
                operation.status = Status::Ready;
                answer.changes.push((op, *operation));
                answer.done.push((op, operation.tries));
            }
        }
        answer
    }

    fn apply(&mut self, update: &Update, clock: i64) -> Operation {
        let tries = self.operations.get(&update.op).unwrap_or(&STARTED).tries;
        self.withdraw(update.op);
        let after = |status| Operation { status, end: None, tries };
        let after = match update.action {
            Action::Wait | Action::Retry => self.schedule(update.op, self.on_the_grid(clock + update.delay), tries + 1),
            Action::Start => after(Status::Started),
            Action::Succeed => after(Status::Succeeded),
            Action::Fail => after(Status::Failed),
        };
        self.operations.insert(update.op, after);
        after
    }

    fn on_the_grid(&self, end: i64) -> i64 {
        let over = end.rem_euclid(self.service.grid);
        if over == 0 { end } else { end - over + self.service.grid }
    }

    fn schedule(&mut self, op: Name, end: i64, tries: i64) -> Operation {
        self.scheduled += 1;
        let place = (end, self.scheduled);
        self.pending.insert(place, op);
        self.places.insert(op, place);
        self.ends.push(((op, tries), end));
        Operation { status: Status::Pending, end: Some(end), tries }
    }

    fn withdraw(&mut self, op: Name) {
        if let Some(place) = self.places.remove(&op) {
            self.pending.remove(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(op: Name, action: Action, delay: i64) -> Update {
        Update { op, action, delay, is_final: false }
    }

    #[test]
    fn what_is_due_is_shown_in_the_order_of_scheduling_once() {
        let mut backend = Backend::new(Service { lag: 2, ..Service::default() }, &[]);
        let updates = [update(7, Action::Wait, 9), update(3, Action::Wait, 5), update(5, Action::Retry, 20)];
        assert_eq!(backend.handle(&updates, 0).done, []);
        assert_eq!(backend.handle(&[], 6).done, []);
        let answer = backend.handle(&[], 11);
        assert_eq!((answer.stamp, answer.done), (None, vec![(7, 1), (3, 1)]));
        assert_eq!(answer.changes[1], (3, Operation { status: Status::Ready, end: Some(5), tries: 1 }));
        assert_eq!(backend.handle(&[update(5, Action::Succeed, 0)], 50).done, []);
    }

    #[test]
    fn ends_are_rounded_up_to_the_grid_of_its_own_clock() {
        let mut backend = Backend::new(Service { ahead: -25, grid: 10, ..Service::default() }, &[]);
        let answer = backend.handle(&[update(0, Action::Wait, 7), update(1, Action::Wait, 15)], 0);
        assert_eq!(answer.stamp, Some(-25));
        assert_eq!(answer.changes.iter().map(|change| change.1.end).collect::<Vec<_>>(), [Some(-10), Some(-10)]);
        assert_eq!(backend.ends, [((0, 1), -10), ((1, 1), -10)]);
    }
}
