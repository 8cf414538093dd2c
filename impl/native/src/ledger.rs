//! The ledger: resources, how much of each is free, and the *shapes* that tasks ask for.
//!
//! A shape is a vector of (resource, units), interned: whether a head fits is a fact about its shape, so that no group need be asked.
//! Resources and shapes are small integers. A resource that has no capacity can be named by a task all the same; none of it is free.
use std::collections::HashMap;
use std::sync::Arc;

pub type ResourceId = u32;
pub type ShapeId = u32;
pub type Needs = Arc<[(ResourceId, i64)]>;

#[derive(Clone, Debug)]
pub struct Shape {
    /// In the order asked.
    pub needs: Needs,
    /// Tasks that hold this shape, waiting or running; at zero its number is used again.
    users: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub names: Vec<Arc<str>>,
    pub capacity: Vec<i64>,
    pub free: Vec<i64>,
    resource_of: HashMap<Arc<str>, ResourceId>,
    shapes: Vec<Shape>,
    shape_of: HashMap<Needs, ShapeId>,
    vacant: Vec<ShapeId>,
}

impl Ledger {
    pub fn new(capacity: &[(String, i64)]) -> Self {
        let mut ledger = Ledger::default();
        for (name, units) in capacity {
            let r = ledger.resource(name) as usize;
            ledger.capacity[r] = *units;
            ledger.free[r] = *units;
        }
        ledger
    }

    pub fn resource(&mut self, name: &str) -> ResourceId {
        if let Some(&r) = self.resource_of.get(name) {
            return r;
        }
        let (r, name): (ResourceId, Arc<str>) = (self.names.len() as ResourceId, name.into());
        self.names.push(name.clone());
        self.capacity.push(0);
        self.free.push(0);
        self.resource_of.insert(name, r);
        r
    }

    /// The number of this shape; one more user.
    pub fn hold_shape(&mut self, needs: &[(ResourceId, i64)]) -> ShapeId {
        if let Some(&s) = self.shape_of.get(needs) {
            self.shapes[s as usize].users += 1;
            return s;
        }
        let needs: Needs = needs.into();
        let shape = Shape { needs: needs.clone(), users: 1 };
        let s = match self.vacant.pop() {
            Some(s) => {
                self.shapes[s as usize] = shape;
                s
            }
            None => {
                self.shapes.push(shape);
                (self.shapes.len() - 1) as ShapeId
            }
        };
        self.shape_of.insert(needs, s);
        s
    }

    pub fn drop_shape(&mut self, s: ShapeId) {
        let shape = &mut self.shapes[s as usize];
        shape.users -= 1;
        if shape.users == 0 {
            self.shape_of.remove(&shape.needs);
            self.vacant.push(s);
        }
    }

    pub fn needs(&self, s: ShapeId) -> &Needs {
        &self.shapes[s as usize].needs
    }

    /// How many shape numbers exist, used or vacant.
    pub fn shapes(&self) -> usize {
        self.shapes.len()
    }

    pub fn fits(&self, s: ShapeId) -> bool {
        self.needs(s).iter().all(|&(r, units)| self.free[r as usize] >= units)
    }

    pub fn lease(&mut self, s: ShapeId) {
        for &(r, units) in self.shapes[s as usize].needs.iter() {
            self.free[r as usize] -= units;
        }
    }

    pub fn unlease(&mut self, s: ShapeId) {
        for &(r, units) in self.shapes[s as usize].needs.iter() {
            self.free[r as usize] += units;
        }
    }
}
