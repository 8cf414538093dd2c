//! What the measurement needs of this machine: one clock, the CPU clock of any thread of ours, cores to stand on, a futex.
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, gettid};
use rustix::thread::futex;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

static BASE: OnceLock<Instant> = OnceLock::new();

/// Nanoseconds since the program's first reading.
#[inline]
pub fn now() -> u64 {
    BASE.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Pauses until the clock reads `until`.
pub fn pass_time(until: u64) -> u64 {
    loop {
        let at = now();
        if at >= until {
            return at;
        }
        std::hint::spin_loop();
    }
}

/// Who this thread is to the kernel.
pub fn tid() -> i32 {
    gettid().as_raw()
}

/// CPU time of a thread of this process, ns, readable from any other: the kernel's number for a thread's clock is made of its id.
pub fn thread_cpu(tid: i32) -> u64 {
    let clock = ClockId::from_raw((!tid << 3) | 6);
    clock_gettime(clock).map_or(0, |at| at.num_nanoseconds() as u64)
}

/// User and system time of the calling thread, µs: their sum is exact, the split is sampled by ticks.
pub fn split() -> (u64, u64) {
    getrusage(UsageWho::RUSAGE_THREAD)
        .map_or((0, 0), |used| (used.user_time().num_microseconds() as u64, used.system_time().num_microseconds() as u64))
}

/// Switches of a thread of this process: voluntary (it slept), involuntary.
pub fn switches(tid: i32) -> (u64, u64) {
    let text = std::fs::read_to_string(format!("/proc/self/task/{tid}/status")).unwrap_or_default();
    let of = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).and_then(|rest| rest.trim().parse().ok()).unwrap_or(0);
    (of("voluntary_ctxt_switches:"), of("nonvoluntary_ctxt_switches:"))
}

/// Puts a thread on one core; without effect if that is not allowed.
pub fn stand(tid: i32, core: usize) {
    let mut set = CpuSet::new();
    if set.set(core).is_ok() {
        let _ = sched_setaffinity(Pid::from_raw(tid), &set);
    }
}

/// The cores that this process may use.
pub fn cores() -> Vec<usize> {
    nix::sched::sched_getaffinity(Pid::from_raw(0))
        .map_or(vec![], |set| (0..CpuSet::count()).filter(|&core| set.is_set(core).unwrap_or(false)).collect())
}

/// Sleeps while `word` is `value`; may return early.
pub fn futex_wait(word: &AtomicU32, value: u32) {
    let _ = futex::wait(word, futex::Flags::PRIVATE, value, None);
}

pub fn futex_wake(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::PRIVATE, i32::MAX as u32);
}

pub fn median(mut of: Vec<u64>) -> u64 {
    of.sort_unstable();
    of.get(of.len() / 2).copied().unwrap_or(0)
}
