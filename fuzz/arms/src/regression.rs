//! Blocks for the refit of `sys ~ a yields + b parks + c`: gap, yield interval and window vary apart from one another.
use crate::arms::{counted, profile};
use crate::board::Tally;
use crate::frontier::drive;
use crate::machine::stand;
use crate::traces::Gap;
use serde::Serialize;
use slotwise_native::spin_words::Setup;

const US: u64 = 1000;
/// Gap, yield interval (ns; a second: never), window.
pub const ARMS: [(u64, u64, u64); 20] = [
    (5 * US, 10 * US, 500 * US),
    (20 * US, 10 * US, 500 * US),
    (20 * US, 10 * US, 0),
    (100 * US, 10 * US, 0),
    (300 * US, 10 * US, 0),
    (1000 * US, 10 * US, 0),
    (300 * US, 1, 500 * US),
    (300 * US, 2 * US, 500 * US),
    (300 * US, 10 * US, 500 * US),
    (300 * US, 50 * US, 500 * US),
    (300 * US, 1_000_000 * US, 500 * US),
    (600 * US, 1, 500 * US),
    (600 * US, 10 * US, 500 * US),
    (1000 * US, 2 * US, 250 * US),
    (1000 * US, 1_000_000 * US, 250 * US),
    (3000 * US, 1, 500 * US),
    (3000 * US, 50 * US, 500 * US),
    (150 * US, 10 * US, 20 * US),
    (150 * US, 10 * US, 100 * US),
    (250 * US, 1, 100 * US),
];

#[derive(Serialize)]
pub struct Fitted {
    pub what: &'static str,
    pub arm: usize,
    pub gap_ns: u64,
    pub interval_ns: u64,
    pub window_ns: u64,
    pub repetition: u64,
    pub wall_ns: u64,
    pub slept: u64,
    pub preempted: u64,
    /// The worker's own account, from its first counted publication to its last.
    pub tally: Tally,
}

pub fn regression(setup: &Setup, core: usize, repetitions: u64, millis: u64, tell: &mut dyn FnMut(&Fitted)) -> Result<(), String> {
    for repetition in 0..repetitions {
        let mut order: Vec<usize> = (0..ARMS.len()).collect();
        if repetition % 2 == 1 {
            order.reverse();
        }
        for number in order {
            let (gap_ns, interval_ns, window_ns) = ARMS[number];
            let discipline = format!(r#"{{"type":"fixed","window":{window_ns}}}"#);
            let mut it = counted(profile(&discipline, interval_ns)?, 0, setup)?;
            stand(it.tid(), core);
            let gaps: Vec<Gap> = (0..(millis * 1000 * US / (gap_ns + 10 * US)).max(2)).map(|_| Gap::Ns(gap_ns)).collect();
            let block = drive("regression", "", it.as_mut(), None, 0, &gaps);
            let tally = it.close();
            if let Some(block) = block {
                let (wall_ns, slept, preempted) = (block.wall_ns, block.slept, block.preempted);
                tell(&Fitted {
                    what: "regression",
                    arm: number,
                    gap_ns,
                    interval_ns,
                    window_ns,
                    repetition,
                    wall_ns,
                    slept,
                    preempted,
                    tally,
                });
            }
        }
    }
    Ok(())
}
