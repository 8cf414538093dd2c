//! What classes know of their shapes, and how many rivals there are for each resource.
use super::blocks::{Blocks, Entry, Thresholds};
use super::{ALWAYS, Heads, Rule, WATCHED, fits};
use crate::ledger::{Ledger, Needs, ResourceId, ShapeId};

impl Heads {
    /// A shape has heads. (Its number may have been another's before.)
    pub(super) fn occupy(&mut self, needs: &Needs, s: ShapeId) {
        match &self.files[s as usize].member {
            Some((known, _)) if Needs::ptr_eq(known, needs) => return,
            Some(_) => self.vacate(s),
            None => {}
        }
        let met = self.classes.ask(s, needs, self.faults.on("last_need_not_checked"));
        self.join(s, needs.clone());
        for other in met.into_iter().filter(|&other| other != s) {
            self.change(other);
            if let Some((needs, class)) = self.files[other as usize].member.take() {
                self.classes.leave(class, other);
                self.join(other, needs);
            }
        }
    }

    fn join(&mut self, s: ShapeId, needs: Needs) {
        let class = self.classes.join(s, &needs);
        self.files[s as usize].member = Some((needs, class));
        // From now on its class keeps the front of the shape that was alone in it.
        if let Some(other) = self.classes.get(class).only_one_beside(s) {
            self.change(other);
        }
    }

    /// It has no heads any longer, so it has changed.
    fn vacate(&mut self, s: ShapeId) {
        if let Some((needs, class)) = self.files[s as usize].member.take() {
            self.classes.leave(class, s);
            self.classes.unask(&needs);
            self.files[s as usize].heads = Blocks::default();
        }
    }

    /// Its class does not know of its heads.
    pub(super) fn uncount(&mut self, s: ShapeId) {
        let file = &mut self.files[s as usize];
        let Some((_, class)) = &file.member else { return };
        let class = self.classes.get_mut(*class);
        let (heads, startable, weight) = std::mem::take(&mut file.counted);
        class.heads -= heads;
        class.startable -= startable;
        class.weight -= weight;
        if let Some((key, ..)) = file.front.take() {
            class.fronts.remove(key);
        }
    }

    /// Its class, which knows nothing of it, is told of its heads as they are now.
    fn recount(&mut self, ledger: &Ledger, s: ShapeId, rule: &impl Rule) {
        let (classes, rivals) = (&mut self.classes, &mut self.rivals);
        let file = &mut self.files[s as usize];
        let Some((needs, c)) = &file.member else { return };
        let mut fits = true;
        for &(r, units) in needs.iter().filter(|&&(r, _)| classes.is_own(r)) {
            rivals.heads[r as usize] = file.count;
            rivals.weight[r as usize] = file.weight;
            fits &= ledger.free[r as usize] >= units;
        }
        file.counted = if fits { (file.count, file.count, file.weight) } else { (file.count, 0, 0) };
        if fits && classes.get(*c).only().is_none() {
            let asked = rivals.asked(needs, needs.len() == 1, rule, |r| classes.is_own(r));
            if let Some((b, i, entry)) = file.heads.first(&asked, &mut self.examined) {
                file.front = Some((entry.key, b, i));
                let thresholds = largest(&file.heads, b, &asked, needs, |r| classes.is_own(r));
                classes.get_mut(*c).fronts.insert(Entry { key: entry.key, of: s, thresholds });
            }
        }
        let class = classes.get_mut(*c);
        class.heads += file.counted.0;
        class.startable += file.counted.1;
        class.weight += file.counted.2;
    }

    /// Find the classes that fit, and count the rivals for each resource: sums over the shapes that fit.
    pub fn count(&mut self, ledger: &Ledger, rule: &impl Rule) {
        for sums in [&mut self.rivals.heads, &mut self.rivals.weight] {
            sums.resize(ledger.free.len(), 0);
        }
        while let Some(s) = self.changed.pop() {
            self.files[s as usize].changed = false;
            if self.files[s as usize].count > 0 {
                self.recount(ledger, s, rule);
            } else {
                self.vacate(s);
            }
        }
        let rivals = &mut self.rivals;
        for &c in &self.classes.occupied {
            for &(r, _) in &self.classes.get(c).needs {
                (rivals.heads[r as usize], rivals.weight[r as usize]) = (0, 0);
            }
        }
        self.fitting.clear();
        for &c in &self.classes.occupied {
            let class = self.classes.get(c);
            let fits = fits(&class.needs, ledger, self.faults);
            if fits && class.startable > 0 {
                self.fitting.push(c);
            }
            let (startable, weight) = if fits { (class.startable, class.weight) } else { (0, 0) };
            let heads = if self.faults.on("pressure_from_a_peer_that_cannot_start") { class.heads } else { startable };
            for &(r, _) in &class.needs {
                rivals.heads[r as usize] += heads;
                rivals.weight[r as usize] += weight;
            }
        }
    }
}

const HIGHEST: Thresholds = Thresholds { most: [ALWAYS; WATCHED], alone: u8::MAX };

/// The largest thresholds for what is not the shape's own, in blocks that reach what is asked, from one on.
fn largest(heads: &Blocks, from: usize, asked: &Thresholds, needs: &Needs, is_own: impl Fn(ResourceId) -> bool) -> Thresholds {
    let mut most = Thresholds::LOWEST;
    heads.iter().skip(from).filter(|block| block.most.reach(asked)).for_each(|block| most.raise(&block.most));
    let mut largest = HIGHEST;
    for (k, (i, _)) in needs.iter().enumerate().filter(|&(_, &(r, _))| !is_own(r)).take(WATCHED).enumerate() {
        if i < WATCHED {
            largest.most[k] = most.most[i];
            largest.alone &= !(1 << k) | (most.alone >> i & 1) << k;
        }
    }
    largest
}
