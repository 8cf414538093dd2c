//! Things in order of place, in blocks that know the largest thresholds in them: the first that reaches what is asked is found by
//! skipping blocks.
use super::{NEVER, WATCHED};
use crate::fair_queue::Key;

const BLOCK: usize = 32;

/// Of the first resources that something asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thresholds {
    /// The largest weight of rivals, its own included, under which it may start.
    pub most: [i64; WATCHED],
    /// A bit each: may it start while no other head asks for that resource?
    pub alone: u8,
}

impl Thresholds {
    /// Of something that never starts; asked: nothing at all.
    pub const LOWEST: Self = Thresholds { most: [NEVER; WATCHED], alone: 0 };

    pub fn raise(&mut self, other: &Thresholds) {
        for (most, &threshold) in self.most.iter_mut().zip(&other.most) {
            *most = (*most).max(threshold);
        }
        self.alone |= other.alone;
    }

    #[inline]
    pub fn reach(&self, asked: &Thresholds) -> bool {
        self.alone & asked.alone == asked.alone && (0..WATCHED).all(|i| self.most[i] >= asked.most[i])
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub key: Key,
    pub of: u32,
    pub thresholds: Thresholds,
}

#[derive(Clone, Debug)]
pub struct Block {
    pub first: Key,
    pub most: Thresholds,
    pub entries: Vec<Entry>,
}

impl Block {
    fn new(entries: Vec<Entry>) -> Self {
        let mut block = Block { first: Key::default(), most: Thresholds::LOWEST, entries };
        block.measure();
        block
    }

    fn measure(&mut self) {
        self.first = self.entries.first().map_or(Key::default(), |entry| entry.key);
        self.most = Thresholds::LOWEST;
        for entry in &self.entries {
            self.most.raise(&entry.thresholds);
        }
    }

    /// Could the largest be less now that one of them has lost these? Not if the first has as much.
    fn rests_on(&self, lost: &Thresholds) -> bool {
        let Some(Entry { thresholds: first, .. }) = self.entries.first() else { return true };
        lost.alone & !first.alone != 0 || (0..WATCHED).any(|k| first.most[k] < lost.most[k] && lost.most[k] == self.most.most[k])
    }
}

/// No block is empty, unless it is the only one.
#[derive(Clone, Debug, Default)]
pub struct Blocks(Vec<Block>);

impl Blocks {
    pub fn iter(&self) -> impl Iterator<Item = &Block> {
        self.0.iter()
    }

    /// The block where this key is or would be, and its place there.
    fn find(&self, key: Key) -> (usize, usize) {
        let b = self.0.partition_point(|block| block.first <= key).saturating_sub(1);
        (b, self.0[b].entries.partition_point(|entry| entry.key < key))
    }

    pub fn insert(&mut self, entry: Entry) {
        if self.0.is_empty() {
            self.0.push(Block::new(vec![entry]));
            return;
        }
        let (b, i) = self.find(entry.key);
        let block = &mut self.0[b];
        block.entries.insert(i, entry);
        block.first = block.entries[0].key;
        block.most.raise(&entry.thresholds);
        if block.entries.len() > BLOCK {
            let tail = block.entries.split_off(BLOCK / 2);
            block.measure();
            self.0.insert(b + 1, Block::new(tail));
        }
    }

    pub fn remove(&mut self, key: Key) {
        let (b, i) = self.find(key);
        let alone = self.0.len() == 1;
        let block = &mut self.0[b];
        let gone = block.entries.remove(i);
        if block.entries.is_empty() && !alone {
            self.0.remove(b);
            return;
        }
        if block.rests_on(&gone.thresholds) {
            block.measure();
        } else {
            block.first = block.entries[0].key;
        }
        let few = block.entries.len();
        if few < BLOCK / 4 && self.0.get(b + 1).is_some_and(|next| few + next.entries.len() <= BLOCK / 2) {
            let next = self.0.remove(b + 1);
            self.0[b].entries.extend(next.entries);
            self.0[b].measure();
        }
    }

    /// What is at this key has other thresholds now.
    pub fn change(&mut self, key: Key, thresholds: Thresholds) {
        let (b, i) = self.find(key);
        let block = &mut self.0[b];
        let old = std::mem::replace(&mut block.entries[i].thresholds, thresholds);
        if block.rests_on(&old) {
            block.measure();
        } else {
            block.most.raise(&thresholds);
        }
    }

    /// Where the first stands that reaches what is asked: its block, its place there, itself. `examined` counts those looked at.
    pub fn first(&self, asked: &Thresholds, examined: &mut u64) -> Option<(usize, usize, Entry)> {
        for (b, block) in self.0.iter().enumerate().filter(|(_, block)| block.most.reach(asked)) {
            for (i, entry) in block.entries.iter().enumerate() {
                *examined += 1;
                if entry.thresholds.reach(asked) {
                    return Some((b, i, *entry));
                }
            }
        }
        None
    }

    /// What is wrong.
    pub fn audit(&self, name: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        for block in &self.0 {
            let first = block.entries.first().map_or(Key::default(), |entry| entry.key);
            if (block.entries.is_empty() && self.0.len() > 1) || first != block.first {
                wrong.push(format!("a block of {name} has the wrong first entry"));
            }
            if !block.entries.iter().all(|entry| block.most.reach(&entry.thresholds)) {
                wrong.push(format!("a block of {name} does not know its largest threshold"));
            }
        }
        let keys: Vec<Key> = self.0.iter().flat_map(|block| block.entries.iter().map(|entry| entry.key)).collect();
        if !keys.is_sorted_by(|a, b| a < b) {
            wrong.push(format!("{name} is not in order"));
        }
        wrong
    }
}
