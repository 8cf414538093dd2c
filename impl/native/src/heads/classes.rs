//! Shapes that ask the same of what several shapes ask for: a *class*. What one shape alone asks for is its own.
//!
//! Whether a shape's own units are free, how its own heads press each other, and which of them its own resources let go first changes
//! only with that shape. So it is found when the shape has changed, and a class keeps the first such head of each of its shapes in
//! order of place. A decision asks the classes, however many shapes they have.
//!
//! A resource for which a second shape asks is shared from then on, until no shape with heads asks for it.
use super::blocks::Blocks;
use crate::ledger::{Needs, ResourceId, ShapeId};
use crate::tables::Map;

pub type ClassId = u32;

/// Who asks for a resource, of the shapes that have heads.
#[derive(Clone, Copy, Debug, Default)]
struct Askers {
    shapes: u32,
    shared: bool,
    /// The only one, if it is not shared.
    sole: ShapeId,
}

#[derive(Clone, Debug, Default)]
pub struct Class {
    /// What it asks of shared resources, in the order asked.
    pub needs: Box<[(ResourceId, i64)]>,
    /// Its shapes ask for nothing else, and for one resource only.
    pub single: bool,
    shapes: u32,
    /// Their numbers, added bit by bit: that of the shape, if there is only one.
    sum: ShapeId,
    /// Of each shape the first head that its own resources let go; by the number of the shape. Not kept of a shape that is the only one.
    pub fronts: Blocks,
    /// All heads,
    pub heads: i64,
    /// those whose own units are free,
    pub startable: i64,
    /// and their weight.
    pub weight: i64,
    /// Where it is among those that have shapes.
    listed: usize,
}

impl Class {
    /// The shape, if it has only one.
    #[inline]
    pub fn only(&self) -> Option<ShapeId> {
        (self.shapes == 1).then_some(self.sum)
    }

    /// The other shape, if it has two.
    pub fn only_one_beside(&self, s: ShapeId) -> Option<ShapeId> {
        (self.shapes == 2).then_some(self.sum ^ s)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Classes {
    classes: Vec<Class>,
    vacant: Vec<ClassId>,
    class_of: Map<Box<[(ResourceId, i64)]>, ClassId>,
    /// Those that have shapes.
    pub occupied: Vec<ClassId>,
    askers: Vec<Askers>,
}

/// In the name of a class whose shapes ask for one resource only.
const SINGLE: (ResourceId, i64) = (ResourceId::MAX, 0);

impl Classes {
    pub fn get(&self, c: ClassId) -> &Class {
        &self.classes[c as usize]
    }

    pub fn get_mut(&mut self, c: ClassId) -> &mut Class {
        &mut self.classes[c as usize]
    }

    /// Is the shape that asks for this resource the only one that does?
    #[inline]
    pub fn is_own(&self, r: ResourceId) -> bool {
        !self.askers[r as usize].shared
    }

    /// The only shape that asks for this resource.
    pub fn sole(&self, r: ResourceId) -> Option<ShapeId> {
        self.askers.get(r as usize).filter(|askers| askers.shapes == 1 && !askers.shared).map(|askers| askers.sole)
    }

    /// A shape asks for these; `share`: they are shared from the beginning. Answers the shapes to which some of them were their own.
    pub fn ask(&mut self, s: ShapeId, needs: &Needs, share: bool) -> Vec<ShapeId> {
        let mut met = Vec::new();
        for &(r, _) in needs.iter() {
            if self.askers.len() <= r as usize {
                self.askers.resize_with(r as usize + 1, Askers::default);
            }
            let askers = &mut self.askers[r as usize];
            askers.shapes += 1;
            if askers.shapes == 1 {
                (askers.shared, askers.sole) = (share, s);
            } else if !std::mem::replace(&mut askers.shared, true) {
                met.push(askers.sole);
            }
        }
        met
    }

    /// The shape asks for nothing any longer.
    pub fn unask(&mut self, needs: &Needs) {
        needs.iter().for_each(|&(r, _)| self.askers[r as usize].shapes -= 1);
    }

    /// The class of a shape that asks for these; one more shape.
    pub fn join(&mut self, s: ShapeId, needs: &Needs) -> ClassId {
        let mut name: Vec<_> = needs.iter().filter(|&&(r, _)| !self.is_own(r)).copied().collect();
        let shared = name.len();
        if needs.len() == 1 {
            name.push(SINGLE);
        }
        if let Some(&c) = self.class_of.get(&name[..]) {
            let class = &mut self.classes[c as usize];
            class.shapes += 1;
            class.sum ^= s;
            return c;
        }
        let c = self.vacant.pop().unwrap_or(self.classes.len() as ClassId);
        if c as usize == self.classes.len() {
            self.classes.push(Class::default());
        }
        let class = &mut self.classes[c as usize];
        let (needs, single, listed) = (name[..shared].into(), needs.len() == 1, self.occupied.len());
        *class = Class { needs, single, shapes: 1, sum: s, listed, ..Class::default() };
        self.occupied.push(c);
        self.class_of.insert(name.into(), c);
        c
    }

    /// One shape less, of which nothing is counted.
    pub fn leave(&mut self, c: ClassId, s: ShapeId) {
        let class = &mut self.classes[c as usize];
        class.shapes -= 1;
        class.sum ^= s;
        if class.shapes > 0 {
            return;
        }
        let Class { needs, single, listed, .. } = std::mem::take(class);
        let mut name = needs.into_vec();
        if single {
            name.push(SINGLE);
        }
        self.class_of.remove(&name[..]);
        self.vacant.push(c);
        self.occupied.swap_remove(listed);
        if let Some(&moved) = self.occupied.get(listed) {
            self.classes[moved as usize].listed = listed;
        }
    }

    /// What is wrong, given the shapes that have heads, their needs and classes.
    pub fn audit(&self, shapes: &[(ShapeId, &Needs, ClassId)]) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut askers = vec![Vec::new(); self.askers.len()];
        let mut members = vec![(0, 0); self.classes.len()];
        for &(s, needs, c) in shapes {
            needs.iter().for_each(|&(r, _)| askers[r as usize].push(s));
            let shared = needs.iter().filter(|&&(r, _)| !self.is_own(r)).copied();
            if !shared.eq(self.get(c).needs.iter().copied()) || self.get(c).single != (needs.len() == 1) {
                wrong.push(format!("shape {s} is in a class that asks for {:?}", self.get(c).needs));
            }
            members[c as usize].0 += 1;
            members[c as usize].1 ^= s;
        }
        for (r, (found, askers)) in self.askers.iter().zip(&askers).enumerate() {
            let known = found.shared || askers.is_empty() || *askers == [found.sole];
            if found.shapes as usize != askers.len() || !known {
                wrong.push(format!("resource {r}: {found:?}, and {askers:?} ask for it"));
            }
        }
        for (c, class) in self.classes.iter().enumerate() {
            let listed = self.occupied.get(class.listed) == Some(&(c as ClassId));
            if (class.shapes, class.sum) != members[c] || listed != (class.shapes > 0) {
                wrong.push(format!("class {c} says that it has {} shapes, not {:?}; listed: {listed}", class.shapes, members[c]));
            }
            wrong.extend(class.fronts.audit(&format!("class {c}")));
        }
        wrong
    }
}
