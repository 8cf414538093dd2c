//! Reads a scenario from its file. Errors are one line that names what is wrong.
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Branch, Kind, Known, Name, Names, Parallel, Scenario, Service, Step, Work};
use crate::batching_words::SECOND;
use crate::tables::Set;
use crate::trace::{named, within};
use crate::words::{LATEST, MOST};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "name")]
    _name: IgnoredAny,
    work: Vec<FileWork>,
    #[serde(default)]
    service: Service,
    #[serde(default)]
    earlier: Vec<FileKnown>,
    #[serde(default)]
    result: i64,
    #[serde(default = "two_minutes")]
    horizon: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileKnown {
    op: String,
    #[serde(default)]
    end: Option<i64>,
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum FileWork {
    Step {
        name: String,
        #[serde(default)]
        body: i64,
        #[serde(default = "hundred")]
        size: i64,
        #[serde(default)]
        retries: i64,
        #[serde(default = "second")]
        delay: i64,
        #[serde(default)]
        fails: bool,
        #[serde(default)]
        at_most_once: bool,
    },
    Poll {
        name: String,
        #[serde(default)]
        in_vain: i64,
        #[serde(default = "second")]
        delay: i64,
        #[serde(default)]
        body: i64,
    },
    Wait {
        name: String,
        duration: i64,
    },
    Pause {
        name: String,
        duration: i64,
    },
    Child {
        name: String,
        work: Vec<FileWork>,
    },
    Parallel {
        name: String,
        branches: Vec<Vec<FileWork>>,
        #[serde(default)]
        at_once: Option<i64>,
        #[serde(default)]
        needed: Option<i64>,
        #[serde(default)]
        tolerated: i64,
        #[serde(default)]
        flat: bool,
    },
}

fn hundred() -> i64 {
    100
}

fn second() -> i64 {
    SECOND
}

fn two_minutes() -> i64 {
    120 * SECOND
}

impl Scenario {
    /// Read the JSON of a scenario.
    pub fn read(json: &[u8]) -> Result<Self, String> {
        let file: File = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let mut names = Names::default();
        let works = read_works(file.work, "", "the handler", &mut names)?;
        let (mut earlier, mut twice) = (Vec::with_capacity(file.earlier.len()), Set::default());
        for FileKnown { op, end } in file.earlier {
            named("an earlier operation", &op)?;
            if !twice.insert(op.clone()) {
                return Err(format!("{op:?} is known twice from earlier, expected unique names"));
            }
            let end = end.map(|end| within("end", end, -LATEST, LATEST)).transpose()?;
            earlier.push(Known { op: names.name(&op), end });
        }
        let service = file.service;
        for (what, number, least) in [
            ("out", service.out, 0),
            ("back", service.back, 0),
            ("ahead", service.ahead, -LATEST),
            ("hint", service.hint, -LATEST),
            ("grid", service.grid, 1),
            ("lag", service.lag, 0),
            ("horizon", file.horizon, 0),
        ] {
            within(what, number, least, LATEST)?;
        }
        within("result", file.result, 0, MOST)?;
        Ok(Scenario { names, works, service, earlier, result: file.result, horizon: file.horizon })
    }
}

/// `path` is what their full names begin with; `place` is what an error calls them.
fn read_works(works: Vec<FileWork>, path: &str, place: &str, names: &mut Names) -> Result<Vec<Work>, String> {
    let mut seen: Set<Name> = Set::default();
    works
        .into_iter()
        .map(|work| {
            let (FileWork::Step { name, .. }
            | FileWork::Poll { name, .. }
            | FileWork::Wait { name, .. }
            | FileWork::Pause { name, .. }
            | FileWork::Child { name, .. }
            | FileWork::Parallel { name, .. }) = &work;
            named("a work's name", name)?;
            let full = format!("{path}{name}");
            let op = names.name(&full);
            if !seen.insert(op) {
                return Err(format!("{name:?} is named twice in {place}, expected unique names"));
            }
            Ok(Work { op, kind: read_kind(work, &full, names)? })
        })
        .collect()
}

fn read_kind(work: FileWork, op: &str, names: &mut Names) -> Result<Kind, String> {
    let lasts = |what: &str, duration| within(what, duration, 0, LATEST);
    let counts = |what: &str, number| within(what, number, 0, MOST);
    let at_least_one =
        |number: Option<i64>, what: &str| number.map_or(Ok(usize::MAX), |n| within(what, n, 1, i64::MAX).map(|n| n as usize));
    Ok(match work {
        FileWork::Step { body, size, retries, delay, fails, at_most_once, .. } => Kind::Step(Step {
            body: lasts("body", body)?,
            size: counts("size", size)?,
            retries: counts("retries", retries)?,
            delay: lasts("delay", delay)?,
            fails,
            at_most_once,
        }),
        FileWork::Poll { in_vain, delay, body, .. } => Kind::Step(Step {
            body: lasts("body", body)?,
            size: hundred(),
            retries: counts("in_vain", in_vain)?,
            delay: lasts("delay", delay)?,
            fails: false,
            at_most_once: false,
        }),
        FileWork::Wait { duration, .. } => Kind::Wait(lasts("duration", duration)?),
        FileWork::Pause { duration, .. } => Kind::Pause(lasts("duration", duration)?),
        FileWork::Child { work, .. } => Kind::Child(read_works(work, &format!("{op}/"), &format!("{op:?}"), names)?),
        FileWork::Parallel { branches, at_once, needed, tolerated, flat, .. } => {
            let of = branches.len();
            let branches = branches.into_iter().enumerate().map(|(i, works)| {
                let branch = format!("{op}.{i}");
                Ok(Branch { op: names.name(&branch), works: read_works(works, &format!("{branch}/"), &format!("{op:?}"), names)? })
            });
            Kind::Parallel(Parallel {
                branches: branches.collect::<Result<_, String>>()?,
                at_once: at_least_one(at_once, "at_once")?.min(of),
                needed: at_least_one(needed, "needed")?.min(of),
                tolerated: counts("tolerated", tolerated)? as usize,
                flat,
            })
        }
    })
}
