//! The pool's protocol broken in one place at a time, for a model to find. Only under `--cfg loom`.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Break {
    #[default]
    Nothing,
    /// The epoch moves before the slot is published.
    EpochBeforeActive,
    /// A claim is lowered without a look at it.
    NoPreCheck,
    /// A fan-out adds its tasks to what losing claimants left.
    IncrementalClaim,
    /// A worker parks without comparing the epoch again.
    NoReCheck,
    /// A dispatcher looks for sleepers before it moves the epoch.
    SleepersBeforeEpoch,
    /// Nothing keeps a worker's announcement as a sleeper before its look at the epoch.
    NoFence,
    /// A claim is stored without release: who takes it need not see the callable.
    RelaxedClaim,
    /// The last settlement does not acquire: the dispatcher returns while the tasks' writes are on their way.
    RelaxedSettle,
}
