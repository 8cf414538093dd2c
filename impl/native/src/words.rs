//! The words of the specification's `vocabulary`, as the engine speaks them: limits, profiles, commands, what is seen, refusals.
use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;

use crate::ledger::Needs;

/// Nanoseconds; no later instant is accepted.
pub const LATEST: i64 = 1 << 60;
/// The most units, tasks at once, leases.
pub const MOST: i64 = (1 << 31) - 1;
pub const WEIGHT_UNIT: i64 = 1024;
pub const HEAVIEST: f64 = 65536.0;
pub const LONGEST_NAME: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    NeverFits,
    NoWeight,
    LimitBelowOne,
    NoCapacity,
    GroupCap,
    BorrowDebt,
    RunningLimit,
    KeptUnits,
}

impl Refusal {
    pub const fn word(self) -> &'static str {
        match self {
            Refusal::NeverFits => "never_fits",
            Refusal::NoWeight => "no_weight",
            Refusal::LimitBelowOne => "limit_below_one",
            Refusal::NoCapacity => "no_capacity",
            Refusal::GroupCap => "group_cap",
            Refusal::BorrowDebt => "borrow_debt",
            Refusal::RunningLimit => "running_limit",
            Refusal::KeptUnits => "kept_units",
        }
    }
}

/// What follows the word of an observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    Nothing,
    Number(i64),
    Task(Arc<str>),
    Reason(Arc<str>, Refusal),
    Version(Arc<str>, u64),
    Start(u64, Arc<str>, Needs),
}

/// One observation: a word of the vocabulary's `SEEN`, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen(pub &'static str, pub About);

pub type Text<'a> = Cow<'a, str>;

/// A group's specification as it comes with tasks. The weight is in 1024ths.
#[derive(Clone, Debug)]
pub struct GroupIn<'a> {
    pub name: Text<'a>,
    pub spec: Spec,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    pub weight: u32,
    pub share_limit: Option<u32>,
    pub running_limit: Option<u32>,
}

impl Default for Spec {
    fn default() -> Self {
        Spec { weight: WEIGHT_UNIT as u32, share_limit: None, running_limit: None }
    }
}

#[derive(Clone, Debug)]
pub struct TaskIn<'a> {
    pub id: Text<'a>,
    pub group: Text<'a>,
    pub needs: Vec<(Text<'a>, i64)>,
}

#[derive(Clone, Debug, Default)]
pub struct Claim<'a> {
    pub task: Option<Text<'a>>,
    pub needs: Option<Vec<(Text<'a>, i64)>>,
    pub generation: i64,
}

#[derive(Clone, Debug)]
pub enum Command<'a> {
    Enqueue { tasks: Vec<TaskIn<'a>>, groups: Vec<GroupIn<'a>> },
    Discard { task: Text<'a> },
    DiscardWhere { group: Option<Text<'a>>, prefix: Text<'a> },
    Pump { at_most: i64 },
    Select,
    Commit { task: Text<'a>, version: i64 },
    Release { lease: i64, claim: Claim<'a> },
    Explain,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub name: String,
    pub discipline: Discipline,
    #[serde(default)]
    pub released_memory: Option<u32>,
    #[serde(default)]
    pub accepts_the_impossible: bool,
    #[serde(default)]
    pub discarded_task_lingers: bool,
    #[serde(default)]
    pub idle_group_keeps_place: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Discipline {
    Strict {},
    BoundedBorrow(Borrowing),
    SlotTime(SlotTiming),
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Rounding {
    Ceil,
    Floor,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    pub group: String,
    pub resource: String,
    pub units: u32,
}

/// The parameters of bounded borrow.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Borrowing {
    pub reserve_fraction: f64,
    pub reserve_at_least: u32,
    pub reserve_at_most: u32,
    pub share_rounding: Rounding,
    pub default_ceiling: Option<u32>,
    pub ceilings: Vec<Ceiling>,
    pub repay: bool,
}

impl Default for Borrowing {
    fn default() -> Self {
        Borrowing {
            reserve_fraction: 0.0,
            reserve_at_least: 0,
            reserve_at_most: 8,
            share_rounding: Rounding::Ceil,
            default_ceiling: None,
            ceilings: Vec::new(),
            repay: true,
        }
    }
}

/// The parameters of slot time.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlotTiming {
    pub ahead: u32,
    pub arrears: u32,
    pub memory: u32,
    pub patience: u32,
}

impl Default for SlotTiming {
    fn default() -> Self {
        SlotTiming { ahead: 2, arrears: 2, memory: 8, patience: 2 }
    }
}

impl Profile {
    /// Are its parameters within the bounds of the vocabulary, and go together?
    pub fn check(&self) -> Result<(), String> {
        let bounded = |what: &str, number: u32, least: i64, most: i64| match i64::from(number) {
            number if (least..=most).contains(&number) => Ok(()),
            number => Err(format!("profile {}: {what} must be {least} to {most}, found {number}", self.name)),
        };
        bounded("released_memory", self.released_memory.unwrap_or(0), 0, MOST)?;
        match &self.discipline {
            Discipline::Strict {} => Ok(()),
            Discipline::BoundedBorrow(p) => {
                if !(0.0..=1.0).contains(&p.reserve_fraction) {
                    return Err(format!("profile {}: reserve_fraction must be 0 to 1, found {}", self.name, p.reserve_fraction));
                }
                bounded("reserve_at_least", p.reserve_at_least, 0, MOST)?;
                bounded("reserve_at_most", p.reserve_at_most, 0, MOST)?;
                bounded("default_ceiling", p.default_ceiling.unwrap_or(0), 0, MOST)?;
                p.ceilings.iter().try_for_each(|own| bounded("a ceiling", own.units, 0, MOST))
            }
            Discipline::SlotTime(p) => {
                bounded("ahead", p.ahead, 0, 64)?;
                bounded("arrears", p.arrears, 0, 64)?;
                bounded("memory", p.memory, 1, 64)?;
                bounded("patience", p.patience, 0, 64)?;
                if self.accepts_the_impossible || self.discarded_task_lingers || self.idle_group_keeps_place {
                    return Err(format!("profile {}: slot time has none of data-designer's defects; switch them off", self.name));
                }
                Ok(())
            }
        }
    }

    /// One of the profiles that come with the house.
    pub fn named(name: &str) -> Option<Self> {
        let before = Borrowing { reserve_fraction: 0.125, reserve_at_least: 1, ..Borrowing::default() };
        let discipline = match name {
            "strict" => Discipline::Strict {},
            "data-designer-0.8" => Discipline::BoundedBorrow(before),
            "data-designer-0.9" => Discipline::BoundedBorrow(Borrowing::default()),
            "slotwise" => Discipline::SlotTime(SlotTiming::default()),
            _ => return None,
        };
        let upstream = name != "slotwise";
        Some(Profile {
            name: name.into(),
            discipline,
            released_memory: upstream.then_some(8192),
            accepts_the_impossible: upstream,
            discarded_task_lingers: upstream,
            idle_group_keeps_place: name == "data-designer-0.8",
        })
    }
}
