//! Which shapes may start: a shape that does not fit is set aside with one resource that it lacks, until enough of that is free.
//!
//! The others are *open*: they fit, or nobody has looked since they no longer do. So a decision meets a shape that does not fit once,
//! however often others are decided meanwhile. The first heads of the open shapes are in one tournament; those of the shapes set aside
//! that were never overtaken in another, since a start may overtake them.
use std::collections::{BTreeMap, BTreeSet};

use super::SlotTime;
use super::kinetic::{END, Leaf, Line, Tournament};
use crate::ledger::{Ledger, ResourceId, ShapeId};

/// Where a shape of which a head competes stands: in a slot of one of the tournaments.
#[derive(Clone, Copy, Debug)]
pub(super) enum Standing {
    Open(usize),
    /// Until there are so many units of that resource.
    Aside(usize, ResourceId, i64),
}

impl Default for Standing {
    fn default() -> Self {
        Standing::Open(usize::MAX)
    }
}

/// A shape by its first head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Front {
    pub(super) shape: ShapeId,
    line: Line,
    from: i64,
    to: i64,
}

impl Leaf for Front {
    fn line(&self) -> &Line {
        &self.line
    }

    fn right(&self) -> (i64, i64) {
        (self.from, self.to)
    }
}

/// The line of no head at all: later than any.
const NOBODY: Line = Line { base: 1 << 126, slope: 0, turn: u64::MAX, group: u32::MAX };

impl Front {
    fn unknown(shape: ShapeId) -> Self {
        Front { shape, line: NOBODY, from: END, to: i64::MIN }
    }
}

/// How many shapes need a resource, also by how many units they need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wants {
    shapes: usize,
    units: BTreeMap<i64, usize>,
}

impl Wants {
    pub(super) fn add(&mut self, units: i64) {
        self.shapes += 1;
        *self.units.entry(units).or_default() += 1;
    }

    fn remove(&mut self, units: i64) {
        self.shapes -= 1;
        let shapes = self.units.entry(units).or_default();
        *shapes -= 1;
        if *shapes == 0 {
            self.units.remove(&units);
        }
    }
}

/// What shapes want of one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Demand {
    pub(super) open: Wants,
    pub(super) aside: Wants,
    /// Those set aside until there are so many units.
    pub(super) waiting: BTreeSet<(i64, ShapeId)>,
}

impl SlotTime {
    pub(super) fn open(&mut self, ledger: &Ledger, shape: ShapeId) {
        let slot = self.open.insert(Front::unknown(shape));
        self.heads[shape as usize].standing = Standing::Open(slot);
        for &(r, units) in ledger.needs(shape).iter() {
            self.resources[r as usize].demand.open.add(units);
        }
    }

    fn set_aside(&mut self, ledger: &Ledger, shape: ShapeId, r: ResourceId, units: i64) {
        self.leave(ledger, shape);
        let slot = self.aside.insert(Front::unknown(shape));
        self.heads[shape as usize].standing = Standing::Aside(slot, r, units);
        self.resources[r as usize].demand.waiting.insert((units, shape));
        for &(r, units) in ledger.needs(shape).iter() {
            self.resources[r as usize].demand.aside.add(units);
        }
    }

    /// It stands nowhere.
    pub(super) fn leave(&mut self, ledger: &Ledger, shape: ShapeId) {
        match self.heads[shape as usize].standing {
            Standing::Open(slot) => {
                if let Some(&Front { shape: moved, .. }) = self.open.remove(slot) {
                    self.heads[moved as usize].standing = Standing::Open(slot);
                }
                for &(r, units) in ledger.needs(shape).iter() {
                    self.resources[r as usize].demand.open.remove(units);
                }
            }
            Standing::Aside(slot, r, units) => {
                if let Some(&Front { shape: moved, .. }) = self.aside.remove(slot)
                    && let Standing::Aside(place, ..) = &mut self.heads[moved as usize].standing
                {
                    *place = slot;
                }
                self.resources[r as usize].demand.waiting.remove(&(units, shape));
                for &(r, units) in ledger.needs(shape).iter() {
                    self.resources[r as usize].demand.aside.remove(units);
                }
            }
        }
    }

    /// Its heads have changed.
    pub(super) fn touch(&mut self, shape: ShapeId) {
        let front = match self.heads[shape as usize].standing {
            Standing::Open(slot) => self.open.leaf_mut(slot),
            Standing::Aside(slot, ..) => self.aside.leaf_mut(slot),
        };
        *front = Front::unknown(shape);
    }

    /// Of the resources that this shape needs there is more than before.
    pub(super) fn reopen(&mut self, ledger: &Ledger, shape: ShapeId) {
        for &(r, _) in ledger.needs(shape).iter() {
            let free = ledger.free[r as usize];
            while let Some(&(_, waiting)) = self.resources[r as usize].demand.waiting.first().filter(|&&(units, _)| units <= free) {
                self.leave(ledger, waiting);
                self.open(ledger, waiting);
            }
        }
    }

    /// Is every open shape short of this resource?
    fn all_short(&self, ledger: &Ledger, r: ResourceId) -> bool {
        let Some(Wants { shapes, units }) = self.resources.get(r as usize).map(|resource| &resource.demand.open) else { return false };
        *shapes == self.open.len() && units.first_key_value().is_none_or(|(&least, _)| least > ledger.free[r as usize])
    }

    /// The group whose head is the first of those that fit.
    pub(super) fn first_that_fits(&mut self, ledger: &Ledger, instant: i128) -> Option<u32> {
        loop {
            if self.all_short(ledger, self.bottleneck) {
                return None;
            }
            let (heads, mut compared) = (&mut self.heads, 0);
            let refresh = &mut |front: &mut Front| {
                if let Some((line, _, from, to)) = heads[front.shape as usize].first(instant, &mut compared) {
                    *front = Front { shape: front.shape, line, from, to };
                }
            };
            let (&Front { shape, line, .. }, ..) = self.open.best(instant, &mut self.compared, refresh)?;
            self.compared += compared;
            self.examined += 1;
            match ledger.needs(shape).iter().find(|&&(r, units)| ledger.free[r as usize] < units) {
                None => return Some(line.group),
                Some(&(r, _)) if self.all_short(ledger, r) => self.bottleneck = r,
                Some(&(r, units)) => self.set_aside(ledger, shape, r, units),
            }
        }
    }

    /// Could a shape that is set aside be short of any of these?
    pub(super) fn presses_aside(&self, ledger: &Ledger, shape: ShapeId) -> bool {
        let most = |r: ResourceId| self.resources[r as usize].demand.aside.units.last_key_value().map_or(0, |(&most, _)| most);
        ledger.needs(shape).iter().any(|&(r, _)| most(r) > ledger.free[r as usize])
    }

    /// The shapes set aside of which a head that was never overtaken is below (level, turn).
    pub(super) fn aside_below(&mut self, instant: i128, bound: (i128, u64)) -> Vec<ShapeId> {
        let (heads, mut compared) = (&mut self.heads, 0);
        let refresh = &mut |front: &mut Front| {
            let first = heads[front.shape as usize].fresh.best(instant, &mut compared, &mut |_| ());
            let (line, from, to) = first.map_or((NOBODY, i64::MIN, END), |(line, from, to)| (*line, from, to));
            *front = Front { shape: front.shape, line, from, to };
        };
        let found = self.aside.below(instant, bound, &mut self.compared, refresh);
        self.compared += compared;
        self.examined += found.len() as u64;
        found.into_iter().map(|front| front.shape).collect()
    }

    /// What is wrong with how shapes stand.
    pub(super) fn audit_standing(&self, ledger: &Ledger) -> Vec<String> {
        let mut wrong = [self.open.audit("open shapes"), self.aside.audit("shapes aside")].concat();
        let mut due = vec![Demand::default(); self.resources.len()];
        let is_in = |tournament: &Tournament<Front>, slot, shape| tournament.leaf(slot).is_some_and(|front| front.shape == shape);
        for &shape in &self.shapes {
            let standing = self.heads[shape as usize].standing;
            let open = matches!(standing, Standing::Open(_));
            for &(r, units) in ledger.needs(shape).iter() {
                let demand = &mut due[r as usize];
                (if open { &mut demand.open } else { &mut demand.aside }).add(units);
            }
            let right = match standing {
                Standing::Open(slot) => is_in(&self.open, slot, shape),
                Standing::Aside(slot, r, units) => {
                    due[r as usize].waiting.insert((units, shape));
                    is_in(&self.aside, slot, shape) && ledger.free[r as usize] < units && ledger.needs(shape).contains(&(r, units))
                }
            };
            if !right {
                wrong.push(format!("shape {shape}: stands as {standing:?}"));
            }
        }
        for (r, resource) in self.resources.iter().enumerate() {
            if resource.demand != due[r] {
                wrong.push(format!("resource {r}: {:?}, not {:?}", resource.demand, due[r]));
            }
        }
        if self.open.len() + self.aside.len() != self.shapes.len() {
            wrong.push(format!("{} shapes are open, {} aside, of {}", self.open.len(), self.aside.len(), self.shapes.len()));
        }
        wrong
    }
}
