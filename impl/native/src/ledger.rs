//! The ledger: resources, how much of each is free, and the *shapes* that tasks ask for.
//!
//! A shape is a vector of (resource, units), interned: whether a head fits is a fact about its shape, so that no group need be asked.
//! Resources and shapes are small integers. A resource that has no capacity can be named by a task all the same; none of it is free,
//! and it is forgotten with the last shape that asks for it.
use std::sync::Arc;

use crate::tables::{Map, Slab};

pub type ResourceId = u32;
pub type ShapeId = u32;
pub type Needs = Arc<[(ResourceId, i64)]>;

#[derive(Clone, Debug)]
struct Shape {
    /// In the order asked.
    needs: Needs,
    /// Tasks that hold this shape, waiting or running.
    users: usize,
}

#[derive(Clone, Debug)]
struct Resource {
    name: Arc<str>,
    /// Shapes that ask for it; a listed resource has one more.
    users: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub capacity: Vec<i64>,
    pub free: Vec<i64>,
    resources: Slab<Resource>,
    resource_of: Map<Arc<str>, ResourceId>,
    shapes: Slab<Shape>,
    shape_of: Map<Needs, ShapeId>,
    listed: usize,
}

impl Ledger {
    pub fn new(capacity: &[(String, i64)]) -> Self {
        let mut ledger = Ledger::default();
        for (name, units) in capacity {
            let r = ledger.resource(name);
            ledger.resources[r].users = 1;
            ledger.capacity[r as usize] = *units;
            ledger.free[r as usize] = *units;
        }
        ledger.listed = ledger.resources.len();
        ledger
    }

    /// The number of a resource that is listed, or asked for by a shape.
    pub fn known(&self, name: &str) -> Option<ResourceId> {
        self.resource_of.get(name).copied()
    }

    pub fn name(&self, r: ResourceId) -> &Arc<str> {
        &self.resources[r].name
    }

    /// The resources that have a capacity.
    pub fn listed(&self) -> impl Iterator<Item = ResourceId> {
        0..self.listed as ResourceId
    }

    /// The number of this resource. A new one stays only if `hold_shape` follows.
    pub fn resource(&mut self, name: &str) -> ResourceId {
        if let Some(r) = self.known(name) {
            return r;
        }
        let name: Arc<str> = name.into();
        let r = self.resources.insert(Resource { name: name.clone(), users: 0 });
        if self.capacity.len() < self.resources.numbers() {
            self.capacity.push(0);
            self.free.push(0);
        }
        self.resource_of.insert(name, r);
        r
    }

    /// The number of this shape; one more user.
    pub fn hold_shape(&mut self, needs: &[(ResourceId, i64)]) -> ShapeId {
        if let Some(&s) = self.shape_of.get(needs) {
            self.shapes[s].users += 1;
            return s;
        }
        for &(r, _) in needs {
            self.resources[r].users += 1;
        }
        let needs: Needs = needs.into();
        let s = self.shapes.insert(Shape { needs: needs.clone(), users: 1 });
        self.shape_of.insert(needs, s);
        s
    }

    /// One more user of a shape that has some.
    pub fn hold_shape_again(&mut self, s: ShapeId) -> ShapeId {
        self.shapes[s].users += 1;
        s
    }

    /// One user less; without users the shape is forgotten, and so is a resource that is not listed.
    pub fn drop_shape(&mut self, s: ShapeId) {
        self.shapes[s].users -= 1;
        if self.shapes[s].users > 0 {
            return;
        }
        let needs = self.shapes.remove(s).needs;
        self.shape_of.remove(&needs);
        for &(r, _) in needs.iter() {
            self.resources[r].users -= 1;
            if self.resources[r].users == 0 {
                let name = self.resources.remove(r).name;
                self.resource_of.remove(&name);
            }
        }
    }

    pub fn needs(&self, s: ShapeId) -> &Needs {
        &self.shapes[s].needs
    }

    /// How many shape numbers exist, used or vacant.
    pub fn shapes(&self) -> usize {
        self.shapes.numbers()
    }

    #[inline]
    pub fn fits(&self, s: ShapeId) -> bool {
        self.needs(s).iter().all(|&(r, units)| self.free[r as usize] >= units)
    }

    pub fn lease(&mut self, s: ShapeId) {
        for &(r, units) in self.shapes[s].needs.iter() {
            self.free[r as usize] -= units;
        }
    }

    pub fn unlease(&mut self, s: ShapeId) {
        for &(r, units) in self.shapes[s].needs.iter() {
            self.free[r as usize] += units;
        }
    }

    /// What is wrong, given the shapes in use (one for each task that waits or runs) and those that are leased.
    pub fn audit(&self, used: impl Iterator<Item = ShapeId>, leased: impl Iterator<Item = ShapeId>) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut users: Map<ShapeId, usize> = Map::default();
        for s in used {
            *users.entry(s).or_default() += 1;
        }
        for (s, shape) in self.shapes.iter() {
            let tasks = users.get(&s).copied().unwrap_or(0);
            if shape.users != tasks || tasks == 0 {
                wrong.push(format!("shape {s} says that {} tasks have it, {tasks} do", shape.users));
            }
            if self.shape_of.get(&shape.needs) != Some(&s) {
                wrong.push(format!("shape {s} is not found by its needs"));
            }
        }
        if self.shapes.len() != self.shape_of.len() || self.resources.len() != self.resource_of.len() {
            wrong.push("a shape or resource is left behind".into());
        }
        let mut free = self.capacity.clone();
        for s in leased {
            for &(r, units) in self.needs(s).iter() {
                free[r as usize] -= units;
            }
        }
        for (r, resource) in self.resources.iter() {
            let (found, right) = (self.free[r as usize], free[r as usize]);
            if found != right || right < 0 {
                wrong.push(format!("{found} of {} are free, and should be {right}", resource.name));
            }
            let shapes = self.shapes.iter().filter(|(_, shape)| shape.needs.iter().any(|need| need.0 == r)).count();
            if resource.users != shapes + usize::from((r as usize) < self.listed) {
                wrong.push(format!("{} says that {} shapes ask for it, {shapes} do", resource.name, resource.users));
            }
        }
        wrong
    }
}
