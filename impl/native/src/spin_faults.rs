//! The seeded faults of the pool that spins: each a way to write it wrong that somebody has shipped, or nearly.
use crate::faults::Fault;

const EVERY: &[&str] = &["ep-cpu-orig", "ep-cpu-before", "ep-cpu-after", "slotwise"];
/// Where yields are limited.
const LIMITED: &[&str] = &["ep-cpu-after", "slotwise"];
/// Where every reading beyond the budget is looked at.
const PROMPT: &[&str] = &["ep-cpu-before", "ep-cpu-after", "slotwise"];
/// Where the barrier has an end.
const BOUNDED: &[&str] = &["ep-cpu-before", "ep-cpu-after", "slotwise"];
const RATCHET: &[&str] = &["ep-cpu-orig", "ep-cpu-before", "ep-cpu-after"];
const OURS: &[&str] = &["slotwise"];

#[rustfmt::skip]
pub const FAULTS: &[Fault] = &[
    ("epoch_before_shutdown", "SPN-1", "a window sees the epoch before the shutdown", EVERY),
    ("epoch_read_after_a_yield_only", "SPN-2", "beyond the budget the epoch is looked at after a yield only", LIMITED),
    ("stride_doubled", "SPN-3", "the clock is read half as often below the budget", EVERY),
    ("pause_counted_as_a_yield", "SPN-3", "pauses below the budget count as yields", EVERY),
    ("no_deadline_while_pausing", "SPN-4", "below the budget no deadline is looked at", EVERY),
    ("deadline_after_equality", "SPN-5", "a window is over only after its end, not at it", EVERY),
    ("yield_before_the_deadline", "SPN-5", "a yield that is due goes before the deadline", LIMITED),
    ("first_yield_an_interval_late", "SPN-6", "the first yield comes an interval after the budget", LIMITED),
    ("first_yield_an_interval_from_the_start", "SPN-6", "no yield is due in the first interval of a window", LIMITED),
    ("next_yield_from_after_the_last", "SPN-6", "the interval is counted from the end of a yield", LIMITED),
    ("next_yield_on_a_lattice", "SPN-6", "yields that were missed are made up for", LIMITED),
    ("due_after_equality", "SPN-6", "a yield is due only after the interval, not at its end", LIMITED),
    ("yields_without_limit", "SPN-6", "beyond the budget every pass yields", LIMITED),
    ("interval_doubled", "SPN-6", "yields are twice as far apart", LIMITED),
    ("pass_without_a_yield_not_counted", "SPN-7", "beyond the budget only passes that yield are counted", LIMITED),
    ("deadline_strided", "SPN-9", "beyond the budget the clock is read once per stride only", PROMPT),
    ("window_doubles_beyond_the_cap", "SPN-10", "the window doubles once more at its cap", RATCHET),
    ("grows_without_a_task", "SPN-10", "the window doubles after a scan that ran nothing, if the epoch has moved", RATCHET),
    ("window_halves_below_the_floor", "SPN-11", "the window halves below its floor", RATCHET),
    ("ledger_never_forgets", "SPN-16", "old gaps count for ever", OURS),
    ("gap_as_long_as_the_window_parks", "SPN-16", "a gap as long as a candidate is priced as if it had parked", OURS),
    ("guard_saves_without_end", "SPN-17", "luck is saved up without end", OURS),
    ("guard_allows_nothing", "SPN-17", "the guard does not allow for the eighth", OURS),
    ("cold_worker_does_not_spin", "SPN-18", "who knows nothing parks at once", OURS),
    ("guard_ignored", "SPN-19", "however much following has cost, it goes on", OURS),
    ("guard_begins_early", "SPN-19", "the guard stops following at half the cost", OURS),
    ("tie_goes_to_the_longer_window", "SPN-20", "of equal candidates the longest is taken", OURS),
    ("claim_not_looked_at_before", "SPN-24", "a task is taken without looking whether one is left: the claim drifts", EVERY),
    ("claim_of_none_is_a_task", "SPN-27", "who comes just too late runs the first task again", EVERY),
    ("settled_before_it_is_counted", "SPN-28", "a task is settled before it is counted", EVERY),
    ("panic_is_not_settled", "SPN-28", "a worker's task that panics is never settled", EVERY),
    ("shutdown_seen_in_windows_only", "SPN-31", "a worker that scans does not see the shutdown", EVERY),
    ("scan_begins_at_the_first_slot", "SPN-32", "every worker begins its scan at the first slot", EVERY),
    ("every_task_teaches", "SPN-33", "every task of a scan is taken for the end of the stretch", OURS),
    ("a_park_hides_what_is_missed", "SPN-76", "a parked worker learns only of the publication whose task it gets", OURS),
    ("call_noted_under_the_epoch_before", "SPN-75", "a call is noted under the epoch before its own", EVERY),
    ("gap_counted_from_the_window", "SPN-33", "a gap is counted from where the window began", OURS),
    ("moved_epoch_stored_without_a_scan", "SPN-34", "an epoch that moved during a scan is stored, and no scan follows", EVERY),
    ("every_catch_is_a_hit", "SPN-35", "a catch counts though it ran no task", OURS),
    ("window_spun_again_after_a_park", "SPN-36", "after a park that brought no task another window begins", OURS),
    ("catch_in_vain_is_forgotten", "SPN-37", "a catch that ran no task begins the stretch anew", OURS),
    ("park_counted_afterwards", "SPN-39", "a park is counted when it is over", EVERY),
    ("yields_counted_again", "SPN-40", "the yields of a window that goes on are counted again", OURS),
    ("catch_stores_the_epoch", "SPN-41", "a catch stores the epoch before the scan", EVERY),
    ("park_without_a_second_look", "SPN-42", "a worker parks though the epoch has moved", EVERY),
    ("slot_shared", "SPN-53", "a slot stays free while it is held", EVERY),
    ("slot_from_the_first_one_on", "SPN-53", "the search for a free slot does not begin at the dispatcher's last one", EVERY),
    ("claim_added_to_what_is_left", "SPN-54", "the claim is added to, not set: drift is carried on", EVERY),
    ("panic_of_the_last_fan_out_kept", "SPN-54", "a slot's panic is not cleared", EVERY),
    ("epoch_before_active", "SPN-55", "the epoch moves before the slot is active", EVERY),
    ("one_wake_too_few", "SPN-57", "one worker less than needed is woken", OURS),
    ("own_tasks_not_counted", "SPN-58", "tasks of the dispatcher are not counted as its own", EVERY),
    ("stragglers_not_waited_for", "SPN-59", "a fan-out is over when the dispatcher's share is done", EVERY),
    ("straggler_wait_not_counted", "SPN-60", "a wait for stragglers is not counted", EVERY),
    ("stragglers_get_no_core", "SPN-61", "a dispatcher that waits never yields", EVERY),
    ("claim_left_as_it_is", "SPN-62", "a slot's claim stays below 0 after the fan-out", EVERY),
    ("panic_not_raised", "SPN-63", "a panic does not reach the dispatcher", EVERY),
    ("barrier_never_yields", "SPN-67", "the builder only pauses", BOUNDED),
    ("barrier_clock_strided", "SPN-68", "the builder reads the clock once per stride", BOUNDED),
    ("barrier_looks_once", "SPN-69", "a worker that comes at the last moment is not seen", BOUNDED),
    ("abandoning_joins", "SPN-69", "the builder waits for the missing workers though its time is up", BOUNDED),
];
