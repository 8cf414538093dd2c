//! A whole pool, one actor's step after another: the workers, the dispatchers and the builder over the cells that they share.
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::faults::Faults;
use crate::spin::barrier::At as BarrierAt;
use crate::spin::dispatcher::At as DispatcherAt;
use crate::spin::worker::At as WorkerAt;
use crate::spin::{Barrier, Counter, Decline, Did, Dispatcher, Idle, Terms, Worker, shut_down};
use crate::spin_cells::{Cells, Standing};
use crate::spin_lone::Lone;
use crate::spin_policy::Policy;
use crate::spin_whole::{Ended, script, wait};
use crate::spin_words::{BUILDER, Command, Profile, Setup};

pub type Name = Arc<str>;

/// One observation: a word of the vocabulary's `SEEN`, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen(pub &'static str, pub About);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    One(i64),
    Two(i64, i64),
    Actor(Name),
    Number(Name, i64),
    Pair(Name, i64, i64),
    Triple(Name, i64, i64, i64),
    Word(Name, &'static str),
    Wrote(Name, i64, &'static str),
    Wakes(Name, i64, Name),
    Waited(i64, &'static str, i64),
    Outcome(Ended),
    Counters([u64; Counter::ALL.len()]),
}

#[derive(Clone, Copy)]
enum Actor {
    Builder,
    Worker(usize),
    Other,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub terms: Terms,
    pub now: i64,
    pub cells: Cells,
    pub workers: Vec<Worker>,
    pub names: Vec<Name>,
    pub dispatchers: BTreeMap<Name, Dispatcher>,
    pub barrier: Barrier,
    pub lone: Lone,
    builder: Name,
    /// Steps done since the beginning.
    pub steps: u64,
}

impl Model {
    pub fn new(profile: &Profile, setup: &Setup, faults: Faults) -> Result<Self, String> {
        profile.check()?;
        setup.check()?;
        let terms = Terms::new(profile, setup, faults);
        let policy = Policy::new(&profile.discipline, setup, faults)?;
        let worker = |number| {
            let new = if setup.built { Worker::ready } else { Worker::new };
            new(terms, policy.clone(), number)
        };
        Ok(Model {
            terms,
            now: 0,
            cells: Cells::new(terms.slots, if setup.built { terms.workers } else { 0 }),
            workers: (0..terms.workers as usize).map(worker).collect(),
            names: (0..terms.workers).map(|number| format!("w{number}").into()).collect(),
            dispatchers: BTreeMap::new(),
            barrier: if setup.built { Barrier::passed(terms) } else { Barrier::new(terms) },
            lone: Lone::new(policy, terms.empty_catch_counts, faults),
            builder: BUILDER.into(),
            steps: 0,
        })
    }

    fn actor(&self, name: &str) -> Actor {
        if name == BUILDER {
            return Actor::Builder;
        }
        let number = name.strip_prefix('w').and_then(|digits| digits.parse::<usize>().ok());
        match number.filter(|&number| self.names.get(number).is_some_and(|known| **known == *name)) {
            Some(number) => Actor::Worker(number),
            None => Actor::Other,
        }
    }

    /// Do one command, and say what is seen.
    pub fn step(&mut self, command: &Command, at: i64, saw: &mut Vec<Seen>) {
        if at < self.now {
            return saw.push(Seen("time_reversed", About::One(self.now)));
        }
        self.now = at;
        match command {
            Command::Dispatch { actor, total } => saw.push(self.dispatch(actor, *total as u32)),
            Command::Go { actor, times } => self.go(actor, *times as u64, saw),
            Command::End { actor, panics } => saw.push(self.end(actor, *panics)),
            Command::Stir { actor } => saw.push(match self.actor(actor) {
                Actor::Worker(number) if self.cells.stir(number) => Seen("stirred", About::Actor(self.names[number].clone())),
                _ => idle(&(**actor).into(), Idle::NotParked),
            }),
            Command::Shutdown => saw.push(Seen("shut_down", About::One(shut_down(&self.cells).into()))),
            Command::Counters => saw.push(Seen("counters", About::Counters(self.cells.counters.each_ref().map(|cell| cell.get())))),
            Command::Wait(command) => saw.push(Seen("outcome", About::Outcome(wait(&self.terms.shape, command)))),
            Command::Script(command) => saw.push(Seen("outcome", About::Outcome(script(&self.terms.shape, command)))),
            Command::Gap { gap, ran } => {
                let (used, caught, next) = self.lone.gap(*gap, *ran);
                saw.push(Seen("waited", About::Waited(used as i64, if caught { "caught" } else { "parked" }, next as i64)));
            }
        }
    }

    fn dispatch(&mut self, actor: &str, total: u32) -> Seen {
        let did = match self.actor(actor) {
            Actor::Worker(number) if matches!(self.workers[number].at, WorkerAt::Running(_)) => Did::Declined(Decline::Nested),
            Actor::Worker(_) | Actor::Builder => Did::Declined(Decline::NotADispatcher),
            Actor::Other => {
                let known = self.dispatchers.get_mut(actor);
                let outside = known.as_ref().is_none_or(|dispatcher| dispatcher.at == DispatcherAt::Outside);
                match known {
                    _ if outside && self.barrier.at != BarrierAt::Done => Did::Declined(Decline::Building),
                    Some(dispatcher) => dispatcher.begin(&self.cells, total),
                    None => {
                        let mut dispatcher = Dispatcher::new(self.terms);
                        let did = dispatcher.begin(&self.cells, total);
                        if let Did::Held(_) = did {
                            self.dispatchers.insert(actor.into(), dispatcher);
                        }
                        did
                    }
                }
            }
        };
        let actor: Name = actor.into();
        match did {
            Did::Held(slot) => Seen("held", About::Number(actor, slot as i64)),
            Did::Declined(why) => Seen("declined", About::Word(actor, why.word())),
            _ => Seen("finished", About::Pair(actor, -1, 0)),
        }
    }

    fn end(&mut self, actor: &str, panics: bool) -> Seen {
        let did = match self.actor(actor) {
            Actor::Builder => Did::Idle(Idle::NoTask),
            Actor::Worker(number) => self.workers[number].end(&self.cells, panics),
            Actor::Other => {
                self.dispatchers.get_mut(actor).map_or(Did::Idle(Idle::Unknown), |dispatcher| dispatcher.end(&self.cells, panics))
            }
        };
        match did {
            Did::Idle(why) => idle(&actor.into(), why),
            Did::Ended(slot) => Seen("ended", About::Number(actor.into(), slot as i64)),
            _ => idle(&actor.into(), Idle::NoTask),
        }
    }

    fn go(&mut self, actor: &str, times: u64, saw: &mut Vec<Seen>) {
        match self.actor(actor) {
            Actor::Builder => self.go_builder(times, saw),
            Actor::Worker(number) => self.go_worker(number, times, saw),
            Actor::Other => self.go_dispatcher(actor, times, saw),
        }
    }

    /// Plain passes are told together, before what follows them.
    fn go_worker(&mut self, number: usize, times: u64, saw: &mut Vec<Seen>) {
        let (worker, name) = (&mut self.workers[number], &self.names[number]);
        let (seams, mut left, mut readings) = (Standing::new(&self.cells, self.now as u64), times, 0);
        while left > 0 {
            let did = if worker.at == WorkerAt::Window {
                let before = worker.window.reads;
                let (passes, did) = worker.spin(&self.cells, &seams, left);
                left -= passes;
                readings += worker.window.reads - before;
                did
            } else {
                left -= 1;
                worker.step(&self.cells, &seams)
            };
            if !matches!(did, Did::Paused | Did::Yielded) {
                tell_passes(&seams, name, std::mem::take(&mut readings), saw);
                tell(did, name, &self.cells, &self.names, saw);
            }
            if let Did::Idle(_) = did {
                break;
            }
        }
        tell_passes(&seams, name, readings, saw);
        self.steps += times - left;
    }

    fn go_dispatcher(&mut self, actor: &str, times: u64, saw: &mut Vec<Seen>) {
        let name: Name = actor.into();
        let Some(dispatcher) = self.dispatchers.get_mut(actor) else { return saw.push(idle(&name, Idle::Unknown)) };
        let seams = Standing::new(&self.cells, self.now as u64);
        for _ in 0..times {
            let did = dispatcher.step(&self.cells, &seams);
            self.steps += 1;
            if !matches!(did, Did::Paused | Did::Yielded) {
                tell_passes(&seams, &name, 0, saw);
                tell(did, &name, &self.cells, &self.names, saw);
            }
            if let Did::Idle(_) = did {
                break;
            }
        }
        tell_passes(&seams, &name, 0, saw);
    }

    fn go_builder(&mut self, times: u64, saw: &mut Vec<Seen>) {
        let seams = Standing::new(&self.cells, self.now as u64);
        let tell_passes = |saw: &mut Vec<Seen>| {
            let (pauses, yields) = (seams.pauses.take(), seams.yields.take());
            if pauses + yields > 0 {
                saw.push(Seen("waits_ready", About::Two(pauses as i64, yields as i64)));
            }
        };
        for _ in 0..times {
            let did = self.barrier.step(&self.cells, &seams);
            self.steps += 1;
            let seen = match did {
                Did::BuiltAll(workers) => Seen("built", About::One(workers.into())),
                Did::Abandoned { ready, workers } => Seen("abandoned", About::Two(ready.into(), workers.into())),
                Did::Idle(why) => idle(&self.builder, why),
                _ => continue,
            };
            tell_passes(saw);
            saw.push(seen);
            if let Did::Idle(_) = did {
                break;
            }
        }
        tell_passes(saw);
    }
}

fn idle(actor: &Name, why: Idle) -> Seen {
    Seen("idle", About::Word(actor.clone(), why.word()))
}

fn tell_passes(seams: &Standing, actor: &Name, readings: u64, saw: &mut Vec<Seen>) {
    let (pauses, yields) = (seams.pauses.take(), seams.yields.take());
    if pauses + yields + readings > 0 {
        saw.push(Seen("spun", About::Triple(actor.clone(), pauses as i64, yields as i64, readings as i64)));
    }
}

/// What a step of a worker or a dispatcher did.
fn tell(did: Did, actor: &Name, cells: &Cells, names: &[Name], saw: &mut Vec<Seen>) {
    let name = || actor.clone();
    let of = |slot: usize| About::Number(actor.clone(), slot as i64);
    let window = |length: u64| About::Number(actor.clone(), length as i64);
    saw.push(match did {
        Did::Idle(why) => idle(actor, why),
        Did::Announced(ready) => Seen("announced", About::Number(name(), ready.into())),
        Did::Looks(slots) => Seen("looks", About::Number(name(), slots.into())),
        Did::Left => Seen("left", About::Actor(name())),
        Did::Again(ran) => Seen("again", About::Number(name(), ran.into())),
        Did::NothingNew { .. } => Seen("nothing_new", About::Actor(name())),
        Did::Caught(length) => Seen("caught", window(length)),
        Did::Expired(length) => Seen("expired", window(length)),
        Did::Slept => Seen("slept", About::Actor(name())),
        Did::Stayed => Seen("stayed", About::Actor(name())),
        Did::Woke(length) => Seen("woke", window(length)),
        Did::Passed { slot, .. } => Seen("passed", of(slot)),
        Did::Sees(slot) => Seen("sees", of(slot)),
        Did::Lost { slot, .. } => Seen("lost", of(slot)),
        Did::Took { slot, index } => Seen("took", About::Pair(name(), slot as i64, index.into())),
        Did::Settled { slot, remaining } => Seen("settled", About::Pair(name(), slot as i64, remaining.into())),
        Did::Wrote(slot, word) => Seen("wrote", About::Wrote(name(), slot as i64, word)),
        Did::Published(slot, epoch) => Seen("published", About::Pair(name(), slot as i64, epoch.into())),
        Did::Wakes(number) => {
            let woken: Vec<&str> = cells.woken.borrow().iter().map(|&worker| &*names[worker]).collect();
            Seen("wakes", About::Wakes(name(), number.into(), woken.join(" ").into()))
        }
        Did::Finished { slot, own, raised } => {
            Seen(if raised { "raised" } else { "finished" }, About::Pair(name(), slot as i64, own.into()))
        }
        _ => return,
    });
    match did {
        Did::NothingNew { parks: Some(length) } => saw.push(Seen("expired", window(length))),
        Did::Passed { slot, straggles: true } | Did::Lost { slot, straggles: true } => saw.push(Seen("straggles", of(slot))),
        _ => {}
    }
}
