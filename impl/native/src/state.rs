//! The whole state, canonical, and its audit. Both are slow and change nothing.
use std::sync::Arc;

use crate::admission::{Admission, Kind, with_rule};
use crate::fair_queue::{GroupId, NONE};
use crate::ledger::Needs;

/// Strings and integers, in lists and in sorted dictionaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    Integer(i128),
    Text(Arc<str>),
    List(Vec<Node>),
    Dict(Vec<(Arc<str>, Node)>),
}

impl From<u64> for Node {
    fn from(number: u64) -> Self {
        Node::Integer(i128::from(number))
    }
}

impl From<i64> for Node {
    fn from(number: i64) -> Self {
        Node::Integer(i128::from(number))
    }
}

impl Node {
    pub fn get(&self, key: &str) -> Option<&Node> {
        let Node::Dict(pairs) = self else { return None };
        pairs.iter().find(|pair| &*pair.0 == key).map(|pair| &pair.1)
    }
}

impl std::fmt::Display for Node {
    /// As JSON.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Node::Integer(number) => write!(f, "{number}"),
            Node::Text(text) => f.write_str(&serde_json::to_string(&**text).unwrap_or_default()),
            Node::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i == 0 { "[" } else { "," })?;
                }
                f.write_str(if items.is_empty() { "[]" } else { "]" })
            }
            Node::Dict(pairs) => {
                for (i, (key, value)) in pairs.iter().enumerate() {
                    write!(f, "{}{}:{value}", if i == 0 { "{" } else { "," }, Node::Text(key.clone()))?;
                }
                f.write_str(if pairs.is_empty() { "{}" } else { "}" })
            }
        }
    }
}

impl Admission {
    /// The state as the specification gives it: the same keys and values.
    pub fn state(&self) -> Node {
        let queue = &self.queue;
        let mut order: Vec<GroupId> = (0..queue.groups.len() as GroupId).collect();
        order.sort_unstable_by(|&a, &b| queue.groups[a as usize].name.cmp(&queue.groups[b as usize].name));
        let by_group = |of: &dyn Fn(GroupId) -> Option<Node>| {
            Node::Dict(order.iter().filter_map(|&g| of(g).map(|node| (queue.groups[g as usize].name.clone(), node))).collect())
        };
        let group = |g: GroupId| &queue.groups[g as usize];
        let limit = |limit: Option<u32>| Node::from(limit.map_or(-1, i64::from));
        let mut numbers: Vec<u64> = self.leases.live.keys().copied().collect();
        numbers.sort_unstable();
        let lease = |number: u64| {
            let lease = self.leases.live[&number];
            let (task, name) = (Node::Text(queue.text(lease.name)), Node::Text(group(lease.group).name.clone()));
            (number.to_string().into(), Node::List(vec![task, name, self.named(self.ledger.needs(lease.shape)), lease.at.into()]))
        };
        let fifo = |g: GroupId| {
            let entry =
                |e: &crate::fair_queue::Entry| Node::List(vec![Node::Text(queue.text(e.name)), self.named(self.ledger.needs(e.shape))]);
            (group(g).first != NONE).then(|| Node::List(queue.fifo(g).map(entry).collect()))
        };
        let turn = |g: GroupId| match &self.kind {
            Kind::SlotTime(time) => time.turn(g),
            _ => (group(g).turn != 0).then_some(group(g).turn),
        };
        let tagged = !matches!(self.kind, Kind::SlotTime(_));
        let tag = |g: GroupId| (tagged && (group(g).served || group(g).turn != 0)).then(|| Node::from(group(g).tag.to_bits()));
        let spec = |g: GroupId| {
            let spec = group(g).spec;
            Some(Node::List(vec![u64::from(spec.weight).into(), limit(spec.share_limit), limit(spec.running_limit)]))
        };
        let turns = if let Kind::SlotTime(time) = &self.kind { time.turns() } else { queue.turns };
        let mut state: Vec<(&str, Node)> = vec![
            ("now", self.now.into()),
            ("version", queue.version.into()),
            ("turns", turns.into()),
            ("granted", self.leases.granted.into()),
            ("fifo", by_group(&fifo)),
            ("waiting", by_group(&|g| (group(g).waiting > 0).then(|| u64::from(group(g).waiting).into()))),
            ("turn", by_group(&|g| turn(g).map(Node::from))),
            ("groups", by_group(&spec)),
            ("leases", Node::Dict(numbers.into_iter().map(lease).collect())),
            ("virtual_time", queue.virtual_time.to_bits().into()),
            ("tags", by_group(&tag)),
        ];
        match &self.kind {
            Kind::Strict(_) => {}
            Kind::BoundedBorrow(borrow) => state.push((
                "debt",
                by_group(&|g| {
                    let debts: Vec<_> = borrow.debts(g).map(|(r, owed)| (self.ledger.name(r).clone(), owed.into())).collect();
                    (!debts.is_empty()).then(|| sorted(debts))
                }),
            )),
            Kind::SlotTime(time) => {
                let account = |g: GroupId| Some(Node::List(vec![u64::from(time.weight(g)).into(), Node::Integer(time.level(g, self.now))]));
                let overtaken = |g: GroupId| Some((self.queue.text(queue.head(g)?.name), Node::from(time.overtaken(g)?)));
                state.push(("horizon", time.horizon().into()));
                let listed = self.ledger.listed().map(|r| (self.ledger.name(r).clone(), Node::Integer(time.virtual_time(r))));
                state.push(("virtual", sorted(listed.filter(|(_, time)| *time != Node::Integer(0)).collect())));
                state.push(("accounts", by_group(&account)));
                state.push(("overtaken", sorted(order.iter().filter_map(|&g| overtaken(g)).collect())));
            }
        }
        Node::Dict(state.into_iter().map(|(key, node)| (key.into(), node)).collect())
    }

    /// Group, resource and units, of what is owed.
    pub fn debts(&self) -> impl Iterator<Item = (&str, &str, i64)> {
        let of = move |borrow| {
            let borrow: &crate::bounded_borrow::BoundedBorrow = borrow;
            borrow.all_debts().map(move |(g, r, units)| (&*self.queue.groups[g as usize].name, &**self.ledger.name(r), units))
        };
        match &self.kind {
            Kind::BoundedBorrow(borrow) => Some(of(borrow)),
            _ => None,
        }
        .into_iter()
        .flatten()
    }

    fn named(&self, needs: &Needs) -> Node {
        Node::Dict(needs.iter().map(|&(r, units)| (self.ledger.name(r).clone(), units.into())).collect())
    }

    /// What is wrong inside, a line each: an entry left behind, an aggregate that is not the sum of its parts.
    pub fn audit(&self) -> Vec<String> {
        let leases = || self.leases.live.values();
        let tagged = !matches!(self.kind, Kind::SlotTime(_));
        let used = self.queue.entries.iter().map(|(_, entry)| entry.shape).chain(leases().map(|lease| lease.shape));
        let mut wrong = self.ledger.audit(used, leases().map(|lease| lease.shape));
        wrong.extend(self.queue.audit(leases().map(|lease| lease.name), tagged));
        wrong.extend(self.leases.audit());
        // a head that has just been discarded is not known until the next round
        let heads = (0..self.queue.groups.len() as GroupId).map(|g| (g, self.head(g).filter(|_| self.is_settled(g))));
        wrong.extend(with_rule!(&self.kind, rule => self.heads.audit(&self.ledger, heads, rule), time => time.audit(&self.ledger)));
        match &self.kind {
            Kind::Strict(strict) => {
                for (g, &running) in strict.running.iter().enumerate() {
                    let right = leases().filter(|lease| lease.group as usize == g).count();
                    if running != right as i64 {
                        wrong.push(format!("group {g} runs {right} tasks, its count is {running}"));
                    }
                }
            }
            Kind::BoundedBorrow(borrow) => wrong.extend(borrow.audit(&self.ledger, leases().map(|lease| (lease.group, lease.shape)))),
            Kind::SlotTime(_) => {}
        }
        wrong
    }

    fn is_settled(&self, g: GroupId) -> bool {
        self.queue.groups[g as usize].waiting > 0 && self.queue.head(g).is_some_and(|head| self.queue.names[head.name].group == g)
    }
}

/// A dictionary, by key.
pub fn sorted(mut pairs: Vec<(Arc<str>, Node)>) -> Node {
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    Node::Dict(pairs)
}

/// Texts, sorted.
pub fn text_list<'a>(texts: impl Iterator<Item = &'a Arc<str>>) -> Node {
    let mut texts: Vec<_> = texts.cloned().collect();
    texts.sort_unstable();
    Node::List(texts.into_iter().map(Node::Text).collect())
}

/// A dictionary, in the order given.
pub fn dict(pairs: Vec<(&str, Node)>) -> Node {
    Node::Dict(pairs.into_iter().map(|(key, node)| (key.into(), node)).collect())
}
