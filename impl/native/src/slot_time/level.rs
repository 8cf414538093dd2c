//! Levels: what groups have attained, and where they start again. SLT-1 to SLT-4, SLT-6 to SLT-8.
use super::{Kind, RATE, SlotTime};
use crate::ledger::{Ledger, ShapeId};
use crate::words::WEIGHT_UNIT;

impl SlotTime {
    /// SLT-1.
    pub(super) fn reweigh(&mut self, ledger: &Ledger, g: u32, weight: u32, at: i64) {
        let group = &mut self.groups[g as usize];
        group.weight = weight;
        for kind in &mut group.kinds {
            kind.rate = rate_of(ledger, kind.shape, weight);
        }
        let rates = group.kinds.iter().map(|kind| kind.rate * i128::from(kind.tasks)).sum();
        let slope = self.gain(rates);
        let group = &mut self.groups[g as usize];
        if self.faults.on("reweigh_moves_the_level") {
            group.slope = slope;
        } else {
            group.turn_to(slope, at);
        }
    }

    /// SLT-2: the level keeps what it has gained, and rises no more by this task.
    pub(super) fn settle(&mut self, g: u32, shape: ShapeId, start: i64, at: i64) {
        let rate = self.drop_from_kind(g, shape);
        let gain = self.gain(rate);
        let group = &mut self.groups[g as usize];
        group.running -= 1;
        group.turn_to(group.slope - gain, at);
        let missing = if self.faults.on("finished_time_lost") { -rate } else { rate - gain };
        group.base += missing * i128::from(at - start);
    }

    /// SLT-2: what a running task's rate adds to its group's.
    pub(super) fn gain(&self, rate: i128) -> i128 {
        if self.faults.on("running_time_not_counted") { 0 } else { rate }
    }

    /// SLT-3.
    pub(super) fn learn(&mut self, ledger: &Ledger, shape: ShapeId, service: i64) {
        if service == 0 {
            return;
        }
        let of = |&(r, units): &(u32, i64)| (units << 32) / ledger.capacity[r as usize];
        let share = i128::from(ledger.needs(shape).iter().map(of).max().unwrap_or(0));
        self.horizon = if self.horizon > 0 && self.faults.on("horizon_unweighted") {
            self.horizon + (service - self.horizon).div_euclid(i64::from(self.params.memory))
        } else {
            horizon_after(self.horizon, service, share, self.params.memory)
        };
    }

    fn look_ahead(&self) -> i128 {
        i128::from(self.params.ahead) * i128::from(self.horizon.max(1))
    }

    /// SLT-4: the instant at which the levels are compared.
    pub(super) fn ahead(&self, at: i64) -> i128 {
        if self.faults.on("look_ahead_dropped") { i128::from(at) } else { i128::from(at) + self.look_ahead() }
    }

    /// SLT-6.
    pub(super) fn come_back(&mut self, ledger: &Ledger, g: u32, at: i64) {
        let due = self.virtual_time_of(ledger, g, self.groups[g as usize].level(at));
        let due = if self.faults.on("newcomer_at_another_resources_virtual_time") { self.latest } else { due };
        if !self.faults.on("newcomer_too_low") {
            self.raise(g, due, at);
        }
    }

    /// SLT-7, if it still competes.
    pub(super) fn go_on(&mut self, ledger: &Ledger, g: u32, at: i64) {
        if !self.competes(g) || self.faults.on("arrears_kept") {
            return;
        }
        let arrears = i128::from(self.params.arrears) * self.look_ahead() * RATE;
        let due = self.virtual_time_of(ledger, g, self.groups[g as usize].level(at) + arrears) - arrears;
        self.raise(g, due, at);
    }

    fn raise(&mut self, g: u32, due: i128, at: i64) {
        let group = &mut self.groups[g as usize];
        group.base += (due - group.level(at)).max(0);
    }

    /// The least virtual time over the resources its head shares with other groups; the largest of all, if it shares none. (Any number
    /// up to `enough`, if that is enough.)
    fn virtual_time_of(&self, ledger: &Ledger, g: u32, enough: i128) -> i128 {
        let Some(head) = self.groups[g as usize].head else { return self.latest };
        if self.latest <= enough {
            return self.latest;
        }
        let shared = ledger.needs(head).iter().filter(|&&(r, _)| self.shares(ledger, g, r));
        shared.map(|&(r, _)| self.virtual_time(r)).min().unwrap_or(self.latest)
    }

    /// Does another group's running task or head need the resource?
    fn shares(&self, ledger: &Ledger, g: u32, resource: u32) -> bool {
        let group = &self.groups[g as usize];
        let asks = |shape: ShapeId| ledger.needs(shape).iter().any(|&(r, _)| r == resource);
        let own = group.kinds.iter().filter(|kind| asks(kind.shape)).map(|kind| u64::from(kind.tasks)).sum::<u64>();
        self.resources[resource as usize].wanted > own + u64::from(group.head.is_some_and(asks))
    }

    /// SLT-8.
    pub(super) fn raise_virtual_times(&mut self, ledger: &Ledger, g: u32, shape: ShapeId, at: i64) {
        let level = self.groups[g as usize].level(at);
        let falls = self.faults.on("virtual_time_falls");
        for &(r, _) in ledger.needs(shape).iter() {
            let time = &mut self.resources[r as usize].virtual_time;
            *time = if falls { level } else { level.max(*time) };
        }
        self.latest = if falls { self.resources.iter().map(|known| known.virtual_time).max().unwrap_or(0) } else { level.max(self.latest) };
    }

    /// One more of the group's tasks of that shape runs; its rate.
    pub(super) fn add_to_kind(&mut self, ledger: &Ledger, g: u32, shape: ShapeId) -> i128 {
        let group = &mut self.groups[g as usize];
        if let Some(kind) = group.kinds.iter_mut().find(|kind| kind.shape == shape) {
            kind.tasks += 1;
            return kind.rate;
        }
        let rate = rate_of(ledger, shape, group.weight);
        group.kinds.push(Kind { shape, rate, tasks: 1 });
        rate
    }

    fn drop_from_kind(&mut self, g: u32, shape: ShapeId) -> i128 {
        let kinds = &mut self.groups[g as usize].kinds;
        let i = kinds.iter().position(|kind| kind.shape == shape).expect("what ends was started");
        let rate = kinds[i].rate;
        kinds[i].tasks -= 1;
        if kinds[i].tasks == 0 {
            kinds.swap_remove(i);
            kinds.shrink_to(4);
        }
        rate
    }
}

/// The largest share of a resource that the shape asks, divided by a weight, in parts; rounded down.
fn shares(ledger: &Ledger, shape: ShapeId, parts: i128, weight: u32) -> i128 {
    let of = |&(r, units): &(u32, i64)| i128::from(units) * parts / (i128::from(ledger.capacity[r as usize]) * i128::from(weight));
    ledger.needs(shape).iter().map(of).max().unwrap_or(0)
}

/// What a task of that shape adds to its group's level every nanosecond. The weight is in 1024ths.
pub(super) fn rate_of(ledger: &Ledger, shape: ShapeId, weight: u32) -> i128 {
    shares(ledger, shape, RATE * i128::from(WEIGHT_UNIT), weight)
}

/// h + (s - h) * x / (x + memory * h), where x is share times service; shares and the fraction are in parts of 2^32.
fn horizon_after(horizon: i64, service: i64, share: i128, memory: u32) -> i64 {
    if horizon == 0 {
        return service;
    }
    let slot_time = share * i128::from(service);
    let fraction = (slot_time << 32) / (slot_time + ((i128::from(memory) * i128::from(horizon)) << 32));
    horizon + ((i128::from(service - horizon) * fraction) >> 32) as i64
}
