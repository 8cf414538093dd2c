//! Every seeded fault can be seen under each of its profiles: random lives of the twin beside the engine's, by answers and by state.
use slotwise_native::faults::{Faults, NONE, spin_catalogue};
use slotwise_native::spin_model::Model;
use slotwise_native::spin_words::{Command, Discipline, Profile, Script, Setup, Wait};

use crate::mixed::Dice;

fn chosen(dice: &mut Dice, from: &[i64]) -> i64 {
    from[dice.roll(from.len() as u64) as usize]
}

fn perhaps(dice: &mut Dice, from: &[i64]) -> Option<i64> {
    (dice.roll(3) == 0).then(|| chosen(dice, from))
}

fn drawn(name: &str, dice: &mut Dice) -> (Profile, Setup) {
    let mut profile = Profile::named(name).expect("a known profile");
    if let Discipline::Ratchet { floor, cap } = &mut profile.discipline {
        (*floor, *cap) = (chosen(dice, &[4, 20]), chosen(dice, &[20, 50, 300]));
    }
    profile.budget = chosen(dice, &[1, 3, 6, 12]);
    profile.stride = chosen(dice, &[1, 2, 3, 4]);
    profile.yield_interval = chosen(dice, &[1, 3, 10, 50]);
    profile.slots = chosen(dice, &[1, 2, 3, 8]);
    profile.straggler_stride = chosen(dice, &[1, 2, 5]);
    profile.ready_within = chosen(dice, &[0, 20, 200]);
    let park = chosen(dice, &[8, 40, 300]);
    (profile, Setup { width: 1 + dice.roll(4) as i64, built: dice.roll(2) > 0, park, ..Setup::default() })
}

fn whole_window(dice: &mut Dice) -> Command<'static> {
    let window = chosen(dice, &[0, 1, 20, 60, 500]);
    if dice.roll(2) == 0 {
        let mut cost = || perhaps(dice, &[1, 2, 5, 31]);
        let costs = Wait::costing(window, cost(), cost(), cost());
        let mut event = || perhaps(dice, &[0, 1, 10, 100]);
        let (publish, shutdown) = (event(), event());
        return Command::Wait(Wait { publish, shutdown, ..costs });
    }
    let mut reading = 0;
    let readings = (0..chosen(dice, &[0, 3, 40]))
        .map(|_| {
            reading += chosen(dice, &[0, 1, 3, 9, 10, 11, 20]);
            reading
        })
        .collect();
    let mut event = || perhaps(dice, &[1, 2, 5, 9, 20]);
    Command::Script(Script { window, readings, publish: event(), shutdown: event() })
}

/// What a life is mostly about.
#[derive(Clone, Copy, PartialEq)]
enum Mostly {
    Anything,
    /// Long gaps, or an adversary's, which publishes a little after each window.
    Gaps(i64),
    /// One dispatcher that is done before slow workers have looked.
    LateClaims,
}

impl Mostly {
    fn of(seed: u64) -> Self {
        match seed % 4 {
            0 | 1 => Mostly::Anything,
            2 => Mostly::Gaps([3_000, 0][seed as usize / 4 % 2]),
            _ => Mostly::LateClaims,
        }
    }
}

fn something(dice: &mut Dice, model: &Model, mostly: Mostly) -> Command<'static> {
    let workers = model.names.len() as u64;
    let names = ["d", "e", "f", "pool"];
    let late = mostly == Mostly::LateClaims;
    let actor = match dice.roll(workers + 3) {
        number if number < workers => format!("w{number}"),
        _ => names[if late { 0 } else { dice.roll(4) as usize }].to_owned(),
    };
    match dice.roll(100) {
        0..10 => Command::Dispatch { actor: names[if late { 0 } else { dice.roll(3) as usize }].into(), total: dice.roll(6) as i64 },
        10..25 => Command::End { actor: actor.into(), panics: dice.roll(5) == 0 },
        25..27 => Command::Stir { actor: actor.into() },
        27..30 => Command::Counters,
        30..36 => Command::Gap { gap: chosen(dice, &[0, 1, 5, 20, 37, 150, 3_000]), ran: dice.roll(4) > 0 },
        36..40 => whole_window(dice),
        40 if dice.roll(3) == 0 => Command::Shutdown,
        41..80 if matches!(mostly, Mostly::Gaps(_)) => {
            let long = if let Mostly::Gaps(long) = mostly { long } else { 0 };
            Command::Gap { gap: if long == 0 { model.lone.policy.window() as i64 + 1 } else { long }, ran: true }
        }
        _ if late && actor != "d" => Command::Go { actor: actor.into(), times: 1 },
        _ => Command::Go { actor: actor.into(), times: chosen(dice, &[1, 1, 1, 2, 3, 5, 20]) },
    }
}

/// After how many commands the twin differs, if it does in this life.
fn differs(fault: &str, name: &str, seed: u64) -> Option<usize> {
    let mut dice = Dice::new(seed);
    let (profile, setup) = drawn(name, &mut dice);
    let mut right = Model::new(&profile, &setup, NONE).expect("a right setup");
    let mut twin = Model::new(&profile, &setup, Faults::named(fault).expect("a known fault")).expect("a right setup");
    let (mut saw, mut twin_saw, mut at) = (Vec::new(), Vec::new(), 0);
    for i in 0..300 {
        at += chosen(&mut dice, &[0, 0, 1, 3, 10, 60]);
        let command = something(&mut dice, &right, Mostly::of(seed));
        saw.clear();
        twin_saw.clear();
        right.step(&command, at, &mut saw);
        twin.step(&command, at, &mut twin_saw);
        if saw != twin_saw || i % 8 == 7 && right.state() != twin.state() {
            return Some(i);
        }
    }
    None
}

#[test]
fn every_fault_can_be_seen() {
    let found = |fault: &'static str, name: &'static str| (0..300).any(|seed| differs(fault, name, seed).is_some());
    let runs = spin_catalogue().flat_map(|&(fault, _, _, profiles)| profiles.iter().map(move |&name| (fault, name)));
    let unseen: Vec<_> = runs.filter(|&(fault, name)| !found(fault, name)).collect();
    assert_eq!(unseen, []);
}

#[test]
fn no_fault_shows_where_it_does_not_belong() {
    let names = ["ep-cpu-orig", "ep-cpu-before", "ep-cpu-after", "slotwise"];
    let elsewhere = |&(fault, _, _, profiles): &'static slotwise_native::faults::Fault| {
        names.into_iter().filter(|name| !profiles.contains(name)).map(move |name| (fault, name))
    };
    let shown: Vec<_> =
        spin_catalogue().flat_map(elsewhere).filter(|(fault, name)| (0..8).any(|seed| differs(fault, name, seed).is_some())).collect();
    assert_eq!(shown, []);
}
