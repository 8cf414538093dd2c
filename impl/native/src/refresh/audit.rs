//! What is wrong among the refreshes: a link, a count or an order that does not agree with the waiters.
use std::collections::BTreeMap;

use super::{Crowd, NOBODY, Refreshes, Shelf, Ticket};
use crate::batching_words::Time;

impl Refreshes {
    /// `board`: the waiters of the request that is out; `shift`: what the clock says.
    pub fn audit(&self, board: &[Ticket], shift: Time) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut say = |is_wrong: bool, what: String| {
            if is_wrong {
                wrong.push(what);
            }
        };
        say(self.shift != shift, format!("stamps are moved by {}, the clock says {shift}", self.shift));
        let (mut stamped, mut timed, mut due) = (Shelf::default(), Shelf::default(), Crowd::default());
        let mut owned: BTreeMap<&str, Vec<(u64, u32)>> = BTreeMap::new();
        for (slot, waiter) in self.waiters.iter() {
            say(self.by_id.get(&waiter.id) != Some(&slot), format!("refresh {} is not found by its id", waiter.id));
            owned.entry(&*waiter.owner).or_default().push((waiter.seq, slot));
            let on_board = board.contains(&(slot, waiter.seq));
            say(waiter.in_flight != on_board, format!("refresh {}: in flight is {}, on board {on_board}", waiter.id, waiter.in_flight));
            if waiter.in_flight {
                continue;
            }
            match (waiter.due, waiter.key) {
                (None, Some(key)) => stamped.add(key.into(), waiter.seq, waiter.late, slot),
                (due, _) => timed.add(due.unwrap_or(0), waiter.seq, waiter.late, slot),
            }
            if self.counted.is_some_and(|until| self.when(waiter) <= until) {
                due.waiters += 1;
                due.late += u64::from(waiter.late);
            }
        }
        for (what, kept, right) in [("stamped", &self.stamped, stamped), ("timed", &self.timed, timed)] {
            say(kept.order != right.order || kept.crowds != right.crowds, format!("{what} refreshes are not in order"));
        }
        say(self.due != due, format!("{:?} are counted as due, there are {due:?}", self.due));
        say(self.by_id.len() != self.waiters.len(), format!("{} ids for {} refreshes", self.by_id.len(), self.waiters.len()));
        say(self.by_owner.len() != owned.len(), format!("{} owners are kept, {} have refreshes", self.by_owner.len(), owned.len()));
        for (owner, mut slots) in owned {
            slots.sort_unstable();
            let (mut slot, mut linked) = (self.first_of(owner).unwrap_or(NOBODY), Vec::new());
            while let Some(waiter) = self.waiters.get(slot).filter(|_| linked.len() < slots.len()) {
                linked.push((waiter.seq, slot));
                slot = waiter.after;
            }
            let last = self.by_owner.get(owner).map(|ends| ends.1);
            let is_wrong = linked != slots || slot != NOBODY || last != slots.last().map(|last| last.1);
            say(is_wrong, format!("the refreshes of owner {owner:?} are not linked in order"));
        }
        wrong
    }
}
