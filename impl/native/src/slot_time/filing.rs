//! Where competing heads are kept: by shape, in order of index and, if they were overtaken, in order of patience.
use super::SlotTime;
use super::kinetic::{Line, Tournament, duel};
use super::open::Standing;
use super::overtaken::Overtaken;
use crate::ledger::{Ledger, ShapeId};

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
    pub(super) standing: Standing,
}

impl Heads {
    pub(super) fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.passed.is_empty()
    }

    fn of(&mut self, overtaken: Option<i64>) -> &mut Tournament {
        if overtaken.is_some() { &mut self.passed } else { &mut self.fresh }
    }

    /// The first by index, whether it was never overtaken, and from and up to when that is right.
    pub(super) fn first(&mut self, instant: i128, compared: &mut u64) -> Option<(Line, bool, i64, i64)> {
        let fresh = self.fresh.best(instant, compared, &mut |_| ());
        let passed = self.passed.best(instant, compared, &mut |_| ());
        match (fresh, passed) {
            (Some((a, from_a, to_a)), Some((b, from_b, to_b))) => {
                let (fresh, from, to) = duel(a, b, instant);
                Some((if fresh { *a } else { *b }, fresh, from.max(from_a).max(from_b), to.min(to_a).min(to_b)))
            }
            (Some((line, from, to)), None) => Some((*line, true, from, to)),
            (_, passed) => passed.map(|(line, from, to)| (*line, false, from, to)),
        }
    }
}

impl SlotTime {
    /// Keep the group's head where it belongs, if it competes, and nowhere else.
    pub(super) fn file(&mut self, ledger: &Ledger, g: u32) {
        self.chosen = None;
        let competes = self.competes(g);
        let group = &self.groups[g as usize];
        let line = Line { base: group.base, slope: group.slope, turn: group.turn, group: g };
        let due = group.head.filter(|_| competes);
        let filed = match (group.filed, due) {
            (Some(old), Some(shape)) if old.shape == shape && old.overtaken == group.overtaken => {
                // An overtaken head that stays has the turn it had.
                self.heads[shape as usize].of(old.overtaken).change(old.slot, line);
                self.touch(shape);
                Some(Filed { turn: line.turn, ..old })
            }
            (old, due) => {
                let overtaken = group.overtaken;
                if let Some(old) = old {
                    self.take_out(ledger, old);
                }
                due.map(|shape| self.put_in(ledger, shape, overtaken, line))
            }
        };
        self.groups[g as usize].filed = filed;
    }

    fn put_in(&mut self, ledger: &Ledger, shape: ShapeId, overtaken: Option<i64>, line: Line) -> Filed {
        if self.heads.len() <= shape as usize {
            self.heads.resize_with(shape as usize + 1, Heads::default);
        }
        let heads = &mut self.heads[shape as usize];
        let first = heads.is_empty();
        let slot = heads.of(overtaken).insert(line);
        if let Some(since) = overtaken {
            heads.overtaken.insert((since, line.turn), line.group);
        }
        if first {
            heads.place = self.shapes.len();
            self.shapes.push(shape);
            self.open(ledger, shape);
        } else {
            self.touch(shape);
        }
        Filed { shape, turn: line.turn, overtaken, slot }
    }

    fn take_out(&mut self, ledger: &Ledger, old: Filed) {
        let heads = &mut self.heads[old.shape as usize];
        let moved = heads.of(old.overtaken).remove(old.slot).map(|line| line.group);
        if let Some(since) = old.overtaken {
            heads.overtaken.remove((since, old.turn));
        }
        if let Some(filed) = moved.and_then(|moved| self.groups[moved as usize].filed.as_mut()) {
            filed.slot = old.slot;
        }
        if !heads.is_empty() {
            return self.touch(old.shape);
        }
        self.leave(ledger, old.shape);
        let Heads { place, .. } = std::mem::take(&mut self.heads[old.shape as usize]);
        self.shapes.swap_remove(place);
        if let Some(&moved) = self.shapes.get(place) {
            self.heads[moved as usize].place = place;
        }
    }
}
