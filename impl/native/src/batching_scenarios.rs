//! Scenarios of durable work: what a handler does, step by step and branch by branch, and the service that it does it against.
//!
//! In integer nanoseconds. A name is spelled once and then is a number; an operation's begins with that of its context.
use std::sync::Arc;

use serde::Deserialize;

use crate::batching_words::MILLISECOND;
use crate::tables::Map;

mod file;

/// An operation, an attempt, a refresh: whatever has a name.
pub type Name = u32;

#[derive(Debug, Default)]
pub struct Names {
    by_text: Map<Arc<str>, Name>,
    texts: Vec<Arc<str>>,
}

impl Names {
    pub fn name(&mut self, text: &str) -> Name {
        if let Some(&name) = self.by_text.get(text) {
            return name;
        }
        let (name, text) = (self.texts.len() as Name, Arc::<str>::from(text));
        self.texts.push(text.clone());
        self.by_text.insert(text, name);
        name
    }

    pub fn find(&self, text: &str) -> Option<Name> {
        self.by_text.get(text).copied()
    }

    pub fn text(&self, name: Name) -> &Arc<str> {
        &self.texts[name as usize]
    }

    pub fn number(&self) -> usize {
        self.texts.len()
    }
}

#[derive(Debug)]
pub struct Work {
    pub op: Name,
    pub kind: Kind,
}

#[derive(Debug)]
pub enum Kind {
    Step(Step),
    /// For so long.
    Wait(i64),
    /// For so long, the first time.
    Pause(i64),
    Child(Vec<Work>),
    Parallel(Parallel),
}

/// A poll is one that is tried again as often as it looks in vain.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub body: i64,
    pub size: i64,
    pub retries: i64,
    pub delay: i64,
    pub fails: bool,
    pub at_most_once: bool,
}

#[derive(Debug)]
pub struct Parallel {
    pub branches: Vec<Branch>,
    pub at_once: usize,
    pub needed: usize,
    pub tolerated: usize,
    pub flat: bool,
}

#[derive(Debug)]
pub struct Branch {
    pub op: Name,
    pub works: Vec<Work>,
}

/// What a request meets instead of an answer.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Fate {
    #[serde(rename = "fail")]
    Fail,
    #[serde(rename = "no token")]
    NoToken,
    #[serde(rename = "page")]
    Page,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Service {
    pub out: i64,
    pub back: i64,
    pub ahead: i64,
    pub hint: i64,
    pub grid: i64,
    pub lag: i64,
    /// By number of the request, from 1.
    pub fates: Map<i64, Fate>,
}

impl Default for Service {
    fn default() -> Self {
        Service { out: 15 * MILLISECOND, back: 15 * MILLISECOND, ahead: 0, hint: 0, grid: 1, lag: 0, fates: Map::default() }
    }
}

/// An operation from an earlier invocation: started, or a wait that the service will end then.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub op: Name,
    pub end: Option<i64>,
}

#[derive(Debug)]
pub struct Scenario {
    pub names: Names,
    pub works: Vec<Work>,
    pub service: Service,
    pub earlier: Vec<Known>,
    pub result: i64,
    pub horizon: i64,
}
