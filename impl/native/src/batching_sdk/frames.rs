//! What there is to do, one thing in another: the handler, works in a context, a step, a wait, a child.
use std::slice::Iter;

use super::coordinator::Coordinator;
use super::{Ended, Flow, Next, Outcome, Submission, Told};
use crate::batching_scenarios::{Kind, Name, Parallel, Step, Work};
use crate::batching_service::{Action, STARTED, Status};
use crate::batching_world::World;

/// How far a frame has come. Not all have all of these.
#[derive(Clone, Copy, Debug)]
pub enum At {
    Top,
    Started,
    Ran,
    /// Its last update is settled.
    Over,
}

#[derive(Debug)]
pub enum Frame<'a> {
    /// The whole handler; a result too large to be returned is an update.
    Handler {
        works: &'a [Work],
        result: i64,
        at: At,
    },
    /// One after another, in a context.
    Works {
        works: Iter<'a, Work>,
        context: Option<Name>,
    },
    Step {
        op: Name,
        context: Option<Name>,
        step: Step,
        tries: i64,
        at: At,
    },
    Wait {
        op: Name,
        context: Option<Name>,
        duration: i64,
        at: At,
    },
    /// A context: its start, what is in it, its end.
    Child {
        op: Name,
        context: Option<Name>,
        body: Body<'a>,
        failed: Option<Name>,
        at: At,
    },
    Coordinator(Box<Coordinator<'a>>),
}

#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    Works(&'a [Work]),
    Parallel(&'a Parallel),
}

impl<'a> Frame<'a> {
    pub fn works(works: &'a [Work], context: Option<Name>) -> Self {
        Frame::Works { works: works.iter(), context }
    }

    pub fn child(op: Name, context: Option<Name>, body: Body<'a>) -> Self {
        Frame::Child { op, context, body, failed: None, at: At::Top }
    }

    pub fn next(&mut self, told: Told, world: &mut World<'a>) -> Flow<'a> {
        match self {
            Frame::Coordinator(coordinator) => coordinator.next(told, world),
            Frame::Child { op, context, body, failed, at } => child(*op, *context, *body, failed, at, told.outcome(), world),
            Frame::Handler { works, result, at } => {
                told.outcome()?;
                Ok(match (*at, *result) {
                    (At::Top, _) => {
                        *at = At::Ran;
                        Next::Call(Frame::works(works, None))
                    }
                    (At::Ran, size @ 1..) => {
                        *at = At::Over;
                        let op = world.names.name("the execution");
                        Next::Submit(Submission { size, is_final: true, ..Submission::of(op, None, Action::Succeed) })
                    }
                    _ => Next::Done,
                })
            }
            Frame::Works { works, context } => {
                told.outcome()?;
                Ok(works.find_map(|work| begin(work, *context, world)).unwrap_or(Next::Done))
            }
            Frame::Step { op, context, step, tries, at } => {
                told.outcome()?;
                do_step(*op, *context, step, tries, at, world)
            }
            Frame::Wait { op, context, duration, at } => {
                told.outcome()?;
                let known = world.known(*op);
                match (*at, known) {
                    (At::Top, None) => {
                        *at = At::Started;
                        Ok(Next::Submit(Submission { delay: *duration, ..Submission::of(*op, *context, Action::Wait) }))
                    }
                    (_, Some(known)) if known.status == Status::Ready => {
                        world.reaches(*op, known.tries);
                        Ok(Next::Done)
                    }
                    _ => Err(world.suspension(*op, Some(*duration))),
                }
            }
        }
    }
}

/// None: there is nothing to do.
fn begin<'a>(work: &'a Work, context: Option<Name>, world: &mut World<'a>) -> Option<Next<'a>> {
    let op = work.op;
    Some(match &work.kind {
        Kind::Step(step) => Next::Call(Frame::Step { op, context, step: *step, tries: 0, at: At::Top }),
        Kind::Wait(duration) => Next::Call(Frame::Wait { op, context, duration: *duration, at: At::Top }),
        Kind::Pause(duration) => {
            let paused = std::mem::replace(&mut world.row(op).paused, true);
            return (!paused).then_some(Next::User(*duration));
        }
        Kind::Child(works) => Next::Call(Frame::child(op, context, Body::Works(works))),
        Kind::Parallel(parallel) => Next::Call(Frame::child(op, context, Body::Parallel(parallel))),
    })
}

fn do_step<'a>(op: Name, context: Option<Name>, step: &Step, tries: &mut i64, at: &mut At, world: &mut World<'a>) -> Flow<'a> {
    let again = *tries < step.retries;
    match *at {
        At::Top => {
            let known = world.known(op).unwrap_or(STARTED);
            match known.status {
                Status::Succeeded => return Ok(Next::Done),
                Status::Failed => return Err(Ended::Failed(op)),
                Status::Pending => return Err(world.suspension(op, None)),
                Status::Started | Status::Ready => {}
            }
            (*tries, *at) = (known.tries, At::Started);
            Ok(Next::Submit(Submission { sync: step.at_most_once, ..Submission::of(op, context, Action::Start) }))
        }
        At::Started => {
            world.reaches(op, *tries);
            *at = At::Ran;
            Ok(Next::User(step.body))
        }
        At::Ran if again => {
            *at = At::Over;
            Ok(Next::Submit(Submission { delay: step.delay, ..Submission::of(op, context, Action::Retry) }))
        }
        At::Ran => {
            *at = At::Over;
            let action = if step.fails { Action::Fail } else { Action::Succeed };
            Ok(Next::Submit(Submission { size: step.size, ..Submission::of(op, context, action) }))
        }
        At::Over if again => Err(world.suspension(op, Some(step.delay))),
        At::Over if step.fails => Err(Ended::Failed(op)),
        At::Over => Ok(Next::Done),
    }
}

fn child<'a>(
    op: Name,
    context: Option<Name>,
    body: Body<'a>,
    failed: &mut Option<Name>,
    at: &mut At,
    came: Outcome,
    world: &mut World<'a>,
) -> Flow<'a> {
    if matches!(at, At::Top) {
        *at = At::Started;
        match world.known(op).map(|known| known.status) {
            Some(Status::Succeeded) => return Ok(Next::Done),
            Some(Status::Failed) => return Err(Ended::Failed(op)),
            Some(_) => {}
            None => return Ok(Next::Submit(Submission { sync: false, ..Submission::of(op, context, Action::Start) })),
        }
    }
    match (*at, came) {
        (At::Ran, Err(Ended::Failed(what))) => *failed = Some(what),
        (_, came) => came?,
    }
    match *at {
        At::Ran => {
            *at = At::Over;
            let action = if failed.is_some() { Action::Fail } else { Action::Succeed };
            Ok(Next::Submit(Submission { ends: true, ..Submission::of(op, context, action) }))
        }
        At::Over => failed.map_or(Ok(Next::Done), |what| Err(Ended::Failed(what))),
        At::Top | At::Started => {
            *at = At::Ran;
            Ok(Next::Call(match body {
                Body::Works(works) => Frame::works(works, Some(op)),
                Body::Parallel(parallel) => Frame::Coordinator(Box::new(Coordinator::new(op, parallel))),
            }))
        }
    }
}
