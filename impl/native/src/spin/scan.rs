//! A worker's scan of the slots that are published.
use super::Slot;

/// Published slots that a scan has still to look at, from the cursor on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scan {
    pub left: u32,
    pub cursor: Slot,
}

impl Scan {
    /// The next slot, wrapping; each once.
    #[inline]
    pub fn next(self) -> Option<Slot> {
        let above = self.left & (u32::MAX << self.cursor);
        let from = if above == 0 { self.left } else { above };
        (from != 0).then(|| from.trailing_zeros() as Slot)
    }

    /// It is done with that slot.
    pub fn pass_on(&mut self, slot: Slot, slots: u32) {
        self.left &= !(1 << slot);
        self.cursor = (slot + 1) % slots as usize;
    }
}
