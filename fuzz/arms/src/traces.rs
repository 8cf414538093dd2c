//! Gaps between the end of a task and the next publication, ns. What they are called is what the analysis shows.

pub enum Gap {
    Ns(u64),
    /// 1 µs after the worker parked, whenever that is.
    Adverse,
}

impl Gap {
    pub fn known(&self) -> Option<u64> {
        match self {
            Gap::Ns(length) => Some(*length),
            Gap::Adverse => None,
        }
    }
}

pub const TRACES: [&str; 12] =
    ["20 µs", "50 µs", "100 µs", "300 µs", "1 ms", "3 ms", "exp 50 µs", "exp 300 µs", "decode", "Pareto", "phases", "adversary"];
const US: u64 = 1000;

/// Splitmix: the same gaps for every arm of a repetition.
pub struct Draw(pub u64);

impl Draw {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: u64) -> u64 {
        (-(1.0 - self.next()).ln() * mean as f64) as u64
    }

    /// Shape 1.2 from 20 µs on; no more than 30 ms.
    fn pareto(&mut self) -> u64 {
        ((20 * US) as f64 * (1.0 - self.next()).powf(-1.0 / 1.2)).min(3e7) as u64
    }
}

/// The gaps of one block: their number is such that a block lasts some tens of milliseconds at 100%.
pub fn gaps(trace: &str, seed: u64, percent: u64) -> Vec<Gap> {
    let mut draw = Draw(seed);
    let mut make = |number: u64, next: &mut dyn FnMut(&mut Draw, u64) -> u64| {
        (0..(number * percent / 100).max(2)).map(|i| Gap::Ns(next(&mut draw, i))).collect()
    };
    match trace {
        "20 µs" => make(1500, &mut |_, _| 20 * US),
        "50 µs" => make(800, &mut |_, _| 50 * US),
        "100 µs" => make(400, &mut |_, _| 100 * US),
        "300 µs" => make(200, &mut |_, _| 300 * US),
        "1 ms" => make(120, &mut |_, _| 1000 * US),
        "3 ms" => make(60, &mut |_, _| 3000 * US),
        "exp 50 µs" => make(800, &mut |draw, _| draw.exponential(50 * US)),
        "exp 300 µs" => make(200, &mut |draw, _| draw.exponential(300 * US)),
        "decode" => make(500, &mut |draw, _| if draw.next() < 0.95 { 15 * US } else { 2000 * US }),
        "Pareto" => make(400, &mut |draw, _| draw.pareto()),
        "phases" => make(260, &mut |_, i| if i % 130 < 100 { 20 * US } else { 3000 * US }),
        "adversary" => (0..(300 * percent / 100).max(2)).map(|_| Gap::Adverse).collect(),
        "back to back" => make(3000, &mut |_, _| 2 * US),
        _ => vec![],
    }
}
