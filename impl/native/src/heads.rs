//! The heads of the disciplines that count tasks, filed by shape and in order of place.
//!
//! Whether a head could start is a fact about its shape, so the number of rivals for a resource and their weight are sums over the
//! shapes that fit. Under pressure a head is refused if and only if those sums pass its *thresholds*, numbers that change only when
//! its own group starts or ends something. Blocks of heads know their largest thresholds: the first head that may start is found
//! by skipping blocks. Thresholds only skip heads that would be refused; whoever is left is judged in full. Shapes are many if
//! each asks for something of its own; so a decision asks their classes.
mod audit;
mod blocks;
mod classes;
mod counting;

use crate::fair_queue::{GroupId, Key, NONE};
use crate::faults::Faults;
use crate::ledger::{Ledger, Needs, ResourceId, ShapeId};
use crate::words::Refusal;
pub use blocks::Thresholds;
use blocks::{Blocks, Entry};
use classes::{ClassId, Classes};

/// Resources of one shape that thresholds look at; heads are judged in full for the others.
pub const WATCHED: usize = 4;
pub const NEVER: i64 = i64::MIN;
pub const ALWAYS: i64 = i64::MAX;

/// Units beyond the group's share, of each resource where there are any.
pub type Borrowed = Vec<(ResourceId, i64)>;

/// What the disciplines need to know of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub key: Key,
    pub shape: ShapeId,
    /// In 1024ths, at least 1024.
    pub weight: i64,
    pub share_limit: Option<i64>,
}

/// The questions on which strict and bounded borrow differ.
pub trait Rule {
    fn thresholds(&self, ledger: &Ledger, g: GroupId, head: &Head) -> Thresholds;
    /// What the threshold of a head must reach for a resource for which others press it.
    fn asked(&self, r: ResourceId, rivals: &Rivals) -> i64;
    /// May it start? Its units are free.
    fn judge(&self, ledger: &Ledger, g: GroupId, head: &Head, rivals: &Rivals) -> Result<Borrowed, Refusal>;
}

/// For each resource, the heads that ask for it and could start, and their weight.
#[derive(Clone, Debug, Default)]
pub struct Rivals {
    pub heads: Vec<i64>,
    pub weight: Vec<i64>,
    submission: ResourceId,
    faults: Faults,
}

impl Rivals {
    /// Does a head of another group press a head of this shape on resource `r`? `submission` counts only for a task that needs nothing else.
    #[inline]
    pub fn press(&self, ledger: &Ledger, shape: ShapeId, r: ResourceId) -> bool {
        self.press_on(ledger.needs(shape).len() == 1, r)
    }

    /// `single`: the task needs one resource only.
    #[inline]
    fn press_on(&self, single: bool, r: ResourceId) -> bool {
        let counts = r != self.submission || single || self.faults.on("submission_always_presses");
        counts && self.heads[r as usize] > 1
    }

    /// What thresholds must reach now, for those of these resources that are looked at.
    fn asked(&self, needs: &[(ResourceId, i64)], single: bool, rule: &impl Rule, looked_at: impl Fn(ResourceId) -> bool) -> Thresholds {
        let mut asked = Thresholds::LOWEST;
        for (i, &(r, _)) in needs.iter().enumerate().take(WATCHED) {
            if !looked_at(r) {
            } else if self.press_on(single, r) {
                asked.most[i] = rule.asked(r, self);
            } else if self.heads[r as usize] <= 1 {
                asked.alone |= 1 << i;
            }
        }
        asked
    }
}

/// The heads of one shape.
#[derive(Clone, Debug, Default)]
struct File {
    /// By the number of the group.
    heads: Blocks,
    count: i64,
    weight: i64,
    /// What it asks and its class, while it has heads; and, if it has none any more, until the next decision.
    member: Option<(Needs, ClassId)>,
    /// It has changed since the class counted it: nothing is counted and it has no front.
    changed: bool,
    /// What its class counts: heads, those whose own units are free, their weight.
    counted: (i64, i64, i64),
    /// If its class has other shapes too: the first head that its own resources let go: its place, and where it stands.
    front: Option<(Key, usize, usize)>,
}

#[derive(Clone, Debug, Default)]
pub struct Heads {
    /// By group; `None`: it has no head, or it is not known yet.
    of: Vec<Option<Head>>,
    /// By shape.
    files: Vec<File>,
    classes: Classes,
    /// The shapes that have changed.
    changed: Vec<ShapeId>,
    /// The classes that fit, when the rivals were last counted.
    fitting: Vec<ClassId>,
    pub rivals: Rivals,
    /// Heads examined since the beginning.
    pub examined: u64,
    faults: Faults,
}

impl Heads {
    pub fn new(ledger: &Ledger, faults: Faults) -> Self {
        let submission = ledger.known("submission").unwrap_or(NONE);
        Heads { faults, rivals: Rivals { submission, faults, ..Rivals::default() }, ..Heads::default() }
    }

    pub fn add_group(&mut self) {
        self.of.push(None);
    }

    pub fn of(&self, g: GroupId) -> Option<&Head> {
        self.of[g as usize].as_ref()
    }

    /// Groups and their heads, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (GroupId, &Head)> {
        self.of.iter().enumerate().filter_map(|(g, head)| head.as_ref().map(|head| (g as GroupId, head)))
    }

    pub fn file(&mut self, ledger: &Ledger, g: GroupId, head: Head, rule: &impl Rule) {
        let s = head.shape as usize;
        if self.files.len() <= s {
            self.files.resize_with(s + 1, File::default);
        }
        self.occupy(ledger.needs(head.shape), head.shape);
        let file = &mut self.files[s];
        file.count += 1;
        file.weight += head.weight;
        file.heads.insert(Entry { key: head.key, of: g, thresholds: rule.thresholds(ledger, g, &head) });
        self.change(head.shape);
        self.of[g as usize] = Some(head);
    }

    /// The head of this group, if it has one, is no longer filed.
    pub fn unfile(&mut self, g: GroupId) {
        let Some(head) = self.of[g as usize].take() else { return };
        let file = &mut self.files[head.shape as usize];
        file.count -= 1;
        file.weight -= head.weight;
        file.heads.remove(head.key);
        self.change(head.shape);
    }

    /// What the group holds or owes has changed.
    pub fn refresh(&mut self, ledger: &Ledger, g: GroupId, rule: &impl Rule) {
        if let Some(head) = self.of[g as usize] {
            self.files[head.shape as usize].heads.change(head.key, rule.thresholds(ledger, g, &head));
            self.change(head.shape);
        }
    }

    /// Of this resource more or less is free than before.
    pub fn moved(&mut self, r: ResourceId) {
        if let Some(s) = self.classes.sole(r) {
            self.change(s);
        }
    }

    /// Its class knows nothing of a shape that changes, until the next decision: a group keeps its place when it leaves one for another.
    fn change(&mut self, s: ShapeId) {
        if !std::mem::replace(&mut self.files[s as usize].changed, true) {
            self.changed.push(s);
            self.uncount(s);
        }
    }

    /// The first head that nothing holds back. The rivals must be counted.
    pub fn choose(&mut self, ledger: &Ledger, rule: &impl Rule) -> Option<(Key, GroupId, Borrowed)> {
        let (mut best, mut examined): (Option<(Key, GroupId, Borrowed)>, _) = (None, 0);
        let later = |best: &Option<(Key, GroupId, Borrowed)>, key: Key| best.as_ref().is_some_and(|best| key >= best.0);
        for &c in &self.fitting {
            let class = self.classes.get(c);
            if let Some(s) = class.only() {
                let before = best.as_ref().map(|best| best.0);
                best = self.first_of(ledger, s, before, rule, &mut examined).or(best);
                continue;
            }
            let asked = self.rivals.asked(&class.needs, class.single, rule, |_| true);
            'fronts: for block in class.fronts.iter() {
                if later(&best, block.first) {
                    break;
                }
                if !block.most.reach(&asked) {
                    continue;
                }
                for front in &block.entries {
                    examined += 1;
                    if later(&best, front.key) {
                        break 'fronts;
                    }
                    if front.thresholds.reach(&asked) {
                        let before = best.as_ref().map(|best| best.0);
                        best = self.first_of(ledger, front.of, before, rule, &mut examined).or(best);
                    }
                }
            }
        }
        self.examined += examined;
        best
    }

    /// The first head of that shape, before that place, that nothing holds back.
    fn first_of(
        &self,
        ledger: &Ledger,
        s: ShapeId,
        before: Option<Key>,
        rule: &impl Rule,
        examined: &mut u64,
    ) -> Option<(Key, GroupId, Borrowed)> {
        let (file, needs) = (&self.files[s as usize], ledger.needs(s));
        let (_, first, mut from) = file.front.unwrap_or_default();
        let asked = self.rivals.asked(needs, needs.len() == 1, rule, |_| true);
        let later = |key: Key| before.is_some_and(|before| key >= before);
        for block in file.heads.iter().skip(first) {
            let skipped = std::mem::take(&mut from);
            if later(block.first) {
                break;
            }
            if !block.most.reach(&asked) {
                continue;
            }
            for filed in &block.entries[skipped..] {
                *examined += 1;
                if later(filed.key) {
                    return None;
                }
                let Some(head) = &self.of[filed.of as usize] else { continue };
                if filed.thresholds.reach(&asked)
                    && let Ok(borrowed) = rule.judge(ledger, filed.of, head, &self.rivals)
                {
                    return Some((filed.key, filed.of, borrowed));
                }
            }
        }
        None
    }

    /// What holds the head of this group back. The rivals must be counted.
    pub fn verdict(&self, ledger: &Ledger, g: GroupId, rule: &impl Rule) -> Result<Borrowed, Refusal> {
        match self.of(g) {
            Some(head) if fits(ledger.needs(head.shape), ledger, self.faults) => rule.judge(ledger, g, head, &self.rivals),
            _ => Err(Refusal::NoCapacity),
        }
    }
}

fn fits(needs: &[(ResourceId, i64)], ledger: &Ledger, faults: Faults) -> bool {
    let unchecked = usize::from(faults.on("last_need_not_checked"));
    needs[..needs.len().saturating_sub(unchecked)].iter().all(|&(r, units)| ledger.free[r as usize] >= units)
}
