//! The collector: which discipline a profile has, and what holds for both.
use crate::aws_durable;
use crate::batching;
use crate::batching_words::{Command, Discipline, Profile, Seen};
use crate::faults::Faults;
use crate::state::Node;

#[derive(Clone, Debug)]
pub enum Collector {
    LookAhead(Box<batching::Collector>),
    Shipped(Box<aws_durable::Collector>),
}

/// What both disciplines can do.
macro_rules! each {
    ($collector:expr, $it:ident => $do:expr) => {
        match $collector {
            Collector::LookAhead($it) => $do,
            Collector::Shipped($it) => $do,
        }
    };
}

impl Collector {
    /// A collector with nothing queued and nothing in flight. `hint`: the caller's wall clock minus its local clock.
    pub fn new(profile: &Profile, token: &str, hint: i64, faults: Faults) -> Result<Self, String> {
        profile.check()?;
        Ok(match &profile.discipline {
            Discipline::LookAhead(p) => Collector::LookAhead(Box::new(batching::Collector::new(p, token, hint, faults))),
            Discipline::Shipped(p) => Collector::Shipped(Box::new(aws_durable::Collector::new(profile, p, token, hint, faults))),
        })
    }

    /// The time of the last command.
    pub fn now(&self) -> i64 {
        each!(self, it => it.now)
    }

    /// Do one command, and say what is seen.
    pub fn step(&mut self, command: &Command, at: i64, saw: &mut Vec<Seen>) {
        each!(self, it => {
            if at < it.now {
                return saw.push(Seen::TimeReversed(it.now));
            }
            it.now = at;
            let fetching = it.flight.as_ref().map(|flight| flight.fetching);
            let refused = match command {
                Command::Respond { .. } => (fetching != Some(false)).then_some("respond"),
                Command::Page { .. } => (fetching != Some(true)).then_some("page"),
                Command::Fail => fetching.is_none().then_some("fail"),
                _ => None,
            };
            match refused {
                Some(command) => saw.push(Seen::Unexpected(command)),
                None => it.do_command(command, saw),
            }
        });
    }

    /// What was looked at since the beginning, to answer the commands: items, refreshes, instants.
    pub fn examined(&self) -> u64 {
        each!(self, it => it.examined())
    }

    /// The state as the specification gives it. Slow.
    pub fn state(&self) -> Node {
        each!(self, it => it.state())
    }

    /// What is wrong inside, a line each; nothing, if all is well. Slow.
    pub fn audit(&self) -> Vec<String> {
        each!(self, it => it.audit())
    }
}
