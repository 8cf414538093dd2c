//! The arms of the frontier: each a worker that waits in its own way, and the dispatcher's side of it.
use crate::board::{Board, Tally, Waiter, publish, wake_sleeper, worker};
use crate::machine::{now, tid};
use crate::waiters::{Crossbeam, Engine, ParkingLot};
use crossbeam_utils::sync::Parker;
use parking_lot::{Condvar, Mutex};
use slotwise_native::spin_pool::{Ran, SpinPool};
use slotwise_native::spin_words::{Discipline, Profile, Setup};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread::{self, ThreadId};

/// A worker, seen from the dispatcher.
pub trait Arm {
    fn tid(&self) -> i32;
    /// Publishes one task and waits for its end; answers when it was published and when it began to run.
    fn dispatch(&mut self) -> (u64, u64);
    /// The window that the worker chose for the stretch it is in, where that is known.
    fn window(&self) -> Option<u64> {
        None
    }
    /// For who would do it harm: waits until the worker gave up spinning. False where that can't be seen, or never is.
    fn gave_up(&self) -> bool {
        false
    }
    /// The next publication is the first that counts.
    fn counts_from_here(&mut self) {}
    fn counters(&self) -> Counters {
        Counters::default()
    }
    fn close(self: Box<Self>) -> Tally {
        Tally::default()
    }
}

/// What a pool counts of itself.
#[derive(Clone, Copy, Default, serde::Serialize)]
pub struct Counters {
    pub parks: u64,
    pub hits: u64,
    pub yields: u64,
}

/// The engine's pool: a dispatcher, which takes part, and one worker. Of the two tasks of a fan-out one waits until the other has begun on
/// the worker, so that neither thread runs both.
pub struct Pool {
    pool: SpinPool,
    me: ThreadId,
    endless: bool,
    parks: u64,
}

impl Pool {
    pub fn new(profile: &Profile, setup: &Setup) -> Result<Self, String> {
        let endless = matches!(profile.discipline, Discipline::Fixed { window } if window >= ENDLESS);
        let pool = SpinPool::new(profile, &Setup { width: 2, ..*setup })?;
        Ok(Pool { pool, me: thread::current().id(), endless, parks: 0 })
    }
}

impl Arm for Pool {
    fn tid(&self) -> i32 {
        self.pool.thread_ids().first().map_or(0, |&tid| tid as i32)
    }

    fn dispatch(&mut self) -> (u64, u64) {
        let (started, me) = (AtomicU64::new(0), self.me);
        let task = |_: usize| {
            if thread::current().id() == me {
                while started.load(Acquire) == 0 {
                    std::hint::spin_loop();
                }
            } else if started.load(Acquire) == 0 {
                started.store(now(), Release);
            }
        };
        self.parks = self.counters().parks;
        let at = now();
        match self.pool.run(2, &task) {
            Ok(Ran::Together { .. }) => (at, started.load(Acquire)),
            other => panic!("the pool did not run the fan-out: {other:?}"),
        }
    }

    fn window(&self) -> Option<u64> {
        self.pool.windows().first().copied()
    }

    fn gave_up(&self) -> bool {
        while !self.endless && self.counters().parks == self.parks {
            std::hint::spin_loop();
        }
        !self.endless
    }

    fn counters(&self) -> Counters {
        let [_, _, _, _, parks, hits, _, _, _, yields] = self.pool.counters();
        Counters { parks, hits, yields }
    }
}

/// A worker of ours, on a board.
struct Single {
    board: Arc<Board>,
    thread: std::thread::JoinHandle<Tally>,
    wake: Box<dyn Fn()>,
    epoch: u32,
}

impl Single {
    fn new(waiter: Box<dyn Waiter>, price: u64, wake: Option<Box<dyn Fn()>>) -> Self {
        let board = Arc::new(Board::default());
        board.from.store(u32::MAX, Release);
        let thread = worker(board.clone(), waiter, price);
        while board.tid.load(Acquire) == 0 {
            std::thread::sleep(std::time::Duration::from_micros(50)); // it may have to begin on this core
        }
        let wake = wake.unwrap_or_else(|| {
            let board = board.clone();
            Box::new(move || wake_sleeper(&board))
        });
        Single { board, thread, wake, epoch: 0 }
    }
}

impl Arm for Single {
    fn tid(&self) -> i32 {
        self.board.tid.load(Acquire)
    }

    fn dispatch(&mut self) -> (u64, u64) {
        let (at, epoch) = publish(&self.board, &self.wake);
        self.epoch = epoch;
        while self.board.done.load(Acquire) != epoch {
            std::hint::spin_loop();
        }
        (at, self.board.started.load(Acquire))
    }

    fn gave_up(&self) -> bool {
        while !self.board.spun.load(Acquire) {
            std::hint::spin_loop();
        }
        true
    }

    fn counts_from_here(&mut self) {
        self.board.from.store(self.epoch, Release);
    }

    fn close(self: Box<Self>) -> Tally {
        self.board.over.store(true, Release);
        publish(&self.board, &self.wake);
        self.thread.join().unwrap_or_default()
    }
}

/// A pool of rayon's with one thread.
struct Rayon {
    pool: rayon::ThreadPool,
    tid: i32,
    board: Arc<Board>,
    epoch: u32,
}

impl Rayon {
    fn new() -> Result<Self, String> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|error| error.to_string())?;
        let tid = pool.install(tid);
        Ok(Rayon { pool, tid, board: Arc::default(), epoch: 0 })
    }
}

impl Arm for Rayon {
    fn tid(&self) -> i32 {
        self.tid
    }

    fn dispatch(&mut self) -> (u64, u64) {
        self.epoch += 1;
        let (board, epoch, at) = (self.board.clone(), self.epoch, now());
        self.pool.spawn(move || {
            board.started.store(now(), Release);
            board.done.store(epoch, Release);
        });
        while self.board.done.load(Acquire) != epoch {
            std::hint::spin_loop();
        }
        (at, self.board.started.load(Acquire))
    }
}

/// A window that no gap outlasts: the longest that there is.
const ENDLESS: i64 = 1_000_000_000;

/// The policies of the frontier, and the other ways to wait beside them. The null arms are copies of the arm they are named after.
pub const ARMS: [&str; 16] = [
    "park",
    "spin",
    "fixed 20",
    "fixed 100",
    "fixed 500",
    "ratchet",
    "ratchet, warm",
    "break-even",
    "GFTL 0",
    "GFTL 1",
    "GFTL 4",
    "rayon",
    "crossbeam",
    "parking_lot",
    "null: GFTL 0",
    "null: break-even",
];

fn discipline(name: &str) -> Option<String> {
    let latency = |times: i64| times * 1024;
    Some(match name.trim_start_matches("null: ") {
        "spin" => format!(r#"{{"type":"fixed","window":{ENDLESS}}}"#),
        "park" => r#"{"type":"fixed","window":0}"#.into(),
        "fixed 20" => r#"{"type":"fixed","window":20000}"#.into(),
        "fixed 100" => r#"{"type":"fixed","window":100000}"#.into(),
        "fixed 500" => r#"{"type":"fixed","window":500000}"#.into(),
        "ratchet" | "ratchet, warm" => r#"{"type":"ratchet"}"#.into(),
        "break-even" => r#"{"type":"break-even"}"#.into(),
        "GFTL 0" => r#"{"type":"guarded"}"#.into(),
        "GFTL 1" => format!(r#"{{"type":"guarded","latency":{}}}"#, latency(1)),
        "GFTL 4" => format!(r#"{{"type":"guarded","latency":{}}}"#, latency(4)),
        _ => return None,
    })
}

/// A profile with this discipline; the ratchet as published, where an empty catch counts.
pub fn profile(discipline: &str, interval: u64) -> Result<Profile, String> {
    let published = discipline.contains("ratchet");
    let text = format!(r#"{{"name":"arm","discipline":{discipline},"yield_interval":{interval},"empty_catch_counts":{published}}}"#);
    let profile: Profile = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    profile.check().map(|()| profile)
}

/// The engine's window on a board of ours, which counts each pause and each reading, and keeps account of the policy's gaps.
pub fn counted(profile: Profile, price: u64, setup: &Setup) -> Result<Box<dyn Arm>, String> {
    Ok(Box::new(Single::new(Box::new(Engine::new(profile, setup)?), price, None)))
}

/// The same for one of `ARMS` that is a policy.
pub fn accounted(name: &str, setup: &Setup) -> Result<Box<dyn Arm>, String> {
    let discipline = discipline(name).ok_or_else(|| format!("{name} is no policy"))?;
    counted(profile(&discipline, 10_000)?, price(name, setup).unwrap_or(0), setup)
}

pub fn arm(name: &str, setup: &Setup) -> Result<Box<dyn Arm>, String> {
    if let Some(discipline) = discipline(name) {
        let interval = if name == "spin" { ENDLESS as u64 } else { 10_000 };
        return Ok(Box::new(Pool::new(&profile(&discipline, interval)?, setup)?));
    }
    Ok(match name {
        "crossbeam" => {
            let parker = Parker::new();
            let unparker = parker.unparker().clone();
            Box::new(Single::new(Box::new(Crossbeam(parker)), 0, Some(Box::new(move || unparker.unpark()))))
        }
        "parking_lot" => {
            let bed = Arc::new((Mutex::new(()), Condvar::new()));
            let theirs = bed.clone();
            let wake = move || {
                drop(theirs.0.lock()); // whoever saw the old epoch under this lock is asleep by now
                theirs.1.notify_one();
            };
            Box::new(Single::new(Box::new(ParkingLot(bed)), 0, Some(Box::new(wake))))
        }
        "rayon" => Box::new(Rayon::new()?),
        _ => return Err(format!("arm: found {name:?}, expected some of {ARMS:?}")),
    })
}

/// What a park costs by the policy's own reckoning, ns: the latency counts as much as the policy says.
pub fn price(name: &str, setup: &Setup) -> Option<u64> {
    let worth = match profile(&discipline(name)?, 1).ok()?.discipline {
        Discipline::BreakEven { latency } | Discipline::Guarded { latency } => latency,
        _ => 0,
    };
    Some((setup.park + worth * (setup.wake - setup.catch).max(0) / 1024) as u64)
}
