//! The order of heads, and what each is told: SLT-4, SLT-5, SLT-9 to SLT-11.
use std::collections::BTreeMap;

use super::kinetic::Line;
use super::overtaken::Since;
use super::{Place, SlotTime};
use crate::ledger::{Ledger, ResourceId, ShapeId};
use crate::words::Refusal;

/// Free units of a resource, now or just before a start.
trait Free: Fn(ResourceId) -> i64 {}
impl<F: Fn(ResourceId) -> i64> Free for F {}

impl SlotTime {
    /// The group whose head is to start.
    pub fn choose(&mut self, ledger: &Ledger, at: i64) -> Option<u32> {
        let patient = self.patient(ledger, at, free_in(ledger));
        if !patient.is_empty() {
            return self.choose_patient(ledger, &patient).or_else(|| self.choose_beside(ledger, &patient, at));
        }
        self.chosen = self.first_that_fits(ledger, self.ahead(at)).map(|g| (g, at));
        self.chosen.map(|(g, _)| g)
    }

    /// The first head by index that leaves alone what is kept for the patient.
    fn choose_beside(&mut self, ledger: &Ledger, patient: &[(ShapeId, usize)], at: i64) -> Option<u32> {
        let instant = self.ahead(at);
        let kept = self.kept(ledger, patient, None);
        let mut least: Option<(i128, u64, u32)> = None;
        for i in 0..self.shapes.len() {
            let shape = self.shapes[i];
            // Not so the shapes of patient heads: those did not leave alone what is kept for those before them.
            if spare(ledger, shape, &kept) {
                let (line, _) = self.first(shape, instant);
                least = least.into_iter().chain([(line.at(instant), line.turn, line.group)]).min();
            }
        }
        least.map(|(_, _, group)| group)
    }

    /// Of the patient heads only the first of each shape can start: the others are of that shape, and behind.
    fn choose_patient(&mut self, ledger: &Ledger, patient: &[(ShapeId, usize)]) -> Option<u32> {
        let fitting = patient.iter().filter(|&&(shape, _)| ledger.fits(shape));
        let mut first: Vec<_> = fitting.filter_map(|&(shape, _)| self.heads[shape as usize].overtaken.first().zip(Some(shape))).collect();
        first.sort_unstable();
        self.examined += first.len() as u64;
        let free = |&&((since, _), shape): &&((Since, u32), ShapeId)| spare(ledger, shape, &self.kept(ledger, patient, Some(since)));
        first.iter().find(free).map(|&((_, group), _)| group)
    }

    /// Why the group's head may not start now, if it may not.
    pub fn verdict(&self, ledger: &Ledger, g: u32, at: i64) -> Option<Refusal> {
        let shape = self.groups[g as usize].head?;
        if !ledger.fits(shape) {
            return Some(Refusal::NoCapacity);
        }
        if self.limited(g) {
            return Some(Refusal::RunningLimit);
        }
        let before = match self.place(ledger, g, at) {
            Some(Place::Patient(since, turn)) => Some((since, turn)),
            _ => None,
        };
        let kept = self.kept(ledger, &self.patient(ledger, at, free_in(ledger)), before);
        (!spare(ledger, shape, &kept)).then_some(Refusal::KeptUnits)
    }

    /// All groups with waiting tasks, in the order of their heads.
    pub fn order(&self, ledger: &Ledger, at: i64) -> Vec<u32> {
        let places = (0..self.groups.len() as u32).filter_map(|g| self.place(ledger, g, at).zip(Some(g)));
        let mut order: Vec<_> = places.collect();
        order.sort_unstable();
        order.into_iter().map(|(_, g)| g).collect()
    }

    fn place(&self, ledger: &Ledger, g: u32, at: i64) -> Option<Place> {
        let group = &self.groups[g as usize];
        let head = group.head?;
        let patient = |since: &i64| *since < self.patient_until(ledger, head, at, free_in(ledger));
        Some(match group.overtaken.filter(patient) {
            Some(since) => Place::Patient(since, group.turn),
            None => Place::Index(group.base + group.slope * self.ahead(at), group.turn),
        })
    }

    /// Heads of that shape are patient if they were overtaken before then.
    fn patient_until(&self, ledger: &Ledger, shape: ShapeId, at: i64, free: impl Free) -> i64 {
        let short = ledger.needs(shape).iter().filter(|&&(r, units)| free(r) < units);
        let longest = short.filter_map(|&(r, _)| self.running.oldest(r as usize)).min().map_or(0, |start| at - start);
        let times = if self.faults.on("patience_halved") { self.params.patience / 2 } else { self.params.patience };
        (i128::from(at) - i128::from(times) * i128::from(longest)).max(0) as i64
    }

    fn patient_of(&self, ledger: &Ledger, shape: ShapeId, at: i64, free: impl Free) -> usize {
        let overtaken = &self.heads[shape as usize].overtaken;
        if overtaken.is_empty() { 0 } else { overtaken.before((self.patient_until(ledger, shape, at, free), 0)) }
    }

    /// The shapes of which a head is patient, and how many.
    fn patient(&self, ledger: &Ledger, at: i64, free: impl Free) -> Vec<(ShapeId, usize)> {
        let count = |&shape: &ShapeId| (shape, self.patient_of(ledger, shape, at, &free));
        self.shapes.iter().map(count).filter(|&(_, heads)| heads > 0).collect()
    }

    /// Units by resource that are kept for patient heads, or for those of them that stand before one. Nothing kept: no entries.
    fn kept(&self, ledger: &Ledger, patient: &[(ShapeId, usize)], before: Option<Since>) -> Vec<i64> {
        if patient.is_empty() || self.faults.on("kept_units_given_away") {
            return Vec::new();
        }
        let mut kept = vec![0i64; self.resources.len()];
        for &(shape, heads) in patient {
            let heads = before.map_or(heads, |since| heads.min(self.heads[shape as usize].overtaken.before(since)));
            for &(r, units) in ledger.needs(shape).iter() {
                kept[r as usize] = kept[r as usize].saturating_add(units.saturating_mul(heads as i64));
            }
        }
        kept
    }

    /// Of the shape's heads the first by index, and whether it was never overtaken.
    fn first(&mut self, shape: ShapeId, instant: i128) -> (Line, bool) {
        self.examined += 1;
        let first = self.heads[shape as usize].first(instant, &mut self.compared);
        first.map(|(line, fresh, ..)| (line, fresh)).expect("a shape in the list has a head")
    }

    /// SLT-11, before the group's record knows of the start; the ledger does already.
    ///
    /// A shape that was short before the start lays claim, with its first head, to what it was short of: only that head of it can be
    /// newly overtaken. A shape that the start itself made short claims nothing: any of its heads before the one that started can be.
    pub(super) fn note_overtaken(&mut self, ledger: &Ledger, g: u32, started: ShapeId, at: i64) {
        if self.faults.on("overtaking_not_noted") {
            return;
        }
        let taken = |r: ResourceId| ledger.needs(started).iter().find(|&&(known, _)| known == r).map_or(0, |&(_, units)| units);
        let free = free_in(ledger);
        let free_before = |r: ResourceId| free(r) + taken(r);
        let instant = self.ahead(at);
        let group = &self.groups[g as usize];
        // It fitted, so nothing was in its way.
        let place = match group.overtaken.filter(|&since| since < at) {
            Some(since) => Place::Patient(since, group.turn),
            None => Place::Index(group.base + group.slope * instant, group.turn),
        };
        let candidates = match place {
            // Chosen with nothing kept: whoever stands before it did not fit, and has been set aside.
            Place::Index(level, turn) if self.chosen == Some((g, at)) => {
                if self.presses_aside(ledger, started) {
                    self.aside_below(instant, (level, turn))
                } else {
                    Vec::new()
                }
            }
            _ => self.shapes.iter().copied().filter(|&shape| !self.heads[shape as usize].fresh.is_empty()).collect(),
        };
        let is_pressed = |&shape: &ShapeId| short(ledger, shape, free).any(|r| taken(r) > 0);
        let pressed: Vec<ShapeId> = candidates.into_iter().filter(is_pressed).collect();
        if pressed.is_empty() {
            return;
        }
        let claims = self.claims(ledger, &pressed, at, free_before);
        let mut overtaken: Vec<u32> = Vec::new();
        for shape in pressed {
            let bound = short(ledger, shape, free).filter_map(|r| claims.get(&r)).min().copied();
            if is_short(ledger, shape, free_before) {
                let (first, fresh) = self.first_place(ledger, shape, at, free_before);
                overtaken.extend(fresh.filter(|_| first < place && bound.is_none_or(|bound| first <= bound)));
            } else if let Place::Index(level, turn) = bound.map_or(place, |bound| bound.min(place)) {
                self.examined += 1;
                overtaken.extend(
                    self.heads[shape as usize]
                        .fresh
                        .below(instant, (level, turn), &mut self.compared, &mut |_| ())
                        .iter()
                        .map(|line| line.group),
                );
            }
        }
        for other in overtaken {
            self.groups[other as usize].overtaken = Some(at);
            self.file(ledger, other);
        }
    }

    /// The places of the first heads that were short, before the start, of what pressed shapes are short of now; by resource.
    fn claims(&mut self, ledger: &Ledger, pressed: &[ShapeId], at: i64, free_before: impl Free + Copy) -> BTreeMap<ResourceId, Place> {
        let mut claims = BTreeMap::new();
        let mut contested: Vec<ResourceId> = pressed.iter().flat_map(|&shape| short(ledger, shape, free_in(ledger))).collect();
        contested.sort_unstable();
        contested.dedup();
        for i in 0..self.shapes.len() {
            let shape = self.shapes[i];
            if short(ledger, shape, free_before).any(|r| contested.binary_search(&r).is_ok()) {
                let (first, _) = self.first_place(ledger, shape, at, free_before);
                for r in short(ledger, shape, free_before) {
                    let claim = claims.entry(r).or_insert(first);
                    *claim = first.min(*claim);
                }
            }
        }
        claims
    }

    /// Where the first head of a shape stands, and its group, if it was never overtaken.
    fn first_place(&mut self, ledger: &Ledger, shape: ShapeId, at: i64, free: impl Free) -> (Place, Option<u32>) {
        if self.patient_of(ledger, shape, at, free) > 0 {
            self.examined += 1;
            if let Some(((since, turn), _)) = self.heads[shape as usize].overtaken.first() {
                return (Place::Patient(since, turn), None);
            }
        }
        let instant = self.ahead(at);
        let (line, fresh) = self.first(shape, instant);
        (Place::Index(line.at(instant), line.turn), fresh.then_some(line.group))
    }
}

fn free_in(ledger: &Ledger) -> impl Free + Copy {
    |r| ledger.free[r as usize]
}

/// The resources of which a head of that shape is short.
fn short(ledger: &Ledger, shape: ShapeId, free: impl Free) -> impl Iterator<Item = ResourceId> {
    ledger.needs(shape).iter().filter(move |&&(r, units)| free(r) < units).map(|&(r, _)| r)
}

fn is_short(ledger: &Ledger, shape: ShapeId, free: impl Free) -> bool {
    short(ledger, shape, free).next().is_some()
}

/// Does the shape fit what is free and not kept?
fn spare(ledger: &Ledger, shape: ShapeId, kept: &[i64]) -> bool {
    ledger.needs(shape).iter().all(|&(r, units)| ledger.free[r as usize] - kept.get(r as usize).unwrap_or(&0) >= units)
}
