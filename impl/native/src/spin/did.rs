//! What one step did, and what is counted.
use super::Slot;

/// What the counters count, in the order of a snapshot. All are relaxed adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Counter {
    Dispatches,
    Tasks,
    TasksByDispatcher,
    SlotExhausted,
    Parks,
    SpinHits,
    Panics,
    StragglerWaits,
    StragglerYields,
    SpinYields,
}

impl Counter {
    pub const ALL: [Counter; 10] = [
        Counter::Dispatches,
        Counter::Tasks,
        Counter::TasksByDispatcher,
        Counter::SlotExhausted,
        Counter::Parks,
        Counter::SpinHits,
        Counter::Panics,
        Counter::StragglerWaits,
        Counter::StragglerYields,
        Counter::SpinYields,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            Counter::Dispatches => "dispatches",
            Counter::Tasks => "tasks",
            Counter::TasksByDispatcher => "tasks_by_dispatcher",
            Counter::SlotExhausted => "slot_exhausted",
            Counter::Parks => "parks",
            Counter::SpinHits => "spin_hits",
            Counter::Panics => "panics",
            Counter::StragglerWaits => "straggler_waits",
            Counter::StragglerYields => "straggler_yields",
            Counter::SpinYields => "spin_yields",
        }
    }
}

/// Why nothing is done for an actor now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// It runs a task; `end` goes on.
    Running,
    Parked,
    Gone,
    Built,
    NoTask,
    NotParked,
    Unknown,
}

impl Idle {
    pub const fn word(self) -> &'static str {
        match self {
            Idle::Running => "running",
            Idle::Parked => "parked",
            Idle::Gone => "gone",
            Idle::Built => "built",
            Idle::NoTask => "no_task",
            Idle::NotParked => "not_parked",
            Idle::Unknown => "unknown",
        }
    }
}

/// Why there is no fan-out: the caller runs its tasks itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decline {
    Nested,
    NotADispatcher,
    Busy,
    Building,
    NoWorkers,
    Shutdown,
    Slots,
}

impl Decline {
    pub const fn word(self) -> &'static str {
        match self {
            Decline::Nested => "nested",
            Decline::NotADispatcher => "not_a_dispatcher",
            Decline::Busy => "busy",
            Decline::Building => "building",
            Decline::NoWorkers => "no_workers",
            Decline::Shutdown => "shutdown",
            Decline::Slots => "slots",
        }
    }
}

/// What one step did: the words of the vocabulary's `SEEN`, without the actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    Idle(Idle),
    // workers
    Announced(u32),
    Looks(u32),
    Left,
    Again(u32),
    /// `parks`: the stretch's window is over already, a park is counted for a window of that length.
    NothingNew {
        parks: Option<u64>,
    },
    /// A pass of the window, or of a dispatcher that waits for stragglers; not of those with an outcome.
    Paused,
    Yielded,
    Caught(u64),
    Expired(u64),
    Slept,
    Stayed,
    Woke(u64),
    // workers and dispatchers
    /// `straggles`: of a dispatcher, whose own share is done while others still run.
    Passed {
        slot: Slot,
        straggles: bool,
    },
    Sees(Slot),
    Lost {
        slot: Slot,
        straggles: bool,
    },
    /// The caller runs this task of the slot, then calls `end`.
    Took {
        slot: Slot,
        index: u32,
    },
    Ended(Slot),
    Settled {
        slot: Slot,
        remaining: u32,
    },
    // dispatchers
    Declined(Decline),
    /// Nothing was asked for.
    Nothing,
    Held(Slot),
    Wrote(Slot, &'static str),
    Published(Slot, u32),
    Wakes(u32),
    /// A straggling dispatcher saw the last task settled.
    Together,
    Finished {
        slot: Slot,
        own: u32,
        raised: bool,
    },
    // the builder
    LooksAgain,
    BuiltAll(u32),
    Abandoned {
        ready: u32,
        workers: u32,
    },
}
