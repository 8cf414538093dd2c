//! The heads of the disciplines that count tasks, filed by shape and in order of place.
//!
//! Whether a head could start is a fact about its shape, so the number of rivals for a resource and their weight are sums over the
//! shapes that fit. Under pressure a head is refused if and only if those sums pass its *thresholds*, numbers that change only when
//! its own group starts or ends something. Blocks of heads know their largest thresholds: the first head that may start is found
//! by skipping blocks. Thresholds only skip heads that would be refused; whoever is left is judged in full.
use crate::fair_queue::{GroupId, Key, NONE};
use crate::faults::Faults;
use crate::ledger::{Ledger, ResourceId, ShapeId};
use crate::words::Refusal;

/// Resources of one shape that thresholds look at; heads are judged in full for the others.
pub const WATCHED: usize = 4;
const BLOCK: usize = 32;

/// For each of the first resources of a head's shape: the largest weight of rivals, its own included, under which it may start.
pub type Thresholds = [i64; WATCHED];
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
    /// What thresholds of a head of this shape must reach now.
    fn asked(&self, ledger: &Ledger, shape: ShapeId, rivals: &Rivals) -> Thresholds;
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
        let counts = r != self.submission || ledger.needs(shape).len() == 1 || self.faults.on("submission_always_presses");
        counts && self.heads[r as usize] > 1
    }
}

#[derive(Clone, Copy, Debug)]
struct Filed {
    key: Key,
    group: GroupId,
    thresholds: Thresholds,
}

#[derive(Clone, Debug)]
struct Block {
    first: Key,
    most: Thresholds,
    heads: Vec<Filed>,
}

fn raise(most: &mut Thresholds, thresholds: &Thresholds) {
    for (most, &threshold) in most.iter_mut().zip(thresholds) {
        *most = (*most).max(threshold);
    }
}

fn reach(thresholds: &Thresholds, asked: &Thresholds) -> bool {
    (0..WATCHED).all(|i| thresholds[i] >= asked[i])
}

impl Block {
    fn new(heads: Vec<Filed>) -> Self {
        let mut block = Block { first: Key::default(), most: [NEVER; WATCHED], heads };
        block.measure();
        block
    }

    fn measure(&mut self) {
        self.first = self.heads[0].key;
        self.most = [NEVER; WATCHED];
        for head in &self.heads {
            raise(&mut self.most, &head.thresholds);
        }
    }
}

/// The heads of one shape.
#[derive(Clone, Debug, Default)]
struct File {
    blocks: Vec<Block>,
    count: i64,
    weight: i64,
    /// Where the shape is among the occupied ones.
    listed: usize,
}

impl File {
    /// The block where this key is or would be, and its place there.
    fn find(&self, key: Key) -> (usize, usize) {
        let b = self.blocks.partition_point(|block| block.first <= key).saturating_sub(1);
        (b, self.blocks[b].heads.partition_point(|head| head.key < key))
    }

    fn insert(&mut self, filed: Filed) {
        if self.blocks.is_empty() {
            self.blocks.push(Block::new(vec![filed]));
            return;
        }
        let (b, i) = self.find(filed.key);
        let block = &mut self.blocks[b];
        block.heads.insert(i, filed);
        block.first = block.heads[0].key;
        raise(&mut block.most, &filed.thresholds);
        if block.heads.len() > BLOCK {
            let tail = block.heads.split_off(BLOCK / 2);
            block.measure();
            self.blocks.insert(b + 1, Block::new(tail));
        }
    }

    fn remove(&mut self, key: Key) {
        let (b, i) = self.find(key);
        let block = &mut self.blocks[b];
        let gone = block.heads.remove(i);
        if block.heads.is_empty() {
            self.blocks.remove(b);
            return;
        }
        if i == 0 || (0..WATCHED).any(|k| gone.thresholds[k] == block.most[k]) {
            block.measure();
        }
        let few = block.heads.len();
        if few < BLOCK / 4 && self.blocks.get(b + 1).is_some_and(|next| few + next.heads.len() <= BLOCK / 2) {
            let next = self.blocks.remove(b + 1);
            self.blocks[b].heads.extend(next.heads);
            self.blocks[b].measure();
        }
    }

    fn change(&mut self, key: Key, thresholds: Thresholds) {
        let (b, i) = self.find(key);
        let block = &mut self.blocks[b];
        let old = std::mem::replace(&mut block.heads[i].thresholds, thresholds);
        if (0..WATCHED).any(|k| old[k] == block.most[k] && thresholds[k] < old[k]) {
            block.measure();
        } else {
            raise(&mut block.most, &thresholds);
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Heads {
    /// By group; `None`: it has no head, or it is not known yet.
    of: Vec<Option<Head>>,
    /// By shape.
    files: Vec<File>,
    /// Shapes that heads have.
    occupied: Vec<ShapeId>,
    /// Those of them that fit, when the rivals were last counted.
    fitting: Vec<ShapeId>,
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
        let file = &mut self.files[s];
        if file.count == 0 {
            file.listed = self.occupied.len();
            self.occupied.push(head.shape);
        }
        file.count += 1;
        file.weight += head.weight;
        file.insert(Filed { key: head.key, group: g, thresholds: rule.thresholds(ledger, g, &head) });
        self.of[g as usize] = Some(head);
    }

    /// The head of this group, if it has one, is no longer filed.
    pub fn unfile(&mut self, g: GroupId) {
        let Some(head) = self.of[g as usize].take() else { return };
        let file = &mut self.files[head.shape as usize];
        file.count -= 1;
        file.weight -= head.weight;
        file.remove(head.key);
        if file.count == 0 {
            let listed = file.listed;
            self.occupied.swap_remove(listed);
            if let Some(&moved) = self.occupied.get(listed) {
                self.files[moved as usize].listed = listed;
            }
        }
    }

    /// What the group holds or owes has changed.
    pub fn refresh(&mut self, ledger: &Ledger, g: GroupId, rule: &impl Rule) {
        if let Some(head) = self.of[g as usize] {
            self.files[head.shape as usize].change(head.key, rule.thresholds(ledger, g, &head));
        }
    }

    /// Find the shapes that fit, and count the rivals for each resource: sums over those shapes.
    pub fn count(&mut self, ledger: &Ledger) {
        let rivals = &mut self.rivals;
        for sums in [&mut rivals.heads, &mut rivals.weight] {
            sums.clear();
            sums.resize(ledger.free.len(), 0);
        }
        self.fitting.clear();
        for &s in &self.occupied {
            let (file, fits) = (&self.files[s as usize], fits(ledger, s, self.faults));
            if fits {
                self.fitting.push(s);
            } else if !self.faults.on("pressure_from_a_peer_that_cannot_start") {
                continue;
            }
            for &(r, _) in ledger.needs(s).iter() {
                rivals.heads[r as usize] += file.count;
                rivals.weight[r as usize] += if fits { file.weight } else { 0 };
            }
        }
    }

    /// The first head that nothing holds back. The rivals must be counted.
    pub fn choose(&mut self, ledger: &Ledger, rule: &impl Rule) -> Option<(Key, GroupId, Borrowed)> {
        let mut best: Option<(Key, GroupId, Borrowed)> = None;
        for &s in &self.fitting {
            let asked = rule.asked(ledger, s, &self.rivals);
            let later = |key: Key| best.as_ref().is_some_and(|best| key >= best.0);
            let mut found = None;
            'blocks: for block in &self.files[s as usize].blocks {
                if later(block.first) {
                    break;
                }
                if !reach(&block.most, &asked) {
                    continue;
                }
                for filed in &block.heads {
                    self.examined += 1;
                    if later(filed.key) {
                        break 'blocks;
                    }
                    let Some(head) = &self.of[filed.group as usize] else { continue };
                    if reach(&filed.thresholds, &asked)
                        && let Ok(borrowed) = rule.judge(ledger, filed.group, head, &self.rivals)
                    {
                        found = Some((filed.key, filed.group, borrowed));
                        break 'blocks;
                    }
                }
            }
            best = found.or(best);
        }
        best
    }

    /// What holds the head of this group back. The rivals must be counted.
    pub fn verdict(&self, ledger: &Ledger, g: GroupId, rule: &impl Rule) -> Result<Borrowed, Refusal> {
        match self.of(g) {
            Some(head) if fits(ledger, head.shape, self.faults) => rule.judge(ledger, g, head, &self.rivals),
            _ => Err(Refusal::NoCapacity),
        }
    }

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
        let mut found = Vec::new();
        for (s, file) in self.files.iter().enumerate() {
            let start = found.len();
            for block in &file.blocks {
                if block.heads.is_empty() || block.heads[0].key != block.first {
                    wrong.push(format!("a block of shape {s} has the wrong first head"));
                }
                for filed in &block.heads {
                    if !reach(&block.most, &filed.thresholds) {
                        wrong.push(format!("a block of shape {s} does not know its largest threshold"));
                    }
                    let weight = self.of[filed.group as usize].map_or(0, |head| head.weight);
                    found.push((s as ShapeId, filed.key, filed.group, filed.thresholds, weight));
                }
            }
            let weight: i64 = found[start..].iter().map(|filed| filed.4).sum();
            if file.count != (found.len() - start) as i64 || file.weight != weight {
                wrong.push(format!(
                    "shape {s} counts {} heads of weight {}, found {} of {weight}",
                    file.count,
                    file.weight,
                    found.len() - start
                ));
            }
            if (file.count > 0) != self.occupied.contains(&(s as ShapeId)) {
                wrong.push(format!("shape {s} is listed as occupied, or is not, against its count"));
            }
        }
        if found != expected {
            wrong.push(format!("filed are {found:?}, and should be {expected:?}"));
        }
        wrong
    }
}

fn fits(ledger: &Ledger, s: ShapeId, faults: Faults) -> bool {
    if faults.on("last_need_not_checked") {
        let needs = ledger.needs(s);
        return needs[..needs.len() - 1].iter().all(|&(r, units)| ledger.free[r as usize] >= units);
    }
    ledger.fits(s)
}
