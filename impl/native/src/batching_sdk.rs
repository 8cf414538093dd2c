//! What a durable-execution SDK does with a handler's work: steps, waits, child contexts, and coordinators of parallel branches.
//!
//! A producer is a stack of *frames*, each at some point of what it does; the top one says what it needs next, and is told what came of it.
//! What runs again begins at the top and looks at the state first: what is done goes on, what is pending suspends.
use crate::batching_scenarios::Name;
use crate::batching_service::Action;
use crate::batching_world::World;

pub use frames::{At, Frame};

mod coordinator;
mod frames;

/// Three ways to wait: whoever waits is told (look-ahead); as published, one refresh for each resume time; before, an empty item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    Told,
    Waves,
    Empties,
}

/// Nothing to do before the attempt `id` is done: at the service's stamp `key`, or at a local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspended {
    pub id: Name,
    pub key: Option<i64>,
    pub due: Option<i64>,
}

impl Suspended {
    pub fn when(&self) -> i64 {
        self.key.or(self.due).unwrap_or(0)
    }
}

/// Why a producer cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The collector refused, or did not settle well.
    Refused(&'static str),
    /// User code has failed for good.
    Failed(Name),
    Suspended(Suspended),
}

pub type Outcome = Result<(), Ended>;

/// What a producer is told that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Settled(&'static str),
    Refused(&'static str),
    /// Attempts that are done.
    Resumed(Vec<Name>),
    /// A branch.
    Ended(usize, Outcome),
}

/// What a producer submits: an update, or an empty item if there is no action.
#[derive(Clone, Copy, Debug)]
pub struct Submission {
    pub op: Name,
    pub action: Option<Action>,
    pub parent: Option<Name>,
    pub sync: bool,
    pub size: i64,
    pub delay: i64,
    pub ends: bool,
    pub is_final: bool,
}

impl Submission {
    /// A sync update of the usual size.
    pub fn of(op: Name, parent: Option<Name>, action: Action) -> Self {
        Submission { op, action: Some(action), parent, sync: true, size: 100, delay: 0, ends: false, is_final: false }
    }
}

/// What a frame needs before it can go on.
#[derive(Debug)]
pub enum Next<'a> {
    /// What comes of another frame.
    Call(Frame<'a>),
    Submit(Submission),
    /// User code that takes so long.
    User(i64),
    /// An event in a mailbox, or that time.
    Receive(u32, Option<i64>),
    /// Nothing: it is done.
    Done,
}

type Flow<'a> = Result<Next<'a>, Ended>;

/// What a frame is told: what came of what it needed. No event: it is too late.
#[derive(Debug)]
pub enum Told {
    Came(Outcome),
    Event(Option<Event>),
}

impl Told {
    fn outcome(self) -> Outcome {
        match self {
            Told::Came(outcome) => outcome,
            Told::Event(_) => Ok(()),
        }
    }
}

/// Who is told how a producer has ended.
#[derive(Clone, Copy, Debug)]
pub enum Whose {
    Handler,
    /// The mailbox of a coordinator, and which branch of it.
    Branch(u32, usize),
}

#[derive(Debug)]
enum Blocked {
    No,
    Settlement(Name, u32),
    Event(u32),
}

#[derive(Debug)]
pub struct Producer<'a> {
    pub whose: Whose,
    frames: Vec<Frame<'a>>,
    blocked: Blocked,
}

impl<'a> Producer<'a> {
    pub fn new(whose: Whose, frame: Frame<'a>) -> Self {
        Producer { whose, frames: vec![frame], blocked: Blocked::No }
    }

    /// Until it is blocked; or until it ends, with what has come of it.
    pub fn go_on(&mut self, me: u32, world: &mut World<'a>) -> Option<Outcome> {
        let mut told = match std::mem::replace(&mut self.blocked, Blocked::No) {
            Blocked::No => Told::Came(Ok(())),
            Blocked::Settlement(op, mail) => Told::Came(world.settlement(op, mail)),
            Blocked::Event(mail) => Told::Event(world.mail[mail].events.pop_front()),
        };
        while let Some(frame) = self.frames.last_mut() {
            told = match frame.next(told, world) {
                Ok(Next::Call(frame)) => {
                    self.frames.push(frame);
                    Told::Came(Ok(()))
                }
                Ok(Next::Submit(item)) => match world.submit(item) {
                    Ok(None) => Told::Came(Ok(())),
                    Ok(Some(mail)) => {
                        world.wait(me, mail, None);
                        self.blocked = Blocked::Settlement(item.op, mail);
                        return None;
                    }
                    Err(refused) => Told::Came(Err(refused)),
                },
                Ok(Next::User(0)) => Told::Came(Ok(())),
                Ok(Next::User(duration)) => {
                    world.user(me, duration);
                    return None;
                }
                Ok(Next::Receive(mail, until)) => match world.mail[mail].events.pop_front() {
                    Some(event) => Told::Event(Some(event)),
                    None => {
                        world.wait(me, mail, until);
                        self.blocked = Blocked::Event(mail);
                        return None;
                    }
                },
                ended => {
                    self.frames.pop();
                    Told::Came(ended.map(|_| ()))
                }
            };
        }
        Some(told.outcome())
    }
}
