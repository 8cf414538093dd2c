//! The trace file: reads its header and commands, writes what is seen in the same notation.
//!
//! Errors are one line that names the line of the file and what is wrong with it.
use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Error as _, MapAccess, Visitor};

use crate::admission::Admission;
use crate::faults::Faults;
use crate::ledger::Ledger;
use crate::line::{Header, define_line};
use crate::words::{About, Claim, Command, GroupIn, HEAVIEST, LATEST, LONGEST_NAME, MOST, Profile, Seen, Spec, TaskIn, Text, WEIGHT_UNIT};

pub const FORMAT: i64 = 1;

/// A text that is borrowed from the line wherever it holds no escapes.
#[derive(Deserialize)]
pub struct Word<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// A dictionary of units, in order.
struct Units<'a>(Vec<(Cow<'a, str>, i64)>);

impl<'de: 'a, 'a> Deserialize<'de> for Units<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Units<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("units of resources")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut units: Vec<(Cow<'de, str>, i64)> = Vec::with_capacity(2);
                while let Some((Word(name), amount)) = map.next_entry::<Word, i64>()? {
                    match units.iter_mut().find(|known| known.0 == name) {
                        Some(known) => known.1 = amount,
                        None => units.push((name, amount)),
                    }
                }
                if units.is_empty() {
                    return Err(A::Error::custom("expected units of at least one resource"));
                }
                Ok(Units(units))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Setup<'a> {
    #[serde(borrow)]
    capacity: Units<'a>,
}

define_line! {
    tasks "tasks": Vec<LineTask<'a>>,
    groups "groups": Vec<LineGroup<'a>>,
    task "task": Word<'a>,
    group "group": Word<'a>,
    prefix "prefix": Word<'a>,
    at_most "at_most": i64,
    version "version": i64,
    lease "lease": i64,
    claim "claim": LineClaim<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineTask<'a> {
    #[serde(borrow)]
    id: Word<'a>,
    #[serde(borrow)]
    group: Word<'a>,
    #[serde(borrow)]
    needs: Units<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineGroup<'a> {
    #[serde(borrow)]
    name: Word<'a>,
    #[serde(default = "one")]
    weight: f64,
    #[serde(default)]
    share_limit: Option<i64>,
    #[serde(default)]
    running_limit: Option<i64>,
}

fn one() -> f64 {
    1.0
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineClaim<'a> {
    #[serde(borrow, default)]
    task: Option<Word<'a>>,
    #[serde(borrow, default)]
    needs: Option<Units<'a>>,
    #[serde(default)]
    generation: i64,
}

/// A number of the vocabulary, within its bounds.
pub fn within(what: &str, number: i64, least: i64, most: i64) -> Result<i64, String> {
    if (least..=most).contains(&number) { Ok(number) } else { Err(format!("{what} must be {least} to {most}, found {number}")) }
}

/// A name of the vocabulary.
pub fn named(what: &str, name: &str) -> Result<(), String> {
    if name.is_empty() || (name.len() > LONGEST_NAME && name.chars().count() > LONGEST_NAME) {
        return Err(format!("{what} must have 1 to {LONGEST_NAME} characters"));
    }
    Ok(())
}

/// A task of the vocabulary.
pub fn task<'a>(id: Text<'a>, group: Text<'a>, needs: Vec<(Text<'a>, i64)>) -> Result<TaskIn<'a>, String> {
    named("a task's id", &id)?;
    named("a task's group", &group)?;
    units(&id, &needs)?;
    Ok(TaskIn { id, group, needs })
}

/// Units of the vocabulary: at least one resource, at least one unit of each.
pub fn units(whose: &str, needs: &[(Text<'_>, i64)]) -> Result<(), String> {
    if needs.is_empty() {
        return Err(format!("{whose} must need at least one resource"));
    }
    for (resource, amount) in needs {
        named("a resource", resource)?;
        if !(1..=MOST).contains(amount) {
            return Err(format!("{whose} must need 1 to {MOST} of {resource}, found {amount}"));
        }
    }
    Ok(())
}

/// A specification of the vocabulary.
pub fn spec(weight: f64, share_limit: Option<i64>, running_limit: Option<i64>) -> Result<Spec, String> {
    let parts = weight * WEIGHT_UNIT as f64;
    if !(0.0..=HEAVIEST).contains(&weight) || parts.fract() != 0.0 {
        return Err(format!("a weight must be a multiple of 1/{WEIGHT_UNIT} from 0 to {HEAVIEST}, found {weight}"));
    }
    let limit = |what, limit: Option<i64>| limit.map(|most| within(what, most, 0, MOST).map(|most| most as u32)).transpose();
    Ok(Spec {
        weight: parts as u32,
        share_limit: limit("share_limit", share_limit)?,
        running_limit: limit("running_limit", running_limit)?,
    })
}

/// The fields that a command may have.
fn fields(what: &str) -> Result<&'static [&'static str], String> {
    Ok(match what {
        "enqueue" => &["tasks", "groups"],
        "discard" => &["task"],
        "discard_where" => &["group", "prefix"],
        "pump" => &["at_most"],
        "select" | "explain" => &[],
        "commit" => &["task", "version"],
        "release" => &["lease", "claim"],
        _ => return Err(format!("field `do`: no command {what:?} is known")),
    })
}

impl<'a> Line<'a> {
    fn command(self) -> Result<(Command<'a>, i64), String> {
        let what = &*self.what.0;
        self.check(fields(what)?)?;
        let text = self.task.map(|task| task.0);
        let need = |field: &str| format!("field `{field}` of {what} is missing");
        let command = match what {
            "enqueue" => {
                let tasks = self.tasks.ok_or_else(|| need("tasks"))?;
                let groups = self.groups.unwrap_or_default();
                Command::Enqueue {
                    tasks: tasks.into_iter().map(|sent| task(sent.id.0, sent.group.0, sent.needs.0)).collect::<Result<_, _>>()?,
                    groups: groups.into_iter().map(LineGroup::group).collect::<Result<_, _>>()?,
                }
            }
            "discard" => Command::Discard { task: text.ok_or_else(|| need("task"))? },
            "discard_where" => {
                let prefix = self.prefix.map_or(Cow::Borrowed(""), |prefix| prefix.0);
                Command::DiscardWhere { group: self.group.map(|group| group.0), prefix }
            }
            "pump" => Command::Pump { at_most: within("at_most", self.at_most.ok_or_else(|| need("at_most"))?, 0, MOST)? },
            "select" => Command::Select,
            "commit" => Command::Commit {
                task: text.ok_or_else(|| need("task"))?,
                version: within("version", self.version.ok_or_else(|| need("version"))?, 0, MOST)?,
            },
            "release" => Command::Release {
                lease: within("lease", self.lease.ok_or_else(|| need("lease"))?, 0, MOST)?,
                claim: self.claim.map_or_else(|| Ok(Claim::default()), LineClaim::claim)?,
            },
            _ => Command::Explain,
        };
        Ok((command, within("at", self.at, 0, LATEST)?))
    }
}

impl<'a> LineGroup<'a> {
    fn group(self) -> Result<GroupIn<'a>, String> {
        named("a group", &self.name.0)?;
        Ok(GroupIn { name: self.name.0, spec: spec(self.weight, self.share_limit, self.running_limit)? })
    }
}

impl<'a> LineClaim<'a> {
    fn claim(self) -> Result<Claim<'a>, String> {
        let needs = self.needs.map(|needs| needs.0);
        if let Some(needs) = &needs {
            units("a claim", needs)?;
        }
        Ok(Claim { task: self.task.map(|task| task.0), needs, generation: within("generation", self.generation, 0, MOST)? })
    }
}

/// The reader counts lines within what it is given, which is always one.
pub fn in_line(error: serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", ", column ")
}

/// Read one command line.
pub fn command(line: &[u8]) -> Result<(Command<'_>, i64), String> {
    serde_json::from_slice::<Line>(line).map_err(in_line)?.command()
}

/// Set up a scheduler as the header line of a trace says.
pub fn header(line: &[u8], faults: Faults) -> Result<Admission, String> {
    let header = Header::<Profile, Setup>::read(line, "admission")?;
    let capacity: Vec<(String, i64)> = header.setup.capacity.0.into_iter().map(|(name, units)| (name.into_owned(), units)).collect();
    Admission::new(&header.profile, &capacity, faults)
}

/// Play a whole trace: for every command a line with the list of what was seen.
pub fn run(trace: &[u8], faults: Faults) -> Result<Vec<u8>, String> {
    let mut saw = Vec::new();
    play(trace, |line| header(line, faults), |admission, line, out| step_line(admission, line, &mut saw, out))
}

/// Play the lines of a trace: what the first sets up takes the others, and a line is written for each.
pub fn play<T>(
    trace: &[u8],
    set_up: impl FnOnce(&[u8]) -> Result<T, String>,
    mut step: impl FnMut(&mut T, &[u8], &mut Vec<u8>) -> Result<(), String>,
) -> Result<Vec<u8>, String> {
    let body = trace.strip_suffix(b"\n").ok_or("the trace is empty, or ends within a line")?;
    let mut lines = body.split(|&byte| byte == b'\n').enumerate();
    let at_line = |i: usize| move |error: String| format!("line {}: {error}", i + 1);
    let mut it = lines.next().map_or(Err("the trace is empty".into()), |(i, line)| set_up(line).map_err(at_line(i)))?;
    let mut out = Vec::with_capacity(trace.len() / 2);
    for (i, line) in lines {
        step(&mut it, line, &mut out).map_err(at_line(i))?;
        out.push(b'\n');
    }
    Ok(out)
}

/// Do the command of a line, and write what is seen; `saw` is room to work in.
pub fn step_line(admission: &mut Admission, line: &[u8], saw: &mut Vec<Seen>, out: &mut Vec<u8>) -> Result<(), String> {
    let (command, at) = command(line)?;
    saw.clear();
    admission.step(&command, at, saw);
    write(out, saw, &admission.ledger);
    Ok(())
}

/// Write observations as a JSON list.
pub fn write(out: &mut Vec<u8>, saw: &[Seen], ledger: &Ledger) {
    out.push(b'[');
    for (i, Seen(word, about)) in saw.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b"[\"" } else { b",[\"" });
        out.extend_from_slice(word.as_bytes());
        out.push(b'"');
        match about {
            About::Nothing => {}
            About::Number(number) => integer(out, b",", *number),
            About::Task(task) => text(out, task),
            About::Reason(task, refusal) => {
                text(out, task);
                out.extend_from_slice(b",\"");
                out.extend_from_slice(refusal.word().as_bytes());
                out.push(b'"');
            }
            About::Version(task, version) => {
                text(out, task);
                integer(out, b",", *version as i64);
            }
            About::Start(lease, task, needs) => {
                integer(out, b",", *lease as i64);
                text(out, task);
                for (k, &(r, units)) in needs.iter().enumerate() {
                    out.extend_from_slice(if k == 0 { b",{" } else { b"," });
                    quoted(out, ledger.name(r));
                    integer(out, b":", units);
                }
                out.push(b'}');
            }
        }
        out.push(b']');
    }
    out.push(b']');
}

pub fn text(out: &mut Vec<u8>, text: &str) {
    out.push(b',');
    quoted(out, text);
}

pub fn quoted(out: &mut Vec<u8>, text: &str) {
    if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(serde_json::to_string(text).unwrap_or_default().as_bytes());
    }
}

pub fn integer(out: &mut Vec<u8>, before: &[u8], number: i64) {
    out.extend_from_slice(before);
    let (mut digits, mut i, mut rest) = ([0u8; 20], 20, number.unsigned_abs());
    loop {
        i -= 1;
        digits[i] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[i..]);
}
