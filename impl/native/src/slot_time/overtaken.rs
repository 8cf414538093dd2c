//! The overtaken heads of one shape in the order of patience: the longest overtaken first, then the earlier turn.
//!
//! They lack the same and wait for the same tasks, so the patient are those in front. Heads join at the back and mostly leave at the
//! front; a place in it is found by bisection.
use std::collections::VecDeque;

/// When a head was first overtaken, and its group's turn.
pub type Since = (i64, u64);

#[derive(Clone, Debug, Default)]
pub struct Overtaken(VecDeque<(Since, u32)>);

impl Overtaken {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn first(&self) -> Option<(Since, u32)> {
        self.0.front().copied()
    }

    /// How many stand before one that was overtaken then.
    pub fn before(&self, since: Since) -> usize {
        if self.0.front().is_none_or(|&(first, _)| first >= since) {
            return 0;
        }
        self.0.partition_point(|&(known, _)| known < since)
    }

    pub fn insert(&mut self, since: Since, group: u32) {
        let i = self.0.partition_point(|&(known, _)| known < since);
        self.0.insert(i, (since, group));
    }

    pub fn remove(&mut self, since: Since) {
        let i = self.before(since);
        self.0.remove(i);
        if self.0.len() * 4 < self.0.capacity() {
            self.0.shrink_to(self.0.len() * 2);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &(Since, u32)> {
        self.0.iter()
    }
}
