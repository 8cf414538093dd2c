//! A simulated service and driver for one collector. At one instant, what producers do comes before an answer, and both before the pump.
use std::collections::VecDeque;

use serde_json::{Value, json};
use slotwise_native::batching_trace as trace;
use slotwise_native::batching_words::{MILLISECOND, Profile, SECOND};
use slotwise_native::collector::Collector;
use slotwise_native::faults;

pub fn collector(profile: &Profile) -> Collector {
    Collector::new(profile, "token-0", 0, faults::NONE).expect("a right profile")
}

/// A command as a line of a trace; what was seen.
pub fn tell(collector: &mut Collector, command: &Value) -> Vec<Value> {
    let mut out = Vec::new();
    trace::step_line(collector, command.to_string().as_bytes(), &mut Vec::new(), &mut out).expect("a right command");
    assert_eq!(collector.audit(), Vec::<String>::new(), "after {command}");
    serde_json::from_slice(&out).expect("observations")
}

/// When what was sent and told; times are nanoseconds.
#[derive(Default)]
pub struct Played {
    pub sends: Vec<(i64, Vec<String>, Vec<String>)>,
    pub settled: Vec<(i64, String, String)>,
    pub rejected: Vec<(i64, String, String)>,
    pub exit: Option<i64>,
}

pub struct Player {
    collector: Collector,
    fates: Value,
    answer: Option<(i64, Value)>,
    wake: Option<i64>,
    pub played: Played,
}

fn at(command: &Value) -> i64 {
    command["at"].as_i64().unwrap_or(0)
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").into()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().expect("a list").iter().map(text).collect()
}

const ROUND_TRIP: i64 = 30 * MILLISECOND;

impl Player {
    /// `fates`: what a request meets, by number, instead of an answer.
    pub fn play(profile: &Profile, script: &Value, fates: &Value, horizon: i64) -> Played {
        let mut script: VecDeque<Value> = script.as_array().expect("commands").iter().cloned().collect();
        let mut player =
            Player { collector: collector(profile), fates: fates.clone(), answer: None, wake: Some(0), played: Played::default() };
        loop {
            let times = [script.front().map(at), player.answer.as_ref().map(|answer| answer.0), player.wake];
            let Some(now) = times.into_iter().flatten().min().filter(|&now| now <= horizon) else { return player.played };
            while script.front().is_some_and(|command| at(command) == now) {
                let command = script.pop_front().expect("a command");
                player.tell(now, &command);
            }
            if let Some((_, answer)) = player.answer.take_if(|answer| answer.0 == now) {
                player.tell(now, &answer);
            }
            let saw = player.tell(now, &json!({"do": "pump", "at": now}));
            let last = saw.last().expect("a pump answers");
            player.wake = if last[0] == "sleep" { last[1].as_i64() } else { None };
            if last[0] == "exit" {
                player.played.exit.get_or_insert(now);
            }
        }
    }

    /// A producer that goes on has nothing more to do: it ends.
    fn tell(&mut self, now: i64, command: &Value) -> Vec<Value> {
        let saw = tell(&mut self.collector, command);
        let mut going_on = 0;
        for seen in &saw {
            let played = &mut self.played;
            match seen[0].as_str() {
                Some("settled") => {
                    going_on += i64::from(seen[2] == "ok");
                    played.settled.push((now, text(&seen[1]), text(&seen[2])));
                }
                Some("resumed") => {
                    going_on += 1;
                    played.settled.extend(texts(&seen[3]).into_iter().map(|id| (now, id, "ok".into())));
                }
                Some("rejected") => played.rejected.push((now, text(&seen[1]), text(&seen[2]))),
                Some("fetch") => self.answer = Some((now + ROUND_TRIP, json!({"do": "page", "at": now + ROUND_TRIP}))),
                Some("send") => {
                    played.sends.push((now, texts(&seen[1]), texts(&seen[2])));
                    self.answer = Some((now + ROUND_TRIP, self.answer_to(now, !texts(&seen[1]).is_empty())));
                }
                _ => {}
            }
        }
        if going_on > 0 {
            self.tell(now, &json!({"do": "credit", "running": -going_on, "at": now}));
        }
        saw
    }

    fn answer_to(&self, sent: i64, updates: bool) -> Value {
        let (number, back) = (self.played.sends.len(), sent + ROUND_TRIP);
        let token = format!("token-{number}");
        match self.fates[number.to_string()].as_str() {
            Some("fail") => json!({"do": "fail", "at": back}),
            Some("no token") => json!({"do": "respond", "at": back}),
            Some(_) => json!({"do": "respond", "token": token, "marker": "page-2", "at": back}),
            None if updates => json!({"do": "respond", "token": token, "stamp": sent + ROUND_TRIP / 2, "at": back}),
            None => json!({"do": "respond", "token": token, "at": back}),
        }
    }
}

pub const HORIZON: i64 = 30 * SECOND;
