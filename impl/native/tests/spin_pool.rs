//! The pool of threads: nothing is lost, whatever its tasks and its callers do. Nothing here depends on how long something takes.
#![cfg(not(loom))]
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, mpsc};
use std::{io, thread};

use slotwise_native::spin::{Counter, Decline};
use slotwise_native::spin_pool::{Body, Ran, SpinPool};
use slotwise_native::spin_words::{Discipline, Profile, Setup};

fn profile(discipline: Discipline) -> Profile {
    Profile { discipline, ..Profile::named("slotwise").unwrap() }
}

/// Workers that park after one stride.
fn sleepy() -> Profile {
    profile(Discipline::Fixed { window: 0 })
}

fn of_width(width: i64) -> Setup {
    Setup { width, ..Setup::default() }
}

fn pool(profile: &Profile, width: i64) -> SpinPool {
    SpinPool::new(profile, &of_width(width)).unwrap()
}

fn count(pool: &SpinPool, counter: Counter) -> u64 {
    pool.counters()[counter as usize]
}

/// Every thread of the pool is in a task at once: none is lost, none sleeps on.
fn all_meet(pool: &SpinPool) {
    let all = Barrier::new(pool.workers() + 1);
    pool.run(pool.workers() + 1, &|_| {
        all.wait();
    })
    .unwrap();
}

fn add(to: &AtomicUsize) {
    to.fetch_add(1, Ordering::Relaxed);
}

fn until(what: impl Fn() -> bool) {
    while !what() {
        thread::yield_now();
    }
}

#[test]
fn each_task_runs_once_in_ten_thousand_rounds() {
    for profile in [Profile::named("slotwise").unwrap(), Profile::named("ep-cpu-after").unwrap(), sleepy()] {
        let pool = pool(&profile, 3);
        let mut expected = 0;
        for round in 0..10_000 {
            let total = round % 5;
            let ran: [AtomicUsize; 5] = Default::default();
            pool.run(total, &|index| add(&ran[index])).unwrap();
            assert!(ran[..total].iter().all(|times| times.load(Ordering::Relaxed) == 1), "{} round {round}", profile.name);
            expected += total as u64;
            assert_eq!(count(&pool, Counter::Tasks), expected, "a snapshot after a fan-out misses none of its tasks");
        }
        assert_eq!(count(&pool, Counter::Dispatches), 8_000);
        assert!(count(&pool, Counter::TasksByDispatcher) <= expected);
    }
}

#[test]
fn nobody_needed_sleeps_on() {
    for profile in [sleepy(), Profile { wakes_all: true, ..sleepy() }, Profile::named("slotwise").unwrap()] {
        let pool = pool(&profile, 4);
        for _ in 0..500 {
            all_meet(&pool);
        }
        assert_eq!(count(&pool, Counter::Tasks), 2_000);
    }
}

#[test]
fn what_tasks_wrote_is_seen() {
    let pool = pool(&sleepy(), 3);
    let cells: Vec<Mutex<usize>> = (0..64).map(|_| Mutex::new(0)).collect();
    for _ in 0..100 {
        pool.run(64, &|index| *cells[index].lock().unwrap() += index).unwrap();
    }
    assert!(cells.iter().enumerate().all(|(index, cell)| *cell.lock().unwrap() == 100 * index));
}

#[test]
fn a_panic_is_raised_when_all_is_done_and_costs_no_worker() {
    let pool = pool(&sleepy(), 3);
    for round in 1..=50 {
        let ran = AtomicUsize::new(0);
        let raised = catch_unwind(AssertUnwindSafe(|| {
            pool.run(128, &|index| {
                ran.fetch_add(1, Ordering::Relaxed);
                assert!(index % 3 != 0, "task {index} fails");
            })
        }));
        let message = *raised.unwrap_err().downcast::<String>().unwrap();
        assert!(message.starts_with("task ") && message.ends_with(" fails"), "{message}");
        assert_eq!(ran.load(Ordering::Relaxed), 128);
        assert_eq!(count(&pool, Counter::Panics), 43 * round);
        all_meet(&pool); // and the next fan-out has no panic of this one
    }
}

#[test]
fn a_payload_that_panics_when_it_is_dropped_costs_no_worker() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !thread::panicking() {
                panic!("and again");
            }
        }
    }
    let pool = pool(&sleepy(), 3);
    let all = Barrier::new(3);
    let raised = catch_unwind(AssertUnwindSafe(|| {
        pool.run(3, &|_| {
            all.wait();
            std::panic::panic_any(Bomb);
        })
    }));
    std::mem::forget(raised);
    assert_eq!(count(&pool, Counter::Panics), 3);
    all_meet(&pool);
}

#[test]
fn a_fan_out_within_a_task_runs_there() {
    let (pool, other) = (pool(&sleepy(), 3), pool(&sleepy(), 2));
    let ran = AtomicUsize::new(0);
    pool.run(8, &|_| {
        let here = thread::current().id();
        let inner = pool.run(4, &|_| {
            assert_eq!(thread::current().id(), here);
            ran.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(inner, Ok(Ran::Alone(Decline::Nested)));
        let elsewhere = other.run(2, &|_| assert_eq!(pool.run(0, &|_| {}), pool.run(0, &|_| {})));
        assert!(matches!(elsewhere, Ok(Ran::Together { .. })), "another pool is another matter");
        assert_eq!(pool.run(1, &|_| {}), Ok(Ran::Alone(Decline::Nested)), "and it is a task of the first again");
    })
    .unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 32);
    assert!(matches!(pool.run(8, &|_| {}), Ok(Ran::Together { .. })));
}

#[test]
fn a_caller_without_a_slot_runs_alone() {
    let two = Profile { slots: 2, ..sleepy() };
    let pool = pool(&two, 2);
    let (held, release) = (Barrier::new(3), (Mutex::new(false), Condvar::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                pool.run(1, &|_| {
                    held.wait();
                    drop(release.1.wait_while(release.0.lock().unwrap(), |go| !*go).unwrap());
                })
                .unwrap();
            });
        }
        held.wait();
        let here = thread::current().id();
        assert_eq!(pool.run(3, &|_| assert_eq!(thread::current().id(), here)), Ok(Ran::Alone(Decline::Slots)));
        *release.0.lock().unwrap() = true;
        release.1.notify_all();
    });
    assert_eq!(count(&pool, Counter::SlotExhausted), 1);
    assert_eq!(count(&pool, Counter::Tasks), 2, "what runs alone is not the pool's");
    assert!(matches!(pool.run(3, &|_| {}), Ok(Ran::Together { .. })), "slots come back");
}

#[test]
fn many_dispatchers_at_once() {
    let pool = pool(&Profile::named("slotwise").unwrap(), 3);
    let (ran, together) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let own = AtomicUsize::new(0);
                    let how = pool.run(4, &|_| add(&own)).unwrap();
                    assert_eq!(own.load(Ordering::Relaxed), 4);
                    together.fetch_add(usize::from(matches!(how, Ran::Together { .. })), Ordering::Relaxed);
                    ran.fetch_add(4, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(ran.load(Ordering::Relaxed), 24_000);
    let together = together.load(Ordering::Relaxed) as u64;
    assert_eq!(count(&pool, Counter::Dispatches), together);
    assert_eq!(count(&pool, Counter::Tasks), 4 * together);
    assert_eq!(count(&pool, Counter::SlotExhausted), 6_000 - together);
}

#[test]
fn it_ends_while_its_workers_are_parked() {
    let pool = pool(&sleepy(), 4);
    until(|| count(&pool, Counter::Parks) >= 3);
    drop(pool);
}

#[test]
fn it_ends_while_its_workers_spin() {
    drop(pool(&profile(Discipline::Fixed { window: 1_000_000_000 }), 3));
}

#[test]
fn after_its_end_the_caller_runs_alone() {
    let pool = pool(&sleepy(), 3);
    pool.shutdown();
    pool.shutdown();
    let ran = AtomicUsize::new(0);
    assert_eq!(pool.run(5, &|_| add(&ran)), Ok(Ran::Alone(Decline::Shutdown)));
    assert_eq!(ran.load(Ordering::Relaxed), 5);
}

#[test]
fn a_fan_out_under_way_is_finished_when_the_pool_ends() {
    let pool = pool(&sleepy(), 3);
    let ran = AtomicUsize::new(0);
    let (all, caller) = (Barrier::new(3), thread::current().id());
    pool.run(1_000, &|index| {
        if index >= 997 {
            all.wait(); // the three that begin first, one on each thread
            if thread::current().id() != caller {
                pool.shutdown(); // from within: it must not wait for itself
            }
        }
        ran.fetch_add(1, Ordering::Relaxed);
    })
    .unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 1_000);
}

#[test]
fn a_thread_that_cannot_be_had_makes_it_smaller() {
    for possible in 0..3 {
        let mut spawn = |number, body: Body| {
            if number < possible { thread::Builder::new().spawn(body) } else { Err(io::ErrorKind::WouldBlock.into()) }
        };
        let pool = SpinPool::with_threads(&sleepy(), &of_width(4), &mut spawn).unwrap();
        assert_eq!((pool.width(), pool.workers(), pool.windows().len()), (4, possible, possible));
        let ran = AtomicUsize::new(0);
        let how = pool.run(9, &|_| add(&ran)).unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), 9);
        assert_eq!(how == Ran::Alone(Decline::NoWorkers), possible == 0);
        all_meet(&pool);
    }
}

#[test]
fn a_pool_of_one_has_no_workers() {
    let pool = pool(&Profile::named("slotwise").unwrap(), 1);
    assert_eq!(pool.workers(), 0);
    assert_eq!(pool.run(3, &|_| {}), Ok(Ran::Alone(Decline::NoWorkers)));
    let raised = catch_unwind(AssertUnwindSafe(|| pool.run(3, &|index| assert!(index != 1, "the second fails"))));
    assert_eq!(*raised.unwrap_err().downcast::<&str>().unwrap(), "the second fails");
}

#[test]
fn workers_that_do_not_come_are_given_up() {
    let (let_go, held) = mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let impatient = Profile { budget: 4, ready_within: 1_000_000, ..sleepy() };
    let mut spawn = |number, body: Body| {
        let held = Arc::clone(&held);
        thread::Builder::new().spawn(move || {
            if number > 0 {
                let _ = held.lock().unwrap().recv();
            }
            body();
        })
    };
    let error = SpinPool::with_threads(&impatient, &of_width(4), &mut spawn).err().unwrap();
    assert!(error.ends_with("of 3 workers were ready within 1000000 ns: the pool is shut down"), "{error}");
    assert!(error.starts_with("only 0") || error.starts_with("only 1"), "{error}");
    drop(let_go);
}

#[test]
fn workers_that_come_late_are_waited_for() {
    let starts = Barrier::new(2);
    thread::scope(|scope| {
        let (sender, bodies) = mpsc::channel::<Body>();
        scope.spawn({
            let starts = &starts;
            move || {
                starts.wait();
                let bodies: Vec<_> = bodies.iter().map(thread::spawn).collect();
                drop(bodies);
            }
        });
        let mut spawn = |number, body: Body| {
            sender.send(body).unwrap();
            if number == 1 {
                starts.wait();
            }
            thread::Builder::new().spawn(|| {})
        };
        let pool = SpinPool::with_threads(&sleepy(), &of_width(3), &mut spawn).unwrap();
        drop(sender);
        all_meet(&pool);
    });
}

#[test]
fn bad_parameters_are_refused_by_name() {
    let ratchet = |floor, cap| profile(Discipline::Ratchet { floor, cap });
    let setup = Setup::default();
    for (profile, setup, name) in [
        (sleepy(), of_width(0), "width"),
        (sleepy(), of_width(65), "width"),
        (ratchet(30, 20), setup, "floor 30 is above cap 20"),
        (ratchet(0, 20), setup, "floor"),
        (profile(Discipline::Fixed { window: -1 }), setup, "window"),
        (profile(Discipline::Guarded { latency: -1 }), setup, "latency"),
        (Profile { slots: 33, ..sleepy() }, setup, "slots"),
        (sleepy(), Setup { park: -1, ..setup }, "park"),
        (sleepy(), Setup { wake: -1, ..setup }, "wake"),
        (sleepy(), Setup { catch: -1, ..setup }, "catch"),
    ] {
        let error = SpinPool::new(&profile, &setup).err().unwrap();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn counters_can_be_read_while_it_works() {
    let pool = pool(&sleepy(), 3);
    let ends = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..2_000 {
                pool.run(4, &|_| {}).unwrap();
            }
            ends.store(1, Ordering::Release);
        });
        let mut before = pool.counters();
        while ends.load(Ordering::Acquire) == 0 {
            let now = pool.counters();
            assert!(before.iter().zip(now).all(|(before, now)| *before <= now), "no counter goes back");
            before = now;
        }
    });
    assert_eq!(count(&pool, Counter::Tasks), 8_000);
}

#[test]
fn each_worker_has_a_thread_and_a_window() {
    let pool = pool(&profile(Discipline::Fixed { window: 77 }), 4);
    assert_eq!(pool.windows(), [77; 3]);
    assert_eq!(pool.thread_ids().into_iter().collect::<HashSet<_>>().len(), 3);
}
