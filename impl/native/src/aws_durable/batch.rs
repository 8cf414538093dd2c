//! The batch that is being collected, with its sums.
use std::sync::Arc;

use crate::batching_words::Shipped;
use crate::faults::Faults;

/// What a producer submitted, or a refresh that has joined a batch, as an empty item.
#[derive(Clone, Debug)]
pub struct Item {
    pub id: Arc<str>,
    pub size: i64,
    pub sync: bool,
    pub empty: bool,
    pub is_final: bool,
    pub refresh: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub items: Vec<Item>,
    pub updates: i64,
    pub empties: i64,
    pub bytes: i64,
    /// Callers that wait for it.
    pub blocked: u64,
}

impl Batch {
    pub fn add(&mut self, item: Item) {
        if item.empty {
            self.empties += 1;
        } else {
            self.updates += 1;
        }
        self.bytes += item.size;
        self.blocked += u64::from(item.sync);
        self.items.push(item);
    }

    /// All empty items together count for one update.
    pub fn is_full(&self, p: &Shipped, faults: Faults) -> bool {
        let empties = if faults.on("published_counts_every_empty") { self.empties } else { self.empties.min(1) };
        self.updates + empties >= p.updates + i64::from(faults.on("published_limit_off_by_one"))
    }

    pub fn fits(&self, item: &Item, p: &Shipped) -> bool {
        item.empty && !p.weighs_empties || self.bytes + item.size <= p.bytes
    }

    pub fn audit(&self) -> Vec<String> {
        let count = |of: fn(&Item) -> bool| self.items.iter().filter(|item| of(item)).count() as i64;
        let bytes: i64 = self.items.iter().map(|item| item.size).sum();
        let right = (count(|item| !item.empty), count(|item| item.empty), bytes, count(|item| item.sync));
        let kept = (self.updates, self.empties, self.bytes, self.blocked as i64);
        if kept == right { Vec::new() } else { vec![format!("the batch's sums are {kept:?}, its items make {right:?}")] }
    }
}
