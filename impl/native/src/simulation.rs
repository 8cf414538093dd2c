//! Scenarios, played as the specification's `simulation` does: tasks that arrive at known instants and run for known times.
//!
//! *The instant*: completions in order of lease, then all arrivals as one enqueue in the order of the scenario, then one pump.
//! Times are nanoseconds. Errors are one line that names what is wrong.
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::admission::Admission;
use crate::faults::Faults;
use crate::tables::{Map, Set};
use crate::trace::{named, spec, task, within};
use crate::words::{About, Claim, Command, GroupIn, LATEST, Profile, Seen, TaskIn, Text};

/// What came of a scenario. A task is named by its place among the scenario's arrivals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// When, which lease, which task; in order.
    pub starts: Vec<(i64, u64, usize)>,
    /// When, which lease; in order.
    pub ends: Vec<(i64, u64)>,
    /// The tasks that have not started, and why each was refused; "" if it still waits.
    pub unserved: Vec<(usize, &'static str)>,
}

/// A dictionary of units, in order; of a name that comes twice, the last number.
struct Units<'a>(Vec<(Text<'a>, i64)>);

impl<'de: 'a, 'a> Deserialize<'de> for Units<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Units<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("units of resources")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut units: Vec<(Text<'de>, i64)> = Vec::new();
                while let Some((Word(name), amount)) = map.next_entry::<Word, i64>()? {
                    match units.iter_mut().find(|known| known.0 == name) {
                        Some(known) => known.1 = amount,
                        None => units.push((name, amount)),
                    }
                }
                Ok(Units(units))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// A text that is borrowed from the file wherever it holds no escapes.
#[derive(Deserialize)]
struct Word<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File<'a> {
    #[serde(rename = "name")]
    _name: IgnoredAny,
    #[serde(borrow)]
    capacity: Units<'a>,
    #[serde(borrow, default)]
    groups: Vec<FileGroup<'a>>,
    #[serde(borrow)]
    arrivals: Vec<FileArrival<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileGroup<'a> {
    #[serde(borrow)]
    name: Word<'a>,
    weight: Option<f64>,
    share_limit: Option<i64>,
    running_limit: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileArrival<'a> {
    at: i64,
    #[serde(borrow)]
    task: FileTask<'a>,
    service: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTask<'a> {
    #[serde(borrow)]
    id: Word<'a>,
    #[serde(borrow)]
    group: Word<'a>,
    /// The same few texts again and again, so each is read once.
    #[serde(borrow)]
    needs: &'a RawValue,
}

/// A scenario as it is in a file.
pub struct Scenario<'a> {
    capacity: Vec<(String, i64)>,
    groups: Vec<GroupIn<'a>>,
    arrivals: Vec<Arrival<'a>>,
}

struct Arrival<'a> {
    at: i64,
    task: TaskIn<'a>,
    service: i64,
}

impl<'a> Scenario<'a> {
    /// Read the JSON of a scenario.
    pub fn read(json: &'a [u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(json).map_err(|error| error.to_string())?;
        let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let capacity = file.capacity.0.into_iter().map(|(name, units)| (name.into_owned(), units)).collect();
        let groups = file.groups.into_iter().map(FileGroup::group).collect::<Result<Vec<_>, _>>()?;
        let mut known: Map<&str, Vec<(Text, i64)>> = Map::default();
        let mut arrivals = Vec::with_capacity(file.arrivals.len());
        for arrival in file.arrivals {
            let FileTask { id, group, needs } = arrival.task;
            let needs = match known.get(needs.get()) {
                Some(needs) => needs.clone(),
                None => {
                    let Units(read) = serde_json::from_str(needs.get()).map_err(|error| format!("needs of {}: {error}", id.0))?;
                    known.entry(needs.get()).or_insert(read).clone()
                }
            };
            let (at, service) = (within("at", arrival.at, 0, LATEST)?, within("service", arrival.service, 0, LATEST)?);
            arrivals.push(Arrival { at, task: task(id.0, group.0, needs)?, service });
        }
        Ok(Scenario { capacity, groups, arrivals })
    }
}

impl<'a> FileGroup<'a> {
    fn group(self) -> Result<GroupIn<'a>, String> {
        named("a group", &self.name.0)?;
        Ok(GroupIn { name: self.name.0, spec: spec(self.weight.unwrap_or(1.0), self.share_limit, self.running_limit)? })
    }
}

/// Play a scenario to its end.
pub fn run(profile: &Profile, scenario: Scenario, faults: Faults) -> Result<Log, String> {
    let Scenario { capacity, groups, arrivals } = scenario;
    let mut ids: Set<&str> = Set::with_capacity_and_hasher(arrivals.len(), Default::default());
    if let Some(twice) = arrivals.iter().find(|arrival| !ids.insert(&arrival.task.id)) {
        return Err(format!("{:?} is named twice, expected unique names", twice.task.id));
    }
    drop(ids);
    let number = arrivals.len();
    let mut order: Vec<usize> = (0..number).collect();
    order.sort_by_key(|&i| arrivals[i].at);
    let service: Vec<i64> = arrivals.iter().map(|arrival| arrival.service).collect();
    let at: Vec<i64> = arrivals.iter().map(|arrival| arrival.at).collect();
    let mut tasks: Vec<Option<TaskIn>> = arrivals.into_iter().map(|arrival| Some(arrival.task)).collect();
    let mut play = Play {
        admission: Admission::new(profile, &capacity, faults)?,
        groups: groups.into_iter().map(|group| (group.name.clone(), group)).collect(),
        at_most: number as i64,
        running: BinaryHeap::new(),
        why: vec![Some(""); number],
        log: Log { starts: Vec::with_capacity(number), ends: Vec::with_capacity(number), unserved: Vec::new() },
        saw: Vec::new(),
    };
    let (mut coming, mut arriving) = (&order[..], Vec::new());
    loop {
        let next = coming.first().map(|&i| at[i]);
        let Some(now) = play.running.peek().map(|&Reverse((end, _))| end).into_iter().chain(next).min() else { break };
        play.end(now)?;
        if next == Some(now) {
            let (places, later) = coming.split_at(coming.iter().take_while(|&&i| at[i] == now).count());
            coming = later;
            // To the scheduler an id is only a name: its number saves looking the task up when it starts.
            arriving.extend(places.iter().filter_map(|&i| Some(TaskIn { id: Cow::Owned(i.to_string()), ..tasks[i].take()? })));
            arriving = play.arrive(now, places, arriving);
        }
        play.pump(now, &service)?;
    }
    play.log.unserved = play.why.into_iter().enumerate().filter_map(|(i, why)| Some((i, why?))).collect();
    Ok(play.log)
}

struct Play<'a> {
    admission: Admission,
    /// Those not yet known to the scheduler.
    groups: Map<Text<'a>, GroupIn<'a>>,
    at_most: i64,
    /// (end, lease)
    running: BinaryHeap<Reverse<(i64, u64)>>,
    /// Of each task: why it has not started.
    why: Vec<Option<&'static str>>,
    log: Log,
    saw: Vec<Seen>,
}

impl<'a> Play<'a> {
    fn step(&mut self, command: &Command, now: i64) {
        self.saw.clear();
        self.admission.step(command, now, &mut self.saw);
    }

    fn end(&mut self, now: i64) -> Result<(), String> {
        while let Some(&Reverse((end, lease))) = self.running.peek()
            && end == now
        {
            self.running.pop();
            self.step(&Command::Release { lease: lease as i64, claim: Claim::default() }, now);
            if self.saw[0].0 != "released" {
                return Err(format!("at {now}: the release of lease {lease} was answered by {:?}", self.saw));
            }
            self.log.ends.push((now, lease));
        }
        Ok(())
    }

    /// A group's specification never changes, so it is sent until a task of the group was accepted. Gives the list back, empty.
    fn arrive(&mut self, now: i64, places: &[usize], tasks: Vec<TaskIn<'a>>) -> Vec<TaskIn<'a>> {
        let mut groups: Map<&str, &GroupIn> = Map::default();
        if !self.groups.is_empty() {
            groups.extend(tasks.iter().filter_map(|task| Some((&*task.group, self.groups.get(&task.group)?))));
        }
        let groups = groups.into_values().cloned().collect();
        let command = Command::Enqueue { tasks, groups };
        self.step(&command, now);
        let Command::Enqueue { mut tasks, .. } = command else { return Vec::new() };
        for ((&i, task), Seen(word, about)) in places.iter().zip(&tasks).zip(&self.saw) {
            match about {
                About::Reason(_, refusal) => self.why[i] = Some(refusal.word()),
                _ if *word != "accepted" => self.why[i] = Some(word),
                _ if self.groups.is_empty() => {}
                _ => drop(self.groups.remove(&task.group)),
            }
        }
        tasks.clear();
        tasks
    }

    fn pump(&mut self, now: i64, service: &[i64]) -> Result<(), String> {
        self.step(&Command::Pump { at_most: self.at_most }, now);
        for Seen(_, about) in &self.saw {
            if let About::Start(lease, task, _) = about {
                let waits = task.parse().ok().filter(|&i: &usize| self.why[i].take() == Some(""));
                let i = waits.ok_or_else(|| format!("at {now}: task {task} was started; it does not wait"))?;
                let end = now.checked_add(service[i]).filter(|&end| end <= LATEST);
                let end = end.ok_or_else(|| format!("task {task} started at {now} and would end after {LATEST}"))?;
                self.log.starts.push((now, *lease, i));
                self.running.push(Reverse((end, *lease)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(profile: &str, scenario: &str) -> Result<Log, String> {
        run(&Profile::named(profile).ok_or("no such profile")?, Scenario::read(scenario.as_bytes())?, Default::default())
    }

    fn two(arrivals: &str) -> String {
        format!(
            r#"{{"name":"two","capacity":{{"llm":2}},"groups":[{{"name":"g","weight":2.0,"running_limit":1}}],"arrivals":[{arrivals}]}}"#
        )
    }

    fn arrival(at: i64, id: &str, group: &str, units: i64, service: i64) -> String {
        format!(r#"{{"at":{at},"task":{{"id":"{id}","group":"{group}","needs":{{"llm":{units}}}}},"service":{service}}}"#)
    }

    #[test]
    fn completions_then_arrivals_then_starts() {
        let arrivals = [arrival(5, "late", "h", 1, 0), arrival(0, "a", "g", 1, 5), arrival(0, "b", "g", 1, 5), arrival(0, "c", "h", 2, 5)];
        let log = play("slotwise", &two(&arrivals.join(","))).unwrap();
        assert_eq!(log.starts, [(0, 1, 1), (5, 2, 3), (10, 3, 2), (10, 4, 0)]);
        assert_eq!(log.ends, [(5, 1), (10, 2), (10, 4), (15, 3)]);
        assert_eq!(log.unserved, []);
    }

    #[test]
    fn what_never_starts_is_told() {
        let log = play("slotwise", &two(&[arrival(0, "a", "g", 1, 5), arrival(0, "wide", "g", 3, 5)].join(","))).unwrap();
        assert_eq!(log.unserved, [(1, "never_fits")]);
        let log = play("data-designer-0.9", &two(&arrival(0, "wide", "g", 3, 5))).unwrap();
        assert_eq!((log.starts.len(), log.unserved), (0, vec![(0, "")]));
    }

    #[test]
    fn errors_name_what_is_wrong() {
        for (scenario, word) in [
            (two(&[arrival(0, "a", "g", 1, 5), arrival(1, "a", "g", 1, 5)].join(",")), "named twice"),
            (two(&arrival(-1, "a", "g", 1, 5)), "at must be"),
            (two(&arrival(LATEST, "a", "g", 1, 1)), "would end after"),
            (two(&arrival(0, "a", "g", 0, 1)), "must need 1 to"),
            (two(&arrival(0, "a", "g", 1, 1)).replace("service", "servant"), "servant"),
            (two(&arrival(0, "a", "g", 1, 1)).replace(r#"{"llm":2}"#, r#"{"llm":0}"#), "capacity of llm"),
        ] {
            let error = play("slotwise", &scenario).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
