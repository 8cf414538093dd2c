//! Two small containers: a slab, whose numbers are used again, and a hash map with a fast hasher.
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::{Index, IndexMut};

/// Not proof against chosen keys; the engine's callers choose their own names.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mix(u64);

impl Mix {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.add(u64::from_le_bytes(word.try_into().unwrap_or_default()));
        }
        let tail = words.remainder();
        if !tail.is_empty() {
            self.add(tail.iter().fold(tail.len() as u64, |word, &byte| word << 8 | u64::from(byte)));
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.add(u64::from(byte));
    }

    fn write_u32(&mut self, word: u32) {
        self.add(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    fn write_i64(&mut self, word: i64) {
        self.add(word as u64);
    }

    fn write_usize(&mut self, word: usize) {
        self.add(word as u64);
    }
}

pub type Map<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<Mix>>;
pub type Set<K> = std::collections::HashSet<K, BuildHasherDefault<Mix>>;

/// Things under small numbers; a number whose thing was removed is used again.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    items: Vec<Option<T>>,
    vacant: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { items: Vec::new(), vacant: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub fn insert(&mut self, item: T) -> u32 {
        match self.vacant.pop() {
            Some(i) => {
                self.items[i as usize] = Some(item);
                i
            }
            None => {
                self.items.push(Some(item));
                (self.items.len() - 1) as u32
            }
        }
    }

    /// So many things are about to come.
    pub fn reserve(&mut self, things: usize) {
        self.items.reserve(things.saturating_sub(self.vacant.len()));
    }

    /// Take out what is under a number that is in use.
    pub fn remove(&mut self, i: u32) -> T {
        self.vacant.push(i);
        self.items[i as usize].take().expect("the number is in use")
    }

    /// What is under a number, if it is in use.
    pub fn get(&self, i: u32) -> Option<&T> {
        self.items.get(i as usize)?.as_ref()
    }

    pub fn len(&self) -> usize {
        self.items.len() - self.vacant.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers given out so far, in use or vacant.
    pub fn numbers(&self) -> usize {
        self.items.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.items.iter().enumerate().filter_map(|(i, item)| item.as_ref().map(|item| (i as u32, item)))
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    fn index(&self, i: u32) -> &T {
        self.items[i as usize].as_ref().expect("the number is in use")
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, i: u32) -> &mut T {
        self.items[i as usize].as_mut().expect("the number is in use")
    }
}
