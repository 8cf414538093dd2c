//! The coordinator of one parallel: it owns its branches and their slots; a suspended branch keeps its slot. However it leaves, it cancels
//! the refreshes that it asked for.
//!
//! Whoever is told what resumes hears it as one event among others. As published, when a resume time has come the coordinator does nothing
//! but wait for the answer to its refresh, or to an empty item.
use std::collections::{BTreeMap, BTreeSet};

use super::frames::{Body, Frame};
use super::{Ended, Event, Flow, Next, Outcome, Producer, Submission, Suspended, Told, Waiting, Whose};
use crate::batching_scenarios::{Name, Parallel};
use crate::batching_service::Action;
use crate::batching_world::{Mailbox, World};

#[derive(Debug)]
enum At {
    Top,
    /// It waits for an event.
    Event,
    /// It waits for the refresh of that resume time.
    Wave(i64),
    /// It waits for an empty item, to resume these.
    Empty(Vec<usize>),
}

/// The branches that are suspended: by when they resume, and by what they wait for, those of earlier first.
#[derive(Debug, Default)]
struct Asleep {
    until: BTreeMap<usize, (u64, Suspended)>,
    by_when: BTreeSet<(i64, u64, usize)>,
    by_id: BTreeSet<(Name, u64, usize)>,
    number: u64,
}

impl Asleep {
    fn insert(&mut self, i: usize, until: Suspended) {
        self.number += 1;
        self.until.insert(i, (self.number, until));
        self.by_when.insert((until.when(), self.number, i));
        self.by_id.insert((until.id, self.number, i));
    }

    fn remove(&mut self, i: usize) {
        if let Some((number, until)) = self.until.remove(&i) {
            self.by_when.remove(&(until.when(), number, i));
            self.by_id.remove(&(until.id, number, i));
        }
    }

    fn soonest(&self) -> Option<i64> {
        self.by_when.first().map(|&(when, ..)| when)
    }

    /// The first that resumes.
    fn first(&self) -> Option<Suspended> {
        self.by_when.first().map(|(_, _, i)| self.until[i].1)
    }

    fn that_wait_for(&self, id: Name) -> impl Iterator<Item = usize> {
        self.by_id.range((id, 0, 0)..=(id, u64::MAX, 0)).map(|&(_, _, i)| i)
    }

    /// In the order of branches.
    fn resuming_at(&self, when: i64) -> Vec<usize> {
        let mut branches: Vec<usize> = self.by_when.range((when, 0, 0)..=(when, u64::MAX, 0)).map(|&(_, _, i)| i).collect();
        branches.sort_unstable();
        branches
    }

    /// Of one time, in the order of branches.
    fn resuming_by(&self, now: i64) -> Vec<usize> {
        let mut branches: Vec<(i64, usize)> = self.by_when.range(..=(now, u64::MAX, 0)).map(|&(when, _, i)| (when, i)).collect();
        branches.sort_unstable();
        branches.into_iter().map(|(_, i)| i).collect()
    }
}

#[derive(Debug)]
pub struct Coordinator<'a> {
    op: Name,
    parallel: &'a Parallel,
    mail: u32,
    at: At,
    /// The first branch that has not been started yet.
    next: usize,
    /// Free ones.
    slots: usize,
    running: usize,
    succeeded: usize,
    failed: usize,
    asleep: Asleep,
    /// As published: the mailboxes of refreshes, by resume time.
    waves: BTreeMap<i64, u32>,
}

impl<'a> Coordinator<'a> {
    pub fn new(op: Name, parallel: &'a Parallel) -> Self {
        Coordinator {
            op,
            parallel,
            mail: 0,
            at: At::Top,
            next: 0,
            slots: parallel.at_once,
            running: 0,
            succeeded: 0,
            failed: 0,
            asleep: Asleep::default(),
            waves: BTreeMap::new(),
        }
    }

    pub fn next(&mut self, told: Told, world: &mut World<'a>) -> Flow<'a> {
        let flow = self.go_on(told, world);
        if matches!(flow, Ok(Next::Done) | Err(_)) {
            world.close(self.op);
            if world.waiting != Waiting::Empties {
                world.cancel(self.op);
            }
        }
        flow
    }

    fn go_on(&mut self, told: Told, world: &mut World<'a>) -> Flow<'a> {
        let at = std::mem::replace(&mut self.at, At::Top);
        let top = matches!(at, At::Top | At::Event);
        match (at, told) {
            (At::Wave(due), Told::Event(told)) => {
                match told {
                    Some(Event::Settled("ok")) => {}
                    Some(Event::Settled(why) | Event::Refused(why)) => return Err(Ended::Refused(why)),
                    _ => return Err(Ended::Refused("")),
                }
                self.resume(self.asleep.resuming_at(due), world);
            }
            (At::Empty(branches), told) => {
                told.outcome()?;
                self.resume(branches, world);
            }
            (At::Event, Told::Event(Some(event))) => self.take(event, world)?,
            (At::Top, _) => {
                self.mail = world.mail.insert(Mailbox::default());
                if world.waiting == Waiting::Told {
                    world.open(self.op, self.mail);
                }
            }
            _ => {}
        }
        if top {
            if self.is_finished() {
                return Ok(Next::Done);
            }
            while self.slots > 0 && self.next < self.parallel.branches.len() {
                self.slots -= 1;
                self.next += 1;
                self.start(self.next - 1, world);
            }
        }
        match world.waiting {
            Waiting::Waves => {
                if let Some(wave) = self.waves.first_entry().filter(|wave| *wave.key() <= world.now) {
                    let (due, mail) = wave.remove_entry();
                    self.at = At::Wave(due);
                    return Ok(Next::Receive(mail, None));
                }
            }
            Waiting::Empties if top => {
                let due = self.asleep.resuming_by(world.now);
                if !due.is_empty() {
                    self.at = At::Empty(due);
                    let op = world.fresh(self.op, '?');
                    return Ok(Next::Submit(Submission { action: None, ..Submission::of(op, None, Action::Start) }));
                }
            }
            _ => {}
        }
        if self.running == 0 && world.mail[self.mail].events.is_empty() {
            return Err(self.asleep.first().map_or(Ended::Refused("suspended"), Ended::Suspended));
        }
        self.at = At::Event;
        Ok(Next::Receive(self.mail, if world.waiting == Waiting::Told { None } else { self.asleep.soonest() }))
    }

    fn is_finished(&self) -> bool {
        let Parallel { branches, needed, tolerated, .. } = self.parallel;
        self.succeeded >= *needed || self.failed > *tolerated || self.succeeded + self.failed == branches.len()
    }

    fn start(&mut self, i: usize, world: &mut World<'a>) {
        self.running += 1;
        let (branch, context) = (&self.parallel.branches[i], Some(self.op));
        let frame = if self.parallel.flat {
            Frame::works(&branch.works, context)
        } else {
            Frame::child(branch.op, context, Body::Works(&branch.works))
        };
        world.spawn(Producer::new(Whose::Branch(self.mail, i), frame));
    }

    fn resume(&mut self, branches: Vec<usize>, world: &mut World<'a>) {
        for i in branches {
            self.asleep.remove(i);
            self.start(i, world);
        }
    }

    fn take(&mut self, event: Event, world: &mut World<'a>) -> Outcome {
        match event {
            // As published, it sleeps for ever, and the others go on.
            Event::Ended(_, Err(Ended::Refused("suspended" | "revoked"))) if world.waiting != Waiting::Told => self.running -= 1,
            Event::Ended(_, Err(refused @ Ended::Refused(_))) => return Err(refused),
            Event::Ended(i, Err(Ended::Suspended(until))) => {
                self.running -= 1;
                self.asleep.insert(i, until);
                self.ask(i, until, world)?;
            }
            Event::Ended(_, outcome) => {
                self.running -= 1;
                self.slots += 1;
                *(if outcome.is_ok() { &mut self.succeeded } else { &mut self.failed }) += 1;
            }
            Event::Resumed(ids) => {
                let branches = ids.iter().flat_map(|&id| self.asleep.that_wait_for(id)).collect();
                self.resume(branches, world);
            }
            Event::Refused(why) => return Err(Ended::Refused(why)),
            Event::Settled(_) => {}
        }
        Ok(())
    }

    /// For a refresh, at once; as published, the first branch that wakes at a time asks for all that do.
    fn ask(&mut self, i: usize, until: Suspended, world: &mut World<'a>) -> Outcome {
        match world.waiting {
            Waiting::Told => world.refresh(until.id, self.op, i, until.key, until.due),
            Waiting::Waves if !self.waves.contains_key(&until.when()) => {
                let (id, mail) = (world.fresh(self.op, '@'), world.mail.insert(Mailbox::default()));
                self.waves.insert(until.when(), mail);
                world.open(id, mail);
                world.refresh(id, self.op, i, None, Some(until.when()));
                if let Some(Event::Refused(why)) = world.mail[mail].events.front() {
                    return Err(Ended::Refused(why));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
