//! What is kept of heads, compared with what it stands for.
use super::classes::ClassId;
use super::{Head, Heads, Rule};
use crate::fair_queue::GroupId;
use crate::ledger::{Ledger, Needs, ShapeId};

impl Heads {
    /// What is wrong, given the head that each group should have.
    pub fn audit(&self, ledger: &Ledger, heads: impl Iterator<Item = (GroupId, Option<Head>)>, rule: &impl Rule) -> Vec<String> {
        let (mut wrong, mut expected) = (Vec::new(), Vec::new());
        for (g, head) in heads {
            if self.of[g as usize] != head {
                wrong.push(format!("group {g} is filed as {:?}, and should be as {head:?}", self.of[g as usize]));
            }
            expected.extend(head.map(|head| (head.shape, head.key, g, rule.thresholds(ledger, g, &head), head.weight)));
        }
        expected.sort_unstable();
        let (mut found, mut members) = (Vec::new(), Vec::new());
        for (s, file) in self.files.iter().enumerate() {
            let start = found.len();
            for filed in file.heads.iter().flat_map(|block| &block.entries) {
                let weight = self.of[filed.of as usize].map_or(0, |head| head.weight);
                found.push((s as ShapeId, filed.key, filed.of, filed.thresholds, weight));
            }
            wrong.extend(file.heads.audit(&format!("shape {s}")));
            let (count, weight) = ((found.len() - start) as i64, found[start..].iter().map(|filed| filed.4).sum::<i64>());
            if (file.count, file.weight) != (count, weight) {
                wrong.push(format!("shape {s} counts {} heads of weight {}, found {count} of {weight}", file.count, file.weight));
            }
            let Some((needs, class)) = &file.member else {
                if count > 0 || file.front.is_some() || file.counted != (0, 0, 0) {
                    wrong.push(format!("shape {s} has {count} heads and no class"));
                }
                continue;
            };
            if count == 0 && !file.changed {
                wrong.push(format!("shape {s} has no heads and a class"));
            }
            members.push((s as ShapeId, needs, *class));
        }
        if found != expected {
            wrong.push(format!("filed are {found:?}, and should be {expected:?}"));
        }
        wrong.extend(self.classes.audit(&members));
        wrong.extend(self.audit_classes(ledger, &members, rule));
        wrong
    }

    /// What is wrong with what the classes know of the shapes.
    fn audit_classes(&self, ledger: &Ledger, members: &[(ShapeId, &Needs, ClassId)], rule: &impl Rule) -> Vec<String> {
        let mut wrong = Vec::new();
        for &c in &self.classes.occupied {
            let class = self.classes.get(c);
            let mut sums = (0, 0, 0);
            let mut fronts = Vec::new();
            for &(s, needs, _) in members.iter().filter(|&&(.., other)| other == c) {
                let file = &self.files[s as usize];
                sums = (sums.0 + file.counted.0, sums.1 + file.counted.1, sums.2 + file.counted.2);
                fronts.extend(file.front.map(|(key, ..)| (key, s)));
                if file.changed != self.changed.contains(&s) {
                    wrong.push(format!("shape {s} has changed or not, against the list"));
                }
                if file.changed {
                    if file.front.is_some() || file.counted != (0, 0, 0) {
                        wrong.push(format!("shape {s} has changed, and its class knows of it"));
                    }
                    continue;
                }
                let own = |r| self.classes.is_own(r);
                let fits = needs.iter().all(|&(r, units)| !own(r) || ledger.free[r as usize] >= units);
                let asked = self.rivals.asked(needs, needs.len() == 1, rule, own);
                let first = file
                    .heads
                    .first(&asked, &mut 0)
                    .filter(|_| fits && (file.front.is_some() || class.only().is_none()))
                    .map(|(b, i, entry)| (entry.key, b, i));
                let counted = if fits { (file.count, file.count, file.weight) } else { (file.count, 0, 0) };
                if file.front != first || file.counted != counted {
                    wrong.push(format!("shape {s}: front {:?} and sums {:?}, not {first:?} and {counted:?}", file.front, file.counted));
                }
            }
            fronts.sort_unstable();
            let found = class.fronts.iter().flat_map(|block| &block.entries).map(|front| (front.key, front.of));
            if sums != (class.heads, class.startable, class.weight) || !found.eq(fronts.iter().copied()) {
                wrong.push(format!("class {c}: {class:?}, and should have {sums:?} and {fronts:?}"));
            }
        }
        wrong
    }
}
