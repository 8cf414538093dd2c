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

/// What takes part: a line, or something whose line changes now and then.
pub trait Leaf {
    fn line(&self) -> &Line;

    /// The line is right from and up to these instants.
    fn right(&self) -> (i64, i64) {
        (i64::MIN, END)
    }
}

impl Leaf for Line {
    fn line(&self) -> &Line {
        self
    }
}

/// The result of a subtree.
#[derive(Clone, Copy, Debug)]
struct Won {
    /// It holds from here,
    from: i64,
    /// up to here, at most `END`. Before `from`: the result is to be found again, here and in every node above.
    to: i64,
    slot: u32,
}

impl Won {
    fn holds(&self, instant: i128) -> bool {
        i128::from(self.from) <= instant && instant <= i128::from(self.to)
    }
}

/// No result is kept for later instants.
pub const END: i64 = i64::MAX - 1;
const SPOILT: Won = Won { from: 1, to: 0, slot: 0 };

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

#[derive(Clone, Debug)]
pub struct Tournament<L = Line> {
    /// Without gaps; what is in slot i is below node `(nodes + i) / 2`.
    leaves: Vec<L>,
    /// Inner nodes from 1, the root; a power of two. None up to one leaf.
    nodes: Vec<Won>,
}

impl<L> Default for Tournament<L> {
    fn default() -> Self {
        Tournament { leaves: Vec::new(), nodes: Vec::new() }
    }
}

impl<L: Leaf> Tournament<L> {
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    pub fn leaf(&self, slot: usize) -> Option<&L> {
        self.leaves.get(slot)
    }

    /// A leaf that is about to change.
    pub fn leaf_mut(&mut self, slot: usize) -> &mut L {
        self.spoil(slot);
        &mut self.leaves[slot]
    }

    /// The slot of the new leaf.
    pub fn insert(&mut self, leaf: L) -> usize {
        let slot = self.leaves.len();
        self.leaves.push(leaf);
        if self.leaves.len() > self.nodes.len().max(1) {
            self.nodes = vec![SPOILT; (2 * slot).next_power_of_two()];
        }
        self.spoil(slot);
        slot
    }

    /// The leaf that now has the slot, if one had to move there.
    pub fn remove(&mut self, slot: usize) -> Option<&L> {
        let last = self.leaves.len() - 1;
        self.leaves.swap_remove(slot);
        if last < 2 {
            self.nodes = Vec::new();
        } else if last * 4 <= self.nodes.len() {
            self.nodes = vec![SPOILT; self.nodes.len() / 2];
            self.leaves.shrink_to(self.nodes.len());
        } else {
            self.spoil(slot);
            self.spoil(last);
        }
        self.leaves.get(slot)
    }

    fn spoil(&mut self, slot: usize) {
        let mut p = (self.nodes.len() + slot) / 2;
        while p > 0 {
            self.nodes[p] = SPOILT;
            p /= 2;
        }
    }

    /// The least leaf at an instant; of equal lines the earlier turn. Also when that is right. `refresh` makes a leaf's line right;
    /// `compared` counts the matches played again.
    pub fn best(&mut self, instant: i128, compared: &mut u64, refresh: &mut impl FnMut(&mut L)) -> Option<(&L, i64, i64)> {
        if self.winner(self.root()).is_some_and(|root| !root.holds(instant)) {
            self.repair(self.root(), instant, compared, refresh);
        }
        let Won { slot, from, to } = self.winner(self.root())?;
        Some((&self.leaves[slot as usize], from, to))
    }

    /// The leaves whose line is below the bound (level, turn) at an instant, in no order.
    pub fn below(&mut self, instant: i128, bound: (i128, u64), compared: &mut u64, refresh: &mut impl FnMut(&mut L)) -> Vec<L>
    where
        L: Copy,
    {
        let (mut found, mut look) = (Vec::new(), Vec::new());
        let is_below = |leaf: &L| (leaf.line().at(instant), leaf.line().turn) < bound;
        if self.best(instant, compared, refresh).is_some_and(|(best, ..)| is_below(best)) {
            look.push(self.root());
        }
        while let Some(part) = look.pop() {
            if part.span == 1 {
                found.push(self.leaves[part.first]);
                continue;
            }
            for half in part.halves() {
                *compared += 1;
                if self.winner(half).is_some_and(|won| is_below(&self.leaves[won.slot as usize])) {
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
        if part.first >= self.leaves.len() {
            None
        } else if part.span == 1 {
            let (from, to) = self.leaves[part.first].right();
            Some(Won { from, to, slot: part.first as u32 })
        } else {
            Some(self.nodes[part.node])
        }
    }

    /// Find the result again, of a subtree that has a leaf.
    fn repair(&mut self, part: Part, instant: i128, compared: &mut u64, refresh: &mut impl FnMut(&mut L)) {
        if part.span == 1 {
            return refresh(&mut self.leaves[part.first]);
        }
        let halves = part.halves();
        for half in halves {
            if self.winner(half).is_some_and(|won| !won.holds(instant)) {
                self.repair(half, instant, compared, refresh);
            }
        }
        let [left, right] = halves.map(|half| self.winner(half));
        self.nodes[part.node] = match (left, right) {
            (Some(left), Some(right)) => {
                *compared += 1;
                let (a, b) = (self.leaves[left.slot as usize].line(), self.leaves[right.slot as usize].line());
                let (first, from, to) = duel(a, b, instant);
                let slot = if first { left.slot } else { right.slot };
                Won { from: from.max(left.from).max(right.from), to: to.min(left.to).min(right.to), slot }
            }
            (left, _) => left.unwrap_or(SPOILT),
        };
    }

    /// What is wrong with the structure, at any instant.
    pub fn audit(&self, name: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.nodes.len() > 4 * self.leaves.len() {
            wrong.push(format!("{name}: {} nodes for {} leaves", self.nodes.len(), self.leaves.len()));
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
                let (a, b) = (self.leaves[won.slot as usize].line(), self.leaves[least.slot as usize].line());
                let beaten = |instant: i64| (b.at(instant.into()), b.turn) < (a.at(instant.into()), a.turn);
                let (from, to) = (won.from.max(0), won.to);
                if won.from < least.from || least.to < won.to || (from <= to && (beaten(from) || beaten(to))) {
                    wrong.push(format!("{name}: node {} holds a result that does not hold", part.node));
                }
            }
        }
        wrong
    }
}

impl Tournament {
    pub fn change(&mut self, slot: usize, line: Line) {
        if self.leaves[slot] != line {
            *self.leaf_mut(slot) = line;
        }
    }
}

/// Is the first line less at the instant? Also from and up to when that is right.
pub fn duel(a: &Line, b: &Line, instant: i128) -> (bool, i64, i64) {
    let swapped = a.slope < b.slope;
    let (steep, flat) = if swapped { (b, a) } else { (a, b) };
    let ahead = flat.base - steep.base - i128::from(steep.turn > flat.turn);
    if steep.slope == flat.slope {
        return (ahead >= 0, i64::MIN, END);
    }
    // The steeper is less up to the crossing, and on it if its turn is earlier.
    let last = ahead.div_euclid(steep.slope - flat.slope);
    let kept = last.clamp(i64::MIN.into(), END.into()) as i64;
    if instant <= last { (!swapped, i64::MIN, kept) } else { (swapped, kept + 1, END) }
}
