//! Whole windows apart from a pool: on a clock whose readings are given, and in a time that passes by what each act costs.
use std::cell::Cell;

use crate::spin_window::{Outcome, Seams, Shape, Window};
use crate::spin_words::{Script, Wait};

/// How it ended, passes, yields, readings, and the time.
pub type Ended = (Outcome, u32, u64, u64, u64);

struct Costed<'a> {
    wait: &'a Wait,
    time: Cell<u64>,
    yielded: Cell<bool>,
}

impl Costed<'_> {
    #[inline]
    fn pass(&self, cost: i64) {
        self.time.set(self.time.get() + cost as u64);
    }

    #[inline]
    fn is_past(&self, instant: Option<i64>) -> bool {
        instant.is_some_and(|instant| self.time.get() >= instant as u64)
    }
}

impl Seams for Costed<'_> {
    #[inline]
    fn shutdown(&self) -> bool {
        self.is_past(self.wait.shutdown)
    }
    #[inline]
    fn epoch(&self) -> u32 {
        self.is_past(self.wait.publish).into()
    }
    #[inline]
    fn clock(&self) -> u64 {
        self.pass(self.wait.clock);
        self.time.get()
    }
    #[inline]
    fn pause(&self) {
        self.pass(self.wait.pause);
    }
    #[inline]
    fn yield_now(&self) {
        let first = self.wait.first_yield.filter(|_| !self.yielded.replace(true));
        self.pass(first.unwrap_or(self.wait.yields));
    }
}

pub fn wait(shape: &Shape, wait: &Wait) -> Ended {
    let seams = Costed { wait, time: Cell::default(), yielded: Cell::default() };
    let mut window = Window::new(shape, wait.window as u64, 0);
    let outcome = window.whole(shape, 0, &seams);
    (outcome, window.n, window.y, window.reads, seams.time.get())
}

struct Scripted<'a> {
    script: &'a Script,
    /// Passes that have paused or yielded; each does either, once.
    passes: Cell<i64>,
    readings: Cell<usize>,
    last: Cell<i64>,
}

impl Scripted<'_> {
    fn is_past(&self, pass: Option<i64>) -> bool {
        pass.is_some_and(|pass| self.passes.get() + 1 >= pass)
    }
}

impl Seams for Scripted<'_> {
    fn shutdown(&self) -> bool {
        self.is_past(self.script.shutdown)
    }
    fn epoch(&self) -> u32 {
        self.is_past(self.script.publish).into()
    }
    fn clock(&self) -> u64 {
        let next = self.readings.replace(self.readings.get() + 1);
        // beyond the last it goes on: whoever stays at the window's end comes to an end
        let reading = self.script.readings.get(next).copied().unwrap_or_else(|| (self.last.get() + 1).max(self.script.window));
        self.last.set(reading);
        reading as u64
    }
    fn pause(&self) {
        self.passes.set(self.passes.get() + 1);
    }
    fn yield_now(&self) {
        self.passes.set(self.passes.get() + 1);
    }
}

pub fn script(shape: &Shape, script: &Script) -> Ended {
    let seams = Scripted { script, passes: Cell::default(), readings: Cell::default(), last: Cell::default() };
    let mut window = Window::new(shape, script.window as u64, 0);
    let outcome = window.whole(shape, 0, &seams);
    (outcome, window.n, window.y, window.reads, seams.last.get() as u64)
}
