//! What the pool must reach apart from the frontier: an idle pool's CPU, and how soon back-to-back work begins.
use crate::Wanted;
use crate::arms::{accounted, arm, price, profile};
use crate::frontier::{SEED, drive};
use crate::machine::{median, now, stand, thread_cpu};
use crate::traces;
use serde_json::{Value, json};
use slotwise_native::spin_pool::SpinPool;
use slotwise_native::spin_words::Setup;
use std::time::Duration;

/// Cores that all workers of an idle pool burn, from a while after its last fan-out on.
fn idle(setup: &Setup, discipline: &str, width: i64, millis: u64) -> Result<f64, String> {
    let pool = SpinPool::new(&profile(discipline, 10_000)?, &Setup { width, ..*setup })?;
    for _ in 0..100 {
        pool.run(2 * width as usize, &|_| std::hint::spin_loop()).map_err(|error| error.to_string())?;
    }
    std::thread::sleep(Duration::from_millis(20));
    let spent = || pool.thread_ids().iter().map(|&tid| thread_cpu(tid as i32)).sum::<u64>();
    let (before, begun) = (spent(), now());
    std::thread::sleep(Duration::from_millis(millis));
    Ok((spent() - before) as f64 / (now() - begun) as f64)
}

pub fn bars(setup: &Setup, core: usize, wanted: &Wanted, tell: &mut dyn FnMut(&Value)) -> Result<(), String> {
    for (name, discipline) in [("GFTL 0", r#"{"type":"guarded"}"#), ("GFTL 4", r#"{"type":"guarded","latency":4096}"#)] {
        for width in [2, 8] {
            let cores = idle(setup, discipline, width, wanted.millis)?;
            tell(&json!({"what": "idle", "arm": name, "width": width, "cores": cores, "millis": wanted.millis}));
        }
    }
    let names = ["spin", "GFTL 0", "GFTL 4", "ratchet"];
    let gaps = traces::gaps("back to back", SEED, wanted.percent);
    let mut found: Vec<Vec<u64>> = vec![vec![]; names.len()];
    for repetition in 0..2 * wanted.blocks {
        let turn = 0..names.len();
        let order: Vec<usize> = if repetition % 2 == 1 { turn.rev().collect() } else { turn.collect() };
        for number in order {
            let mut it = arm(names[number], setup)?;
            stand(it.tid(), core);
            if let Some(block) = drive("back to back", names[number], it.as_mut(), price(names[number], setup), 0, &gaps) {
                found[number].push(median(block.latencies));
            }
        }
    }
    for (name, medians) in names.iter().zip(found) {
        tell(&json!({"what": "back to back", "arm": name, "p50_ns": medians}));
    }
    for repetition in 0..wanted.blocks {
        for name in ["GFTL 0", "GFTL 1", "GFTL 4", "break-even", "ratchet"] {
            let mut it = accounted(name, setup)?;
            stand(it.tid(), core);
            drive("adversary", name, it.as_mut(), None, 0, &traces::gaps("adversary", SEED, wanted.percent));
            let tally = it.close();
            let price_ns = price(name, setup);
            tell(
                &json!({"what": "account", "arm": name, "repetition": repetition, "gaps": tally.gaps, "cost_ns": tally.cost_ns, "best_ns": tally.best_ns, "price_ns": price_ns}),
            );
        }
    }
    Ok(())
}
