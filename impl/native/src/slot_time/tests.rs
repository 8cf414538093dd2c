//! Random worlds: what is kept must agree, at every decision, with the rules said again over a plain list of groups and leases.
use std::collections::BTreeSet;

use super::kinetic::{Line, Tournament};
use super::{RATE, SlotTime};
use crate::faults::Faults;
use crate::ledger::{Ledger, ShapeId};
use crate::words::{Refusal, SlotTiming};

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (x ^ (x >> 31)) % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

type Needs = Vec<(u32, i64)>;

#[derive(Clone, Default)]
struct Member {
    weight: i128,
    limit: Option<u32>,
    level: i128,
    since: i64,
    turn: u64,
    fifo: Vec<(ShapeId, Needs)>,
    overtaken: Option<i64>,
}

/// The rules, over lists.
struct Plain {
    params: SlotTiming,
    capacity: Vec<i64>,
    groups: Vec<Member>,
    leases: Vec<(u64, usize, Needs, i64)>,
    virtual_time: Vec<i128>,
    horizon: i128,
    turns: u64,
}

impl Plain {
    fn free(&self, r: u32) -> i64 {
        self.capacity[r as usize] - self.leases.iter().flat_map(|lease| &lease.2).filter(|need| need.0 == r).map(|need| need.1).sum::<i64>()
    }

    fn rate(&self, g: usize, needs: &Needs) -> i128 {
        let share =
            |&(r, units): &(u32, i64)| i128::from(units) * RATE * 1024 / (i128::from(self.capacity[r as usize]) * self.groups[g].weight);
        needs.iter().map(share).max().unwrap()
    }

    fn running(&self, g: usize) -> impl Iterator<Item = &(u64, usize, Needs, i64)> {
        self.leases.iter().filter(move |lease| lease.1 == g)
    }

    fn level(&self, g: usize, at: i128) -> i128 {
        let group = &self.groups[g];
        group.level + self.running(g).map(|lease| self.rate(g, &lease.2) * (at - i128::from(lease.3.max(group.since)))).sum::<i128>()
    }

    fn limited(&self, g: usize) -> bool {
        self.groups[g].limit.is_some_and(|limit| self.running(g).count() as u32 >= limit)
    }

    fn competes(&self, g: usize) -> bool {
        !self.groups[g].fifo.is_empty() && !self.limited(g)
    }

    fn head(&self, g: usize) -> &Needs {
        &self.groups[g].fifo[0].1
    }

    fn lacks(&self, needs: &Needs) -> BTreeSet<u32> {
        needs.iter().filter(|need| self.free(need.0) < need.1).map(|need| need.0).collect()
    }

    fn patient(&self, g: usize, at: i64) -> bool {
        let Some(since) = self.groups[g].overtaken else { return false };
        let short = self.lacks(self.head(g));
        let in_its_way = self.leases.iter().filter(|lease| lease.2.iter().any(|need| short.contains(&need.0)));
        at - since > i64::from(self.params.patience) * in_its_way.map(|lease| at - lease.3).max().unwrap_or(0)
    }

    fn ahead(&self) -> i128 {
        i128::from(self.params.ahead) * self.horizon.max(1)
    }

    fn order(&self, at: i64) -> Vec<usize> {
        let mut order: Vec<_> = (0..self.groups.len())
            .filter(|&g| !self.groups[g].fifo.is_empty())
            .map(|g| match self.patient(g, at) {
                true => (0, i128::from(self.groups[g].overtaken.unwrap()), self.groups[g].turn, g),
                false => (1, self.level(g, i128::from(at) + self.ahead()), self.groups[g].turn, g),
            })
            .collect();
        order.sort_unstable();
        order.into_iter().map(|place| place.3).collect()
    }

    fn verdict(&self, g: usize, earlier: &[usize], at: i64) -> Option<Refusal> {
        if !self.lacks(self.head(g)).is_empty() {
            return Some(Refusal::NoCapacity);
        }
        if self.limited(g) {
            return Some(Refusal::RunningLimit);
        }
        let kept = |r: u32| {
            let patient = earlier.iter().filter(|&&other| self.competes(other) && self.patient(other, at));
            patient.flat_map(|&other| self.head(other)).filter(|need| need.0 == r).map(|need| need.1).sum::<i64>()
        };
        self.head(g).iter().any(|need| self.free(need.0) - kept(need.0) < need.1).then_some(Refusal::KeptUnits)
    }

    fn raise(&mut self, g: usize, less: i128, at: i64) {
        let shared = |r: u32| {
            let runs = self.leases.iter().any(|lease| lease.1 != g && lease.2.iter().any(|need| need.0 == r));
            let waits =
                |other: usize| other != g && self.groups[other].fifo.first().is_some_and(|head| head.1.iter().any(|need| need.0 == r));
            runs || (0..self.groups.len()).any(waits)
        };
        let least = self.head(g).iter().filter(|need| shared(need.0)).map(|need| self.virtual_time[need.0 as usize]).min();
        let due = least.unwrap_or(*self.virtual_time.iter().max().unwrap()) - less;
        self.groups[g].level += (due - self.level(g, i128::from(at))).max(0);
    }

    fn come(&mut self, g: usize, at: i64) {
        if self.competes(g) {
            self.raise(g, 0, at);
        }
        self.turns += 1;
        self.groups[g].turn = self.turns;
    }

    fn accept(&mut self, g: usize, task: (ShapeId, Needs), weight: u32, limit: Option<u32>, at: i64) {
        let (competed, waited) = (self.competes(g), !self.groups[g].fifo.is_empty());
        if self.groups[g].weight != i128::from(weight) {
            let level = if self.groups[g].weight > 0 { self.level(g, i128::from(at)) } else { 0 };
            self.groups[g] = Member { weight: i128::from(weight), level, since: at, ..self.groups[g].clone() };
        }
        self.groups[g].limit = limit;
        self.groups[g].fifo.push(task);
        if !waited || (!competed && self.competes(g)) {
            self.come(g, at);
        }
    }

    fn start(&mut self, g: usize, earlier: &[usize], lease: u64, at: i64) {
        let (_, needs) = self.groups[g].fifo.remove(0);
        self.groups[g].overtaken = None;
        self.leases.push((lease, g, needs.clone(), at));
        let level = self.level(g, i128::from(at));
        for &(r, _) in &needs {
            self.virtual_time[r as usize] = self.virtual_time[r as usize].max(level);
        }
        let mut claimed = BTreeSet::new();
        for &other in earlier.iter().filter(|&&other| self.competes(other)).collect::<Vec<_>>() {
            let short = self.lacks(self.head(other));
            if needs.iter().any(|need| short.contains(&need.0)) && short.is_disjoint(&claimed) {
                let since = &mut self.groups[other].overtaken;
                *since = since.or(Some(at));
            }
            let taken = |r: u32| needs.iter().filter(|need| need.0 == r).map(|need| need.1).sum::<i64>();
            claimed.extend(self.head(other).iter().filter(|need| self.free(need.0) + taken(need.0) < need.1).map(|need| need.0));
        }
        if self.competes(g) {
            self.raise(g, i128::from(self.params.arrears) * self.ahead() * RATE, at);
        }
        self.groups[g].turn = 0;
        if !self.groups[g].fifo.is_empty() {
            self.turns += 1;
            self.groups[g].turn = self.turns;
        }
    }

    fn finish(&mut self, lease: u64, at: i64) {
        let i = self.leases.iter().position(|known| known.0 == lease).unwrap();
        let (_, g, needs, start) = self.leases[i].clone();
        let competed = self.competes(g);
        self.leases.remove(i);
        self.groups[g].level += self.rate(g, &needs) * i128::from(at - start.max(self.groups[g].since));
        let service = i128::from(at - start);
        if service > 0 {
            let share = needs.iter().map(|need| (i128::from(need.1) << 32) / i128::from(self.capacity[need.0 as usize])).max().unwrap();
            let (x, h) = (share * service, self.horizon);
            let moved = h + (((service - h) * ((x << 32) / (x + ((i128::from(self.params.memory) * h) << 32)).max(1))) >> 32);
            self.horizon = if h == 0 { service } else { moved };
        }
        if !competed && self.competes(g) {
            self.come(g, at);
        }
    }
}

/// Both, side by side, with one ledger.
struct World {
    dice: Dice,
    ledger: Ledger,
    engine: SlotTime,
    plain: Plain,
    shapes: Vec<Needs>,
    at: i64,
    leases: u64,
}

impl World {
    fn new(seed: u64, faults: Faults) -> Self {
        let mut dice = Dice(seed);
        let capacity: Vec<i64> = (0..1 + dice.below(3)).map(|_| dice.pick(&[1, 2, 3, 4, 8, 7, 1000])).collect();
        let shape = |dice: &mut Dice| {
            let mut needs: Needs = Vec::new();
            for (r, &units) in capacity.iter().enumerate() {
                if dice.below(3) > 0 {
                    let most = dice.pick(&[1, 1, 2, units]).min(units) as u64;
                    needs.push((r as u32, 1 + dice.below(most) as i64));
                }
            }
            if needs.is_empty() { vec![(0, 1)] } else { needs }
        };
        let shapes = (0..dice.pick(&[1, 2, 3, 6])).map(|_| shape(&mut dice)).collect();
        let default = SlotTiming { ahead: 2, arrears: 2, memory: 8, patience: 2 };
        let params = match dice.below(3) {
            0 => SlotTiming { ahead: dice.pick(&[0, 1, 5]), arrears: dice.pick(&[0, 1]), memory: 1, patience: dice.pick(&[0, 1, 3]) },
            _ => default,
        };
        let names: Vec<_> = capacity.iter().enumerate().map(|(r, &units)| (format!("r{r}"), units)).collect();
        let groups = dice.pick(&[1, 2, 3, 5, 12, 40]);
        let mut engine = SlotTime::new(params, faults);
        (0..groups).for_each(|g| assert_eq!(engine.add_group(), g));
        let plain = Plain {
            params,
            virtual_time: vec![0; capacity.len()],
            capacity,
            groups: vec![Member::default(); groups as usize],
            leases: Vec::new(),
            horizon: 0,
            turns: 0,
        };
        World { dice, ledger: Ledger::new(&names), engine, plain, shapes, at: 0, leases: 0 }
    }

    fn accept(&mut self) {
        let g = self.dice.below(self.plain.groups.len() as u64) as usize;
        let i = self.dice.below(self.shapes.len() as u64) as usize;
        let needs = self.shapes[if self.dice.below(2) == 0 { g % self.shapes.len() } else { i }].clone();
        let shape = self.ledger.hold_shape(&needs);
        let known = (self.plain.groups[g].weight as u32, self.plain.groups[g].limit);
        let (weight, limit) = if known.0 == 0 || self.dice.below(20) == 0 {
            (self.dice.pick(&[1024, 1024, 2048, 4096, 1, 37, 1500]), self.dice.pick(&[None, None, Some(1), Some(2), Some(5)]))
        } else {
            known
        };
        let head = self.plain.groups[g].fifo.is_empty().then_some(shape);
        self.plain.accept(g, (shape, needs), weight, limit, self.at);
        self.engine.accepted(&self.ledger, g as u32, head, weight, limit, self.at);
    }

    fn discard(&mut self) {
        let g = self.dice.below(self.plain.groups.len() as u64) as usize;
        let group = &mut self.plain.groups[g];
        if group.fifo.is_empty() {
            return;
        }
        let i = if self.dice.below(2) == 0 { 0 } else { self.dice.below(group.fifo.len() as u64) as usize };
        let (shape, _) = group.fifo.remove(i);
        if i == 0 {
            group.overtaken = None;
            let next = group.fifo.first().map(|head| head.0);
            group.turn = if next.is_some() { group.turn } else { 0 };
            self.engine.head_discarded(&self.ledger, g as u32, next);
        }
        self.ledger.drop_shape(shape);
    }

    fn start(&mut self, g: usize, earlier: &[usize]) {
        self.leases += 1;
        let shape = self.plain.groups[g].fifo[0].0;
        self.plain.start(g, earlier, self.leases, self.at);
        self.ledger.lease(shape);
        let next = self.plain.groups[g].fifo.first().map(|head| head.0);
        self.engine.started(&self.ledger, g as u32, next, self.leases, shape, self.at);
    }

    /// Start the head that the engine chooses, or any other that may start; or learn that none may.
    fn decide(&mut self) -> Result<bool, String> {
        let order = self.plain.order(self.at);
        if self.engine.order(&self.ledger, self.at) != order.iter().map(|&g| g as u32).collect::<Vec<_>>() {
            return Err("order".into());
        }
        let verdicts: Vec<_> = (0..order.len()).map(|i| self.plain.verdict(order[i], &order[..i], self.at)).collect();
        if order.iter().zip(&verdicts).any(|(&g, verdict)| self.engine.verdict(&self.ledger, g as u32, self.at) != *verdict) {
            return Err("verdict".into());
        }
        let startable: Vec<usize> = (0..order.len()).filter(|&i| verdicts[i].is_none()).collect();
        let commits = self.dice.below(5) == 0;
        if !commits && self.engine.choose(&self.ledger, self.at) != startable.first().map(|&i| order[i] as u32) {
            return Err("choice".into());
        }
        let Some(&first) = startable.first() else { return Ok(false) };
        let i = if commits { self.dice.pick(&startable) } else { first };
        // A choice may be left alone, and another start may come first.
        if commits || self.dice.below(8) > 0 {
            self.start(order[i], &order[..i]);
        }
        Ok(true)
    }

    fn release(&mut self) {
        if self.plain.leases.is_empty() {
            return;
        }
        let i = if self.dice.below(4) == 0 { 0 } else { self.dice.below(self.plain.leases.len() as u64) as usize };
        let lease = self.plain.leases[i].0;
        let needs = self.plain.leases[i].2.clone();
        let shape = self.ledger.hold_shape(&needs);
        self.ledger.drop_shape(shape);
        self.plain.finish(lease, self.at);
        self.ledger.unlease(shape);
        self.engine.finished(&self.ledger, lease, self.at);
        self.ledger.drop_shape(shape);
    }

    fn step(&mut self) -> Result<(), String> {
        self.at += self.dice.pick(&[0, 0, 0, 1, 3, 1_000, 500_000_000]) as i64;
        match self.dice.below(20) {
            0..7 => self.accept(),
            7 => self.discard(),
            8..14 => {
                let most = self.dice.pick(&[1, 2, 99]);
                let mut started = 0;
                while started < most && self.decide()? {
                    started += 1;
                }
            }
            _ => self.release(),
        }
        self.compare()
    }

    fn compare(&self) -> Result<(), String> {
        for (g, group) in self.plain.groups.iter().enumerate().filter(|(_, group)| group.weight > 0) {
            let found = (self.engine.turn(g as u32).unwrap_or(0), self.engine.level(g as u32, self.at), self.engine.overtaken(g as u32));
            let due = (group.turn, self.plain.level(g, i128::from(self.at)), group.overtaken);
            if found != due || i128::from(self.engine.weight(g as u32)) != group.weight {
                return Err(format!("group {g}: {found:?}, not {due:?}"));
            }
        }
        let times: Vec<_> = (0..self.plain.capacity.len() as u32).map(|r| self.engine.virtual_time(r)).collect();
        if times != self.plain.virtual_time || i128::from(self.engine.horizon()) != self.plain.horizon {
            return Err(format!("{times:?}, horizon {}", self.engine.horizon()));
        }
        let wrong = self.engine.audit(&self.ledger);
        if wrong.is_empty() && self.engine.turns() == self.plain.turns { Ok(()) } else { Err(format!("audit: {wrong:?}")) }
    }

    fn live(seed: u64, faults: Faults) -> Result<u64, String> {
        let mut world = World::new(seed, faults);
        for _ in 0..100 {
            world.step()?;
        }
        Ok(world.leases)
    }
}

#[test]
fn agrees_with_the_rules_over_lists() {
    let starts: u64 =
        (0..400).map(|seed| World::live(seed, Default::default()).unwrap_or_else(|wrong| panic!("world {seed}: {wrong}"))).sum();
    assert!(starts > 3_000, "{starts} starts");
}

#[cfg(feature = "faults")]
#[test]
fn every_fault_is_found() {
    for &(name, ..) in super::FAULTS {
        let faults = Faults::named(name).unwrap_or_else(|| panic!("{name} is not in the catalogue"));
        assert!((0..3_000).any(|seed| World::live(seed, faults).is_err()), "{name} is not found");
    }
}

#[test]
fn a_head_overtaken_just_now_is_not_patient_yet() {
    let mut ledger = Ledger::new(&[("a".into(), 1), ("b".into(), 3)]);
    let mut engine = SlotTime::new(SlotTiming::default(), Default::default());
    let needs: [&[(u32, i64)]; 4] = [&[(1, 1)], &[(1, 3)], &[(0, 1), (1, 1)], &[(0, 1)]];
    let shapes = needs.map(|needs| ledger.hold_shape(needs));
    let [first, wide, both, narrow] = [0, 1, 2, 3].map(|g| {
        assert_eq!(engine.add_group(), g);
        engine.accepted(&ledger, g, Some(shapes[g as usize]), 1024, None, 0);
        g
    });
    let start = |engine: &mut SlotTime, ledger: &mut Ledger, g: u32| {
        ledger.lease(shapes[g as usize]);
        engine.started(ledger, g, None, u64::from(g), shapes[g as usize], 5);
    };
    start(&mut engine, &mut ledger, first);
    start(&mut engine, &mut ledger, narrow);
    assert_eq!((engine.overtaken(wide), engine.overtaken(both)), (None, Some(5)));
    ledger.unlease(shapes[narrow as usize]);
    engine.finished(&ledger, u64::from(narrow), 5);
    assert_eq!(engine.choose(&ledger, 5), Some(both));
    start(&mut engine, &mut ledger, both);
    assert_eq!(engine.overtaken(wide), Some(5));
}

#[test]
fn a_copy_goes_its_own_way() {
    let mut world = World::new(3, Default::default());
    (0..60).for_each(|_| world.step().unwrap());
    let mut copy = World { engine: world.engine.clone(), ledger: world.ledger.clone(), ..World::new(3, Default::default()) };
    copy.engine.add_group();
    (0..20).for_each(|_| world.step().unwrap());
    assert!(copy.engine.audit(&copy.ledger).is_empty());
    assert_eq!(copy.engine.turn(world.plain.groups.len() as u32), None);
}

#[test]
fn nothing_is_left_when_nothing_waits_or_runs() {
    let mut world = World::new(5, Default::default());
    (0..100).for_each(|_| world.step().unwrap());
    while world.plain.groups.iter().any(|group| !group.fifo.is_empty()) || !world.plain.leases.is_empty() {
        world.at += 10;
        if !world.decide().unwrap() {
            world.release();
        }
    }
    assert!(world.engine.audit(&world.ledger).is_empty());
    assert!(world.engine.shapes.is_empty() && world.engine.groups.iter().all(|group| group.kinds.is_empty() && group.filed.is_none()));
    assert!(world.engine.resources.iter().all(|resource| resource.wanted == 0));
    assert_eq!(world.engine.running.iter().count(), 0);
}

#[test]
fn the_tournament_finds_the_least_line_at_any_instant() {
    let mut compared = 0;
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let (mut tournament, mut lines) = (Tournament::default(), Vec::<Line>::new());
        let (mut turn, most) = (0, dice.pick(&[3, 8, 40]));
        for _ in 0..300 {
            turn += 1;
            let slope = i128::from(dice.pick(&[0, 0, 1, 2, 7, 1i64 << 40]));
            let line = Line { base: i128::from(dice.below(200)) - 100, slope, turn: dice.below(1 << 40) << 20 | turn, group: turn as u32 };
            let i = dice.below(lines.len().max(1) as u64) as usize;
            match dice.below(if lines.len() < most { 4 } else { 3 }) {
                3 => {
                    assert_eq!(tournament.insert(line), lines.len());
                    lines.push(line);
                }
                1 if !lines.is_empty() => {
                    tournament.change(i, line);
                    lines[i] = line;
                }
                2 if !lines.is_empty() => {
                    lines.swap_remove(i);
                    assert_eq!(tournament.remove(i), lines.get(i));
                }
                _ => {}
            }
            let instant = i128::from(dice.below(60)) << dice.pick(&[0, 0, 0, 60]);
            let key = |line: &Line| (line.at(instant), line.turn);
            let best = tournament.best(instant, &mut compared, &mut |_| ()).map(|(best, ..)| *best);
            assert_eq!(best, lines.iter().copied().min_by_key(key));
            let bound = (i128::from(dice.below(400)) - 100, dice.below(1 << 60));
            let mut below: Vec<u32> =
                tournament.below(instant, bound, &mut compared, &mut |_| ()).into_iter().map(|line| line.group).collect();
            below.sort_unstable();
            let mut due: Vec<u32> = lines.iter().filter(|line| key(line) < bound).map(|line| line.group).collect();
            due.sort_unstable();
            assert_eq!(below, due);
            assert_eq!(tournament.audit("tournament"), Vec::<String>::new());
        }
    }
}
