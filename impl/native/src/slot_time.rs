//! Slot time: the group that has had least goes first, counted in the time its tasks have held their dominant resource.
//!
//! A group's level is a line in time: its slope is the sum of the rates of its running tasks, and changes when one starts, ends or is
//! reweighed; the level itself is what it was. Whether a head fits, and whether it may be patient, are facts about its shape, so heads
//! are kept by shape: those never overtaken and those overtaken in a kinetic tournament each (the order by index), the overtaken also
//! in the order of patience, of which the patient are a prefix. The first heads of shapes that may fit are in a tournament of their own.
//!
//! Only groups that compete (a task waits, and fewer run than the limit) are kept so. All times are nanoseconds.
mod audit;
mod filing;
mod kinetic;
mod level;
mod open;
mod order;
mod overtaken;
mod running;
#[cfg(test)]
mod tests;

#[cfg(feature = "faults")]
use crate::faults::Fault;
use crate::faults::Faults;
use crate::ledger::{Ledger, ResourceId, ShapeId};
use crate::words::SlotTiming;
use filing::{Filed, Heads};
use kinetic::Tournament;
use open::{Demand, Front};
use running::{Run, Running};

/// What a group of weight 1 that holds a whole resource gains in level every nanosecond.
pub const RATE: i128 = 720_720 * 720_720 * 64;

#[cfg(feature = "faults")]
const HERE: &[&str] = &["slotwise"];

/// The seeded faults of this module, for the catalogue.
#[cfg(feature = "faults")]
#[rustfmt::skip]
pub const FAULTS: &[Fault] = &[
    ("reweigh_moves_the_level", "SLT-1", "a new weight moves the level of a group that runs something", HERE),
    ("finished_time_lost", "SLT-2", "a task's slot-time is forgotten when it ends", HERE),
    ("running_time_not_counted", "SLT-2", "the level ignores running tasks until they end", HERE),
    ("horizon_unweighted", "SLT-3", "all services count alike", HERE),
    ("look_ahead_dropped", "SLT-4", "groups go by the level they have now", HERE),
    ("patience_halved", "SLT-5", "heads become patient twice as soon", HERE),
    ("newcomer_too_low", "SLT-6", "absence earns credit", HERE),
    ("newcomer_at_another_resources_virtual_time", "SLT-6", "the largest virtual time counts, whatever the head needs", HERE),
    ("arrears_kept", "SLT-7", "a group that goes on competing may be behind by any amount", HERE),
    ("virtual_time_falls", "SLT-8", "a virtual time is the level at the last start", HERE),
    ("running_limit_off_by_one", "SLT-9", "a group may run one task more than its limit", HERE),
    ("kept_units_given_away", "SLT-10", "nothing is kept for patient heads", HERE),
    ("overtaking_not_noted", "SLT-11", "no head is ever overtaken", HERE),
    ("overtaken_survives_discard", "SLT-11", "the next head inherits when a discarded one was overtaken", HERE),
];

/// Where a head stands in the order: patient heads go first. The turn differs from every other, so no two are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Patient(i64, u64),
    Index(i128, u64),
}

/// Running tasks of one group that ask the same.
#[derive(Clone, Copy, Debug)]
struct Kind {
    shape: ShapeId,
    rate: i128,
    tasks: u32,
}

/// The record of a group. Its level is `base + slope * instant`.
#[derive(Clone, Debug, Default)]
struct Group {
    /// In 1024ths; 0 until its first task is accepted.
    weight: u32,
    limit: Option<u32>,
    base: i128,
    slope: i128,
    running: u32,
    kinds: Vec<Kind>,
    head: Option<ShapeId>,
    /// 0 while nothing waits.
    turn: u64,
    /// When its head was first overtaken.
    overtaken: Option<i64>,
    filed: Option<Filed>,
}

impl Group {
    fn level(&self, at: i64) -> i128 {
        self.base + self.slope * i128::from(at)
    }

    /// From now on its level rises so fast.
    fn turn_to(&mut self, slope: i128, at: i64) {
        self.base += (self.slope - slope) * i128::from(at);
        self.slope = slope;
    }
}

#[derive(Clone, Debug, Default)]
struct Resource {
    virtual_time: i128,
    /// Running tasks and heads, of all groups, that need it.
    wanted: u64,
    demand: Demand,
}

#[derive(Clone, Debug)]
pub struct SlotTime {
    params: SlotTiming,
    faults: Faults,
    groups: Vec<Group>,
    resources: Vec<Resource>,
    running: Running,
    /// By shape.
    heads: Vec<Heads>,
    /// The shapes of which a head competes.
    shapes: Vec<ShapeId>,
    open: Tournament<Front>,
    aside: Tournament<Front>,
    /// The resource of which all open shapes were short last.
    bottleneck: ResourceId,
    /// The last choice and when it was made, if nothing has happened since and nothing was kept.
    chosen: Option<(u32, i64)>,
    turns: u64,
    /// 0 until a service has been measured.
    horizon: i64,
    /// The largest virtual time.
    latest: i128,
    examined: u64,
    compared: u64,
}

impl SlotTime {
    pub fn new(params: SlotTiming, faults: Faults) -> Self {
        SlotTime {
            params,
            faults,
            groups: Vec::new(),
            resources: Vec::new(),
            running: Running::default(),
            heads: Vec::new(),
            shapes: Vec::new(),
            open: Tournament::default(),
            aside: Tournament::default(),
            bottleneck: 0,
            chosen: None,
            turns: 0,
            horizon: 0,
            latest: 0,
            examined: 0,
            compared: 0,
        }
    }

    pub fn add_group(&mut self) -> u32 {
        self.groups.push(Group::default());
        (self.groups.len() - 1) as u32
    }

    // What may be asked ---------------------------------------------------------------------------------------------------------------

    /// The turn of a group with waiting tasks.
    pub fn turn(&self, g: u32) -> Option<u64> {
        Some(self.groups[g as usize].turn).filter(|&turn| turn > 0)
    }

    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// In 1024ths; 0 until its first task is accepted.
    pub fn weight(&self, g: u32) -> u32 {
        self.groups[g as usize].weight
    }

    pub fn level(&self, g: u32, at: i64) -> i128 {
        self.groups[g as usize].level(at)
    }

    pub fn running(&self, g: u32) -> u32 {
        self.groups[g as usize].running
    }

    pub fn virtual_time(&self, resource: u32) -> i128 {
        self.resources.get(resource as usize).map_or(0, |known| known.virtual_time)
    }

    pub fn horizon(&self) -> i64 {
        self.horizon
    }

    /// When the group's head was first overtaken.
    pub fn overtaken(&self, g: u32) -> Option<i64> {
        self.groups[g as usize].overtaken
    }

    /// Heads that decisions have looked at.
    pub fn examined(&self) -> u64 {
        self.examined
    }

    /// Comparisons of two heads that have kept them in order.
    pub fn compared(&self) -> u64 {
        self.compared
    }

    // What happens --------------------------------------------------------------------------------------------------------------------

    /// A task joined the group's queue and brought the group's newest specification. `head`: its shape, if no other waited before it.
    pub fn accepted(&mut self, ledger: &Ledger, g: u32, head: Option<ShapeId>, weight_1024: u32, running_limit: Option<u32>, at: i64) {
        let known = &self.groups[g as usize];
        if head.is_none() && known.weight == weight_1024 && known.limit == running_limit {
            return;
        }
        let competed = self.competes(g);
        if known.weight != weight_1024 {
            self.reweigh(ledger, g, weight_1024, at);
        }
        self.groups[g as usize].limit = running_limit;
        if head.is_some() {
            self.change_head(ledger, g, head);
        }
        if !competed {
            self.come(ledger, g, head.is_some(), at);
        }
        self.file(ledger, g);
    }

    /// The group's head was discarded; `next` is the shape of its new one. (Drop the old one's shape after this call, not before.)
    pub fn head_discarded(&mut self, ledger: &Ledger, g: u32, next: Option<ShapeId>) {
        self.change_head(ledger, g, next);
        let group = &mut self.groups[g as usize];
        if !self.faults.on("overtaken_survives_discard") || next.is_none() {
            group.overtaken = None;
        }
        if next.is_none() {
            group.turn = 0;
        }
        self.file(ledger, g);
    }

    /// The group's head, of that shape, was granted a lease. `next_head` is the shape of its new head.
    pub fn started(&mut self, ledger: &Ledger, g: u32, next_head: Option<ShapeId>, lease: u64, shape: ShapeId, at: i64) {
        self.raise_virtual_times(ledger, g, shape, at);
        self.note_overtaken(ledger, g, shape, at);
        let rate = self.add_to_kind(ledger, g, shape);
        let gain = self.gain(rate);
        self.running.start(lease, Run { group: g, shape, at }, ledger.needs(shape));
        self.want(ledger, shape, 1);
        self.change_head(ledger, g, next_head);
        let group = &mut self.groups[g as usize];
        group.running += 1;
        group.overtaken = None;
        group.turn_to(group.slope + gain, at);
        group.turn = 0;
        if next_head.is_some() {
            self.go_on(ledger, g, at);
            self.take_turn(g);
        }
        self.file(ledger, g);
    }

    /// A lease has ended. (The ledger's hold on its shape is to be dropped after this call, not before.)
    pub fn finished(&mut self, ledger: &Ledger, lease: u64, at: i64) {
        let Some(&Run { group: g, shape, at: start }) = self.running.get(lease) else { return };
        let competed = self.competes(g);
        self.running.end(lease, ledger.needs(shape));
        self.want(ledger, shape, -1);
        self.reopen(ledger, shape);
        self.settle(g, shape, start, at);
        self.learn(ledger, shape, at - start);
        if !competed {
            self.come(ledger, g, false, at);
        }
        self.file(ledger, g);
    }

    fn limited(&self, g: u32) -> bool {
        let group = &self.groups[g as usize];
        let more = u32::from(self.faults.on("running_limit_off_by_one"));
        group.limit.is_some_and(|limit| group.running >= limit + more)
    }

    fn competes(&self, g: u32) -> bool {
        self.groups[g as usize].head.is_some() && !self.limited(g)
    }

    fn take_turn(&mut self, g: u32) {
        self.turns += 1;
        self.groups[g as usize].turn = self.turns;
    }

    /// It begins to wait, or might begin to compete.
    fn come(&mut self, ledger: &Ledger, g: u32, begins_to_wait: bool, at: i64) {
        let competes = self.competes(g);
        if competes {
            self.come_back(ledger, g, at);
        }
        if competes || begins_to_wait {
            self.take_turn(g);
        }
    }

    fn want(&mut self, ledger: &Ledger, shape: ShapeId, more: i64) {
        for &(r, _) in ledger.needs(shape).iter() {
            let r = r as usize;
            if self.resources.len() <= r {
                self.resources.resize_with(r + 1, Resource::default);
            }
            self.resources[r].wanted = self.resources[r].wanted.wrapping_add_signed(more);
        }
    }

    fn change_head(&mut self, ledger: &Ledger, g: u32, head: Option<ShapeId>) {
        let old = std::mem::replace(&mut self.groups[g as usize].head, head);
        if old == head {
            return;
        }
        if let Some(old) = old {
            self.want(ledger, old, -1);
        }
        if let Some(new) = head {
            self.want(ledger, new, 1);
        }
    }
}
