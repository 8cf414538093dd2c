//! Seeded faults. Without the `faults` feature `Faults` is a zero-sized type and `on` is a constant false: the engine has none of it.

/// A fault that the twin knows: its name, the rule that it breaks, what it does wrong, and the profiles under which it can be seen.
#[cfg(feature = "faults")]
pub type Fault = (&'static str, &'static str, &'static str, &'static [&'static str]);

#[cfg(feature = "faults")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults(Option<&'static str>);

#[cfg(feature = "faults")]
impl Faults {
    /// The fault of that name, or none if the catalogue has no such.
    pub fn named(name: &str) -> Option<Self> {
        catalogue().chain(batching_catalogue()).chain(spin_catalogue()).find(|known| known.0 == name).map(|known| Faults(Some(known.0)))
    }

    #[inline]
    pub fn on(self, name: &str) -> bool {
        self.0 == Some(name)
    }
}

#[cfg(not(feature = "faults"))]
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults;

#[cfg(not(feature = "faults"))]
impl Faults {
    #[inline(always)]
    pub const fn on(self, _name: &str) -> bool {
        false
    }
}

/// The faults of admission.
#[cfg(feature = "faults")]
pub fn catalogue() -> impl Iterator<Item = &'static Fault> {
    CATALOGUE.iter().chain(crate::slot_time::FAULTS)
}

/// The faults of the collectors.
#[cfg(feature = "faults")]
pub fn batching_catalogue() -> impl Iterator<Item = &'static Fault> {
    crate::batching::FAULTS.iter().chain(crate::aws_durable::FAULTS)
}

/// The faults of the pool that spins.
#[cfg(feature = "faults")]
pub fn spin_catalogue() -> impl Iterator<Item = &'static Fault> {
    crate::spin_faults::FAULTS.iter()
}

/// No fault.
#[cfg(feature = "faults")]
pub const NONE: Faults = Faults(None);
#[cfg(not(feature = "faults"))]
pub const NONE: Faults = Faults;

#[cfg(feature = "faults")]
const EVERY: &[&str] = &["strict", "data-designer-0.8", "data-designer-0.9", "slotwise"];
#[cfg(feature = "faults")]
const TAGGED: &[&str] = &["strict", "data-designer-0.8", "data-designer-0.9"];
#[cfg(feature = "faults")]
const BORROWING: &[&str] = &["data-designer-0.8", "data-designer-0.9"];

#[cfg(feature = "faults")]
#[rustfmt::skip]
const CATALOGUE: &[Fault] = &[
    ("new_specification_ignored", "QUE-1", "a group keeps the first specification that it came with", EVERY),
    ("duplicate_moves_the_version", "QUE-2", "a duplicate makes earlier selections stale", EVERY),
    ("turn_kept_after_service", "QUE-3", "a group that was served and goes on keeps its old turn", TAGGED),
    ("tie_to_the_later_turn", "QUE-4", "of equal tags, the later turn goes first", TAGGED),
    ("version_stays_on_discard", "QUE-5", "a selection survives a discard", EVERY),
    ("discarded_task_leaves_its_shape", "QUE-5", "a discarded task's shape is never forgotten; only an audit sees it", EVERY),
    ("unknown_discard_moves_the_version", "QUE-6", "discarding a task that does not wait makes earlier selections stale", EVERY),
    ("discard_keeps_the_place", "QUE-7", "a group keeps its turn when its last task is discarded", &["strict", "data-designer-0.9"]),
    ("ghost_survives_at_the_head", "QUE-8", "a ghost met at the head stays there, and starts", TAGGED),
    ("discarded_task_leaves_at_once", "QUE-8", "a discarded task leaves its FIFO at once: its id does not get its old entry back", TAGGED),
    ("returning_group_loses_its_tag", "QUE-9", "a group that was served before comes back at the virtual time", TAGGED),
    ("virtual_time_not_raised", "QUE-10", "a start does not raise the virtual time", TAGGED),
    ("weight_of_the_old_spec", "QUE-10", "the tag moves by the weight of the head's own specification, not the newest", TAGGED),
    ("commit_ignores_a_stale_selection", "QUE-11", "a commit does not look at the version", EVERY),
    ("discards_in_reverse", "QUE-12", "a discard by condition goes from the last to the first", EVERY),
    ("last_need_not_checked", "ADM-1", "a task may start although its last resource is not free", TAGGED),
    ("last_need_not_leased", "ADM-2", "a start does not lease the last resource that its task needs", EVERY),
    ("first_head_blocks_the_rest", "ADM-3", "if the first head may not start, nothing does", EVERY),
    ("release_frees_the_callers_amounts", "ADM-4", "a release frees what its caller claims", EVERY),
    ("other_generation_released", "ADM-5", "a lease of another scheduler is released", EVERY),
    ("duplicate_release_frees_twice", "ADM-6", "releasing the last released lease again frees its units again", EVERY),
    ("unknown_lease_called_duplicate", "ADM-7", "a lease that was never granted is said to be released", EVERY),
    ("stale_lease_released", "ADM-8", "a release that names another task is done", EVERY),
    ("never_fits_accepted", "ADM-9", "a task that asks more units than there are is accepted", &["slotwise"]),
    ("time_reversal_ignored", "ADM-10", "time goes back", EVERY),
    ("pump_one_too_many", "ADM-11", "a pump starts one more than asked", EVERY),
    ("strict_limit_off_by_one", "STR-1", "a group may hold one lease more than its limit under pressure", &["strict"]),
    ("submission_always_presses", "STR-1", "`submission` counts for tasks that need something else, too", TAGGED),
    ("pressure_from_a_peer_that_cannot_start", "BOR-1", "a head whose units are not free presses all the same", TAGGED),
    ("share_rounded_the_other_way", "BOR-2", "a share is rounded down where the profile rounds up", BORROWING),
    ("solo_reserves_a_slot", "BOR-3", "a group alone may never owe the last unit", &["data-designer-0.9"]),
    ("debt_not_charged", "BOR-4", "what is borrowed is not owed", BORROWING),
    ("no_phantom_peer", "BOR-4", "a group alone has the whole resource for its share", BORROWING),
    ("debt_repaid_to_wrong_group", "BOR-5", "a release repays the debt of the next group", BORROWING),
];
