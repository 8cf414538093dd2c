//! The least of many moving levels: a tournament of lines that knows between which instants each of its results holds.
//!
//! A level is a straight line in time. Every inner node holds the winner of its two subtrees and the interval of instants in which
//! nothing below it changes; so a look at the root costs nothing while the instant stays inside, whichever way it moves, and a look
//! from outside repairs just those nodes whose result has changed. Changing a line spoils the nodes above it; they are repaired
//! when somebody looks.

/// A head: its group's level is `base + slope * instant`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub base: i128,
    pub slope: i128,
    /// Breaks ties, and differs from every other line's.
    pub turn: u64,
    pub group: u32,
}

impl Line {
    pub fn at(&self, instant: i128) -> i128 {
        self.base + self.slope * instant
    }
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// The winner's slot.
    best: usize,
    /// The result holds from here,
    from: i128,
    /// up to here. Before `from`: the node is spoilt, and so is every node above it.
    to: i128,
}

const SPOILT: Node = Node { best: 0, from: 1, to: 0 };
const ALWAYS: (i128, i128) = (i128::MIN, i128::MAX);

#[derive(Clone, Debug, Default)]
pub struct Tournament {
    /// Leaves without gaps: the line in slot i is the leaf `width + i`.
    lines: Vec<Line>,
    /// Inner nodes from 1, the root; `width` of them, a power of two. Empty up to one line.
    nodes: Vec<Node>,
}

impl Tournament {
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub fn line(&self, slot: usize) -> Option<&Line> {
        self.lines.get(slot)
    }

    /// The slot of the new line.
    pub fn insert(&mut self, line: Line) -> usize {
        let slot = self.lines.len();
        self.lines.push(line);
        if self.lines.len() > self.nodes.len().max(1) {
            self.nodes = vec![SPOILT; (2 * slot).next_power_of_two()];
        }
        self.spoil(slot);
        slot
    }

    pub fn change(&mut self, slot: usize, line: Line) {
        if self.lines[slot] != line {
            self.lines[slot] = line;
            self.spoil(slot);
        }
    }

    /// The group whose line now has the slot, if one had to move there.
    pub fn remove(&mut self, slot: usize) -> Option<u32> {
        let last = self.lines.len() - 1;
        self.lines.swap_remove(slot);
        if last < 2 {
            *self = Tournament { lines: std::mem::take(&mut self.lines), nodes: Vec::new() };
        } else if last * 4 <= self.nodes.len() {
            self.nodes = vec![SPOILT; self.nodes.len() / 2];
            self.lines.shrink_to(self.nodes.len());
        } else {
            self.spoil(slot);
            self.spoil(last);
        }
        (slot < last).then(|| self.lines[slot].group)
    }

    fn spoil(&mut self, slot: usize) {
        let mut p = (self.nodes.len() + slot) / 2;
        while p > 0 {
            self.nodes[p] = SPOILT;
            p /= 2;
        }
    }

    /// The least line at an instant; of equals the earlier turn. `examined` counts the heads that were compared.
    pub fn best(&mut self, instant: i128, examined: &mut u64) -> Option<&Line> {
        if self.lines.is_empty() {
            return None;
        }
        *examined += 1;
        let (best, ..) = self.repair(1, instant, examined)?;
        self.lines.get(best)
    }

    /// The groups whose line is below the bound (level, turn) at an instant, in no order.
    pub fn below(&mut self, instant: i128, bound: (i128, u64), examined: &mut u64) -> Vec<u32> {
        let mut found = Vec::new();
        let mut look = vec![1];
        self.repair(1, instant, examined);
        while let Some(p) = look.pop() {
            let Some((best, ..)) = self.result(p) else { continue };
            *examined += 1;
            let line = &self.lines[best];
            if (line.at(instant), line.turn) >= bound {
                continue;
            }
            if p < self.nodes.len() {
                look.extend([2 * p, 2 * p + 1]);
            } else {
                found.push(line.group);
            }
        }
        found
    }

    /// The winner of a subtree, and when that holds; nothing if no line is there.
    fn result(&self, p: usize) -> Option<(usize, i128, i128)> {
        let width = self.nodes.len().max(1);
        if p >= width {
            return (p - width < self.lines.len()).then_some((p - width, ALWAYS.0, ALWAYS.1));
        }
        // The first leaf below: without it the subtree is empty.
        let deep = width.ilog2() - p.ilog2();
        ((p << deep) - width < self.lines.len()).then(|| (self.nodes[p].best, self.nodes[p].from, self.nodes[p].to))
    }

    fn repair(&mut self, p: usize, instant: i128, examined: &mut u64) -> Option<(usize, i128, i128)> {
        let known = self.result(p)?;
        if p >= self.nodes.len() || (known.1 <= instant && instant <= known.2) {
            return Some(known);
        }
        let (left, right) = (self.repair(2 * p, instant, examined)?, self.repair(2 * p + 1, instant, examined));
        let (best, from, to) = match right {
            None => left,
            Some(right) => {
                *examined += 1;
                let (won, from, to) = duel(&self.lines[left.0], &self.lines[right.0], instant);
                (if won { left.0 } else { right.0 }, from.max(left.1).max(right.1), to.min(left.2).min(right.2))
            }
        };
        self.nodes[p] = Node { best, from, to };
        Some((best, from, to))
    }

    /// What is wrong with the structure, at any instant.
    pub fn audit(&self, name: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.nodes.len() > 4 * self.lines.len() {
            wrong.push(format!("{name}: {} nodes for {} lines", self.nodes.len(), self.lines.len()));
        }
        for p in 1..self.nodes.len() {
            let Some((best, from, to)) = self.result(p) else { continue };
            if from > to {
                if p > 1 && self.nodes[p / 2].from <= self.nodes[p / 2].to {
                    wrong.push(format!("{name}: node {p} is spoilt, and the one above it is not"));
                }
                continue;
            }
            for side in [2 * p, 2 * p + 1].into_iter().filter_map(|side| self.result(side)) {
                let inside = side.1 <= from && to <= side.2;
                let (a, b) = (&self.lines[best], &self.lines[side.0]);
                let beaten = |instant: i128| (b.at(instant), b.turn) < (a.at(instant), a.turn);
                let ends = [from.max(0), to.min(1 << 67)];
                if !inside || (ends[0] <= ends[1] && ends.into_iter().any(beaten)) {
                    wrong.push(format!("{name}: node {p} holds a result that does not hold"));
                }
            }
        }
        wrong
    }
}

/// Is the first line less at the instant, and between which instants does that answer hold?
fn duel(a: &Line, b: &Line, instant: i128) -> (bool, i128, i128) {
    if a.slope == b.slope {
        return ((a.base, a.turn) < (b.base, b.turn), ALWAYS.0, ALWAYS.1);
    }
    if a.slope < b.slope {
        let (won, from, to) = duel(b, a, instant);
        return (!won, from, to);
    }
    // The steeper is less up to the crossing, and on it if its turn is earlier.
    let last = (b.base - a.base - i128::from(a.turn > b.turn)).div_euclid(a.slope - b.slope);
    if instant <= last { (true, ALWAYS.0, last) } else { (false, last + 1, ALWAYS.1) }
}
