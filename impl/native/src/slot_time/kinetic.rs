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
const END: i64 = i64::MAX - 1;
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

    /// The least line at an instant; of equals the earlier turn. `compared` counts the matches played again.
    pub fn best(&mut self, instant: i128, compared: &mut u64) -> Option<&Line> {
        if self.nodes.get(1).is_some_and(|root| !root.holds(instant)) {
            self.repair(self.root(), instant, compared);
        }
        self.lines.get(self.nodes.get(1).map_or(0, |root| root.slot as usize))
    }

    /// The groups whose line is below the bound (level, turn) at an instant, in no order.
    pub fn below(&mut self, instant: i128, bound: (i128, u64), compared: &mut u64) -> Vec<u32> {
        let (mut found, mut look) = (Vec::new(), Vec::new());
        let is_below = |line: &Line| (line.at(instant), line.turn) < bound;
        if self.best(instant, compared).is_some_and(is_below) {
            look.push(self.root());
        }
        while let Some(part) = look.pop() {
            if part.span == 1 {
                found.push(self.lines[part.first].group);
                continue;
            }
            for half in part.halves() {
                *compared += 1;
                if self.winner(half).is_some_and(|won| is_below(&self.lines[won.slot as usize])) {
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
            Some(Won { from: i64::MIN, to: END, slot: part.first as u32 })
        } else {
            Some(self.nodes[part.node])
        }
    }

    /// Find the result again, of a subtree that has inner nodes and at least one line.
    fn repair(&mut self, part: Part, instant: i128, compared: &mut u64) {
        let halves = part.halves();
        for half in halves {
            if half.span > 1 && half.first < self.lines.len() && !self.nodes[half.node].holds(instant) {
                self.repair(half, instant, compared);
            }
        }
        let [left, right] = halves.map(|half| self.winner(half));
        self.nodes[part.node] = match (left, right) {
            (Some(left), Some(right)) => {
                *compared += 1;
                let won = duel(&self.lines, left.slot, right.slot, instant);
                Won { from: won.from.max(left.from).max(right.from), to: won.to.min(left.to).min(right.to), ..won }
            }
            (left, _) => left.unwrap_or(SPOILT),
        };
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
                let (a, b) = (&self.lines[won.slot as usize], &self.lines[least.slot as usize]);
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

/// Which of two lines is less at the instant, and between which instants is it?
fn duel(lines: &[Line], left: u32, right: u32, instant: i128) -> Won {
    let (mut steep, mut flat) = (left, right);
    if lines[left as usize].slope < lines[right as usize].slope {
        (steep, flat) = (right, left);
    }
    let (a, b) = (&lines[steep as usize], &lines[flat as usize]);
    let ahead = b.base - a.base - i128::from(a.turn > b.turn);
    if a.slope == b.slope {
        return Won { from: i64::MIN, to: END, slot: if ahead >= 0 { steep } else { flat } };
    }
    // The steeper is less up to the crossing, and on it if its turn is earlier.
    let last = ahead.div_euclid(a.slope - b.slope);
    let kept = last.clamp(i64::MIN.into(), END.into()) as i64;
    if instant <= last { Won { from: i64::MIN, to: kept, slot: steep } } else { Won { from: kept + 1, to: END, slot: flat } }
}
