//! The published heap of refreshes: one that is cancelled stays in it, marked, until it comes to its top.
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::batching_words::Time;

#[derive(Clone, Debug)]
pub struct Entry {
    pub id: Arc<str>,
    pub owner: Arc<str>,
    pub cancelled: bool,
}

/// Due time, and number.
type Place = (Time, u64);
/// The places of all entries of a name that are not cancelled, by number.
type Index = BTreeMap<(Arc<str>, u64), Time>;

#[derive(Clone, Debug, Default)]
pub struct Heap {
    pub entries: BTreeMap<Place, Entry>,
    pub asked: u64,
    by_id: Index,
    by_owner: Index,
}

impl Heap {
    pub fn push(&mut self, id: Arc<str>, owner: Arc<str>, due: Time) {
        self.asked += 1;
        self.by_id.insert((id.clone(), self.asked), due);
        self.by_owner.insert((owner.clone(), self.asked), due);
        self.entries.insert((due, self.asked), Entry { id, owner, cancelled: false });
    }

    /// Mark those of an id, or else of an owner.
    pub fn cancel(&mut self, id: Option<&str>, owner: &str) {
        let (index, name): (_, Arc<str>) = match id {
            Some(id) => (&self.by_id, id.into()),
            None => (&self.by_owner, owner.into()),
        };
        let places: Vec<Place> = index.range((name.clone(), 0)..=(name, u64::MAX)).map(|(&(_, seq), &due)| (due, seq)).collect();
        for place in places {
            self.forget_name(place);
            if let Some(entry) = self.entries.get_mut(&place) {
                entry.cancelled = true;
            }
        }
    }

    pub fn next_due(&self) -> Option<Time> {
        self.entries.first_key_value().map(|(&(due, _), _)| due)
    }

    /// Take off the top, if it is due by then.
    pub fn pop_due(&mut self, by: Time) -> Option<Entry> {
        self.entries.first_key_value().filter(|&(&(due, _), _)| due <= by)?;
        self.pop()
    }

    /// Take off the top, if it is cancelled.
    pub fn pop_cancelled(&mut self) -> Option<Entry> {
        self.entries.first_key_value().filter(|(_, entry)| entry.cancelled)?;
        self.pop()
    }

    fn pop(&mut self) -> Option<Entry> {
        let place = *self.entries.first_key_value()?.0;
        self.forget_name(place);
        self.entries.remove(&place)
    }

    /// Take out all that are due by then and not cancelled.
    pub fn take_live(&mut self, by: Time) -> Vec<Entry> {
        let live = self.entries.range(..=(by, u64::MAX)).filter(|(_, entry)| !entry.cancelled).map(|(&place, _)| place);
        live.collect::<Vec<_>>()
            .into_iter()
            .filter_map(|place| {
                self.forget_name(place);
                self.entries.remove(&place)
            })
            .collect()
    }

    /// All, in order; it is empty then.
    pub fn clear(&mut self) -> VecDeque<Entry> {
        self.by_id.clear();
        self.by_owner.clear();
        std::mem::take(&mut self.entries).into_values().collect()
    }

    fn forget_name(&mut self, place: Place) {
        if let Some(entry) = self.entries.get(&place) {
            self.by_id.remove(&(entry.id.clone(), place.1));
            self.by_owner.remove(&(entry.owner.clone(), place.1));
        }
    }

    pub fn audit(&self) -> Vec<String> {
        let live = || self.entries.iter().filter(|(_, entry)| !entry.cancelled);
        let by = |name: fn(&Entry) -> &Arc<str>| live().map(|(&(due, seq), entry)| ((name(entry).clone(), seq), due)).collect::<Index>();
        let mut wrong = Vec::new();
        if self.by_id != by(|entry| &entry.id) {
            wrong.push("the ids do not lead to the refreshes that wait".into());
        }
        if self.by_owner != by(|entry| &entry.owner) {
            wrong.push("the owners do not lead to the refreshes that wait".into());
        }
        wrong
    }
}
