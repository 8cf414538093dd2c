//! What is kept, compared with what it stands for.
use std::collections::BTreeMap;

use super::level::rate_of;
use super::{Kind, SlotTime};
use crate::ledger::{Ledger, ShapeId};

impl SlotTime {
    /// Every count and every order that is not what it should be; nothing, if all is well. Looks at everything there is.
    pub fn audit(&self, ledger: &Ledger) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut check = |right: bool, what: String| {
            if !right {
                wrong.push(what);
            }
        };
        let mut wanted = vec![0u64; self.resources.len()];
        let mut lines = vec![Vec::new(); self.resources.len()];
        let mut kinds: BTreeMap<(u32, ShapeId), u32> = BTreeMap::new();
        for (&lease, run) in self.running.iter() {
            *kinds.entry((run.group, run.shape)).or_default() += 1;
            for &(r, _) in ledger.needs(run.shape).iter() {
                wanted[r as usize] += 1;
                lines[r as usize].push((lease, run.at));
            }
        }
        let mut turns: Vec<u64> = Vec::new();
        let mut filed = 0;
        for (g, group) in (0u32..).zip(&self.groups) {
            let due: Vec<_> = kinds.range((g, 0)..=(g, ShapeId::MAX)).map(|(&(_, shape), &tasks)| (shape, tasks)).collect();
            let mut found: Vec<_> = group.kinds.iter().map(|&Kind { shape, tasks, .. }| (shape, tasks)).collect();
            found.sort_unstable();
            check(found == due, format!("group {g}: runs {due:?} by shape, {found:?} are counted"));
            check(group.running == due.iter().map(|&(_, tasks)| tasks).sum::<u32>(), format!("group {g}: {} running", group.running));
            let rates: i128 = group.kinds.iter().map(|kind| rate_of(ledger, kind.shape, group.weight) * i128::from(kind.tasks)).sum();
            check(group.slope == self.gain(rates), format!("group {g}: rises by {}, not {rates}", group.slope));
            check(group.head.is_some() == (group.turn > 0), format!("group {g}: turn {}", group.turn));
            check(group.head.is_some() || group.overtaken.is_none(), format!("group {g}: nothing waits, and it is overtaken"));
            if let Some(head) = group.head {
                turns.push(group.turn);
                ledger.needs(head).iter().for_each(|&(r, _)| wanted[r as usize] += 1);
            }
            check(self.competes(g) == group.filed.is_some(), format!("group {g}: filed as {:?}", group.filed));
            let Some(at) = group.filed else { continue };
            filed += 1;
            let heads = &self.heads[at.shape as usize];
            let line = (if at.overtaken.is_some() { &heads.passed } else { &heads.fresh }).leaf(at.slot);
            let same = (Some(at.shape), at.turn, at.overtaken) == (group.head, group.turn, group.overtaken);
            let known = line.is_some_and(|line| (line.base, line.slope, line.turn, line.group) == (group.base, group.slope, group.turn, g));
            check(same && known, format!("group {g}: filed as {at:?}, {line:?}"));
            let waits =
                at.overtaken.is_none_or(|since| heads.overtaken.iter().filter(|&&entry| entry == ((since, at.turn), g)).count() == 1);
            check(waits, format!("group {g}: not among the overtaken"));
        }
        turns.sort_unstable();
        let unique = turns.windows(2).all(|pair| pair[0] < pair[1]) && turns.last().is_none_or(|&last| last <= self.turns);
        check(unique, format!("turns {turns:?} of {}", self.turns));
        for (r, resource) in self.resources.iter().enumerate() {
            check(resource.wanted == wanted[r], format!("resource {r}: wanted by {}, not {}", resource.wanted, wanted[r]));
        }
        let latest = self.resources.iter().map(|resource| resource.virtual_time).max().unwrap_or(0);
        check(self.latest == latest, format!("the largest virtual time is {latest}, not {}", self.latest));
        check(self.heads.len() <= ledger.shapes(), format!("heads of {} shapes of {}", self.heads.len(), ledger.shapes()));
        wrong.extend(self.running.audit(&lines));
        wrong.extend(self.audit_heads(filed));
        wrong.extend(self.audit_standing(ledger));
        wrong
    }

    fn audit_heads(&self, filed: usize) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut found = 0;
        for (shape, heads) in self.heads.iter().enumerate() {
            found += heads.fresh.len() + heads.passed.len();
            let listed = self.shapes.get(heads.place) == Some(&(shape as ShapeId));
            if listed == heads.is_empty() {
                wrong.push(format!("shape {shape}: {} heads, listed: {listed}", heads.fresh.len() + heads.passed.len()));
            }
            let sorted = heads.overtaken.iter().zip(heads.overtaken.iter().skip(1)).all(|(a, b)| a < b);
            if heads.overtaken.len() != heads.passed.len() || !sorted {
                wrong.push(format!("shape {shape}: overtaken {:?} of {}", heads.overtaken, heads.passed.len()));
            }
            wrong.extend(heads.fresh.audit(&format!("shape {shape}, fresh")));
            wrong.extend(heads.passed.audit(&format!("shape {shape}, overtaken")));
        }
        if found != filed {
            wrong.push(format!("{found} heads are kept, {filed} compete"));
        }
        wrong
    }
}
