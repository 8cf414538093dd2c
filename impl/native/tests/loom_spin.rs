//! The pool's protocol under every interleaving of a few preemptions, and under what the memory model allows:
//! RUSTFLAGS="--cfg loom" cargo test --profile loom --test loom_spin
//! Two workers and a dispatcher, windows of two passes. Each broken protocol must be found.
#![cfg(loom)]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Condvar, Mutex};
use slotwise_native::spin_loom::Break;
use slotwise_native::spin_pool::{Ran, SpinPool};
use slotwise_native::spin_words::{Discipline, Profile, Setup};

fn pool(width: i64, wakes_all: bool, broken: Break) -> SpinPool {
    let tiny = Profile {
        discipline: Discipline::Fixed { window: 2 },
        budget: 2,
        stride: 1,
        slots: 1,
        straggler_stride: 1,
        wakes_all,
        ..Profile::named("slotwise").unwrap()
    };
    SpinPool::broken(&tiny, &Setup { width, ..Setup::default() }, broken).unwrap()
}

/// What tasks write, a word each. Nothing orders the words by themselves: who reads too early may read the old one.
struct Words(Vec<AtomicUsize>);

impl Words {
    fn new(number: usize) -> Self {
        Words((0..number).map(|_| AtomicUsize::new(0)).collect())
    }

    fn write(&self, index: usize) {
        self.0[index].fetch_add(1, Ordering::Relaxed);
    }

    fn check(&self, round: usize) {
        assert!(self.0.iter().all(|word| word.load(Ordering::Relaxed) == round), "each task once, and seen");
    }
}

/// Each task once, seen by the dispatcher when its call returns; the pool ends.
fn tasks(width: i64, total: usize, rounds: usize, broken: Break) {
    let pool = pool(width, false, broken);
    let words = Words::new(total);
    for round in 1..=rounds {
        let ran = pool.run(total, &|index| words.write(index)).unwrap();
        assert!(matches!(ran, Ran::Together { .. }));
        words.check(round);
    }
    let counters = pool.counters();
    assert_eq!(counters[1], (total * rounds) as u64, "tasks are counted when the call returns");
}

/// Tasks that wait for each other: nobody who is needed sleeps on.
fn meet(width: i64, wakes_all: bool, broken: Break) {
    let pool = pool(width, wakes_all, broken);
    let met = (Mutex::new(0), Condvar::new());
    pool.run(width as usize, &|_| {
        let mut number = met.0.lock().unwrap();
        *number += 1;
        if *number == width {
            met.1.notify_all();
        }
        while *number < width {
            number = met.1.wait(number).unwrap();
        }
    })
    .unwrap();
}

fn model(preemptions: usize, body: impl Fn() + Sync + Send + 'static) -> usize {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    let played = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&played);
    builder.check(move || {
        count.fetch_add(1, Ordering::Relaxed);
        body();
    });
    let played = played.load(Ordering::Relaxed);
    println!("{played} interleavings");
    played
}

fn finds(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let found = catch_unwind(AssertUnwindSafe(|| model(preemptions, body)));
    assert!(found.is_err(), "the model did not find it");
}

#[test]
fn each_task_once_with_one_worker() {
    model(3, || tasks(2, 2, 1, Break::Nothing));
}

#[test]
fn each_task_once_when_a_slot_is_used_again() {
    model(2, || tasks(2, 1, 2, Break::Nothing));
}

#[test]
fn each_task_once_with_two_workers() {
    model(1, || tasks(3, 2, 1, Break::Nothing));
}

#[test]
fn nobody_needed_sleeps_on_with_one_worker() {
    model(3, || meet(2, false, Break::Nothing));
}

#[test]
fn nobody_needed_sleeps_on_with_two_workers() {
    model(1, || meet(3, false, Break::Nothing));
}

#[test]
fn nobody_needed_sleeps_on_if_all_are_woken() {
    model(1, || meet(3, true, Break::Nothing));
}

#[test]
fn finds_the_epoch_before_active() {
    finds(3, || meet(2, false, Break::EpochBeforeActive));
}

#[test]
fn finds_no_pre_check() {
    finds(2, || tasks(3, 2, 1, Break::NoPreCheck));
}

#[test]
fn finds_an_incremental_claim() {
    finds(2, || tasks(2, 1, 2, Break::IncrementalClaim));
}

#[test]
fn finds_no_re_check() {
    finds(3, || meet(2, false, Break::NoReCheck));
}

#[test]
fn finds_sleepers_before_the_epoch() {
    finds(3, || meet(2, false, Break::SleepersBeforeEpoch));
}

#[test]
fn finds_no_fence() {
    finds(3, || meet(2, false, Break::NoFence));
}

#[test]
fn finds_a_relaxed_claim() {
    finds(2, || tasks(2, 1, 2, Break::RelaxedClaim));
}

#[test]
fn finds_a_relaxed_settlement() {
    finds(3, || tasks(2, 2, 1, Break::RelaxedSettle));
}
