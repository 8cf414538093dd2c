//! The engine against the rules of the disciplines that count tasks, written with scans and sums, on random commands.
use crate::play::Play;
use slotwise_native::state::Node;
use slotwise_native::words::{Borrowing, Discipline, Profile, Rounding};

#[derive(Clone, Copy, PartialEq)]
struct Spec {
    weight: i64,
    limit: Option<i64>,
}

#[derive(Clone)]
struct Task {
    id: String,
    group: usize,
    needs: Vec<(usize, i64)>,
    spec: Spec,
}

/// What is known of a group: its FIFO, ghosts included, and where it stands.
#[derive(Clone)]
struct Group {
    fifo: Vec<Task>,
    newest: Spec,
    turn: Option<u64>,
    tag: f64,
    served: bool,
}

struct Naive {
    profile: Profile,
    capacity: Vec<i64>,
    groups: Vec<Group>,
    live: Vec<(String, usize)>,
    leases: Vec<Option<Task>>,
    released: Vec<usize>,
    debt: Vec<Vec<i64>>,
    virtual_time: f64,
    turns: u64,
}

type Verdict = Result<Vec<(usize, i64)>, &'static str>;

fn asks(task: &Task, r: usize) -> bool {
    task.needs.iter().any(|need| need.0 == r)
}

impl Naive {
    fn new(profile: &Profile, capacity: &[i64], specs: &[Spec]) -> Self {
        let groups = specs.iter().map(|&newest| Group { fifo: Vec::new(), newest, turn: None, tag: 0.0, served: false }).collect();
        Naive {
            profile: profile.clone(),
            capacity: capacity.to_vec(),
            groups,
            live: Vec::new(),
            leases: Vec::new(),
            released: Vec::new(),
            debt: vec![vec![0; capacity.len()]; specs.len()],
            virtual_time: 0.0,
            turns: 0,
        }
    }

    fn running(&self, g: usize) -> impl Iterator<Item = &Task> {
        self.leases.iter().flatten().filter(move |task| task.group == g)
    }

    fn free(&self, r: usize) -> i64 {
        let used: i64 = self.leases.iter().flatten().flat_map(|task| &task.needs).filter(|need| need.0 == r).map(|need| need.1).sum();
        self.capacity[r] - used
    }

    fn fits(&self, task: &Task) -> bool {
        task.needs.iter().all(|&(r, units)| self.free(r) >= units)
    }

    fn waits(&self, g: usize) -> bool {
        self.live.iter().any(|live| live.1 == g)
    }

    fn purge(&mut self, g: usize) {
        while self.groups[g].fifo.first().is_some_and(|task| !self.live.contains(&(task.id.clone(), g))) {
            self.groups[g].fifo.remove(0);
        }
    }

    fn take_turn(&mut self, g: usize) {
        self.turns += 1;
        self.groups[g].turn = Some(self.turns);
    }

    fn enqueue(&mut self, task: Task) -> String {
        if self.live.iter().any(|live| live.0 == task.id) {
            return format!("[[\"duplicate\",{:?}]]", task.id);
        }
        let (g, id) = (task.group, task.id.clone());
        self.groups[g].newest = task.spec;
        self.groups[g].fifo.push(task);
        self.live.push((id.clone(), g));
        self.purge(g);
        if self.groups[g].turn.is_none() {
            if !self.groups[g].served {
                self.groups[g].tag = self.virtual_time;
            }
            self.take_turn(g);
        }
        format!("[[\"accepted\",{id:?}]]")
    }

    fn discard(&mut self, id: &str) -> String {
        let Some(i) = self.live.iter().position(|live| live.0 == id) else { return format!("[[\"unknown_task\",{id:?}]]") };
        let g = self.live.remove(i).1;
        if !self.profile.discarded_task_lingers {
            self.groups[g].fifo.retain(|task| task.id != id);
        }
        if !self.waits(g) && !self.profile.idle_group_keeps_place {
            self.groups[g].turn = None;
        }
        format!("[[\"discarded\",{id:?}]]")
    }

    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.groups.len()).filter(|&g| self.groups[g].turn.is_some()).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (&self.groups[a], &self.groups[b]);
            a.tag.total_cmp(&b.tag).then(a.turn.cmp(&b.turn))
        });
        order
    }

    fn heads(&mut self) -> Vec<Option<Task>> {
        (0..self.groups.len()).filter(|&g| self.waits(g)).collect::<Vec<_>>().into_iter().for_each(|g| self.purge(g));
        (0..self.groups.len()).map(|g| self.groups[g].fifo.first().filter(|_| self.waits(g)).cloned()).collect()
    }

    fn judge(&self, head: &Task, heads: &[Option<Task>]) -> Verdict {
        if !self.fits(head) {
            return Err("no_capacity");
        }
        let peers: Vec<&Task> = heads.iter().flatten().filter(|peer| peer.group != head.group && self.fits(peer)).collect();
        let pressed = |r: usize| peers.iter().any(|peer| asks(peer, r)) && (r != 0 || head.needs.len() == 1);
        let Some(limit) = head.spec.limit else { return Ok(Vec::new()) };
        let Discipline::BoundedBorrow(p) = &self.profile.discipline else {
            let held_back = self.running(head.group).count() as i64 >= limit && head.needs.iter().any(|need| pressed(need.0));
            return if held_back { Err("group_cap") } else { Ok(Vec::new()) };
        };
        let mut borrowed = Vec::new();
        for &(r, units) in &head.needs {
            let (capacity, weight) = (self.capacity[r], head.spec.weight.max(1024));
            let rivals: i64 = peers.iter().filter(|peer| asks(peer, r)).map(|peer| peer.spec.weight.max(1024)).sum();
            let total = weight + if rivals > 0 { rivals } else { weight };
            let up = if p.share_rounding == Rounding::Ceil { total - 1 } else { 0 };
            let share = if capacity <= 1 { capacity } else { ((capacity * weight + up) / total).max(1).min(capacity).min(limit) };
            let held: i64 = self.running(head.group).flat_map(|task| &task.needs).filter(|need| need.0 == r).map(|need| need.1).sum();
            let (debt, beyond) = (self.debt[head.group][r], held + units - share);
            if pressed(r) {
                if debt > 0 {
                    return Err("borrow_debt");
                } else if beyond > 0 {
                    return Err("group_cap");
                }
            } else if beyond > 0 {
                let reserve =
                    ((capacity as f64 * p.reserve_fraction).ceil() as i64).max(p.reserve_at_least.into()).min(p.reserve_at_most.into());
                let ceiling = p.default_ceiling.map_or(((capacity - reserve).max(0) - share).max(0), i64::from);
                if debt + beyond.min(units) > ceiling {
                    return Err("borrow_debt");
                }
                borrowed.push((r, beyond.min(units)));
            }
        }
        Ok(borrowed)
    }

    fn pump(&mut self, at_most: usize, names: &[&str]) -> String {
        let mut saw = Vec::new();
        while saw.len() < at_most && !self.live.is_empty() {
            let heads = self.heads();
            let mut chosen = None;
            for g in self.order() {
                match &heads[g] {
                    None => self.purge(g),
                    Some(head) => {
                        if let Ok(borrowed) = self.judge(head, &heads) {
                            chosen = Some((g, borrowed));
                            break;
                        }
                    }
                }
            }
            let Some((g, borrowed)) = chosen else { break };
            let task = self.groups[g].fifo.remove(0);
            self.live.retain(|live| live.0 != task.id);
            let group = &mut self.groups[g];
            group.turn = None;
            self.virtual_time = self.virtual_time.max(group.tag);
            group.tag = self.virtual_time + 1.0 / (group.newest.weight as f64 / 1024.0).max(1.0);
            group.served = true;
            borrowed.iter().for_each(|&(r, units)| self.debt[g][r] += units);
            let needs: Vec<String> = task.needs.iter().map(|&(r, units)| format!("{:?}:{units}", names[r])).collect();
            saw.push(format!("[\"started\",{},{:?},{{{}}}]", self.leases.len() + 1, task.id, needs.join(",")));
            self.leases.push(Some(task));
            self.purge(g);
            if self.waits(g) {
                self.take_turn(g);
            }
        }
        let word = if self.live.is_empty() {
            "drained"
        } else if saw.len() == at_most {
            "full"
        } else {
            "blocked"
        };
        saw.push(format!("[{word:?}]"));
        format!("[{}]", saw.join(","))
    }

    fn release(&mut self, lease: usize) -> String {
        let Some(task) = self.leases.get_mut(lease.wrapping_sub(1)).and_then(Option::take) else {
            let memory = self.profile.released_memory.map_or(usize::MAX, |most| most as usize);
            let word = if self.released.iter().rev().take(memory).any(|&known| known == lease) { "duplicate" } else { "unknown_lease" };
            return format!("[[\"{word}\",{lease}]]");
        };
        self.released.push(lease);
        if matches!(&self.profile.discipline, Discipline::BoundedBorrow(p) if p.repay) {
            for (r, units) in task.needs {
                self.debt[task.group][r] = (self.debt[task.group][r] - units).max(0);
            }
        }
        format!("[[\"released\",{lease}]]")
    }

    fn explain(&mut self) -> String {
        let heads = self.heads();
        let say = |head: &Task| match self.judge(head, &heads) {
            Ok(_) => format!("[\"startable\",{:?}]", head.id),
            Err(reason) => format!("[\"refused\",{:?},{reason:?}]", head.id),
        };
        format!("[{}]", self.order().iter().filter_map(|&g| heads[g].as_ref().map(say)).collect::<Vec<_>>().join(","))
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16) as usize % n
    }

    fn of<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }
}

fn profile(random: &mut Random) -> Profile {
    let mut profile = Profile::named(random.of(&["strict", "data-designer-0.8", "data-designer-0.9"])).expect("a known profile");
    profile.released_memory = random.of(&[None, Some(0), Some(2), Some(8192)]);
    profile.discarded_task_lingers = random.below(3) > 0;
    profile.idle_group_keeps_place = random.below(3) == 0;
    if let Discipline::BoundedBorrow(p) = &mut profile.discipline {
        *p = Borrowing {
            reserve_fraction: random.of(&[0.0, 0.0, 0.125, 0.5]),
            reserve_at_least: random.of(&[0, 0, 1, 2]),
            reserve_at_most: random.of(&[8, 8, 1]),
            share_rounding: random.of(&[Rounding::Ceil, Rounding::Floor]),
            default_ceiling: random.of(&[None, None, Some(0), Some(2)]),
            ceilings: Vec::new(),
            repay: random.below(4) > 0,
        };
    }
    profile
}

fn episode(seed: u64) {
    let endpoints: Vec<String> = (0..64).map(|e| format!("endpoint-{e}")).collect();
    let names: Vec<&str> = ["submission", "a", "b"].into_iter().chain(endpoints.iter().map(String::as_str)).collect();
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let profile = profile(&mut random);
    let count = random.of(&[1, 2, 4, 9, 70]);
    // Endpoints that few shapes ask for, beside what all ask for.
    let endpoints = if random.below(3) == 0 { 1 + random.below(count.min(64)) } else { 0 };
    let resources = if endpoints > 0 { 3 + endpoints } else { 1 + random.below(3) };
    let capacity: Vec<i64> = (0..resources).map(|r| random.of(if r < 3 { &[1, 2, 3, 5, 8, 13] } else { &[1, 2, 2, 3, 3, 5] })).collect();
    let mut specs: Vec<Spec> = Vec::new();
    for _ in 0..count {
        specs.push(Spec {
            weight: random.of(&[512, 1024, 1024, 2048, 4096, 1100]),
            limit: random.of(&[None, Some(0), Some(1), Some(2), Some(8)]),
        });
    }
    let wide = random.below(3) == 0;
    let mut shapes = Vec::new();
    for _ in 0..if endpoints > 0 { endpoints + random.below(3) } else { random.of(&[1, 2, 6]) } {
        let mut shape: Vec<(usize, i64)> = Vec::new();
        for _ in 0..if endpoints > 0 { random.of(&[0, 1, 1, 1, 1, 2]) } else { 0 } {
            let r = 3 + if random.below(4) > 0 { shapes.len() % endpoints } else { random.below(endpoints) };
            if shape.iter().all(|need| need.0 != r) {
                shape.push((r, 1 + random.below(2) as i64));
            }
        }
        for r in 0..resources.min(3) {
            if random.below(3) > 0 {
                shape.push((r, if wide { 1 + random.below(3) as i64 } else { 1 }));
            }
        }
        if shape.is_empty() {
            shape.push((0, 1));
        }
        if random.below(2) == 0 {
            shape.reverse();
        }
        shapes.push(shape);
    }
    let listed: Vec<(&str, i64)> = names.iter().copied().zip(capacity.iter().copied()).collect();
    let mut engine = Play::new(&profile, &listed);
    let mut naive = Naive::new(&profile, &capacity, &specs);
    let ids = random.of(&[8, 40, 900]);
    for step in 0..if count > 9 { 500 } else { 120 } {
        let (line, expected) = match random.below(20) {
            0..=7 => {
                let g = random.below(count);
                if random.below(20) == 0 {
                    specs[g].weight = random.of(&[1024, 5120]);
                }
                let needs = if random.below(2) == 0 { shapes[g % shapes.len()].clone() } else { random.of(&shapes) };
                let task = Task { id: format!("t{}", random.below(ids)), group: g, needs, spec: specs[g] };
                let needs: Vec<String> = task.needs.iter().map(|&(r, units)| format!("{:?}:{units}", names[r])).collect();
                let (weight, limit) = (specs[g].weight as f64 / 1024.0, specs[g].limit.map_or("null".into(), |limit| limit.to_string()));
                let group = format!("{{\"name\":\"g{g}\",\"weight\":{weight},\"share_limit\":{limit}}}");
                let sent = format!("{{\"id\":{:?},\"group\":\"g{g}\",\"needs\":{{{}}}}}", task.id, needs.join(","));
                (format!("{{\"do\":\"enqueue\",\"tasks\":[{sent}],\"groups\":[{group}]}}"), naive.enqueue(task))
            }
            8..=9 => {
                let id = if naive.live.is_empty() { "none".into() } else { naive.live[random.below(naive.live.len())].0.clone() };
                (format!("{{\"do\":\"discard\",\"task\":{id:?}}}"), naive.discard(&id))
            }
            10..=14 => {
                let at_most = random.of(&[0, 1, 2, 99]);
                (format!("{{\"do\":\"pump\",\"at_most\":{at_most}}}"), naive.pump(at_most, &names))
            }
            15 => ("{\"do\":\"explain\"}".into(), naive.explain()),
            _ => {
                let lease = random.below(naive.leases.len() + 2);
                (format!("{{\"do\":\"release\",\"lease\":{lease}}}"), naive.release(lease))
            }
        };
        assert_eq!(engine.line(&line), expected, "seed {seed}, step {step}, {profile:?}: {line}");
        let state = engine.engine.state();
        for g in 0..count {
            let fifo = state.get("fifo").and_then(|fifo| fifo.get(&format!("g{g}")));
            let found = if let Some(Node::List(items)) = fifo { items.len() } else { 0 };
            assert_eq!(found, naive.groups[g].fifo.len(), "seed {seed}, step {step}: FIFO of g{g}");
            for (r, name) in names.iter().enumerate().take(resources) {
                let debt = state.get("debt").and_then(|debt| debt.get(&format!("g{g}"))).and_then(|debt| debt.get(name));
                let owed = Some(Node::from(naive.debt[g][r])).filter(|owed| *owed != Node::from(0i64));
                assert_eq!(debt, owed.as_ref(), "seed {seed}, step {step}: debt of g{g}");
            }
        }
    }
}

#[test]
fn the_engine_does_as_the_rules_say() {
    for seed in 1..=100 {
        episode(seed);
    }
}
