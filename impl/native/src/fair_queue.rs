//! Fair queueing: the FIFOs of the groups, who waits, and, in the disciplines that count tasks, turns and tags.
//!
//! FIFOs are lists through one slab of entries. An id is interned while an entry or a lease has it; its record says in which group it
//! waits, so that an entry is known to be a ghost at a glance: its id does not wait in the entry's group.
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::faults::Faults;
use crate::ledger::ShapeId;
use crate::tables::{Map, Slab};
use crate::words::{Profile, Spec, WEIGHT_UNIT};

pub type GroupId = u32;
pub type NameId = u32;
pub type EntryId = u32;
pub const NONE: u32 = u32::MAX;

/// Where a group stands: tags are never negative, so that their bits are in the order of the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub tag: u64,
    pub turn: u64,
}

#[derive(Clone, Debug)]
pub struct Name {
    /// Empty: it has none, and is known to whoever gave it by its number.
    pub text: Arc<str>,
    /// Entries and leases that have it.
    pub users: u32,
    /// Where it waits; or `NONE`.
    pub group: GroupId,
    /// Its newest entry.
    pub entry: EntryId,
    /// When it began to wait, among all.
    pub arrival: u64,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub name: NameId,
    pub shape: ShapeId,
    /// Of the specification it came with.
    pub weight: u32,
    pub share_limit: Option<u32>,
    pub next: EntryId,
    pub before: EntryId,
}

#[derive(Clone, Debug)]
pub struct Group {
    pub name: Arc<str>,
    pub spec: Spec,
    pub first: EntryId,
    last: EntryId,
    /// Ids that wait in it.
    pub waiting: u32,
    /// 0: it has none.
    pub turn: u64,
    pub tag: f64,
    pub served: bool,
    /// The next round looks whether a ghost is at its head.
    unsettled: bool,
}

#[derive(Clone, Debug, Default)]
pub struct FairQueue {
    pub lingers: bool,
    keeps_place: bool,
    faults: Faults,
    pub groups: Vec<Group>,
    group_of: Map<Arc<str>, GroupId>,
    pub entries: Slab<Entry>,
    pub names: Slab<Name>,
    name_of: Map<Arc<str>, NameId>,
    pub waiting: usize,
    pub version: u64,
    pub turns: u64,
    pub virtual_time: f64,
    arrivals: u64,
    unsettled: Vec<GroupId>,
    /// Groups that keep a turn though nothing waits in them, and have ghosts: a round that passes them forgets those.
    idle: BTreeSet<(Key, GroupId)>,
}

impl FairQueue {
    pub fn new(profile: &Profile, faults: Faults) -> Self {
        FairQueue {
            lingers: profile.discarded_task_lingers && !faults.on("discarded_task_leaves_at_once"),
            keeps_place: profile.idle_group_keeps_place || faults.on("discard_keeps_the_place"),
            faults,
            ..FairQueue::default()
        }
    }

    pub fn group(&self, name: &str) -> Option<GroupId> {
        self.group_of.get(name).copied()
    }

    /// The number of this group, and whether it is new.
    pub fn hold_group(&mut self, name: &str) -> (GroupId, bool) {
        if let Some(g) = self.group(name) {
            return (g, false);
        }
        let (g, name): (GroupId, Arc<str>) = (self.groups.len() as GroupId, name.into());
        self.group_of.insert(name.clone(), g);
        self.groups.push(Group {
            name,
            spec: Spec::default(),
            first: NONE,
            last: NONE,
            waiting: 0,
            turn: 0,
            tag: 0.0,
            served: false,
            unsettled: false,
        });
        (g, true)
    }

    /// The id of that text if it waits.
    pub fn waits(&self, id: &str) -> Option<NameId> {
        self.name_of.get(id).copied().filter(|&n| self.names[n].group != NONE)
    }

    pub fn text(&self, n: NameId) -> Arc<str> {
        self.names[n].text.clone()
    }

    pub fn head(&self, g: GroupId) -> Option<&Entry> {
        let first = self.groups[g as usize].first;
        (first != NONE).then(|| &self.entries[first])
    }

    pub fn key(&self, g: GroupId) -> Key {
        let group = &self.groups[g as usize];
        let turn = if self.faults.on("tie_to_the_later_turn") { u64::MAX - group.turn } else { group.turn };
        Key { tag: group.tag.to_bits(), turn }
    }

    /// The number of this id; it stays only if the task joins a FIFO.
    pub fn name(&mut self, id: &str) -> NameId {
        match self.name_of.get(id) {
            Some(&n) => n,
            None => {
                let text: Arc<str> = id.into();
                let n = self.nameless(text.clone());
                self.name_of.insert(text, n);
                n
            }
        }
    }

    /// The number of an id that is not looked up by its text.
    pub fn nameless(&mut self, text: Arc<str>) -> NameId {
        self.names.insert(Name { text, users: 0, group: NONE, entry: NONE, arrival: 0 })
    }

    /// A task joins the back of its group's FIFO (QUE-1). Its id must not wait.
    pub fn accept(&mut self, g: GroupId, n: NameId, shape: ShapeId, spec: Spec) {
        if self.keeps_place {
            let key = self.key(g);
            self.idle.remove(&(key, g));
        }
        let group = &mut self.groups[g as usize];
        group.spec = spec;
        group.waiting += 1;
        self.waiting += 1;
        let (weight, share_limit, before) = (spec.weight, spec.share_limit, group.last);
        let e = self.entries.insert(Entry { name: n, shape, weight, share_limit, next: NONE, before });
        match before {
            NONE => group.first = e,
            before => self.entries[before].next = e,
        }
        group.last = e;
        self.arrivals += 1;
        let name = &mut self.names[n];
        name.users += 1;
        (name.group, name.entry, name.arrival) = (g, e, self.arrivals);
    }

    /// So many tasks are about to come.
    pub fn reserve(&mut self, tasks: usize) {
        self.entries.reserve(tasks);
        self.names.reserve(tasks);
    }

    /// An id waits no longer (QUE-5). Its entry stays where the profile lets it linger; else the caller unlinks it.
    pub fn forget(&mut self, n: NameId) -> GroupId {
        let g = std::mem::replace(&mut self.names[n].group, NONE);
        let group = &mut self.groups[g as usize];
        group.waiting -= 1;
        self.waiting -= 1;
        if !self.faults.on("version_stays_on_discard") {
            self.version += 1;
        }
        g
    }

    /// A group whose last waiting task was discarded gives up its turn (QUE-7), unless it keeps its place.
    pub fn give_up_place(&mut self, g: GroupId) {
        if self.groups[g as usize].waiting > 0 {
        } else if !self.keeps_place {
            self.groups[g as usize].turn = 0;
        } else if self.groups[g as usize].first != NONE {
            self.idle.insert((self.key(g), g));
        }
    }

    /// A ghost may be at the head of this group: the next round looks.
    pub fn unsettle(&mut self, g: GroupId) {
        if !std::mem::replace(&mut self.groups[g as usize].unsettled, true) {
            self.unsettled.push(g);
        }
    }

    /// The next group that was unsettled and has waiting tasks.
    pub fn unsettled(&mut self) -> Option<GroupId> {
        while let Some(g) = self.unsettled.pop() {
            let group = &mut self.groups[g as usize];
            if std::mem::take(&mut group.unsettled) && group.waiting > 0 {
                return Some(g);
            }
        }
        None
    }

    /// Entries to be forgotten because their ids do not wait here, the first of them; `drop` gets the shape of each (QUE-8).
    pub fn forget_ghosts(&mut self, g: GroupId, mut drop: impl FnMut(ShapeId)) {
        while let Some(head) = self.head(g) {
            if self.names[head.name].group == g || (self.faults.on("ghost_survives_at_the_head") && self.groups[g as usize].waiting > 0) {
                break;
            }
            let entry = self.unlink(g, self.groups[g as usize].first);
            self.drop_name(entry.name);
            drop(entry.shape);
        }
    }

    /// An idle group that comes before that place, and has ghosts; it is looked at only once.
    pub fn idle_before(&mut self, key: Option<Key>) -> Option<GroupId> {
        let &(first, g) = self.idle.first()?;
        if key.is_some_and(|key| first >= key) {
            return None;
        }
        self.idle.pop_first();
        Some(g)
    }

    /// Take an entry out of its FIFO. Its name and shape are still held.
    pub fn unlink(&mut self, g: GroupId, e: EntryId) -> Entry {
        let entry = self.entries.remove(e);
        let group = &mut self.groups[g as usize];
        match entry.before {
            NONE => group.first = entry.next,
            before => self.entries[before].next = entry.next,
        }
        match entry.next {
            NONE => group.last = entry.before,
            next => self.entries[next].before = entry.before,
        }
        entry
    }

    /// The head starts: it leaves its FIFO, and its group has no turn until it takes one.
    pub fn take(&mut self, g: GroupId) -> Entry {
        let entry = self.unlink(g, self.groups[g as usize].first);
        if self.names[entry.name].group == g {
            self.names[entry.name].group = NONE;
            self.groups[g as usize].waiting -= 1;
            self.waiting -= 1;
        }
        if !self.faults.on("turn_kept_after_service") || self.groups[g as usize].waiting == 0 {
            self.groups[g as usize].turn = 0;
        }
        self.version += 1;
        entry
    }

    /// One user of a name less; without users it is forgotten.
    pub fn drop_name(&mut self, n: NameId) {
        self.names[n].users -= 1;
        if self.names[n].users == 0 {
            let name = self.names.remove(n);
            if !name.text.is_empty() {
                self.name_of.remove(&name.text);
            }
        }
    }

    /// A group that becomes active, or goes on after being served, takes the last turn (QUE-3).
    pub fn take_turn(&mut self, g: GroupId) {
        self.turns += 1;
        if self.groups[g as usize].turn == 0 {
            self.groups[g as usize].turn = self.turns;
        }
    }

    /// A group comes back at the tag it left; one that was never served comes at the virtual time (QUE-9).
    pub fn bring_tag(&mut self, g: GroupId) {
        let group = &mut self.groups[g as usize];
        if !group.served || self.faults.on("returning_group_loses_its_tag") {
            group.tag = self.virtual_time;
        }
    }

    /// A start moves the virtual time up to the group's tag, and the tag 1/weight beyond it (QUE-10). `head` is the weight it came with.
    pub fn move_tag(&mut self, g: GroupId, head: u32) {
        let group = &mut self.groups[g as usize];
        let raised = self.virtual_time.max(group.tag);
        if !self.faults.on("virtual_time_not_raised") {
            self.virtual_time = raised;
        }
        let weight = if self.faults.on("weight_of_the_old_spec") { head } else { group.spec.weight };
        group.tag = raised + 1.0 / (f64::from(weight) / WEIGHT_UNIT as f64).max(1.0);
        group.served = true;
    }

    /// Ids that wait, in order of arrival (QUE-12): of that group, and with a text that begins so.
    pub fn matching(&self, group: Option<&str>, prefix: &str) -> Vec<NameId> {
        let mut found: Vec<(u64, NameId)> = Vec::new();
        let mut meet = |n: NameId, g: Option<GroupId>| {
            let name = &self.names[n];
            if name.group != NONE && g.is_none_or(|g| g == name.group) && name.text.starts_with(prefix) {
                found.push((name.arrival, n));
            }
        };
        match group.map(|name| self.group(name)) {
            None => self.names.iter().for_each(|(n, _)| meet(n, None)),
            Some(None) => {}
            Some(Some(g)) => {
                let mut e = self.groups[g as usize].first;
                while e != NONE {
                    // an old and a new entry of one id are one waiting task
                    if self.names[self.entries[e].name].entry == e {
                        meet(self.entries[e].name, Some(g));
                    }
                    e = self.entries[e].next;
                }
            }
        }
        found.sort_unstable();
        if self.faults.on("discards_in_reverse") {
            found.reverse();
        }
        found.into_iter().map(|(_, n)| n).collect()
    }

    /// The entries of a group, oldest first, ghosts included.
    pub fn fifo(&self, g: GroupId) -> impl Iterator<Item = &Entry> {
        let mut e = self.groups[g as usize].first;
        std::iter::from_fn(move || {
            let entry = (e != NONE).then(|| &self.entries[e])?;
            e = entry.next;
            Some(entry)
        })
    }

    /// What is wrong, given the names of the leases.
    pub fn audit(&self, leased: impl Iterator<Item = NameId>, tagged: bool) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut users: Map<NameId, u32> = Map::default();
        for n in leased {
            *users.entry(n).or_default() += 1;
        }
        let (mut listed, mut waiting) = (0, 0);
        for g in 0..self.groups.len() as GroupId {
            let (group, mut last, mut here) = (&self.groups[g as usize], NONE, crate::tables::Set::default());
            let mut e = group.first;
            while e != NONE {
                let entry = &self.entries[e];
                *users.entry(entry.name).or_default() += 1;
                listed += 1;
                if entry.before != last {
                    wrong.push(format!("the FIFO of {} is broken", group.name));
                }
                if self.names[entry.name].group == g {
                    here.insert(entry.name);
                } else if !self.lingers {
                    wrong.push(format!("{} is left behind in the FIFO of {}", self.names[entry.name].text, group.name));
                }
                (last, e) = (e, entry.next);
            }
            waiting += here.len();
            if group.last != last || group.waiting as usize != here.len() {
                wrong.push(format!("{} says that {} tasks wait, {} do", group.name, group.waiting, here.len()));
            }
            if tagged && !self.keeps_place && (group.turn != 0) != (group.waiting > 0) {
                wrong.push(format!("{} has turn {} and {} waiting tasks", group.name, group.turn, group.waiting));
            }
        }
        if listed != self.entries.len() || waiting != self.waiting {
            wrong.push(format!("{} entries and {} waiting tasks, found {listed} and {waiting}", self.entries.len(), self.waiting));
        }
        for (n, name) in self.names.iter() {
            if name.users != users.get(&n).copied().unwrap_or(0) || name.users == 0 || self.name_of.get(&name.text) != Some(&n) {
                wrong.push(format!("the id {} has {} users, found {:?}", name.text, name.users, users.get(&n)));
            }
        }
        if self.names.len() != self.name_of.len() || self.groups.len() != self.group_of.len() {
            wrong.push("an id or group is left behind".into());
        }
        wrong
    }
}
