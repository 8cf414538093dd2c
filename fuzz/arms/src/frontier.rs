//! Blocks of the frontier: one arm, one trace of gaps; what its worker spent and how soon its tasks began.
use crate::Wanted;
use crate::arms::{ARMS, Arm, Counters, arm, price};
use crate::calibrate::calibrate;
use crate::machine::{now, pass_time, stand, switches, thread_cpu, tid};
use crate::traces::{Gap, TRACES, gaps};
use serde::Serialize;

/// Of the first repetitions' gaps.
pub const SEED: u64 = 0x5107;
/// Of parks and of catches, in each calibration.
const ROUNDS: usize = 100;
/// Time for blocks that are done anew, ns for each block and percent: half a minute at the usual four and hundred.
const PATIENCE: u64 = 75_000_000;
/// If the dispatcher, which never waits without pausing, did not get so much of a gap's wall time, ns, another thread had its core.
const TAKEN: u64 = 10_000;

#[derive(Serialize)]
pub struct Block<'a> {
    pub what: &'static str,
    pub trace: &'a str,
    pub arm: &'a str,
    pub repetition: u64,
    /// All, and those that count: in which nobody took the dispatcher's core. `cpu_ns` and `latencies` are of the latter.
    pub played: usize,
    pub gaps: usize,
    pub wall_ns: u64,
    pub cpu_ns: u64,
    pub dispatcher_cpu_ns: u64,
    /// Sum of the gaps, from a task's end to the next publication.
    pub idle_ns: u64,
    pub slept: u64,
    pub preempted: u64,
    pub counters: Counters,
    /// Sums over the gaps where the arm has a window: what the policy cost, and what the offline optimum would have, both at the arm's own
    /// price of a park.
    pub cost_ns: u64,
    pub best_ns: u64,
    pub price_ns: u64,
    /// Wall time that the dispatcher did not get: others' work on its core.
    pub lost_ns: u64,
    /// From each publication to its task's first instruction, ns.
    pub latencies: Vec<u64>,
}

/// Publishes after each gap and waits for the task. Nothing if this arm can't be played against by an adversary.
pub fn drive<'a>(trace: &'a str, name: &'a str, it: &mut dyn Arm, price: Option<u64>, warm: u32, gaps: &[Gap]) -> Option<Block<'a>> {
    for _ in 0..warm.max(1) {
        pass_time(now() + 2000);
        it.dispatch();
    }
    it.counts_from_here();
    let (tid, mine) = (it.tid(), tid());
    let (slept, preempted) = switches(tid);
    let mut block = Block {
        what: "block",
        trace,
        arm: name,
        repetition: 0,
        played: gaps.len(),
        gaps: 0,
        wall_ns: 0,
        cpu_ns: 0,
        dispatcher_cpu_ns: 0,
        idle_ns: 0,
        slept,
        preempted,
        counters: it.counters(),
        cost_ns: 0,
        best_ns: 0,
        price_ns: price.unwrap_or(0),
        lost_ns: 0,
        latencies: Vec::with_capacity(gaps.len()),
    };
    let (own, begun) = (thread_cpu(mine), now());
    let (mut free, mut before) = (begun, (begun, own, thread_cpu(tid)));
    let (mut all, mut all_cpu) = (vec![], 0);
    for gap in gaps {
        match gap {
            Gap::Ns(length) => pass_time(free + length),
            Gap::Adverse if it.gave_up() => pass_time(now() + 1000),
            Gap::Adverse => return None,
        };
        let window = it.window();
        let (at, started) = it.dispatch();
        let gap = at.saturating_sub(free);
        free = now();
        let after = (free, thread_cpu(mine), thread_cpu(tid));
        let lost = (after.0 - before.0).saturating_sub(after.1 - before.1);
        let (latency, cpu) = (started.saturating_sub(at), after.2 - before.2);
        before = after;
        if lost < TAKEN {
            block.latencies.push(latency);
            block.cpu_ns += cpu;
        }
        all.push(latency);
        all_cpu += cpu;
        block.idle_ns += gap;
        if let (Some(window), Some(price)) = (window, price) {
            block.cost_ns += if gap <= window { gap } else { window + price };
            block.best_ns += gap.min(price);
        }
    }
    block.wall_ns = now() - begun;
    if 10 * block.latencies.len() < all.len() {
        (block.latencies, block.cpu_ns) = (all, all_cpu); // hardly any was left alone
    }
    block.gaps = block.latencies.len();
    block.dispatcher_cpu_ns = thread_cpu(mine) - own;
    block.lost_ns = block.wall_ns.saturating_sub(block.dispatcher_cpu_ns);
    let (before, after) = (block.counters, it.counters());
    block.counters = Counters { parks: after.parks - before.parks, hits: after.hits - before.hits, yields: after.yields - before.yields };
    let (slept, preempted) = switches(tid);
    (block.slept, block.preempted) = (slept - block.slept, preempted - block.preempted);
    Some(block)
}

/// All arms on all traces, in the order A B … B A, so that a drift of the machine falls on all alike.
pub fn frontier(cores: &[usize], wanted: &Wanted, tell: &mut dyn FnMut(&Block)) -> Result<(), String> {
    let mut patience = wanted.blocks * wanted.percent * PATIENCE;
    for repetition in 0..wanted.blocks {
        for trace in TRACES.iter().filter(|trace| wanted.traces.is_empty() || wanted.traces.iter().any(|name| name == **trace)) {
            // what waiting costs moves with what else the machine does: all arms of these blocks get the same, measured just now
            let setup = &calibrate(ROUNDS.min(wanted.rounds as usize), cores).setup();
            let gaps = gaps(trace, SEED + repetition / 2, wanted.percent);
            let mut order = ARMS.to_vec();
            order.rotate_left((repetition / 2 * 5) as usize % ARMS.len());
            if repetition % 2 == 1 {
                order.reverse();
            }
            for name in order {
                let block = undisturbed(&mut patience, || {
                    let mut it = arm(name, setup)?;
                    stand(it.tid(), cores[1]);
                    let warm = if name.ends_with("warm") { 24 } else { 0 };
                    let block = drive(trace, name, it.as_mut(), price(name, setup), warm, &gaps);
                    it.close();
                    Ok(block)
                })?;
                if let Some(block) = block {
                    tell(&Block { repetition, ..block });
                }
            }
        }
    }
    Ok(())
}

/// A block anew, at most twice, while others' work took a tenth of it on the dispatcher's core and there is patience left (ns); the least
/// disturbed counts. The dispatcher is busy alike under every arm, so no arm is favoured.
fn undisturbed<'a>(patience: &mut u64, mut make: impl FnMut() -> Result<Option<Block<'a>>, String>) -> Result<Option<Block<'a>>, String> {
    let Some(mut best) = make()? else { return Ok(None) };
    for _ in 0..2 {
        if best.lost_ns < best.wall_ns / 10 || best.wall_ns > *patience {
            break;
        }
        let Some(again) = make()? else { break };
        *patience = patience.saturating_sub(again.wall_ns);
        if again.lost_ns * best.wall_ns < best.lost_ns * again.wall_ns {
            best = again;
        }
    }
    Ok(Some(best))
}
