//! A pool of threads for fan-outs: real threads that run the machines of `spin` over atomics and a real clock.
//!
//! The thread that calls `run` takes part; the workers wait for the next fan-out in a window of the profile's policy, then park. A fan-out that
//! the pool declines (from within one of its own tasks, with no worker or no slot left, after its end) runs on the caller alone.
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::{fmt, io, mem};

use crate::faults::NONE as NO_FAULT;
#[cfg(not(loom))]
use crate::spin::Counter;
use crate::spin::{Barrier, Decline, Did, Dispatcher, Terms, Worker, shut_down};
#[cfg(loom)]
use crate::spin_loom::Break;
use crate::spin_memory::{COUNTERS, Hands, Payload, Shared, discard, guarded};
use crate::spin_policy::Policy;
use crate::spin_slot::Job;
use crate::spin_sync::thread;
#[cfg(not(loom))]
use crate::spin_time::{Row, Teller};
#[cfg(not(loom))]
use crate::spin_window::Seams;
use crate::spin_words::{Profile, Setup};

/// What a worker's thread runs.
pub type Body = Box<dyn FnOnce() + Send>;
/// Starts the thread of the worker of that number.
pub type Spawn<'s> = &'s mut dyn FnMut(usize, Body) -> io::Result<thread::JoinHandle<()>>;

/// How a fan-out ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// There was nothing to run.
    Nothing,
    /// With the workers; the caller ran so many tasks itself.
    Together { own: u32 },
    /// On the caller alone.
    Alone(Decline),
}

/// Why nothing was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// This process was forked off the one that made the pool, and has none of its threads.
    Forked {
        made_in: u32,
        here: u32,
    },
    TooMany {
        total: usize,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Forked { made_in, here } => {
                write!(
                    to,
                    "this pool was made in process {made_in}, and its threads are there; this is process {here}, after a fork: make a new pool here"
                )
            }
            Refused::TooMany { total } => write!(to, "total must be at most {}, found {total}", u32::MAX),
        }
    }
}

impl std::error::Error for Refused {}

pub struct SpinPool {
    shared: Arc<Shared>,
    terms: Terms,
    width: usize,
    threads: Lock<Vec<thread::JoinHandle<()>>>,
    process: u32,
}

impl SpinPool {
    /// A pool of `setup.width` threads, the caller's included, when all its workers are ready; a thread that cannot be had makes it
    /// smaller. Fails with what is out of its bounds, or if the workers are not ready within `profile.ready_within`.
    pub fn new(profile: &Profile, setup: &Setup) -> Result<Self, String> {
        Self::with_threads(profile, setup, &mut |number, body| {
            // fifteen bytes of a name are shown
            thread::Builder::new().name(format!("slotwise-spin{number}")).spawn(body)
        })
    }

    /// The same with threads that `spawn` starts.
    pub fn with_threads(profile: &Profile, setup: &Setup, spawn: Spawn<'_>) -> Result<Self, String> {
        Self::build(
            profile,
            setup,
            spawn,
            #[cfg(loom)]
            Break::Nothing,
        )
    }

    /// A pool with its protocol broken in one place.
    #[cfg(loom)]
    pub fn broken(profile: &Profile, setup: &Setup, broken: Break) -> Result<Self, String> {
        Self::build(profile, setup, &mut |_, body| thread::Builder::new().spawn(body), broken)
    }

    fn build(profile: &Profile, setup: &Setup, spawn: Spawn<'_>, #[cfg(loom)] broken: Break) -> Result<Self, String> {
        profile.check()?;
        setup.check()?;
        let planned = setup.workers() as usize;
        let terms = Terms::new(profile, setup, NO_FAULT);
        let policy = Policy::new(&profile.discipline, setup, NO_FAULT)?;
        let shared = Arc::new(Shared::new(
            &terms,
            planned,
            #[cfg(loom)]
            broken,
        ));
        let mut threads = Vec::with_capacity(planned);
        for number in 0..planned {
            let (shared, policy) = (Arc::clone(&shared), policy.clone());
            match spawn(number, Box::new(move || work(&shared, terms, policy, number))) {
                Ok(thread) => threads.push(thread),
                Err(_) => break,
            }
        }
        let setup = Setup { spawned: Some(threads.len() as i64), ..*setup };
        let terms = Terms::new(profile, &setup, NO_FAULT);
        let pool = SpinPool { shared, terms, width: setup.width as usize, threads: Lock::new(threads), process: std::process::id() };
        pool.wait_until_ready()?;
        Ok(pool)
    }

    fn wait_until_ready(&self) -> Result<(), String> {
        let hands = self.shared.hands();
        let mut barrier = Barrier::new(self.terms);
        loop {
            match barrier.step(&hands, &hands) {
                Did::Abandoned { ready, workers } => {
                    // Whoever is missing may never come: nobody is joined.
                    self.threads().clear();
                    let within = self.terms.ready_within;
                    return Err(format!("only {ready} of {workers} workers were ready within {within} ns: the pool is shut down"));
                }
                Did::BuiltAll(_) | Did::Idle(_) => return Ok(()),
                _ => {}
            }
        }
    }

    fn threads(&self) -> std::sync::MutexGuard<'_, Vec<thread::JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Run `job` for each number below `total`, in any order, on the workers and the caller; returns when all are done. If tasks panic, the
    /// others run all the same, and then the first of the panics is raised here.
    pub fn run(&self, total: usize, job: &Job<'_>) -> Result<Ran, Refused> {
        self.run_while(total, job, None)
    }

    /// The same; `meanwhile` is called now and then while the caller waits for the tasks of others. It must not panic.
    pub fn run_while(&self, total: usize, job: &Job<'_>, meanwhile: Option<&dyn Fn()>) -> Result<Ran, Refused> {
        self.check_process()?;
        let tasks = u32::try_from(total).map_err(|_| Refused::TooMany { total })?;
        let (ran, payload) = if self.is_inside() {
            (Ran::Alone(Decline::Nested), None)
        } else {
            self.shared.slots().lend(job, |loan| {
                let hands = Hands::new(&self.shared, self.shared.faces.len(), Some(loan), meanwhile);
                let mut dispatcher = Dispatcher::new(self.terms);
                match dispatcher.begin(&hands, tasks) {
                    Did::Held(_) => {
                        dispatcher.run(&hands, &hands, |slot, _| hands.run(slot));
                        (Ran::Together { own: dispatcher.own }, hands.payload())
                    }
                    Did::Declined(why) => (Ran::Alone(why), None),
                    _ => (Ran::Nothing, None),
                }
            })
        };
        let payload = if let Ran::Alone(_) = ran { alone(total, job) } else { payload };
        match payload {
            Some(payload) => resume_unwind(payload),
            None => Ok(ran),
        }
    }

    /// Is this the process that made the pool?
    pub fn check_process(&self) -> Result<(), Refused> {
        match std::process::id() {
            here if here == self.process => Ok(()),
            here => Err(Refused::Forked { made_in: self.process, here }),
        }
    }

    /// Is the caller a task of this pool?
    fn is_inside(&self) -> bool {
        self.shared.is_inside()
    }

    /// Threads that it was made for, the dispatcher's included.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Workers that there are.
    pub fn workers(&self) -> usize {
        self.terms.workers as usize
    }

    /// What has been counted, in the order of `spin::Counter`; nothing is stopped for it.
    pub fn counters(&self) -> [u64; COUNTERS] {
        self.shared.counters()
    }

    /// The window that each worker would spin now, in nanoseconds.
    pub fn windows(&self) -> Vec<u64> {
        self.shared.faces[..self.workers()].iter().map(|face| face.window.load()).collect()
    }

    /// What each worker has done until now; with how many spins found a task.
    #[cfg(not(loom))]
    pub fn rows(&self) -> Vec<(Row, u64)> {
        let now = self.shared.hands().clock();
        let of = |worker: usize| (self.shared.faces[worker].times.row(now), self.shared.counted_by(worker, Counter::SpinHits));
        (0..self.workers()).map(of).collect()
    }

    /// The kernel's numbers of the workers' threads.
    pub fn thread_ids(&self) -> Vec<u64> {
        self.shared.faces[..self.workers()].iter().map(|face| face.thread.load()).collect()
    }

    pub fn is_shut_down(&self) -> bool {
        self.shared.is_shut_down()
    }

    /// End the workers, and wait for them, unless a task of the pool asks. A fan-out under way goes on with those that run its tasks.
    /// In a process forked off there is nothing to end.
    pub fn shutdown(&self) {
        let threads = mem::take(&mut *self.threads());
        if self.check_process().is_err() {
            threads.into_iter().for_each(mem::forget); // none of them is in this process
            return;
        }
        if !self.is_shut_down() {
            shut_down(&self.shared.hands());
        }
        if self.is_inside() {
            *self.threads() = threads;
            return;
        }
        for thread in threads {
            let _ = thread.join();
        }
    }
}

impl Drop for SpinPool {
    fn drop(&mut self) {
        #[cfg(loom)]
        if std::thread::panicking() {
            return; // the model has failed; its threads run no more
        }
        self.shutdown();
    }
}

/// All tasks on the caller. What the first panic was raised with.
fn alone(total: usize, job: &Job<'_>) -> Option<Payload> {
    let mut first = None;
    for index in 0..total {
        if let Err(payload) = guarded(|| job(index)) {
            let late = if first.is_some() { Some(payload) } else { first.replace(payload) };
            discard(late);
        }
    }
    first
}

/// A worker's life.
fn work(shared: &Shared, terms: Terms, policy: Policy, number: usize) {
    let face = &shared.faces[number];
    face.thread.store(thread_id());
    face.window.store(policy.window());
    let hands = shared.worker(number);
    let mut worker = Worker::new(terms, policy, number);
    #[cfg(not(loom))]
    let mut teller = Teller::new(&face.times, hands.clock());
    loop {
        let mut did = worker.step(&hands, &hands);
        if did == (Did::NothingNew { parks: None }) {
            did = worker.spin(&hands, &hands, u64::MAX).1;
        }
        #[cfg(not(loom))]
        teller.did(did, worker.last, worker.since, &hands);
        match did {
            Did::Took { slot, .. } => {
                #[cfg(not(loom))]
                teller.took(&hands, slot);
                let panics = hands.run(slot);
                worker.end(&hands, panics);
            }
            Did::Left | Did::Idle(_) => return,
            Did::Again(1..) | Did::Woke(_) | Did::Caught(_) => face.window.store(worker.policy.window()),
            _ => {}
        }
    }
}

fn thread_id() -> u64 {
    #[cfg(all(target_os = "linux", not(loom)))]
    return rustix::thread::gettid().as_raw_nonzero().get() as u64;
    #[cfg(not(all(target_os = "linux", not(loom))))]
    0
}
