//! The world around a collector: producers, a simulated service and a driver. How time passes in it is in `batching_simulation`.
//!
//! *The instant*: who has been told something goes on, in the order of telling, until all are blocked; sleepers and answers of the instant
//! wake more, one after another; then one pump, which is obeyed. The world keeps the credits (discipline BAT-4).
use std::borrow::Cow;
use std::collections::VecDeque;

use crate::batching_run::Run;
use crate::batching_scenarios::{Known, Name, Names, Service};
use crate::batching_sdk::{Ended, Event, Outcome, Producer, Submission, Suspended, Waiting, Whose};
use crate::batching_service::{Answer, Attempt, Backend, Operation, STARTED, Update};
use crate::batching_simulation::Timers;
use crate::batching_trace::{TOKEN, set_up};
use crate::batching_words::{Command, Discipline, Profile, Refresh, Seen, Submit};
use crate::collector::Collector;
use crate::faults::Faults;
use crate::tables::Slab;

mod driver;

/// Of one reader. `blocked`: that of a producer with a sync item, whom the collector counts itself.
#[derive(Debug, Default)]
pub struct Mailbox {
    pub blocked: bool,
    pub events: VecDeque<Event>,
    pub reader: Option<Reader>,
}

/// Who waits for an event; if not for ever, with the number of the timer.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    pub producer: u32,
    pub timer: Option<u64>,
}

/// What goes by a name.
#[derive(Debug, Default)]
pub struct Row {
    /// The local copy of the service's.
    pub known: Option<Operation>,
    pub paused: bool,
    reached: bool,
    /// Who is told what is settled and resumed.
    mail: Option<u32>,
    /// Of a refresh.
    owner: Option<Name>,
    /// Accepted and not sent.
    updates: VecDeque<Update>,
}

/// The request that is out. Of an answer in pages, the rest is what is still to come.
#[derive(Debug, Default)]
pub struct Flight {
    pub updates: Vec<Update>,
    pub answer: Answer,
    rest: Vec<Attempt>,
}

#[derive(Debug)]
pub struct World<'a> {
    collector: Collector,
    pub waiting: Waiting,
    retimed: bool,
    pub names: Names,
    rows: Vec<Row>,
    pub backend: Backend,
    pub flight: Flight,
    pub mail: Slab<Mailbox>,
    pub producers: Slab<Option<Producer<'a>>>,
    pub ready: VecDeque<u32>,
    pub timers: Timers,
    pub now: i64,
    pub run: Run,
    live: usize,
    closing: bool,
    stopped: bool,
    handled: bool,
    /// What should not be: an error of the program.
    pub wrong: Option<String>,
    rooms: Vec<Vec<Seen>>,
}

impl<'a> World<'a> {
    pub fn new(profile: &Profile, names: Names, service: Service, earlier: &[Known], faults: Faults) -> Result<Self, String> {
        let waiting = match &profile.discipline {
            Discipline::LookAhead(_) => Waiting::Told,
            Discipline::Shipped(p) => {
                if p.heap {
                    Waiting::Waves
                } else {
                    Waiting::Empties
                }
            }
        };
        let collector = set_up(profile, TOKEN, service.hint, faults)?;
        let mut world = World {
            collector,
            waiting,
            retimed: profile.waits_are_retimed,
            rows: std::iter::repeat_with(Row::default).take(names.number()).collect(),
            names,
            backend: Backend::new(service, earlier),
            flight: Flight::default(),
            mail: Slab::default(),
            producers: Slab::default(),
            ready: VecDeque::new(),
            timers: Timers::default(),
            now: 0,
            run: Run { result: "blocked".into(), ..Run::default() },
            live: 0,
            closing: false,
            stopped: false,
            handled: false,
            wrong: None,
            rooms: Vec::new(),
        };
        let known: Vec<_> = world.backend.operations.iter().map(|(&op, &operation)| (op, operation)).collect();
        world.learn(&known);
        Ok(world)
    }

    pub fn row(&mut self, name: Name) -> &mut Row {
        let number = self.names.number();
        if self.rows.len() < number {
            self.rows.resize_with(number, Row::default);
        }
        &mut self.rows[name as usize]
    }

    pub fn known(&mut self, op: Name) -> Option<Operation> {
        self.row(op).known
    }

    fn learn(&mut self, changes: &[(Name, Operation)]) {
        for &(op, operation) in changes {
            self.row(op).known = Some(operation);
        }
    }

    /// A name that nobody has had.
    pub fn fresh(&mut self, op: Name, mark: char) -> Name {
        let number = self.timers.number();
        let text = format!("{}{mark}{number}", self.names.text(op));
        self.names.name(&text)
    }

    /// Each attempt of an operation has a name of its own.
    fn attempt(&mut self, (op, tries): Attempt) -> Name {
        let text = format!("{}#{tries}", self.names.text(op));
        self.names.name(&text)
    }

    /// It is counted now, and goes on when it is its turn.
    pub fn spawn(&mut self, producer: Producer<'a>) {
        self.live += 1;
        self.credit(1, 0);
        let number = self.producers.insert(Some(producer));
        self.ready.push_back(number);
    }

    pub fn ended(&mut self, whose: Whose, outcome: Outcome) {
        self.live -= 1;
        match whose {
            Whose::Handler => self.handler_returned(outcome),
            Whose::Branch(mail, i) => self.post(Some(mail), Event::Ended(i, outcome), false),
        }
        self.credit(-1, 0);
    }

    fn handler_returned(&mut self, outcome: Outcome) {
        self.run.result = match outcome {
            Ok(()) => "done".into(),
            Err(Ended::Suspended(suspended)) => {
                self.run.until = Some(suspended.when());
                "suspended".into()
            }
            Err(Ended::Refused(why)) => format!("refused: {why}"),
            Err(Ended::Failed(op)) => format!("failed: {}", self.names.text(op)),
        };
        (self.run.handler, self.closing) = (Some(self.now), true);
    }

    /// An update, or an empty item. If it is a sync one and accepted, the answer is the mailbox in which it is settled.
    pub fn submit(&mut self, item: Submission) -> Result<Option<u32>, Ended> {
        let id = self.names.text(item.op).clone();
        let parent = item.parent.map(|parent| self.names.text(parent).clone());
        let command = Command::Submit(Submit {
            id: Cow::Borrowed(&id),
            size: if item.action.is_some() { item.size } else { 0 },
            sync: item.sync,
            empty: item.action.is_none(),
            parent: parent.as_deref().map(Cow::Borrowed),
            ends: item.ends,
            is_final: item.is_final,
        });
        if let Some(Seen::Rejected(_, why)) = self.tell(&command) {
            return Err(Ended::Refused(why.word()));
        }
        if let Some(action) = item.action {
            self.row(item.op).updates.push_back(Update { op: item.op, action, delay: item.delay, is_final: item.is_final });
        }
        Ok(item.sync.then(|| {
            let mail = self.mail.insert(Mailbox { blocked: true, ..Mailbox::default() });
            self.open(item.op, mail);
            mail
        }))
    }

    /// How a sync item was settled.
    pub fn settlement(&mut self, op: Name, mail: u32) -> Outcome {
        let told = self.mail.remove(mail).events.pop_front();
        self.close(op);
        match told {
            Some(Event::Settled("ok")) => Ok(()),
            Some(Event::Settled(why) | Event::Refused(why)) => Err(Ended::Refused(why)),
            told => {
                self.wrong = Some(format!("the producer of {} was told {told:?}", self.names.text(op)));
                Err(Ended::Refused(""))
            }
        }
    }

    /// Of a pending operation. Re-timed: for its full duration from now; or if that is none, until the stamp taken for a local time, or now.
    pub fn suspension(&mut self, op: Name, full: Option<i64>) -> Ended {
        let pending = self.known(op).unwrap_or(STARTED);
        let id = self.attempt((op, pending.tries));
        let local = full.map_or_else(|| self.now.max(pending.end.unwrap_or(0) - self.backend.service.hint), |full| self.now + full);
        Ended::Suspended(if self.retimed {
            Suspended { id, key: None, due: Some(local) }
        } else {
            Suspended { id, key: pending.end, due: None }
        })
    }

    pub fn refresh(&mut self, id: Name, owner: Name, index: usize, key: Option<i64>, due: Option<i64>) {
        self.row(id).owner = Some(owner);
        let (id, owner) = (self.names.text(id).clone(), self.names.text(owner).clone());
        self.tell(&Command::Refresh(Refresh { id: Cow::Borrowed(&id), key, due, owner: Cow::Borrowed(&owner), index: index as i64 }));
    }

    pub fn cancel(&mut self, owner: Name) {
        let owner = self.names.text(owner).clone();
        self.tell(&Command::Cancel { id: None, owner: Cow::Borrowed(&owner) });
    }

    pub fn open(&mut self, name: Name, mail: u32) {
        self.row(name).mail = Some(mail);
    }

    pub fn close(&mut self, name: Name) {
        self.row(name).mail = None;
    }

    /// `counted`: the collector has counted the reader as running. A reader that does not wait is counted already.
    pub fn post(&mut self, mail: Option<u32>, event: Event, counted: bool) {
        let reader = mail.and_then(|mail| {
            let mailbox = &mut self.mail[mail];
            mailbox.events.push_back(event);
            mailbox.reader.take().map(|reader| (reader, mailbox.blocked))
        });
        match reader {
            Some((reader, blocked)) => {
                if !counted && !blocked {
                    self.credit(1, 0);
                }
                self.ready.push_back(reader.producer);
            }
            None if counted => self.credit(-1, 0),
            None => {}
        }
    }

    pub fn reaches(&mut self, op: Name, tries: i64) {
        let attempt = self.attempt((op, tries));
        if !std::mem::replace(&mut self.row(attempt).reached, true) {
            self.run.reached.push((self.names.text(attempt).clone(), self.now));
        }
    }

    /// What came of it.
    pub fn came(self) -> Run {
        let ends = if self.handled { &self.backend.ends[..] } else { &[] };
        let ends = ends.iter().map(|((op, tries), end)| (format!("{}#{tries}", self.names.text(*op)), *end)).collect();
        Run { ends, ..self.run }
    }
}
