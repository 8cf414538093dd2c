//! Where competing heads are kept: by shape, in order of index and, if they were overtaken, in order of patience.
use super::SlotTime;
use super::kinetic::{Line, Tournament};
use super::overtaken::Overtaken;
use crate::ledger::ShapeId;

/// How a competing head is filed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filed {
    pub(super) shape: ShapeId,
    pub(super) turn: u64,
    pub(super) overtaken: Option<i64>,
    pub(super) slot: usize,
}

/// The competing heads of one shape.
#[derive(Clone, Debug, Default)]
pub(super) struct Heads {
    /// Never overtaken.
    pub(super) fresh: Tournament,
    /// Overtaken, by index
    pub(super) passed: Tournament,
    /// and by patience.
    pub(super) overtaken: Overtaken,
    /// Its place among the shapes that have any.
    pub(super) place: usize,
}

impl Heads {
    pub(super) fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.passed.is_empty()
    }

    fn of(&mut self, overtaken: Option<i64>) -> &mut Tournament {
        if overtaken.is_some() { &mut self.passed } else { &mut self.fresh }
    }
}

impl SlotTime {
    /// Keep the group's head where it belongs, if it competes, and nowhere else.
    pub(super) fn file(&mut self, g: u32) {
        let competes = self.competes(g);
        let group = &self.groups[g as usize];
        let line = Line { base: group.base, slope: group.slope, turn: group.turn, group: g };
        let due = group.head.filter(|_| competes);
        let filed = match (group.filed, due) {
            (Some(old), Some(shape)) if old.shape == shape && old.overtaken == group.overtaken => {
                let overtaken = group.overtaken;
                let heads = &mut self.heads[shape as usize];
                heads.of(overtaken).change(old.slot, line);
                if let Some(since) = overtaken.filter(|_| old.turn != line.turn) {
                    heads.overtaken.remove((since, old.turn));
                    heads.overtaken.insert((since, line.turn), g);
                }
                Some(Filed { turn: line.turn, ..old })
            }
            (old, due) => {
                let overtaken = group.overtaken;
                if let Some(old) = old {
                    self.take_out(old);
                }
                due.map(|shape| self.put_in(shape, overtaken, line))
            }
        };
        self.groups[g as usize].filed = filed;
    }

    fn put_in(&mut self, shape: ShapeId, overtaken: Option<i64>, line: Line) -> Filed {
        if self.heads.len() <= shape as usize {
            self.heads.resize_with(shape as usize + 1, Heads::default);
        }
        let heads = &mut self.heads[shape as usize];
        if heads.is_empty() {
            heads.place = self.shapes.len();
            self.shapes.push(shape);
        }
        let slot = heads.of(overtaken).insert(line);
        if let Some(since) = overtaken {
            heads.overtaken.insert((since, line.turn), line.group);
        }
        Filed { shape, turn: line.turn, overtaken, slot }
    }

    fn take_out(&mut self, old: Filed) {
        let heads = &mut self.heads[old.shape as usize];
        let moved = heads.of(old.overtaken).remove(old.slot);
        if let Some(since) = old.overtaken {
            heads.overtaken.remove((since, old.turn));
        }
        if heads.is_empty() {
            let place = heads.place;
            *heads = Heads::default();
            self.shapes.swap_remove(place);
            if let Some(&moved) = self.shapes.get(place) {
                self.heads[moved as usize].place = place;
            }
        }
        if let Some(filed) = moved.and_then(|moved| self.groups[moved as usize].filed.as_mut()) {
            filed.slot = old.slot;
        }
    }
}
