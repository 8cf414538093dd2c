//! Checkpoint batching as published: the collector of the AWS durable-execution SDK, with its known defects behind switches.
//!
//! The published collector is a thread that reads its queue with a time-out: `pump` runs it until it sleeps in a read, sends or ends.
use std::collections::VecDeque;
use std::sync::Arc;

use crate::batching_words::{Command, Profile, Refresh, Seen, Shipped, Submit, Time, Why};
use crate::faults::Faults;
use crate::tables::{Map, Set};

use batch::{Batch, Item};
use heap::Heap;

mod answers;
mod batch;
mod heap;
mod state;
mod thread;

/// What the queue holds. A wake tells the thread that there is a new refresh.
#[derive(Clone, Debug)]
enum Queued {
    Item(Item),
    Wake,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Between two collections.
    Idle,
    /// Of a collection, the first item is read.
    First,
    /// More is read, until then.
    More(Time),
}

/// The request that is out.
#[derive(Clone, Debug)]
pub struct Flight {
    items: Vec<Item>,
    sent: i64,
    pub fetching: bool,
}

#[derive(Clone, Debug)]
pub struct Collector {
    p: Shipped,
    switches: Switches,
    token: Arc<str>,
    hint: Time,
    pub now: i64,
    queue: VecDeque<Queued>,
    overflow: VecDeque<Item>,
    heap: Heap,
    phase: Phase,
    batch: Batch,
    /// The end of the quiet window; none: it begins with the next read.
    quiet_until: Option<Time>,
    /// When the read ends that is going on.
    until: Option<Time>,
    woken: bool,
    pub flight: Option<Flight>,
    children: Map<Arc<str>, Set<Arc<str>>>,
    orphans: Set<Arc<str>>,
    stopped: bool,
    over: Option<Why>,
    looked: u64,
    faults: Faults,
}

/// The profile's defects.
#[derive(Clone, Copy, Debug)]
struct Switches {
    oversize_overflow_waits: bool,
    accepts_after_stop: bool,
    stop_abandons: bool,
    wakes_extend: bool,
    stop_waits_for_poll: bool,
    settles_by_older: bool,
}

impl Collector {
    pub fn new(profile: &Profile, p: &Shipped, token: &str, hint: i64, faults: Faults) -> Self {
        Collector {
            p: *p,
            switches: Switches {
                oversize_overflow_waits: profile.oversize_overflow_waits,
                accepts_after_stop: profile.accepts_after_stop,
                stop_abandons: profile.stop_abandons,
                wakes_extend: profile.wakes_extend,
                stop_waits_for_poll: profile.stop_waits_for_poll,
                settles_by_older: profile.settles_by_older,
            },
            token: token.into(),
            hint: hint.into(),
            now: 0,
            queue: VecDeque::new(),
            overflow: VecDeque::new(),
            heap: Heap::default(),
            phase: Phase::Idle,
            batch: Batch::default(),
            quiet_until: None,
            until: None,
            woken: false,
            flight: None,
            children: Map::default(),
            orphans: Set::default(),
            stopped: false,
            over: None,
            looked: 0,
            faults,
        }
    }

    pub fn do_command(&mut self, command: &Command, saw: &mut Vec<Seen>) {
        match command {
            Command::Submit(item) => saw.push(self.submit(item)),
            Command::Refresh(refresh) => saw.push(self.refresh(refresh)),
            Command::Cancel { id, owner } => self.heap.cancel(id.as_deref(), owner),
            Command::Credit { .. } => {}
            Command::Stop => self.stopped = true,
            Command::Pump => {
                let answer = self.pump(saw);
                saw.push(answer);
            }
            Command::Respond { token, marker, .. } => self.respond(token.as_deref(), marker.as_deref(), saw),
            Command::Page { marker, .. } => self.page(marker.as_deref(), saw),
            Command::Fail => self.end(Why::Failed, saw),
        }
    }

    fn submit(&mut self, item: &Submit) -> Seen {
        let id: Arc<str> = (*item.id).into();
        if !item.empty {
            if let Some(parent) = item.parent.as_deref() {
                match self.children.get_mut(parent) {
                    Some(children) => drop(children.insert(id.clone())),
                    None => drop(self.children.insert(parent.into(), Set::from_iter([id.clone()]))),
                }
            }
            if item.ends {
                self.orphan_all_below(&id);
            }
            if self.orphans.contains(&id) {
                return Seen::Rejected(id, Why::Orphaned);
            }
        }
        let lost = self.stopped && !self.switches.accepts_after_stop;
        if let Some(why) = self.over.filter(|why| *why != Why::Stopped).or(lost.then_some(Why::Stopped)) {
            return Seen::Rejected(id, why);
        }
        let (size, is_final) = if item.empty { (0, false) } else { (item.size, item.is_final) };
        self.queue.push_back(Queued::Item(Item { id: id.clone(), size, sync: item.sync, empty: item.empty, is_final, refresh: false }));
        Seen::Accepted(id)
    }

    /// The end of a context makes orphans of all that is known to be below it.
    fn orphan_all_below(&mut self, top: &Arc<str>) {
        let (mut below, mut left) = (Set::from_iter([top.clone()]), vec![top.clone()]);
        while let Some(context) = left.pop() {
            for child in self.children.get(&context).into_iter().flatten() {
                if below.insert(child.clone()) {
                    left.push(child.clone());
                }
            }
        }
        below.remove(top);
        self.orphans.extend(below);
    }

    fn refresh(&mut self, refresh: &Refresh) -> Seen {
        let id: Arc<str> = (*refresh.id).into();
        let none = (!self.p.heap).then_some(Why::NoRefresh);
        let ended = self.over.filter(|why| *why != Why::Stopped).or(self.stopped.then_some(Why::Stopped));
        if let Some(why) = none.or(ended) {
            return Seen::Rejected(id, why);
        }
        let due = match (refresh.due, refresh.key) {
            (Some(due), _) => due.into(),
            (None, Some(key)) => Time::from(key) - self.hint,
            (None, None) => self.now.into(),
        };
        self.heap.push(id.clone(), (*refresh.owner).into(), due);
        if !std::mem::replace(&mut self.woken, true) {
            self.queue.push_back(Queued::Wake);
        }
        Seen::Accepted(id)
    }
}

#[cfg(feature = "faults")]
const PUBLISHED: &[&str] = &["aws-durable-2.0.0", "aws-durable-3.0.0"];
#[cfg(feature = "faults")]
const SCHEDULED: &[&str] = &["aws-durable-3.0.0"];

#[cfg(feature = "faults")]
#[rustfmt::skip]
pub const FAULTS: &[crate::faults::Fault] = &[
    ("published_cancelled_refresh_joins", "AWS-16", "a cancelled refresh joins a batch, and holds it open", SCHEDULED),
    ("published_read_ignores_the_heap", "AWS-16", "a read does not end when a refresh is due", SCHEDULED),
    ("window_not_shortened_when_blocked", "AWS-20", "the quiet window is as long while a caller is blocked", SCHEDULED),
    ("wake_flag_never_cleared", "AWS-21", "after the first wake, no other is ever sent", SCHEDULED),
    ("published_first_item_may_not_fit", "AWS-22", "the first item, too, must fit", PUBLISHED),
    ("published_counts_every_empty", "AWS-23", "every empty item counts as an update", PUBLISHED),
    ("published_limit_off_by_one", "AWS-23", "a batch takes one update more than it may", PUBLISHED),
    ("final_due_check_skipped", "AWS-30", "what has come due by the end of a collection does not join it", SCHEDULED),
    ("published_settles_by_an_older_request", "AWS-34", "a refresh that came due during a request is settled by its answer", SCHEDULED),
    ("published_stop_forgets_the_heap", "AWS-38", "refreshes that wait when the thread ends are never settled", SCHEDULED),
];
