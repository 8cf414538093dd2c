//! Measures ways to wait, in real threads on two cores, and prints what it saw as JSON lines. `slotwise bench spin` runs it and reads them.
mod arms;
mod bars;
mod board;
mod calibrate;
mod frontier;
mod machine;
mod regression;
mod traces;
mod waiters;

use serde::Serialize;

const USAGE: &str =
    "slotwise-arms [--blocks N] [--percent N] [--millis N] [--rounds N] [--only calibration,regression,bars,frontier] [--traces NAME,…]";

/// How much of everything.
pub struct Wanted {
    blocks: u64,
    percent: u64,
    millis: u64,
    rounds: u64,
    only: Vec<String>,
    traces: Vec<String>,
}

fn wanted(mut arguments: impl Iterator<Item = String>) -> Result<Wanted, String> {
    let mut wanted = Wanted { blocks: 4, percent: 100, millis: 300, rounds: 400, only: vec![], traces: vec![] };
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{option}: a value is missing; {USAGE}"))?;
        let names = || value.split(',').map(String::from).collect();
        let number = || {
            value.parse().ok().filter(|&number| number > 0).ok_or_else(|| format!("{option}: found {value:?}, expected a number above 0"))
        };
        match option.as_str() {
            "--blocks" => wanted.blocks = number()?,
            "--percent" => wanted.percent = number()?,
            "--millis" => wanted.millis = number()?,
            "--rounds" => wanted.rounds = number()?,
            "--only" => wanted.only = names(),
            "--traces" => wanted.traces = names(),
            _ => return Err(format!("found {option:?}, expected {USAGE}")),
        }
    }
    Ok(wanted)
}

fn tell(what: &impl Serialize) {
    println!("{}", serde_json::to_string(what).expect("numbers and names"));
}

fn measure(wanted: &Wanted) -> Result<(), String> {
    let cores = machine::cores();
    if cores.len() < 2 {
        return Err(format!("a worker and a dispatcher need two cores, found {}", cores.len()));
    }
    machine::stand(machine::tid(), cores[0]);
    let asked = |section: &str| wanted.only.is_empty() || wanted.only.iter().any(|name| name == section);
    let found = calibrate::calibrate(wanted.rounds as usize, &cores);
    let setup = found.setup();
    tell(&serde_json::json!({"what": "calibration", "found": found}));
    if asked("regression") {
        regression::regression(&setup, cores[1], 2, wanted.millis, &mut |fitted| tell(fitted))?;
    }
    if asked("bars") {
        bars::bars(&setup, cores[1], wanted, &mut |found| tell(found))?;
    }
    if asked("frontier") {
        for trace in traces::TRACES {
            let gaps: Vec<u64> = traces::gaps(trace, frontier::SEED, wanted.percent).iter().filter_map(traces::Gap::known).collect();
            tell(&serde_json::json!({"what": "trace", "trace": trace, "gaps": gaps}));
        }
        frontier::frontier(&cores, wanted, &mut |block| tell(block))?;
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    match wanted(std::env::args().skip(1)).and_then(|wanted| measure(&wanted)) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("slotwise-arms: {message}");
            std::process::ExitCode::FAILURE
        }
    }
}
