//! Between the collector, the producers and the service: what is seen is told, what the pump says is done, what is answered comes in.
use std::sync::Arc;

use super::{Flight, World};
use crate::batching_run::Call;
use crate::batching_scenarios::Fate;
use crate::batching_sdk::Event;
use crate::batching_service::Attempt;
use crate::batching_words::{Command, Seen};
use crate::words::Text;

impl World<'_> {
    pub fn credit(&mut self, running: i64, outside: i64) {
        self.tell(&Command::Credit { running, outside });
    }

    /// Do a command, and tell producers what is seen. Answers the last word.
    pub fn tell(&mut self, command: &Command) -> Option<Seen> {
        let mut saw = self.rooms.pop().unwrap_or_default();
        self.collector.step(command, self.now, &mut saw);
        self.run.record(command, self.now, &saw);
        for seen in &saw {
            match seen {
                Seen::Settled(id, outcome) => self.settled(id, outcome.word()),
                Seen::Rejected(id, why) if matches!(command, Command::Refresh(_)) => self.settled(id, why.word()),
                Seen::Resumed(owner, _, ids) => {
                    let ids = ids.iter().filter_map(|id| self.names.find(id)).collect();
                    let mail = self.names.find(owner).and_then(|owner| self.row(owner).mail);
                    self.post(mail, Event::Resumed(ids), true);
                }
                _ => {}
            }
        }
        let last = saw.pop();
        saw.clear();
        self.rooms.push(saw);
        last
    }

    /// A sync item or a wave's refresh has its own mailbox; of another refresh, its coordinator is told only what is wrong.
    fn settled(&mut self, id: &Arc<str>, outcome: &'static str) {
        let Some(name) = self.names.find(id) else { return };
        let row = self.row(name);
        if let Some(mail) = row.mail {
            self.post(Some(mail), Event::Settled(outcome), false);
        } else if outcome != "ok" && outcome != "cancelled" {
            let mail = row.owner.and_then(|owner| self.row(owner).mail);
            self.post(mail, Event::Refused(outcome), false);
        }
    }

    /// Pump and obey; then stop, if there is nobody left. Answers when to pump again.
    pub fn end_of_instant(&mut self) -> Option<i64> {
        let wake = self.pump();
        if !self.closing || self.live > 0 || self.stopped {
            return wake;
        }
        self.stopped = true;
        self.tell(&Command::Stop);
        self.pump()
    }

    fn pump(&mut self) -> Option<i64> {
        match self.tell(&Command::Pump) {
            Some(Seen::Send(ids, refreshes, _)) => self.send(&ids, refreshes.len()),
            Some(Seen::Sleep(until)) => return until.map(|until| until.try_into().unwrap_or(i64::MAX)),
            Some(Seen::Exit) => self.run.exit = self.run.exit.or(Some(self.now)),
            _ => {}
        }
        None
    }

    fn send(&mut self, ids: &[Arc<str>], refreshes: usize) {
        let mut updates = Vec::with_capacity(ids.len());
        for id in ids {
            match self.names.find(id).and_then(|name| self.row(name).updates.pop_front()) {
                Some(update) => updates.push(update),
                None => self.wrong = Some(format!("at {}: an update of {id} was sent that nobody has submitted", self.now)),
            }
        }
        self.run.calls.push(Call { at: self.now, updates: updates.len(), refreshes, in_vain: false });
        self.flight = Flight { updates, ..Flight::default() };
        self.serve();
    }

    /// The request has arrived.
    pub fn handle(&mut self) {
        self.handled = true;
        self.flight.answer = self.backend.handle(&self.flight.updates, self.now);
        if let Some(call) = self.run.calls.last_mut() {
            call.in_vain = self.flight.updates.is_empty() && self.flight.answer.done.is_empty();
        }
    }

    /// The answer is there. True if a page of it has to be fetched.
    pub fn answered(&mut self) -> bool {
        let number = self.run.calls.len();
        let answer = std::mem::take(&mut self.flight.answer);
        let fate = if answer.is_final { Some(Fate::NoToken) } else { self.backend.service.fates.get(&(number as i64)).copied() };
        let token = || Some(format!("token-{number}").into());
        match fate {
            Some(Fate::Fail) => drop(self.tell(&Command::Fail)),
            Some(Fate::NoToken) => {
                self.learn(&answer.changes);
                let done = self.attempts(&answer.done);
                self.tell(&Command::Respond { token: None, stamp: None, done, marker: None });
            }
            Some(Fate::Page) => {
                let (first, rest) = answer.done.split_at(answer.done.len() / 2);
                self.flight.rest = rest.to_vec();
                let done = self.attempts(first);
                self.tell(&Command::Respond { token: token(), stamp: answer.stamp, done, marker: Some("page-2".into()) });
                self.flight.answer = answer;
                return true;
            }
            None => {
                self.learn(&answer.changes); // before anybody is told
                let done = self.attempts(&answer.done);
                self.tell(&Command::Respond { token: token(), stamp: answer.stamp, done, marker: None });
            }
        }
        false
    }

    /// The other page is there.
    pub fn fetched(&mut self) {
        let flight = std::mem::take(&mut self.flight);
        self.learn(&flight.answer.changes);
        let done = self.attempts(&flight.rest);
        self.tell(&Command::Page { done, marker: None });
    }

    fn attempts(&mut self, of: &[Attempt]) -> Vec<Text<'static>> {
        of.iter().map(|(op, tries)| format!("{}#{tries}", self.names.text(*op)).into()).collect()
    }
}
