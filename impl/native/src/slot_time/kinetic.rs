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

/// The result of a subtree.
#[derive(Clone, Copy, Debug)]
struct Won {
    slot: usize,
    /// It holds from here,
    from: i128,
    /// up to here. Before `from`: the node is spoilt, and so is every node above it.
    to: i128,
}

const SPOILT: Won = Won { slot: 0, from: 1, to: 0 };

/// A subtree: the leaves from `first`, so many.
#[derive(Clone, Copy, Debug)]
struct Part {
    node: usize,
    first: usize,
    span: usize,
}

impl Part {
    fn halves(self) -> [Part; 2] {
        let span = self.span / 2;
        [Part { node: 2 * self.node, first: self.first, span }, Part { node: 2 * self.node + 1, first: self.first + span, span }]
    }
}

#[derive(Clone, Debug, Default)]
pub struct Tournament {
    /// The leaves, without gaps: the line in slot i is below node `(nodes + i) / 2`.
    lines: Vec<Line>,
    /// Inner nodes from 1, the root; a power of two. None up to one line.
    nodes: Vec<Won>,
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
        let Won { slot, .. } = self.repair(self.root(), instant, examined)?;
        self.lines.get(slot)
    }

    /// The groups whose line is below the bound (level, turn) at an instant, in no order.
    pub fn below(&mut self, instant: i128, bound: (i128, u64), examined: &mut u64) -> Vec<u32> {
        let (mut found, mut look) = (Vec::new(), Vec::new());
        let is_below = |line: &Line| (line.at(instant), line.turn) < bound;
        if self.best(instant, examined).is_some_and(is_below) {
            look.push(self.root());
        }
        while let Some(part) = look.pop() {
            if part.span == 1 {
                found.push(self.lines[part.first].group);
                continue;
            }
            for half in part.halves() {
                *examined += 1;
                if self.winner(half).is_some_and(|won| is_below(&self.lines[won.slot])) {
                    look.push(half);
                }
            }
        }
        found
    }

    fn root(&self) -> Part {
        Part { node: 1, first: 0, span: self.nodes.len().max(1) }
    }

    /// The result of a subtree that is not spoilt; nothing if no line is there.
    fn winner(&self, part: Part) -> Option<Won> {
        if part.first >= self.lines.len() {
            None
        } else if part.span == 1 {
            Some(Won { slot: part.first, from: i128::MIN, to: i128::MAX })
        } else {
            Some(self.nodes[part.node])
        }
    }

    fn repair(&mut self, part: Part, instant: i128, examined: &mut u64) -> Option<Won> {
        let known = self.winner(part)?;
        if known.from <= instant && instant <= known.to {
            return Some(known);
        }
        let [left, right] = part.halves().map(|half| self.repair(half, instant, examined));
        let left = left?;
        let won = match right {
            None => left,
            Some(right) => {
                *examined += 1;
                let (first, from, to) = duel(&self.lines[left.slot], &self.lines[right.slot], instant);
                let slot = if first { left.slot } else { right.slot };
                Won { slot, from: from.max(left.from).max(right.from), to: to.min(left.to).min(right.to) }
            }
        };
        self.nodes[part.node] = won;
        Some(won)
    }

    /// What is wrong with the structure, at any instant.
    pub fn audit(&self, name: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.nodes.len() > 4 * self.lines.len() {
            wrong.push(format!("{name}: {} nodes for {} lines", self.nodes.len(), self.lines.len()));
        }
        let mut look = if self.nodes.is_empty() { Vec::new() } else { vec![self.root()] };
        while let Some(part) = look.pop() {
            let Some(won) = self.winner(part) else { continue };
            for half in part.halves() {
                let Some(least) = self.winner(half) else { continue };
                if half.span > 1 {
                    look.push(half);
                }
                if won.from > won.to {
                    continue;
                }
                let (a, b) = (&self.lines[won.slot], &self.lines[least.slot]);
                let beaten = |instant: i128| (b.at(instant), b.turn) < (a.at(instant), a.turn);
                let (from, to) = (won.from.max(0), won.to.min(1 << 67));
                if won.from < least.from || least.to < won.to || (from <= to && (beaten(from) || beaten(to))) {
                    wrong.push(format!("{name}: node {} holds a result that does not hold", part.node));
                }
            }
        }
        wrong
    }
}

/// Is the first line less at the instant, and between which instants does that answer hold?
fn duel(a: &Line, b: &Line, instant: i128) -> (bool, i128, i128) {
    if a.slope == b.slope {
        return ((a.base, a.turn) < (b.base, b.turn), i128::MIN, i128::MAX);
    }
    if a.slope < b.slope {
        let (won, from, to) = duel(b, a, instant);
        return (!won, from, to);
    }
    // The steeper is less up to the crossing, and on it if its turn is earlier.
    let last = (b.base - a.base - i128::from(a.turn > b.turn)).div_euclid(a.slope - b.slope);
    if instant <= last { (true, i128::MIN, last) } else { (false, last + 1, i128::MAX) }
}
