//! The ways to wait: the engine's window under each of its policies, what two much used crates offer, and spinning without an end.
use crate::board::{Board, Waited, Waiter};
use crate::machine::now;
use crossbeam_utils::Backoff;
use crossbeam_utils::sync::Parker;
use parking_lot::{Condvar, Mutex};
use parking_lot_core::SpinWait;
use slotwise_native::faults::NONE;
use slotwise_native::spin_policy::Policy;
use slotwise_native::spin_window::{Outcome, Seams, Shape, Window};
use slotwise_native::spin_words::{Profile, Setup};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// The board and the machine's clock, as the engine's window wants them.
struct Real<'a>(&'a Board);

impl Seams for Real<'_> {
    #[inline(always)]
    fn shutdown(&self) -> bool {
        self.0.over.load(Relaxed)
    }
    #[inline(always)]
    fn epoch(&self) -> u32 {
        self.0.epoch.load(Acquire)
    }
    #[inline(always)]
    fn clock(&self) -> u64 {
        now()
    }
    #[inline(always)]
    fn pause(&self) {
        std::hint::spin_loop();
    }
    #[inline(always)]
    fn yield_now(&self) {
        std::thread::yield_now();
    }
}

/// The engine's own window and policy, as its pool's worker uses them.
pub struct Engine {
    profile: Profile,
    shape: Shape,
    policy: Policy,
}

impl Engine {
    pub fn new(profile: Profile, setup: &Setup) -> Result<Self, String> {
        let faults = NONE;
        let policy = Policy::new(&profile.discipline, setup, faults)?;
        Ok(Engine { shape: Shape::new(&profile, faults), policy, profile })
    }
}

impl Waiter for Engine {
    fn wait(&mut self, board: &Board, last: u32, since: u64) -> Waited {
        let length = self.policy.window();
        let mut window = Window::new(&self.shape, length, since);
        let outcome = window.whole(&self.shape, last, &Real(board));
        if outcome == Outcome::Expired {
            board.gave_up();
            board.park(last);
            self.policy.shrink();
        } else if self.profile.empty_catch_counts {
            self.policy.grow();
        }
        let caught = outcome != Outcome::Expired;
        let idle = u64::from(!caught && window.n >= self.shape.budget); // the pass that finds the time up does neither
        Waited { window: length, caught, pauses: u64::from(window.n) - window.y - idle, readings: window.reads, yields: window.y }
    }

    fn learn(&mut self, gap: u64, waited: &Waited) {
        self.policy.grow();
        self.policy.learn(i128::from(gap), waited.window);
    }
}

/// Pauses until something comes.
pub struct Spin;

impl Waiter for Spin {
    fn wait(&mut self, board: &Board, last: u32, _: u64) -> Waited {
        while board.epoch.load(Acquire) == last {
            std::hint::spin_loop();
        }
        Waited { window: u64::MAX, caught: true, ..Waited::default() }
    }
}

/// crossbeam's `Backoff`, then its `Parker`.
pub struct Crossbeam(pub Parker);

impl Waiter for Crossbeam {
    fn wait(&mut self, board: &Board, last: u32, since: u64) -> Waited {
        let backoff = Backoff::new();
        while board.epoch.load(Acquire) == last {
            if backoff.is_completed() {
                let window = now() - since;
                board.gave_up();
                while board.epoch.load(Acquire) == last {
                    self.0.park();
                }
                return Waited { window, ..Waited::default() };
            }
            backoff.snooze();
        }
        Waited { window: now() - since, caught: true, ..Waited::default() }
    }
}

/// parking_lot's `SpinWait`, then its `Condvar`.
pub struct ParkingLot(pub Arc<(Mutex<()>, Condvar)>);

impl Waiter for ParkingLot {
    fn wait(&mut self, board: &Board, last: u32, since: u64) -> Waited {
        let mut spin = SpinWait::new();
        while board.epoch.load(Acquire) == last {
            if !spin.spin() {
                let window = now() - since;
                board.gave_up();
                let mut held = self.0.0.lock();
                while board.epoch.load(Acquire) == last {
                    self.0.1.wait(&mut held);
                }
                return Waited { window, ..Waited::default() };
            }
        }
        Waited { window: now() - since, caught: true, ..Waited::default() }
    }
}
