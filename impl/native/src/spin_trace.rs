//! The trace file of mechanism `spin`: reads its header and commands, writes what is seen in the same notation.
use crate::batching_words::SECOND;
use crate::faults::Faults;
use crate::line::{Header, define_line};
use crate::spin::Counter;
use crate::spin_model::{About, Model, Seen};
use crate::spin_words::{Command, Profile, SOME, Script, Setup, Wait};
use crate::trace::{Word, in_line, integer, named, play, text, within};
use crate::words::{LATEST, Text};

define_line! {
    actor "actor": Word<'a>,
    total "total": i64,
    times "times": i64,
    panics "panics": bool,
    window "window": i64,
    pause "pause": i64,
    clock "clock": i64,
    yields "yields": i64,
    first_yield "first_yield": i64,
    publish "publish": i64,
    shutdown "shutdown": i64,
    readings "readings": Vec<i64>,
    gap "gap": i64,
    ran "ran": bool,
}

fn perhaps(what: &str, number: Option<i64>, least: i64, most: i64) -> Result<(), String> {
    number.map_or(Ok(()), |number| within(what, number, least, most).map(drop))
}

pub fn actor(name: Text) -> Result<Text, String> {
    named("an actor", &name).map(|()| name)
}

pub fn wait(command: Wait) -> Result<Command<'static>, String> {
    within("window", command.window, 0, SECOND)?;
    within("pause", command.pause, 1, SECOND)?;
    within("clock", command.clock, 1, SECOND)?;
    within("yields", command.yields, 1, SECOND)?;
    perhaps("first_yield", command.first_yield, 1, SECOND)?;
    perhaps("publish", command.publish, 0, LATEST)?;
    perhaps("shutdown", command.shutdown, 0, LATEST)?;
    Ok(Command::Wait(command))
}

pub fn script(command: Script) -> Result<Command<'static>, String> {
    within("window", command.window, 0, SECOND)?;
    command.readings.iter().try_for_each(|&reading| within("a reading", reading, 0, LATEST).map(drop))?;
    perhaps("publish", command.publish, 1, SOME)?;
    perhaps("shutdown", command.shutdown, 1, SOME)?;
    Ok(Command::Script(command))
}

/// The fields that a command may have.
fn fields(what: &str) -> Result<&'static [&'static str], String> {
    Ok(match what {
        "dispatch" => &["actor", "total"],
        "go" => &["actor", "times"],
        "end" => &["actor", "panics"],
        "stir" => &["actor"],
        "shutdown" | "counters" => &[],
        "wait" => &["window", "pause", "clock", "yields", "first_yield", "publish", "shutdown"],
        "script" => &["window", "readings", "publish", "shutdown"],
        "gap" => &["gap", "ran"],
        _ => return Err(format!("field `do`: no command {what:?} is known")),
    })
}

impl<'a> Line<'a> {
    fn command(self) -> Result<(Command<'a>, i64), String> {
        let what = &*self.what.0;
        self.check(fields(what)?)?;
        let missing = |field: &str| format!("field `{field}` of {what} is missing");
        let who = || actor(self.actor.ok_or_else(|| missing("actor"))?.0);
        let window = self.window.ok_or_else(|| missing("window"));
        let (publish, shutdown) = (self.publish, self.shutdown);
        let command = match what {
            "dispatch" => {
                Command::Dispatch { actor: who()?, total: within("total", self.total.ok_or_else(|| missing("total"))?, 0, SOME)? }
            }
            "go" => Command::Go { actor: who()?, times: within("times", self.times.unwrap_or(1), 1, SOME)? },
            "end" => Command::End { actor: who()?, panics: self.panics.unwrap_or(false) },
            "stir" => Command::Stir { actor: who()? },
            "shutdown" => Command::Shutdown,
            "counters" => Command::Counters,
            "wait" => {
                let costs = Wait::costing(window?, self.pause, self.clock, self.yields);
                wait(Wait { first_yield: self.first_yield, publish, shutdown, ..costs })?
            }
            "script" => script(Script { window: window?, readings: self.readings.unwrap_or_default(), publish, shutdown })?,
            _ => {
                let gap = within("gap", self.gap.ok_or_else(|| missing("gap"))?, 0, LATEST)?;
                Command::Gap { gap, ran: self.ran.unwrap_or(true) }
            }
        };
        Ok((command, within("at", self.at, 0, LATEST)?))
    }
}

/// Read one command line.
pub fn command(line: &[u8]) -> Result<(Command<'_>, i64), String> {
    serde_json::from_slice::<Line>(line).map_err(in_line)?.command()
}

/// Set up a pool as the header line of a trace says.
pub fn header(line: &[u8], faults: Faults) -> Result<Model, String> {
    let header = Header::<Profile, Setup>::read(line, "spin")?;
    Model::new(&header.profile, &header.setup, faults)
}

/// Play a whole trace: for every command a line with the list of what was seen.
pub fn run(trace: &[u8], faults: Faults) -> Result<Vec<u8>, String> {
    let mut saw = Vec::new();
    play(trace, |line| header(line, faults), |model, line, out| step_line(model, line, &mut saw, out))
}

/// Do the command of a line, and write what is seen; `saw` is room to work in.
pub fn step_line(model: &mut Model, line: &[u8], saw: &mut Vec<Seen>, out: &mut Vec<u8>) -> Result<(), String> {
    let (command, at) = command(line)?;
    saw.clear();
    model.step(&command, at, saw);
    write(out, saw);
    Ok(())
}

/// Write observations as a JSON list.
pub fn write(out: &mut Vec<u8>, saw: &[Seen]) {
    out.push(b'[');
    for (i, Seen(word, about)) in saw.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b"[\"" } else { b",[\"" });
        out.extend_from_slice(word.as_bytes());
        out.push(b'"');
        match about {
            About::One(a) => numbers(out, &[*a]),
            About::Two(a, b) => numbers(out, &[*a, *b]),
            About::Actor(actor) => text(out, actor),
            About::Number(actor, a) => {
                text(out, actor);
                numbers(out, &[*a]);
            }
            About::Pair(actor, a, b) => {
                text(out, actor);
                numbers(out, &[*a, *b]);
            }
            About::Triple(actor, a, b, c) => {
                text(out, actor);
                numbers(out, &[*a, *b, *c]);
            }
            About::Word(actor, word) => {
                text(out, actor);
                text(out, word);
            }
            About::Wrote(actor, slot, word) => {
                text(out, actor);
                numbers(out, &[*slot]);
                text(out, word);
            }
            About::Wakes(actor, number, workers) => {
                text(out, actor);
                numbers(out, &[*number]);
                text(out, workers);
            }
            About::Waited(used, outcome, next) => {
                numbers(out, &[*used]);
                text(out, outcome);
                numbers(out, &[*next]);
            }
            About::Outcome((outcome, n, y, reads, time)) => {
                text(out, outcome.word());
                numbers(out, &[i64::from(*n), *y as i64, *reads as i64, *time as i64]);
            }
            About::Counters(counts) => {
                for (counter, count) in Counter::ALL.into_iter().zip(counts) {
                    text(out, counter.word());
                    numbers(out, &[*count as i64]);
                }
            }
        }
        out.push(b']');
    }
    out.push(b']');
}

fn numbers(out: &mut Vec<u8>, numbers: &[i64]) {
    numbers.iter().for_each(|&number| integer(out, b",", number));
}
