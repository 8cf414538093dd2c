//! The queue of items, and what one request can carry of it: both are kept as items come, so that nothing is looked through.
use std::collections::VecDeque;
use std::sync::Arc;

use crate::batching_words::LookAhead;
use crate::faults::Faults;

#[derive(Clone, Debug)]
pub struct Item {
    pub id: Arc<str>,
    pub size: i64,
    pub sync: bool,
    pub empty: bool,
    pub is_final: bool,
    pub at: i64,
}

#[derive(Clone, Debug)]
pub struct Line {
    pub items: VecDeque<Item>,
    /// Items of the prefix, its updates, and their bytes.
    pub len: usize,
    pub updates: i64,
    pub bytes: i64,
    /// The item behind the prefix does not fit into it.
    pub left_over: bool,
    /// Sync items of the whole queue.
    pub syncs: u64,
    /// Items looked at so far.
    pub looked: u64,
    most_updates: i64,
    most_bytes: i64,
    faults: Faults,
}

impl Line {
    pub fn new(p: &LookAhead, faults: Faults) -> Self {
        let most_updates = p.updates + i64::from(faults.on("count_limit_off_by_one"));
        Line {
            items: VecDeque::new(),
            len: 0,
            updates: 0,
            bytes: 0,
            left_over: false,
            syncs: 0,
            looked: 0,
            most_updates,
            most_bytes: p.bytes,
            faults,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn push(&mut self, item: Item) {
        self.syncs += u64::from(item.sync);
        self.items.push_back(item);
        self.extend();
    }

    /// Is there nothing to wait for?
    pub fn is_full(&self) -> bool {
        self.left_over || self.updates == self.most_updates || self.bytes >= self.most_bytes
    }

    /// Take the prefix off.
    pub fn take(&mut self) -> Vec<Item> {
        let taken: Vec<Item> = self.items.drain(..self.len).collect();
        if self.left_over && self.faults.on("overflow_head_at_the_tail") {
            self.items.rotate_left(1);
        }
        self.syncs -= taken.iter().filter(|item| item.sync).count() as u64;
        (self.len, self.updates, self.bytes, self.left_over) = (0, 0, 0, false);
        self.extend();
        taken
    }

    /// All that is queued, when nothing of it is sent any more.
    pub fn clear(&mut self) -> VecDeque<Item> {
        (self.len, self.updates, self.bytes, self.left_over, self.syncs) = (0, 0, 0, false, 0);
        std::mem::take(&mut self.items)
    }

    /// Every item is looked at once, but for the one that does not fit.
    fn extend(&mut self) {
        if self.left_over {
            return;
        }
        while let Some(item) = self.items.get(self.len) {
            self.looked += 1;
            let counts = !item.empty || self.faults.on("empties_counted");
            if counts {
                let first = self.updates == 0 && !self.faults.on("first_update_may_be_too_large");
                if self.updates == self.most_updates || !first && self.bytes + item.size > self.most_bytes {
                    self.left_over = true;
                    return;
                }
                self.updates += 1;
                self.bytes += item.size;
            }
            self.len += 1;
        }
    }

    pub fn audit(&self) -> Vec<String> {
        let prefix = || self.items.iter().take(self.len);
        let right = (
            prefix().filter(|item| !item.empty).count() as i64,
            prefix().map(|item| item.size).sum::<i64>(),
            self.items.len() > self.len,
            self.items.iter().filter(|item| item.sync).count() as u64,
        );
        let kept = (self.updates, self.bytes, self.left_over, self.syncs);
        if kept == right { Vec::new() } else { vec![format!("the queue's sums are {kept:?}, its items make {right:?}")] }
    }
}
