//! What the primitives cost here: a pause, a reading of the clock, a yield, a park with its wake, and how soon a waiting thread looks.
use crate::board::{Board, Waiter, publish, wake_sleeper, worker};
use crate::machine::{futex_wait, futex_wake, median, now, pass_time, stand, thread_cpu, tid};
use crate::waiters::Spin;
use serde::Serialize;
use slotwise_native::spin_words::Setup;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};

#[derive(Serialize)]
pub struct Calibration {
    pub pause_ns: f64,
    pub clock_ns: f64,
    pub thread_clock_ns: f64,
    pub yield_ns: f64,
    /// CPU of the parked thread: from its wake to its next park, the median of the rounds.
    pub park_ns: u64,
    pub park_p90_ns: u64,
    /// CPU of the thread that wakes it.
    pub wake_call_ns: u64,
    /// From the publication to the parked thread's look.
    pub wake_ns: u64,
    pub wake_p99_ns: u64,
    /// The same of a spinning thread.
    pub catch_ns: u64,
    pub rounds: usize,
    pub cores: usize,
}

impl Calibration {
    /// As a pool is told.
    pub fn setup(&self) -> Setup {
        Setup { park: (self.park_ns as i64).max(8), wake: self.wake_ns as i64, catch: self.catch_ns as i64, ..Setup::default() }
    }
}

/// The median of many batches, ns for each call.
fn cost(batch: u64, call: impl Fn()) -> f64 {
    let batches = (0..101).map(|_| {
        let begun = now();
        (0..batch).for_each(|_| call());
        (now() - begun) * 1000 / batch
    });
    median(batches.collect()) as f64 / 1000.0
}

/// Rounds of wake and park, each after a wait long enough for the other to sleep.
fn parks(rounds: usize, core: usize) -> [Vec<u64>; 3] {
    let (word, looked) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU64::new(0)));
    let who = Arc::new(AtomicU32::new(0));
    let sleeper = std::thread::spawn({
        let (word, looked, who) = (word.clone(), looked.clone(), who.clone());
        move || {
            stand(tid(), core);
            who.store(tid() as u32, Release);
            let mut last = 0;
            while last != u32::MAX {
                futex_wait(&word, last);
                last = word.load(Acquire);
                looked.store(now(), Release);
            }
        }
    });
    let spent = || thread_cpu(who.load(Acquire) as i32);
    pass_time(now() + 1_000_000);
    let (mut cpu, mut call, mut latency) = (vec![], vec![], vec![]);
    for round in 1..=rounds as u32 {
        let before = spent();
        let at = now();
        word.store(round, SeqCst);
        futex_wake(&word);
        call.push(now() - at);
        let looked_at = loop {
            match looked.load(Acquire) {
                when if when >= at => break when,
                _ => std::hint::spin_loop(),
            }
        };
        latency.push(looked_at - at);
        pass_time(now() + 200_000);
        cpu.push(spent() - before);
    }
    word.store(u32::MAX, SeqCst);
    futex_wake(&word);
    let _ = sleeper.join();
    [cpu, call, latency]
}

fn catches(rounds: usize, core: usize) -> Vec<u64> {
    let board = Arc::new(Board::default());
    let thread = worker(board.clone(), Box::new(Spin) as Box<dyn Waiter>, 0);
    while board.tid.load(Acquire) == 0 {
        std::thread::sleep(std::time::Duration::from_micros(50)); // it may have to begin on this core
    }
    stand(board.tid.load(Acquire), core);
    let latency = (0..rounds).map(|_| {
        pass_time(now() + 30_000);
        let (at, epoch) = publish(&board, &|| wake_sleeper(&board));
        while board.done.load(Acquire) != epoch {
            std::hint::spin_loop();
        }
        board.started.load(Acquire) - at
    });
    let latency = latency.collect();
    board.over.store(true, Release);
    publish(&board, &|| wake_sleeper(&board));
    let _ = thread.join();
    latency
}

pub fn calibrate(rounds: usize, cores: &[usize]) -> Calibration {
    let [mut cpu, call, mut latency] = parks(rounds, cores[1]);
    cpu.sort_unstable();
    latency.sort_unstable();
    let mine = tid();
    Calibration {
        pause_ns: cost(2000, std::hint::spin_loop),
        clock_ns: cost(2000, || {
            black_box(now());
        }),
        thread_clock_ns: cost(500, || {
            black_box(thread_cpu(mine));
        }),
        yield_ns: cost(500, std::thread::yield_now),
        park_ns: cpu[rounds / 2],
        park_p90_ns: cpu[rounds * 9 / 10],
        wake_call_ns: median(call),
        wake_ns: latency[rounds / 2],
        wake_p99_ns: latency[rounds * 99 / 100],
        catch_ns: median(catches(rounds, cores[1])),
        rounds,
        cores: cores.len(),
    }
}
