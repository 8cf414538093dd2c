//! The epoch: a word that threads park on while it stays as it was. The kernel's futex where there is one, else a lock and a condition.
use crate::spin_sync::{AtomicU32, Ordering};
#[cfg(any(loom, not(target_os = "linux")))]
use crate::spin_sync::{Condvar, Mutex};

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// The word had changed: the thread did not park.
    Stayed,
    /// It parked, and was woken, or its wait returned by itself.
    Parked,
}

/// A 32-bit word that wraps, with the threads that wait for it to change.
#[derive(Debug)]
pub struct Epoch {
    word: AtomicU32,
    #[cfg(any(loom, not(target_os = "linux")))]
    waiting: Mutex<u32>,
    #[cfg(any(loom, not(target_os = "linux")))]
    change: Condvar,
}

impl Epoch {
    pub fn new() -> Self {
        Epoch {
            word: AtomicU32::new(0),
            #[cfg(any(loom, not(target_os = "linux")))]
            waiting: Mutex::new(0),
            #[cfg(any(loom, not(target_os = "linux")))]
            change: Condvar::new(),
        }
    }

    #[inline(always)]
    pub fn load(&self) -> u32 {
        self.word.load(Ordering::Acquire)
    }

    /// Move the word on; what was written before is seen by whoever sees the new one. Answers the new word.
    #[inline(always)]
    pub fn bump(&self) -> u32 {
        self.word.fetch_add(1, Ordering::Release).wrapping_add(1)
    }
}

impl Default for Epoch {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(target_os = "linux", not(loom)))]
impl Epoch {
    /// Park while the word is `seen`. The kernel compares it again under its own lock, so that a wake-up after a `bump` is never lost.
    pub fn wait(&self, seen: u32) -> Waited {
        match rustix::thread::futex::wait(&self.word, rustix::thread::futex::Flags::PRIVATE, seen, None) {
            Err(rustix::io::Errno::AGAIN) => Waited::Stayed,
            _ => Waited::Parked,
        }
    }

    /// Wake at most so many of the threads that wait; answers how many.
    pub fn wake(&self, most: u32) -> u32 {
        // The kernel reads the number as signed and fails only for a bad address, which a reference is not.
        rustix::thread::futex::wake(&self.word, rustix::thread::futex::Flags::PRIVATE, most.min(i32::MAX as u32))
            .map_or(0, |woken| woken as u32)
    }
}

#[cfg(any(loom, not(target_os = "linux")))]
impl Epoch {
    /// Park while the word is `seen`. It is compared again under the lock, so that a wake-up after a `bump` is never lost.
    pub fn wait(&self, seen: u32, #[cfg(loom)] blindly: bool) -> Waited {
        let mut waiting = self.waiting.lock().expect("nothing panics under this lock");
        #[cfg(loom)]
        let seen = if blindly { self.load() } else { seen };
        if self.load() != seen {
            return Waited::Stayed;
        }
        *waiting += 1;
        drop(self.change.wait(waiting).map(|mut waiting| *waiting -= 1));
        Waited::Parked
    }

    /// Wake at most so many of the threads that wait; answers how many.
    pub fn wake(&self, most: u32) -> u32 {
        let waiting = self.waiting.lock().expect("nothing panics under this lock");
        let woken = most.min(*waiting);
        (0..woken).for_each(|_| self.change.notify_one());
        woken
    }
}
