//! The words of the specification's `batching_vocabulary`: profiles, commands, what is seen, outcomes.
use std::sync::Arc;

use serde::Deserialize;

use crate::words::{LATEST, MOST, Text};

/// A local time, or a stamp, in nanoseconds. What is sent is within 2^60 and 2^62, what is summed from it is not.
pub type Time = i128;
/// The most that a stamp of the service may be, either way.
pub const FURTHEST: i64 = 1 << 62;
pub const MILLISECOND: i64 = 1_000_000;
pub const SECOND: i64 = 1_000_000_000;
/// The most updates in a request, and producers credited by one command.
pub const MANY: i64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Ok,
    Orphaned,
    Suspended,
    Failed,
    Cancelled,
}

impl Outcome {
    pub const fn word(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Orphaned => "orphaned",
            Outcome::Suspended => "suspended",
            Outcome::Failed => "failed",
            Outcome::Cancelled => "cancelled",
        }
    }
}

/// Why nothing more is done: of one producer, or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Orphaned,
    Completed,
    Revoked,
    Failed,
    Stopped,
    Duplicate,
    NoRefresh,
}

impl Why {
    pub const fn word(self) -> &'static str {
        match self {
            Why::Orphaned => "orphaned",
            Why::Completed => "completed",
            Why::Revoked => "revoked",
            Why::Failed => "failed",
            Why::Stopped => "stopped",
            Why::Duplicate => "duplicate",
            Why::NoRefresh => "no_refresh",
        }
    }

    /// What it settles all those with that wait, but for the producers of a request that completes.
    pub const fn outcome(self) -> Outcome {
        match self {
            Why::Revoked => Outcome::Suspended,
            Why::Failed => Outcome::Failed,
            _ => Outcome::Orphaned,
        }
    }
}

type Name = Arc<str>;

/// One observation, in the order of the vocabulary's `SEEN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    Accepted(Name),
    Rejected(Name, Why),
    Settled(Name, Outcome),
    Again(Name, Time),
    Resumed(Name, Option<i64>, Vec<Name>),
    Fetch(Name, Name),
    Send(Vec<Name>, Vec<Name>, Name),
    Sleep(Option<Time>),
    Exit,
    Unexpected(&'static str),
    TimeReversed(i64),
}

impl Seen {
    pub const fn word(&self) -> &'static str {
        match self {
            Seen::Accepted(..) => "accepted",
            Seen::Rejected(..) => "rejected",
            Seen::Settled(..) => "settled",
            Seen::Again(..) => "again",
            Seen::Resumed(..) => "resumed",
            Seen::Fetch(..) => "fetch",
            Seen::Send(..) => "send",
            Seen::Sleep(..) => "sleep",
            Seen::Exit => "exit",
            Seen::Unexpected(..) => "unexpected",
            Seen::TimeReversed(..) => "time_reversed",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Submit<'a> {
    pub id: Text<'a>,
    pub size: i64,
    pub sync: bool,
    pub empty: bool,
    pub parent: Option<Text<'a>>,
    pub ends: bool,
    pub is_final: bool,
}

#[derive(Clone, Debug)]
pub struct Refresh<'a> {
    pub id: Text<'a>,
    pub key: Option<i64>,
    pub due: Option<i64>,
    pub owner: Text<'a>,
    pub index: i64,
}

#[derive(Clone, Debug)]
pub enum Command<'a> {
    Submit(Submit<'a>),
    Refresh(Refresh<'a>),
    Cancel { id: Option<Text<'a>>, owner: Text<'a> },
    Credit { running: i64, outside: i64 },
    Stop,
    Pump,
    Respond { token: Option<Text<'a>>, stamp: Option<i64>, done: Vec<Text<'a>>, marker: Option<Text<'a>> },
    Page { done: Vec<Text<'a>>, marker: Option<Text<'a>> },
    Fail,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub name: String,
    pub discipline: Discipline,
    #[serde(default)]
    pub oversize_overflow_waits: bool,
    #[serde(default)]
    pub waits_are_retimed: bool,
    #[serde(default)]
    pub accepts_after_stop: bool,
    #[serde(default)]
    pub stop_abandons: bool,
    #[serde(default)]
    pub wakes_extend: bool,
    #[serde(default)]
    pub stop_waits_for_poll: bool,
    #[serde(default)]
    pub settles_by_older: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Discipline {
    LookAhead(LookAhead),
    #[serde(rename = "aws-durable")]
    Shipped(Shipped),
}

/// The parameters of the look-ahead, each with its letter in the rules.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LookAhead {
    pub bytes: i64,      // B
    pub updates: i64,    // N
    pub collection: i64, // T
    pub quiet: i64,      // P
    pub may_come: i64,   // W
    pub will_come: i64,  // V
    pub hold: i64,       // C
    pub round_trip: i64, // before the first is measured
    pub horizon: i64,    // H
    pub instants: i64,   // L
    pub remembered: i64, // S
    pub resolution: i64, // q
    pub pause: i64,      // A
    pub counted: bool,
}

impl Default for LookAhead {
    fn default() -> Self {
        LookAhead {
            bytes: 768_000,
            updates: 250,
            collection: SECOND,
            quiet: 100 * MILLISECOND,
            may_come: MILLISECOND,
            will_come: 8,
            hold: 1,
            round_trip: 30 * MILLISECOND,
            horizon: 3,
            instants: 64,
            remembered: 16,
            resolution: 0,
            pause: SECOND,
            counted: true,
        }
    }
}

/// The parameters of the published collector.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Shipped {
    pub bytes: i64,
    pub updates: i64,
    pub collection: i64,
    pub quiet: i64,
    pub blocked_window: Option<i64>,
    pub heap: bool,
    pub weighs_empties: bool,
    pub revokes: bool,
}

impl Default for Shipped {
    fn default() -> Self {
        Shipped {
            bytes: 768_000,
            updates: 250,
            collection: SECOND,
            quiet: 100 * MILLISECOND,
            blocked_window: Some(MILLISECOND),
            heap: true,
            weighs_empties: true,
            revokes: true,
        }
    }
}

impl Profile {
    /// Are its parameters within the bounds of the vocabulary?
    pub fn check(&self) -> Result<(), String> {
        let bounded = |&(what, number, least, most): &(&str, i64, i64, i64)| match number {
            number if (least..=most).contains(&number) => Ok(()),
            number => Err(format!("profile {}: {what} must be {least} to {most}, found {number}", self.name)),
        };
        match &self.discipline {
            Discipline::LookAhead(p) => [
                ("bytes", p.bytes, 0, MOST),
                ("updates", p.updates, 1, MANY),
                ("collection", p.collection, 0, LATEST),
                ("quiet", p.quiet, 0, LATEST),
                ("may_come", p.may_come, 0, LATEST),
                ("will_come", p.will_come, 1, MANY),
                ("hold", p.hold, 0, MOST),
                ("round_trip", p.round_trip, 1, LATEST),
                ("horizon", p.horizon, 0, MOST),
                ("instants", p.instants, 0, MOST),
                ("remembered", p.remembered, 1, 1024),
                ("resolution", p.resolution, 0, LATEST),
                ("pause", p.pause, 0, LATEST),
            ]
            .iter()
            .try_for_each(bounded),
            Discipline::Shipped(p) => [
                ("bytes", p.bytes, 0, MOST),
                ("updates", p.updates, 1, MANY),
                ("collection", p.collection, 0, LATEST),
                // a thread that reads for no time at all never comes to sleep
                ("quiet", p.quiet, 1, LATEST),
                ("blocked_window", p.blocked_window.unwrap_or(0), 0, LATEST),
            ]
            .iter()
            .try_for_each(bounded),
        }
    }

    /// One of the profiles that come with the house.
    pub fn named(name: &str) -> Option<Self> {
        let before = Shipped { blocked_window: None, heap: false, weighs_empties: false, revokes: false, ..Shipped::default() };
        let discipline = match name {
            "aws-durable-2.0.0" => Discipline::Shipped(before),
            "aws-durable-3.0.0" => Discipline::Shipped(Shipped::default()),
            "slotwise" => Discipline::LookAhead(LookAhead::default()),
            _ => return None,
        };
        let upstream = name != "slotwise";
        Some(Profile {
            name: name.into(),
            discipline,
            oversize_overflow_waits: upstream,
            waits_are_retimed: upstream,
            accepts_after_stop: upstream,
            stop_abandons: upstream,
            wakes_extend: name == "aws-durable-3.0.0",
            stop_waits_for_poll: upstream,
            settles_by_older: false,
        })
    }
}
