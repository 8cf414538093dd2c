//! Tasks come, and go again before they start: what is accepted, and under which group and shape.
use std::sync::Arc;

use super::{Admission, Kind, forget_shape};
use crate::fair_queue::{GroupId, NameId};
use crate::ledger::{ResourceId, ShapeId};
use crate::words::{About, GroupIn, Refusal, Seen, Spec, TaskIn, Text};

impl Admission {
    pub(super) fn enqueue(&mut self, tasks: &[TaskIn], groups: &[GroupIn], saw: &mut Vec<Seen>) {
        let mut accepted = false;
        let (mut needs, mut last): (_, Option<(&TaskIn, ShapeId)>) = (Vec::new(), None);
        self.queue.reserve(tasks.len());
        for task in tasks {
            let known = self.queue.group(&task.group);
            let deaf = known.is_some() && self.faults.on("new_specification_ignored");
            let sent = groups.iter().rev().find(|group| group.name == task.group && !deaf).map(|group| group.spec);
            let spec = sent.or(known.map(|g| self.queue.groups[g as usize].spec)).unwrap_or_default();
            if let Some(refusal) = self.impossible(&task.needs, spec) {
                saw.push(Seen("refused", About::Reason((*task.id).into(), refusal)));
            } else if let Some(n) = self.queue.waits(&task.id) {
                saw.push(Seen("duplicate", About::Task(self.queue.text(n))));
                accepted |= self.faults.on("duplicate_moves_the_version");
            } else {
                let shape = match last {
                    Some((other, shape)) if other.needs == task.needs => self.ledger.hold_shape_again(shape),
                    _ => self.shape(&task.needs, &mut needs),
                };
                last = Some((task, shape));
                let g = known.unwrap_or_else(|| self.group(&task.group));
                let n = self.queue.name(&task.id);
                self.accept(g, n, shape, spec);
                saw.push(Seen("accepted", About::Task(self.queue.text(n))));
                accepted = true;
            }
        }
        self.queue.version += u64::from(accepted);
    }

    /// The number of what is asked; one more user.
    pub(crate) fn shape(&mut self, asked: &[(Text, i64)], needs: &mut Vec<(ResourceId, i64)>) -> ShapeId {
        needs.clear();
        needs.extend(asked.iter().map(|(name, units)| (self.ledger.resource(name), *units)));
        self.ledger.hold_shape(needs)
    }

    /// A task that could never start is refused (ADM-9), unless the profile accepts it.
    pub(crate) fn impossible(&self, needs: &[(Text, i64)], spec: Spec) -> Option<Refusal> {
        if self.accepts_the_impossible {
            return None;
        }
        for (name, units) in needs {
            match self.ledger.known(name).map_or(0, |r| self.ledger.capacity[r as usize]) {
                0 => return Some(Refusal::NeverFits),
                capacity if *units > capacity && !self.faults.on("never_fits_accepted") => return Some(Refusal::NeverFits),
                _ => {}
            }
        }
        if spec.weight == 0 {
            return Some(Refusal::NoWeight);
        }
        (spec.running_limit == Some(0)).then_some(Refusal::LimitBelowOne)
    }

    /// The number of the group of that name.
    pub(crate) fn group(&mut self, name: &str) -> GroupId {
        let (g, new) = self.queue.hold_group(name);
        if new {
            match &mut self.kind {
                Kind::Strict(strict) => strict.add_group(),
                Kind::BoundedBorrow(borrow) => borrow.add_group(name),
                Kind::SlotTime(time) => {
                    time.add_group();
                }
            }
            self.heads.add_group();
        }
        g
    }

    fn accept(&mut self, g: GroupId, n: NameId, shape: ShapeId, spec: Spec) {
        self.queue.accept(g, n, shape, spec);
        if let Kind::SlotTime(time) = &mut self.kind {
            let head = (self.queue.groups[g as usize].waiting == 1).then_some(shape);
            return time.accepted(&self.ledger, g, head, spec.weight, spec.running_limit, self.now);
        }
        if self.queue.groups[g as usize].turn == 0 {
            self.queue.bring_tag(g);
            self.queue.take_turn(g);
        }
        self.settle(g);
    }

    /// A task without an id arrives, which asks what others ask already. (For those who know tasks by the numbers that this answers.)
    pub(crate) fn accept_nameless(&mut self, g: GroupId, shape: ShapeId, spec: Spec, text: &Arc<str>) -> NameId {
        self.ledger.hold_shape_again(shape);
        let n = self.queue.nameless(text.clone());
        self.accept(g, n, shape, spec);
        n
    }

    pub(super) fn discard(&mut self, n: NameId) -> Seen {
        let text = self.queue.text(n);
        let e = self.queue.names[n].entry;
        let g = self.queue.forget(n);
        let was_head = self.queue.head(g).is_some_and(|head| head.name == n);
        if self.queue.lingers {
            if was_head {
                self.heads.unfile(g);
                self.queue.unsettle(g);
            }
        } else {
            let entry = self.queue.unlink(g, e);
            if was_head {
                self.heads.unfile(g);
                self.file(g);
            }
            self.queue.drop_name(n);
            if let Kind::SlotTime(time) = &mut self.kind
                && was_head
            {
                time.head_discarded(&self.ledger, g, self.queue.head(g).map(|head| head.shape));
            }
            forget_shape(&mut self.ledger, entry.shape, self.faults);
        }
        self.queue.give_up_place(g);
        Seen("discarded", About::Task(text))
    }
}
