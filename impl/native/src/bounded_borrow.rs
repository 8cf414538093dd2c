//! Bounded borrow: what each group holds and owes of each resource, and the thresholds that follow from it.
//!
//! A share falls as the weight of the rivals rises. So there is, for what a group holds and asks, a largest total weight at which
//! its share still covers it: the threshold, which no start or end of another group changes.
use crate::fair_queue::GroupId;
use crate::faults::Faults;
use crate::heads::{ALWAYS, Borrowed, Head, NEVER, Rivals, Rule, Thresholds, WATCHED};
use crate::ledger::{Ledger, ResourceId, ShapeId};
use crate::words::{Borrowing, Refusal, Rounding};

/// Of one resource.
#[derive(Clone, Copy, Debug)]
struct Account {
    resource: ResourceId,
    held: i64,
    debt: i64,
}

#[derive(Clone, Debug, Default)]
struct Member {
    /// Only of resources of which something is held or owed.
    accounts: Vec<Account>,
    /// Ceilings of its own.
    ceilings: Vec<(ResourceId, i64)>,
}

#[derive(Clone, Debug)]
pub struct BoundedBorrow {
    round_up: bool,
    default_ceiling: Option<i64>,
    /// Of each listed resource: what is left of it beside the reserve.
    lendable: Vec<i64>,
    ceilings: Vec<(String, ResourceId, i64)>,
    repay: bool,
    members: Vec<Member>,
    faults: Faults,
}

/// Competing groups split a resource by weight, at least one unit each. `total` includes the weight of the group itself.
fn share_of(capacity: i64, weight: i64, total: i64, round_up: bool, limit: Option<i64>) -> i64 {
    if capacity <= 1 {
        return capacity;
    }
    let part = if total == 2 * weight {
        (capacity + i64::from(round_up)) / 2
    } else {
        (capacity * weight + if round_up { total - 1 } else { 0 }) / total
    };
    part.clamp(1, capacity).min(limit.unwrap_or(capacity))
}

/// The largest total weight at which the share is at least `want`.
fn threshold_of(capacity: i64, weight: i64, want: i64, round_up: bool, limit: Option<i64>) -> i64 {
    if want > capacity || (capacity > 1 && limit.is_some_and(|limit| want > limit)) {
        NEVER
    } else if want <= 1 {
        ALWAYS
    } else if round_up {
        (capacity * weight - 1) / (want - 1)
    } else {
        capacity * weight / want
    }
}

impl BoundedBorrow {
    pub fn new(p: &Borrowing, ledger: &Ledger, faults: Faults) -> Self {
        let lendable = |&capacity: &i64| {
            let part = (capacity as f64 * p.reserve_fraction).ceil() as i64;
            let least = i64::from(p.reserve_at_least).max(i64::from(faults.on("solo_reserves_a_slot")));
            (capacity - part.max(least).min(i64::from(p.reserve_at_most))).max(0)
        };
        let known = |own: &crate::words::Ceiling| ledger.known(&own.resource).map(|r| (own.group.clone(), r, i64::from(own.units)));
        BoundedBorrow {
            round_up: (p.share_rounding == Rounding::Ceil) != faults.on("share_rounded_the_other_way"),
            default_ceiling: p.default_ceiling.map(i64::from),
            lendable: ledger.capacity.iter().map(lendable).collect(),
            ceilings: p.ceilings.iter().filter_map(known).collect(),
            repay: p.repay,
            members: Vec::new(),
            faults,
        }
    }

    pub fn add_group(&mut self, name: &str) {
        let ceilings = self.ceilings.iter().filter(|own| own.0 == name).map(|own| (own.1, own.2)).collect();
        self.members.push(Member { accounts: Vec::new(), ceilings });
    }

    fn account(&self, g: GroupId, r: ResourceId) -> Account {
        let none = Account { resource: r, held: 0, debt: 0 };
        self.members[g as usize].accounts.iter().find(|account| account.resource == r).copied().unwrap_or(none)
    }

    fn change(&mut self, g: GroupId, r: ResourceId, change: impl FnOnce(&mut Account)) {
        let accounts = &mut self.members[g as usize].accounts;
        let i = accounts.iter().position(|account| account.resource == r).unwrap_or_else(|| {
            accounts.push(Account { resource: r, held: 0, debt: 0 });
            accounts.len() - 1
        });
        change(&mut accounts[i]);
        if accounts[i].held == 0 && accounts[i].debt == 0 {
            accounts.swap_remove(i);
        }
    }

    /// What a start takes beyond its group's share, the group owes (BOR-4).
    pub fn started(&mut self, ledger: &Ledger, g: GroupId, shape: ShapeId, borrowed: &Borrowed) {
        for &(r, units) in ledger.needs(shape).iter() {
            let beyond = borrowed.iter().find(|loan| loan.0 == r).map_or(0, |loan| loan.1);
            let charged = if self.faults.on("debt_not_charged") { 0 } else { beyond };
            self.change(g, r, |account| {
                account.held += units;
                account.debt += charged;
            });
        }
    }

    /// A release repays its units of its group's debt (BOR-5). Answers whose debt it repaid.
    pub fn finished(&mut self, ledger: &Ledger, g: GroupId, shape: ShapeId) -> GroupId {
        let debtor = if self.faults.on("debt_repaid_to_wrong_group") { (g + 1) % self.members.len() as GroupId } else { g };
        for &(r, units) in ledger.needs(shape).iter() {
            self.change(g, r, |account| account.held -= units);
            if self.repay {
                self.change(debtor, r, |account| account.debt = (account.debt - units).max(0));
            }
        }
        debtor
    }

    pub fn debts(&self, g: GroupId) -> impl Iterator<Item = (ResourceId, i64)> {
        self.members[g as usize].accounts.iter().filter(|account| account.debt > 0).map(|account| (account.resource, account.debt))
    }

    /// All that is owed, by group.
    pub fn all_debts(&self) -> impl Iterator<Item = (GroupId, ResourceId, i64)> {
        (0..self.members.len() as GroupId).flat_map(|g| self.debts(g).map(move |(r, units)| (g, r, units)))
    }

    /// A group may owe up to its own ceiling, else the profile's, else everything beyond its share but the reserve (BOR-3).
    fn ceiling(&self, g: GroupId, r: ResourceId, share: i64) -> i64 {
        let own = self.members[g as usize].ceilings.iter().find(|own| own.0 == r).map(|own| own.1);
        own.or(self.default_ceiling).unwrap_or_else(|| (self.lendable.get(r as usize).unwrap_or(&0) - share).max(0))
    }

    /// The share of a head's group, beside heads of that weight in all, its own included.
    fn share(&self, ledger: &Ledger, head: &Head, r: ResourceId, weight: i64) -> i64 {
        let phantom = if self.faults.on("no_phantom_peer") { head.weight } else { 2 * head.weight };
        let total = if weight <= head.weight { phantom } else { weight };
        share_of(ledger.capacity[r as usize], head.weight, total, self.round_up, head.share_limit)
    }

    /// What a head takes beyond its group's share where nobody presses it; nothing, if its group would owe too much.
    fn unpressed(&self, ledger: &Ledger, g: GroupId, head: &Head, account: Account, units: i64, weight: i64) -> Option<i64> {
        let share = self.share(ledger, head, account.resource, weight);
        let more = (account.held + units - share).clamp(0, units);
        (more == 0 || account.debt + more <= self.ceiling(g, account.resource, share)).then_some(more)
    }

    /// What is wrong, given the leases (group and shape).
    pub fn audit(&self, ledger: &Ledger, leases: impl Iterator<Item = (GroupId, ShapeId)>) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut held: crate::tables::Map<(GroupId, ResourceId), i64> = Default::default();
        for (g, shape) in leases {
            for &(r, units) in ledger.needs(shape).iter() {
                *held.entry((g, r)).or_default() += units;
            }
        }
        for (g, member) in self.members.iter().enumerate() {
            for account in &member.accounts {
                let right = held.remove(&(g as GroupId, account.resource)).unwrap_or(0);
                if account.held != right || account.debt < 0 || (self.repay && account.debt > right) || account.held + account.debt == 0 {
                    wrong.push(format!("group {g} holds {right}, its account is {account:?}"));
                }
            }
        }
        wrong.extend(held.into_iter().map(|((g, r), units)| format!("group {g} holds {units} of resource {r}, and has no account of it")));
        wrong
    }
}

impl Rule for BoundedBorrow {
    fn thresholds(&self, ledger: &Ledger, g: GroupId, head: &Head) -> Thresholds {
        let mut thresholds = Thresholds { most: [ALWAYS; WATCHED], alone: u8::MAX };
        if head.share_limit.is_none() {
            return thresholds;
        }
        for (i, &(r, units)) in ledger.needs(head.shape).iter().enumerate().take(WATCHED) {
            let (account, capacity) = (self.account(g, r), ledger.capacity[r as usize]);
            thresholds.most[i] = if account.debt > 0 {
                NEVER
            } else {
                threshold_of(capacity, head.weight, account.held + units, self.round_up, head.share_limit)
            };
            if self.unpressed(ledger, g, head, account, units, head.weight).is_none() {
                thresholds.alone &= !(1 << i);
            }
        }
        thresholds
    }

    fn asked(&self, r: ResourceId, rivals: &Rivals) -> i64 {
        rivals.weight[r as usize]
    }

    fn judge(&self, ledger: &Ledger, g: GroupId, head: &Head, rivals: &Rivals) -> Result<Borrowed, Refusal> {
        let mut borrowed = Vec::new();
        if head.share_limit.is_none() {
            return Ok(borrowed);
        }
        for &(r, units) in ledger.needs(head.shape).iter() {
            let (account, weight) = (self.account(g, r), rivals.weight[r as usize]);
            if rivals.press(ledger, head.shape, r) {
                if account.debt > 0 {
                    return Err(Refusal::BorrowDebt);
                }
                if account.held + units > self.share(ledger, head, r, weight) {
                    return Err(Refusal::GroupCap);
                }
            } else {
                match self.unpressed(ledger, g, head, account, units, weight) {
                    None => return Err(Refusal::BorrowDebt),
                    Some(0) => {}
                    Some(more) => borrowed.push((r, more)),
                }
            }
        }
        Ok(borrowed)
    }
}
