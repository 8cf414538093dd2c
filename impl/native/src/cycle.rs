//! What one dispatch cycle costs, and how many heads it examines, under loads that are hard on it.
use std::sync::Arc;
use std::time::Instant;

use crate::admission::Admission;
use crate::words::{About, Claim, Command, GroupIn, Profile, Seen, Spec, TaskIn};

/// The first is the load of a plain micro-benchmark: two resources of 32 units, everybody within the limit. The others are adversarial.
pub const LOADS: [&str; 6] = ["plain", "over-share", "every-weight", "eight-endpoints", "opposed", "own-endpoint"];
const SLICE: u32 = 500;
const WAITING: u32 = 8192;

type Units = Vec<(String, i64)>;

struct Load {
    capacity: Units,
    /// Of group i: weight in 1024ths, share limit, needs.
    group: fn(u32) -> (u32, u32, Units),
}

fn two() -> Units {
    vec![("submission".into(), 1), ("llm".into(), 1)]
}

fn weight(i: u32) -> u32 {
    (i % 4 + 1) * 1024
}

fn load(name: &str, groups: u32) -> Result<Load, String> {
    let g = i64::from(groups);
    let pair = |units: i64| vec![("submission".to_string(), units), ("llm".to_string(), units)];
    let endpoints = |n: i64, units: i64| (0..n).map(move |e| (format!("endpoint-{e}"), units));
    Ok(match name {
        "plain" => Load { capacity: pair(32), group: |i| (weight(i), 64, two()) },
        "over-share" => Load { capacity: pair(2 * g), group: |i| (weight(i), 1, two()) },
        "every-weight" => Load { capacity: pair(4 * g), group: |i| (1024 + i, 64, two()) },
        "eight-endpoints" => Load {
            capacity: pair(4 * g).into_iter().chain(endpoints(8, (g / 2).max(1))).collect(),
            group: |i| (weight(i), 8, two().into_iter().chain([(format!("endpoint-{}", i % 8), 1)]).collect()),
        },
        "opposed" => Load {
            capacity: vec![("submission".into(), 8 * g), ("left".into(), 4 * g), ("right".into(), 4 * g)],
            group: |i| {
                (
                    weight(i),
                    3,
                    vec![("submission".into(), 1), ("left".into(), 2 - i64::from(i % 2)), ("right".into(), 1 + i64::from(i % 2))],
                )
            },
        },
        "own-endpoint" => Load {
            capacity: pair(g).into_iter().chain(endpoints(g, 2)).collect(),
            group: |i| (weight(i), 8, two().into_iter().chain([(format!("endpoint-{i}"), 1)]).collect()),
        },
        _ => return Err(format!("no load is called {name:?}; there are {}", LOADS.join(", "))),
    })
}

/// Nanoseconds per cycle (the fastest slice), and the most heads examined for one dispatch.
pub fn cycle(name: &str, profile: &str, groups: u32, cycles: u32) -> Result<(f64, u64), String> {
    if groups == 0 || cycles == 0 {
        return Err("groups and cycles must be at least 1".into());
    }
    let load = load(name, groups)?;
    let profile = Profile::named(profile).ok_or_else(|| format!("no profile is called {profile:?}"))?;
    let mut engine = Admission::new(&profile, &load.capacity, crate::faults::NONE)?;
    let of: Vec<_> = (0..groups).map(|i| (format!("group-{i}"), (load.group)(i))).collect();
    let task = |id: &str, i: usize| TaskIn {
        id: id.to_string().into(),
        group: of[i].0.as_str().into(),
        needs: of[i].1.2.iter().map(|(name, units)| (name.as_str().into(), *units)).collect(),
    };
    let specs = of.iter().map(|(name, (weight, limit, _))| GroupIn {
        name: name.as_str().into(),
        spec: Spec { weight: *weight, share_limit: Some(*limit), running_limit: None },
    });
    let ids: Vec<(String, usize)> = (0..(WAITING / groups).max(2) * groups).map(|k| (format!("task-{k}"), (k % groups) as usize)).collect();
    let owner: crate::tables::Map<&str, usize> = ids.iter().map(|(id, i)| (id.as_str(), *i)).collect();
    let mut saw = Vec::new();
    engine.step(&Command::Enqueue { tasks: ids.iter().map(|(id, i)| task(id, *i)).collect(), groups: specs.collect() }, 0, &mut saw);
    let mut running: Vec<(u64, Arc<str>)> = Vec::new();
    let (mut at, mut seed, mut best, mut most, mut left) = (0, 7u64, f64::MAX, 0, cycles);
    pump(&mut engine, at, &mut saw, &mut running, &mut most);
    if running.is_empty() {
        return Err(format!("nothing starts under load {name}"));
    }
    most = 0;
    while left > 0 {
        let slice = left.min(SLICE);
        left -= slice;
        let chosen: Vec<u64> = (0..slice).map(|_| next(&mut seed)).collect();
        let begin = Instant::now();
        for draw in chosen {
            at += 1_000;
            let (lease, id) = running.swap_remove((draw % running.len() as u64) as usize);
            engine.step(&Command::Release { lease: lease as i64, claim: Claim::default() }, at, &mut saw);
            let again = Command::Enqueue { tasks: vec![task(&id, owner[&*id])], groups: Vec::new() };
            engine.step(&again, at, &mut saw);
            pump(&mut engine, at, &mut saw, &mut running, &mut most);
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / f64::from(slice));
    }
    Ok((best, most))
}

fn pump(engine: &mut Admission, at: i64, saw: &mut Vec<Seen>, running: &mut Vec<(u64, Arc<str>)>, most: &mut u64) {
    loop {
        saw.clear();
        let before = engine.examined();
        engine.step(&Command::Pump { at_most: 1 }, at, saw);
        *most = (*most).max(engine.examined() - before);
        match saw.first() {
            Some(Seen(_, About::Start(lease, id, _))) => running.push((*lease, id.clone())),
            _ => return saw.clear(),
        }
    }
}

fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    seed.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
}
