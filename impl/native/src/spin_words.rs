//! The words of the specification's `spin_vocabulary`: profiles, what a pool is given, commands.
use serde::Deserialize;

use crate::batching_words::SECOND;
use crate::words::{LATEST, MOST, Text};

pub const MICROSECOND: i64 = 1_000;
/// The most passes, steps, tasks of one command, and the largest budget and strides.
pub const SOME: i64 = 1 << 20;
/// The actor that builds the pool.
pub const BUILDER: &str = "pool";

#[derive(Clone, Debug)]
pub enum Command<'a> {
    Dispatch { actor: Text<'a>, total: i64 },
    Go { actor: Text<'a>, times: i64 },
    End { actor: Text<'a>, panics: bool },
    Stir { actor: Text<'a> },
    Shutdown,
    Counters,
    Wait(Wait),
    Script(Script),
    Gap { gap: i64, ran: bool },
}

/// A whole window where every primitive has a cost.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    pub window: i64,
    pub pause: i64,
    pub clock: i64,
    pub yields: i64,
    pub first_yield: Option<i64>,
    pub publish: Option<i64>,
    pub shutdown: Option<i64>,
}

impl Wait {
    /// The costs, each usual unless it is given; nothing happens.
    pub fn costing(window: i64, pause: Option<i64>, clock: Option<i64>, yields: Option<i64>) -> Self {
        Wait {
            window,
            pause: pause.unwrap_or(31),
            clock: clock.unwrap_or(20),
            yields: yields.unwrap_or(1050),
            first_yield: None,
            publish: None,
            shutdown: None,
        }
    }
}

/// A whole window where every reading is given.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub window: i64,
    pub readings: Vec<i64>,
    pub publish: Option<i64>,
    pub shutdown: Option<i64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub name: String,
    pub discipline: Discipline,
    #[serde(default = "budget")]
    pub budget: i64,
    #[serde(default = "stride")]
    pub stride: i64,
    #[serde(default = "interval")]
    pub yield_interval: i64,
    #[serde(default = "slots")]
    pub slots: i64,
    #[serde(default = "budget")]
    pub straggler_stride: i64,
    #[serde(default = "patience")]
    pub ready_within: i64,
    #[serde(default)]
    pub deadline_strided: bool,
    #[serde(default)]
    pub yields_unbounded: bool,
    #[serde(default)]
    pub barrier_unbounded: bool,
    #[serde(default)]
    pub wakes_all: bool,
    #[serde(default)]
    pub empty_catch_counts: bool,
}

const fn budget() -> i64 {
    4096
}
const fn stride() -> i64 {
    64
}
const fn interval() -> i64 {
    10 * MICROSECOND
}
const fn slots() -> i64 {
    8
}
const fn patience() -> i64 {
    120 * SECOND
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Discipline {
    Ratchet {
        #[serde(default = "floor")]
        floor: i64,
        #[serde(default = "cap")]
        cap: i64,
    },
    Fixed {
        #[serde(default = "fixed")]
        window: i64,
    },
    BreakEven {
        #[serde(default)]
        latency: i64,
    },
    Average {
        #[serde(default = "floor")]
        floor: i64,
        #[serde(default = "cap")]
        cap: i64,
    },
    Guarded {
        #[serde(default)]
        latency: i64,
    },
}

const fn floor() -> i64 {
    20 * MICROSECOND
}
const fn cap() -> i64 {
    500 * MICROSECOND
}
const fn fixed() -> i64 {
    100 * MICROSECOND
}

/// What a pool is given: its threads, and what this machine's waiting costs.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Setup {
    pub width: i64,
    pub spawned: Option<i64>,
    pub built: bool,
    pub park: i64,
    pub wake: i64,
    pub catch: i64,
}

impl Default for Setup {
    fn default() -> Self {
        Setup { width: 3, spawned: None, built: true, park: 68_300, wake: 40_000, catch: 0 }
    }
}

type Bounded<'a> = (&'a str, i64, i64, i64);

fn check(whose: &str, numbers: &[Bounded]) -> Result<(), String> {
    numbers.iter().try_for_each(|&(what, number, least, most)| match number {
        number if (least..=most).contains(&number) => Ok(()),
        number => Err(format!("{whose}: {what} must be {least} to {most}, found {number}")),
    })
}

impl Setup {
    pub fn workers(&self) -> i64 {
        self.spawned.unwrap_or(self.width - 1)
    }

    /// Is it within the bounds of the vocabulary?
    pub fn check(&self) -> Result<(), String> {
        check(
            "setup",
            &[
                ("width", self.width, 1, 64),
                ("spawned", self.spawned.unwrap_or(0), 0, 63),
                ("park", self.park, 8, SECOND),
                ("wake", self.wake, 0, LATEST),
                ("catch", self.catch, 0, LATEST),
            ],
        )?;
        match self.spawned {
            Some(spawned) if spawned >= self.width => Err(format!("spawned {spawned} of width {}: at most width - 1", self.width)),
            _ => Ok(()),
        }
    }
}

impl Profile {
    /// Are its parameters within the bounds of the vocabulary?
    pub fn check(&self) -> Result<(), String> {
        let whose = format!("profile {}", self.name);
        check(
            &whose,
            &[
                ("budget", self.budget, 1, SOME),
                ("stride", self.stride, 1, SOME),
                ("yield_interval", self.yield_interval, 1, SECOND),
                ("slots", self.slots, 1, 32),
                ("straggler_stride", self.straggler_stride, 1, SOME),
                ("ready_within", self.ready_within, 0, LATEST),
            ],
        )?;
        match self.discipline {
            Discipline::Ratchet { floor, cap } | Discipline::Average { floor, cap } => {
                check(&whose, &[("floor", floor, 1, SECOND), ("cap", cap, 1, SECOND)])?;
                if floor > cap { Err(format!("{whose}: floor {floor} is above cap {cap}")) } else { Ok(()) }
            }
            Discipline::Fixed { window } => check(&whose, &[("window", window, 0, SECOND)]),
            Discipline::BreakEven { latency } | Discipline::Guarded { latency } => check(&whose, &[("latency", latency, 0, MOST)]),
        }
    }

    /// One of the profiles that come with the house.
    pub fn named(name: &str) -> Option<Self> {
        let (discipline, before) = match name {
            "ep-cpu-orig" | "ep-cpu-before" => (Discipline::Ratchet { floor: floor(), cap: cap() }, true),
            "ep-cpu-after" => (Discipline::Ratchet { floor: floor(), cap: cap() }, false),
            "slotwise" => (Discipline::Guarded { latency: 0 }, false),
            _ => return None,
        };
        Some(Profile {
            yields_unbounded: before,
            wakes_all: name != "slotwise",
            empty_catch_counts: name != "slotwise",
            ..Self::plain(name, discipline)
        })
    }

    /// Any discipline with the usual numbers, and none of the known defects but those of the first state.
    fn plain(name: &str, discipline: Discipline) -> Self {
        let orig = name == "ep-cpu-orig";
        Profile {
            name: name.into(),
            discipline,
            budget: budget(),
            stride: stride(),
            yield_interval: interval(),
            slots: slots(),
            straggler_stride: budget(),
            ready_within: patience(),
            deadline_strided: orig,
            yields_unbounded: false,
            barrier_unbounded: orig,
            wakes_all: false,
            empty_catch_counts: false,
        }
    }
}
