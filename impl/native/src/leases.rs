//! Leases: what is running, numbered in the order granted, and the memory of what was released.
use std::collections::VecDeque;

use crate::fair_queue::{GroupId, NameId};
use crate::ledger::ShapeId;
use crate::tables::{Map, Set};

#[derive(Clone, Copy, Debug)]
pub struct Lease {
    pub name: NameId,
    pub group: GroupId,
    pub shape: ShapeId,
    pub at: i64,
}

#[derive(Clone, Debug, Default)]
pub struct Leases {
    pub live: Map<u64, Lease>,
    pub granted: u64,
    /// `None`: every release is remembered; the numbers alone tell.
    memory: Option<usize>,
    ring: VecDeque<u64>,
    remembered: Set<u64>,
}

impl Leases {
    pub fn new(memory: Option<u32>) -> Self {
        Leases { memory: memory.map(|most| most as usize), ..Leases::default() }
    }

    pub fn grant(&mut self, lease: Lease) -> u64 {
        self.granted += 1;
        self.live.insert(self.granted, lease);
        self.granted
    }

    pub fn release(&mut self, number: u64) {
        self.live.remove(&number);
        if let Some(most) = self.memory {
            self.ring.push_back(number);
            self.remembered.insert(number);
            if self.ring.len() > most {
                let forgotten = self.ring.pop_front();
                self.remembered.remove(&forgotten.unwrap_or(0));
            }
        }
    }

    /// Is it known that this lease, which is not running, was released?
    pub fn was_released(&self, number: u64) -> bool {
        number > 0 && number <= self.granted && (self.memory.is_none() || self.remembered.contains(&number))
    }

    pub fn audit(&self) -> Vec<String> {
        let right = self.ring.len() == self.remembered.len() && self.ring.len() <= self.memory.unwrap_or(0);
        if right {
            Vec::new()
        } else {
            vec![format!("{} releases are in the ring, {} are remembered", self.ring.len(), self.remembered.len())]
        }
    }
}
