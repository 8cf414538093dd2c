//! Scenarios of durable work in virtual time, played as the specification's `batching_simulation` does: timers are a heap of integer
//! nanoseconds, those of one instant in the order in which they were set.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::batching_run::Run;
use crate::batching_scenarios::Scenario;
use crate::batching_sdk::{At, Frame, Producer, Whose};
use crate::batching_words::Profile;
use crate::batching_world::{Reader, World};
use crate::faults::Faults;
use crate::twister::Twister;

/// What happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Act {
    /// A producer comes back from user code.
    Back(u32),
    /// The reader of a mailbox waits no longer.
    TooLate(u32),
    /// The request has arrived; its answer is there; a page of it is there.
    Arrives,
    Returns,
    Fetched,
}

#[derive(Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(i64, u64, Act)>>,
    /// Of timers, and of fresh names.
    numbers: u64,
}

impl Timers {
    pub fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers - 1
    }

    fn set(&mut self, at: i64, act: Act) -> u64 {
        let number = self.number();
        self.heap.push(Reverse((at, number, act)));
        number
    }
}

/// Play a scenario to its end. With a seed, who is ready goes on in a seeded order.
pub fn run(profile: &Profile, scenario: Scenario, seed: Option<u64>, faults: Faults) -> Result<Run, String> {
    let Scenario { names, works, service, earlier, result, horizon } = scenario;
    let mut world = World::new(profile, names, service, &earlier, faults)?;
    world.spawn(Producer::new(Whose::Handler, Frame::Handler { works: &works, result, at: At::Top }));
    let mut dice = seed.map(Twister::new);
    while let Some(now) = world.instant(&mut dice)?.filter(|&next| next <= horizon) {
        world.now = now;
    }
    Ok(world.came())
}

impl<'a> World<'a> {
    /// All that happens now. Answers when something happens next.
    fn instant(&mut self, dice: &mut Option<Twister>) -> Result<Option<i64>, String> {
        loop {
            while let Some(producer) = self.take_turn(dice) {
                self.go_on(producer);
            }
            if self.fire() {
                continue;
            }
            let wake = self.end_of_instant();
            if let Some(wrong) = self.wrong.take() {
                return Err(wrong);
            }
            if self.ready.is_empty() {
                let timer = self.timers.heap.peek().map(|&Reverse((at, ..))| at);
                return Ok(wake.into_iter().chain(timer).min());
            }
        }
    }

    fn take_turn(&mut self, dice: &mut Option<Twister>) -> Option<u32> {
        match dice {
            Some(dice) if !self.ready.is_empty() => self.ready.remove(dice.below(self.ready.len())),
            _ => self.ready.pop_front(),
        }
    }

    fn go_on(&mut self, number: u32) {
        let Some(mut producer) = self.producers[number].take() else { return };
        match producer.go_on(number, self) {
            None => self.producers[number] = Some(producer),
            Some(outcome) => {
                self.producers.remove(number);
                self.ended(producer.whose, outcome);
            }
        }
    }

    /// One timer of this instant, if there is one.
    fn fire(&mut self) -> bool {
        while let Some(&Reverse((at, number, act))) = self.timers.heap.peek() {
            let waits = |mail| self.mail[mail].reader.is_some_and(|reader| reader.timer == Some(number));
            let needed = if let Act::TooLate(mail) = act { waits(mail) } else { true };
            if needed && at > self.now {
                return false;
            }
            self.timers.heap.pop();
            if needed {
                self.act(act);
                return true;
            }
        }
        false
    }

    fn act(&mut self, act: Act) {
        let service = &self.backend.service;
        let (out, back) = (service.out, service.back);
        match act {
            Act::Back(producer) => {
                self.credit(1, -1);
                self.ready.push_back(producer);
            }
            Act::TooLate(mail) => {
                if let Some(reader) = self.mail[mail].reader.take() {
                    self.credit(1, 0);
                    self.ready.push_back(reader.producer);
                }
            }
            Act::Arrives => {
                self.handle();
                self.timers.set(self.now + back, Act::Returns);
            }
            Act::Returns => {
                if self.answered() {
                    self.timers.set(self.now + out + back, Act::Fetched);
                }
            }
            Act::Fetched => self.fetched(),
        }
    }

    /// The request goes out.
    pub fn serve(&mut self) {
        self.timers.set(self.now + self.backend.service.out, Act::Arrives);
    }

    /// A producer goes into user code.
    pub fn user(&mut self, producer: u32, duration: i64) {
        self.credit(-1, 1);
        self.timers.set(self.now + duration, Act::Back(producer));
    }

    /// A producer waits for an event; not longer than until then, if there is such a time.
    pub fn wait(&mut self, producer: u32, mail: u32, until: Option<i64>) {
        if !self.mail[mail].blocked {
            self.credit(-1, 0);
        }
        let timer = until.map(|until| self.timers.set(until, Act::TooLate(mail)));
        self.mail[mail].reader = Some(Reader { producer, timer });
    }
}
