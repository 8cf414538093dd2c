//! However the steps of the actors are mixed: each task runs once, no fan-out returns before its tasks, nobody is left asleep over a task,
//! every idle stretch ends in a park, and a shutdown ends everything.
use std::collections::HashSet;

use slotwise_native::faults::NONE;
use slotwise_native::spin_model::{About, Model, Seen};
use slotwise_native::spin_words::{Command, Profile, Setup};

const PROFILES: [&str; 4] = ["ep-cpu-orig", "ep-cpu-before", "ep-cpu-after", "slotwise"];

pub struct Dice(u64);

impl Dice {
    #[cfg(feature = "faults")]
    pub fn new(seed: u64) -> Self {
        Dice(seed)
    }

    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// What a witness of all observations knows.
struct Witness {
    model: Model,
    saw: Vec<Seen>,
    running: HashSet<String>,
    /// Of each slot: tasks of its fan-out, those taken, and those that have ended.
    fan_outs: Vec<(i64, HashSet<i64>, i64)>,
    at: i64,
    dispatched: i64,
    parked: u64,
}

impl Witness {
    fn new(profile: &Profile, setup: &Setup) -> Self {
        let model = Model::new(profile, setup, NONE).expect("a right setup");
        let fan_outs = vec![(0, HashSet::new(), 0); profile.slots as usize];
        Witness { model, saw: Vec::new(), running: HashSet::new(), fan_outs, at: 0, dispatched: 0, parked: 0 }
    }

    /// Was there something to do?
    fn tell(&mut self, command: &Command) -> bool {
        self.saw.clear();
        self.model.step(command, self.at, &mut self.saw);
        assert_eq!(self.model.audit(), Vec::<String>::new(), "after {command:?}");
        for Seen(word, about) in &self.saw {
            match (*word, about) {
                ("held", About::Number(_, slot)) => {
                    let Command::Dispatch { total, .. } = command else { panic!("{command:?} holds a slot") };
                    self.dispatched += total;
                    self.fan_outs[*slot as usize] = (*total, HashSet::new(), 0);
                }
                ("took", About::Pair(actor, slot, index)) => {
                    let (total, taken, _) = &mut self.fan_outs[*slot as usize];
                    assert!((0..*total).contains(index) && taken.insert(*index), "{actor} took {index} of {total}");
                    self.running.insert(actor.to_string());
                }
                ("ended", About::Number(actor, slot)) => {
                    self.running.remove(&**actor);
                    self.fan_outs[*slot as usize].2 += 1;
                }
                ("finished" | "raised", About::Pair(_, slot, _)) if *slot >= 0 => {
                    let (total, _, ended) = &self.fan_outs[*slot as usize];
                    assert_eq!(ended, total, "a fan-out returned before its tasks");
                }
                ("expired", _) => self.parked += 1,
                ("counters", About::Counters(counts)) => {
                    assert_eq!(counts[4], self.parked, "parks");
                    assert!(counts[2] <= counts[1], "own tasks are tasks");
                }
                _ => {}
            }
        }
        !matches!(self.saw[..], [Seen("idle", _)])
    }

    fn step(&mut self, actor: &str, times: i64) -> bool {
        if self.running.contains(actor) {
            return self.tell(&Command::End { actor: actor.into(), panics: false });
        }
        self.tell(&Command::Go { actor: actor.into(), times })
    }
}

fn live(name: &str, seed: u64) {
    let mut dice = Dice(seed);
    let mut profile = Profile::named(name).expect("a known profile");
    (profile.budget, profile.stride, profile.straggler_stride) = (8, 2, 3);
    profile.slots = 1 + dice.roll(3) as i64;
    let setup = Setup { width: 2 + dice.roll(3) as i64, built: dice.roll(4) > 0, ..Setup::default() };
    let mut it = Witness::new(&profile, &setup);
    let workers: Vec<String> = (0..setup.workers()).map(|number| format!("w{number}")).collect();
    let dispatchers = ["d", "e"].map(String::from);
    let all: Vec<String> = workers.iter().chain(&dispatchers).cloned().chain(["pool".into()]).collect();
    for _ in 0..300 {
        it.at += [0, 0, 50, 5_000, 400_000][dice.roll(5) as usize];
        let actor = all[dice.roll(all.len() as u64) as usize].clone();
        match dice.roll(12) {
            0 | 1 => drop(it.tell(&Command::Dispatch { actor: actor.into(), total: dice.roll(5) as i64 })),
            2 => drop(it.tell(&Command::Stir { actor: actor.into() })),
            _ => drop(it.step(&actor, 1 + dice.roll(4) as i64)),
        }
    }
    // all go on in turn, with nothing new: fan-outs end, and then every worker parks
    let go_round = |it: &mut Witness| {
        for _ in 0..2_000 {
            it.at += 100_000;
            let moved = all.iter().filter(|actor| it.step(actor, 40)).count();
            if moved == 0 {
                return;
            }
        }
        panic!("{name}, seed {seed}: they never come to rest: {}", it.model.state());
    };
    go_round(&mut it);
    it.tell(&Command::Counters);
    let About::Counters(counts) = it.saw[0].1 else { panic!("no counters") };
    assert_eq!(counts[1] as i64, it.dispatched, "{name}, seed {seed}: tasks run, of those accepted");
    assert_eq!(it.model.cells.sleepers.borrow().len(), workers.len(), "{name}, seed {seed}: workers asleep");
    it.tell(&Command::Shutdown);
    go_round(&mut it);
    let state = it.model.state().to_string();
    assert_eq!(state.matches("\"at\":\"gone\"").count(), workers.len(), "{name}, seed {seed}: {state}");
}

#[test]
fn however_steps_are_mixed() {
    for name in PROFILES {
        for seed in 0..150 {
            live(name, seed);
        }
    }
}
