//! Scenarios, played as the specification's `simulation` does: tasks that arrive at known instants and run for known times.
//!
//! *The instant*: completions in order of lease, then all arrivals as one enqueue in the order of the scenario, then one pump.
//! Times are nanoseconds. Errors are one line that names what is wrong.
mod file;
mod glance;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::admission::Admission;
use crate::fair_queue::GroupId;
use crate::faults::Faults;
use crate::ledger::ShapeId;
use crate::tables::{Map, Set};
use crate::words::{Claim, Command, GroupIn, LATEST, Profile, Seen, Spec, Text};

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

/// A scenario as it is in a file.
#[derive(Default)]
pub struct Scenario<'a> {
    capacity: Vec<(String, i64)>,
    groups: Vec<GroupIn<'a>>,
    kinds: Vec<Kind<'a>>,
    arrivals: Vec<Arrival>,
    /// Of the arrivals.
    ids: Vec<Text<'a>>,
}

/// What several tasks have in common: their group and what they ask.
struct Kind<'a> {
    group: Text<'a>,
    needs: Vec<(Text<'a>, i64)>,
}

struct Arrival {
    at: i64,
    service: i64,
    /// Its place among the kinds.
    kind: u32,
}

/// Play a scenario to its end.
pub fn run(profile: &Profile, scenario: Scenario, faults: Faults) -> Result<Log, String> {
    let Scenario { capacity, groups, kinds, arrivals, ids } = scenario;
    let number = arrivals.len();
    let mut unique: Set<&str> = Set::with_capacity_and_hasher(number, Default::default());
    if let Some(twice) = ids.iter().find(|id| !unique.insert(id)) {
        return Err(format!("{twice:?} is named twice, expected unique names"));
    }
    drop(unique);
    let mut order: Vec<u32> = (0..number as u32).collect();
    if !arrivals.is_sorted_by_key(|arrival| arrival.at) {
        order.sort_by_key(|&i| arrivals[i as usize].at);
    }
    let mut play = Play {
        admission: Admission::new(profile, &capacity, faults)?,
        specs: groups.iter().map(|group| (&*group.name, group.spec)).collect(),
        known: kinds.iter().map(|_| None).collect(),
        kinds: &kinds,
        arrivals: &arrivals,
        task_of: Vec::new(),
        nameless: "".into(),
        running: BinaryHeap::new(),
        why: vec![Some(""); number],
        log: Log { starts: Vec::with_capacity(number), ends: Vec::with_capacity(number), unserved: Vec::new() },
        saw: Vec::new(),
    };
    let mut coming = &order[..];
    loop {
        let next = coming.first().map(|&i| arrivals[i as usize].at);
        let Some(now) = play.running.peek().map(|&Reverse((end, _))| end).into_iter().chain(next).min() else { break };
        play.end(now)?;
        if next == Some(now) {
            let (places, later) = coming.split_at(coming.iter().take_while(|&&i| arrivals[i as usize].at == now).count());
            coming = later;
            play.arrive(places);
        }
        play.pump(now)?;
    }
    play.log.unserved = play.why.into_iter().enumerate().filter_map(|(i, why)| Some((i, why?))).collect();
    Ok(play.log)
}

/// A kind as the scheduler knows it, or why it refuses all of that kind.
type Known = Result<(GroupId, ShapeId, Spec), &'static str>;

struct Play<'a> {
    admission: Admission,
    specs: Map<&'a str, Spec>,
    kinds: &'a [Kind<'a>],
    /// By kind; nothing, until the first of it arrives.
    known: Vec<Option<Known>>,
    arrivals: &'a [Arrival],
    /// To the scheduler an id is only a name: the number that it gives to each tells which task it is.
    task_of: Vec<u32>,
    nameless: Arc<str>,
    /// (end, lease)
    running: BinaryHeap<Reverse<(i64, u64)>>,
    /// Of each task: why it has not started.
    why: Vec<Option<&'static str>>,
    log: Log,
    saw: Vec<Seen>,
}

impl Play<'_> {
    /// The scheduler's clock goes on to this instant, and what ends then has ended.
    fn end(&mut self, now: i64) -> Result<(), String> {
        self.admission.now = now;
        while let Some(&Reverse((end, lease))) = self.running.peek()
            && end == now
        {
            self.running.pop();
            self.saw.clear();
            self.admission.step(&Command::Release { lease: lease as i64, claim: Claim::default() }, now, &mut self.saw);
            if self.saw[0].0 != "released" {
                return Err(format!("at {now}: the release of lease {lease} was answered by {:?}", self.saw));
            }
            self.log.ends.push((now, lease));
        }
        Ok(())
    }

    /// These tasks arrive at once.
    fn arrive(&mut self, places: &[u32]) {
        self.admission.queue.reserve(places.len());
        for &i in places {
            let kind = self.arrivals[i as usize].kind as usize;
            let known = match self.known[kind] {
                Some(known) => known,
                None => *self.known[kind].insert(meet(&mut self.admission, &self.kinds[kind], &self.specs)),
            };
            match known {
                Err(word) => self.why[i as usize] = Some(word),
                Ok((g, shape, spec)) => {
                    let n = self.admission.accept_nameless(g, shape, spec, &self.nameless) as usize;
                    if self.task_of.len() <= n {
                        self.task_of.resize(n + 1, u32::MAX);
                    }
                    self.task_of[n] = i;
                }
            }
        }
    }

    fn pump(&mut self, now: i64) -> Result<(), String> {
        while let Some((lease, n, _)) = self.admission.start_next() {
            let i = self.task_of[n as usize] as usize;
            if self.why[i].take() != Some("") {
                return Err(format!("at {now}: task {i} was started; it does not wait"));
            }
            let end = now.checked_add(self.arrivals[i].service).filter(|&end| end <= LATEST);
            let end = end.ok_or_else(|| format!("task {i} started at {now} and would end after {LATEST}"))?;
            self.log.starts.push((now, lease, i));
            self.running.push(Reverse((end, lease)));
        }
        Ok(())
    }
}

/// The first task of a kind arrives. A group's specification never changes, so all that follow are answered alike.
fn meet(admission: &mut Admission, kind: &Kind, specs: &Map<&str, Spec>) -> Known {
    let spec = specs.get(&*kind.group).copied().unwrap_or_default();
    match admission.impossible(&kind.needs, spec) {
        Some(refusal) => Err(refusal.word()),
        None => Ok((admission.group(&kind.group), admission.shape(&kind.needs, &mut Vec::new()), spec)),
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

    /// However the file is written, and whatever is in its names: what is read at a glance and what is not come to the same.
    #[test]
    fn blanks_do_not_count() {
        let names = [
            ("a", "g", "llm"),
            ("ä\u{1F600}", "h", "llm"),
            ("a", "}", "llm"),
            (r#"\""#, "g", "llm"),
            ("a", "g", "l}m"),
            ("a", "g", r"\\"),
            ("a", "g", "l,m{"),
        ];
        for (id, group, resource) in names {
            let arrivals = [arrival(5, id, group, 1, 7), arrival(0, "b", "g", 1, 5), arrival(0, "c", "h", 2, 5)];
            let file = two(&arrivals.join(",")).replace("llm", resource);
            let glance = play("slotwise", &file).unwrap();
            assert_eq!((glance.starts.len(), &glance), (3, &play("slotwise", &file.replace(r#"{"at":"#, r#"{ "at":"#)).unwrap()), "{file}");
            assert_eq!(glance, play("slotwise", &file.replace(r#""name":"two""#, r#""name":{"arrivals":[]}"#)).unwrap());
        }
        assert_eq!(play("slotwise", &two("")).unwrap(), Log::default());
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
            (two(&(arrival(0, "a", "g", 1, 1) + ",")), "trailing comma"),
            (two(&arrival(0, "a", "g", 1, 1)).replace(r#""at":0"#, r#""at":00"#), "invalid number"),
            (two(&arrival(0, "a", "g", 1, 1)).replace(r#"{"llm":1}"#, r#"{"llm":{}"#), "expected"),
            (two(&arrival(0, "a", "g", 1, 1)).replace("\"a\"", "\"a\u{1}\""), "control character"),
            (two(&arrival(0, "a", "", 1, 1)), "group must have"),
            (two(&arrival(0, "", "g", 1, 1)), "id must have"),
            (two(&arrival(LATEST + 1, "a", "g", 1, 1)), "at must be"),
            (two(&arrival(0, "a", "g", 1, 1)) + "}", "trailing characters"),
            (two(&arrival(0, "a", "g", 1, 1)).replace("}]}", r#"}],"arrivals":[]}"#), "duplicate field"),
            (two(&arrival(0, "a", "g", 1, 1)).replace(r#"{"llm":2}"#, r#"{"llm":0}"#), "capacity of llm"),
        ] {
            let error = play("slotwise", &scenario).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
