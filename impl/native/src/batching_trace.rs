//! The trace file of mechanism `batching`: reads its header and commands, writes what is seen in the same notation.
use serde::Deserialize;

use crate::batching_words::{Command, FURTHEST, MANY, Profile, Refresh, Seen, Submit, Time};
use crate::collector::Collector;
use crate::faults::Faults;
use crate::line::{Header, define_line};
use crate::trace::{Word, in_line, integer, named, play, quoted, text, within};
use crate::words::{LATEST, MOST, Text};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Setup<'a> {
    #[serde(borrow, default)]
    token: Option<Word<'a>>,
    #[serde(default)]
    hint: i64,
}

/// The token of a collector's first request, unless it is given another.
pub const TOKEN: &str = "token-0";

define_line! {
    id "id": Word<'a>,
    size "size": i64,
    sync "sync": bool,
    empty "empty": bool,
    parent "parent": Word<'a>,
    ends "ends": bool,
    is_final "final": bool,
    key "key": i64,
    due "due": i64,
    owner "owner": Word<'a>,
    index "index": i64,
    running "running": i64,
    outside "outside": i64,
    token "token": Word<'a>,
    stamp "stamp": i64,
    done "done": Vec<Word<'a>>,
    marker "marker": Word<'a>,
}

/// A name that may be left out.
pub fn perhaps<'a>(what: &str, name: Option<Text<'a>>) -> Result<Option<Text<'a>>, String> {
    name.map(|name| named(what, &name).map(|()| name)).transpose()
}

/// An instant of the service's clock.
pub fn stamp(what: &str, number: Option<i64>) -> Result<Option<i64>, String> {
    number.map(|number| within(what, number, -FURTHEST, FURTHEST)).transpose()
}

/// A change of how many there are.
pub fn change(what: &str, number: i64) -> Result<i64, String> {
    within(what, number, -MANY, MANY)
}

pub fn submit(item: Submit) -> Result<Command, String> {
    named("an item's id", &item.id)?;
    item.parent.as_deref().map_or(Ok(()), |parent| named("a parent", parent))?;
    within("size", item.size, 0, MOST)?;
    Ok(Command::Submit(item))
}

pub fn refresh(asked: Refresh) -> Result<Command, String> {
    named("a refresh's id", &asked.id)?;
    stamp("key", asked.key)?;
    asked.due.map_or(Ok(0), |due| within("due", due, 0, LATEST))?;
    within("index", asked.index, 0, MOST)?;
    Ok(Command::Refresh(asked))
}

/// Operations that an answer shows done.
pub fn done(ids: Vec<Text>) -> Result<Vec<Text>, String> {
    ids.iter().try_for_each(|id| named("an id in `done`", id))?;
    Ok(ids)
}

/// The fields that a command may have.
fn fields(what: &str) -> Result<&'static [&'static str], String> {
    Ok(match what {
        "submit" => &["id", "size", "sync", "empty", "parent", "ends", "final"],
        "refresh" => &["id", "key", "due", "owner", "index"],
        "cancel" => &["id", "owner"],
        "credit" => &["running", "outside"],
        "stop" | "pump" | "fail" => &[],
        "respond" => &["token", "stamp", "done", "marker"],
        "page" => &["done", "marker"],
        _ => return Err(format!("field `do`: no command {what:?} is known")),
    })
}

impl<'a> Line<'a> {
    fn command(self) -> Result<(Command<'a>, i64), String> {
        let what = &*self.what.0;
        self.check(fields(what)?)?;
        let id = self.id.map(|id| id.0);
        let owner = self.owner.map_or("".into(), |owner| owner.0);
        let missing = || format!("field `id` of {what} is missing");
        let marker = perhaps("a marker", self.marker.map(|marker| marker.0));
        let done = done(self.done.unwrap_or_default().into_iter().map(|id| id.0).collect());
        let command = match what {
            "submit" => submit(Submit {
                id: id.ok_or_else(missing)?,
                size: self.size.unwrap_or(0),
                sync: self.sync.unwrap_or(true),
                empty: self.empty.unwrap_or(false),
                parent: self.parent.map(|parent| parent.0),
                ends: self.ends.unwrap_or(false),
                is_final: self.is_final.unwrap_or(false),
            })?,
            "refresh" => {
                let index = self.index.unwrap_or(0);
                refresh(Refresh { id: id.ok_or_else(missing)?, key: self.key, due: self.due, owner, index })?
            }
            "cancel" => Command::Cancel { id: perhaps("a refresh's id", id)?, owner },
            "credit" => Command::Credit {
                running: change("running", self.running.unwrap_or(0))?,
                outside: change("outside", self.outside.unwrap_or(0))?,
            },
            "stop" => Command::Stop,
            "pump" => Command::Pump,
            "respond" => Command::Respond {
                token: perhaps("a token", self.token.map(|token| token.0))?,
                stamp: stamp("stamp", self.stamp)?,
                done: done?,
                marker: marker?,
            },
            "page" => Command::Page { done: done?, marker: marker? },
            _ => Command::Fail,
        };
        Ok((command, within("at", self.at, 0, LATEST)?))
    }
}

/// Read one command line.
pub fn command(line: &[u8]) -> Result<(Command<'_>, i64), String> {
    serde_json::from_slice::<Line>(line).map_err(in_line)?.command()
}

/// Set up a collector as the header line of a trace says.
pub fn header(line: &[u8], faults: Faults) -> Result<Collector, String> {
    let header = Header::<Profile, Setup>::read(line, "batching")?;
    let token = header.setup.token.map_or(TOKEN.into(), |token| token.0);
    set_up(&header.profile, &token, header.setup.hint, faults)
}

/// A collector; is what it is given within the bounds of the vocabulary?
pub fn set_up(profile: &Profile, token: &str, hint: i64, faults: Faults) -> Result<Collector, String> {
    named("a token", token)?;
    Collector::new(profile, token, within("hint", hint, -FURTHEST, FURTHEST)?, faults)
}

/// Play a whole trace: for every command a line with the list of what was seen.
pub fn run(trace: &[u8], faults: Faults) -> Result<Vec<u8>, String> {
    let mut saw = Vec::new();
    play(trace, |line| header(line, faults), |collector, line, out| step_line(collector, line, &mut saw, out))
}

/// Do the command of a line, and write what is seen; `saw` is room to work in.
pub fn step_line(collector: &mut Collector, line: &[u8], saw: &mut Vec<Seen>, out: &mut Vec<u8>) -> Result<(), String> {
    let (command, at) = command(line)?;
    saw.clear();
    collector.step(&command, at, saw);
    write(out, saw);
    Ok(())
}

/// Write observations as a JSON list.
pub fn write(out: &mut Vec<u8>, saw: &[Seen]) {
    out.push(b'[');
    for (i, seen) in saw.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b"[\"" } else { b",[\"" });
        out.extend_from_slice(seen.word().as_bytes());
        out.push(b'"');
        match seen {
            Seen::Accepted(id) => text(out, id),
            Seen::Rejected(id, why) => {
                text(out, id);
                text(out, why.word());
            }
            Seen::Settled(id, outcome) => {
                text(out, id);
                text(out, outcome.word());
            }
            Seen::Again(id, due) => {
                text(out, id);
                time(out, Some(*due));
            }
            Seen::Resumed(owner, key, ids) => {
                text(out, owner);
                time(out, key.map(Time::from));
                list(out, ids);
            }
            Seen::Fetch(marker, token) => {
                text(out, marker);
                text(out, token);
            }
            Seen::Send(updates, refreshes, token) => {
                list(out, updates);
                list(out, refreshes);
                text(out, token);
            }
            Seen::Sleep(until) => time(out, *until),
            Seen::Exit => {}
            Seen::Unexpected(command) => text(out, command),
            Seen::TimeReversed(now) => time(out, Some(Time::from(*now))),
        }
        out.push(b']');
    }
    out.push(b']');
}

fn list(out: &mut Vec<u8>, ids: &[std::sync::Arc<str>]) {
    out.extend_from_slice(b",[");
    for (i, id) in ids.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        quoted(out, id);
    }
    out.push(b']');
}

fn time(out: &mut Vec<u8>, time: Option<Time>) {
    match time.map(i64::try_from) {
        None => out.extend_from_slice(b",null"),
        Some(Ok(time)) => integer(out, b",", time),
        Some(Err(_)) => out.extend_from_slice(format!(",{}", time.unwrap_or(0)).as_bytes()),
    }
}
