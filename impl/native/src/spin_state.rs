//! The whole state of a model's pool, canonical, and its audit. Both are slow and change nothing.
use crate::spin::barrier::At as BarrierAt;
use crate::spin::dispatcher::At as DispatcherAt;
use crate::spin::scan::Scan;
use crate::spin::worker::At as WorkerAt;
use crate::spin::{Counter, Dispatcher, Memory, Worker};
use crate::spin_model::{Model, Name};
use crate::spin_policy::Policy;
use crate::state::{Node, sorted};

fn text(text: &str) -> Node {
    Node::Text(text.into())
}

fn number(number: impl Into<i128>) -> Node {
    Node::Integer(number.into())
}

/// Without what is 0 or empty.
fn kept<K: AsRef<str>>(found: impl IntoIterator<Item = (K, Node)>) -> Node {
    let is_kept = |node: &Node| match node {
        Node::Integer(number) => *number != 0,
        Node::Text(text) => !text.is_empty(),
        Node::List(items) => !items.is_empty(),
        Node::Dict(pairs) => !pairs.is_empty(),
    };
    Node::Dict(found.into_iter().filter(|(_, node)| is_kept(node)).map(|(key, node)| (key.as_ref().into(), node)).collect())
}

fn memory(policy: &Policy) -> Node {
    match policy {
        Policy::Ratchet { window, .. } => kept([("window", number(*window))]),
        Policy::Average { mean, .. } => kept([("average", number(*mean))]),
        Policy::Guarded(guarded) => {
            let ledgers =
                if guarded.ledgers == [0; 6] { Vec::new() } else { guarded.ledgers.iter().map(|&ledger| number(ledger)).collect() };
            kept([("ledgers", Node::List(ledgers)), ("guard", number(guarded.guard))])
        }
        Policy::Fixed { .. } | Policy::BreakEven { .. } => kept::<&str>([]),
    }
}

/// The slots that a scan has still to look at, in its order.
fn todo(mut scan: Scan) -> Node {
    let next = || {
        let slot = scan.next()?;
        scan.left &= !(1 << slot);
        Some(number(slot as u32))
    };
    Node::List(std::iter::from_fn(next).collect())
}

fn worker(of: &Worker, parked: bool) -> Node {
    let at = match of.at {
        WorkerAt::Announce => "announce",
        WorkerAt::Top => "top",
        WorkerAt::Scan => "scan",
        WorkerAt::Take(_) => "take",
        WorkerAt::Running(_) => "running",
        WorkerAt::Settle(_) => "settle",
        WorkerAt::Read => "read",
        WorkerAt::Window => "window",
        WorkerAt::Wait => "wait",
        WorkerAt::Asleep if parked => "asleep",
        WorkerAt::Asleep | WorkerAt::Woken => "woken",
        WorkerAt::Gone => "gone",
    };
    let w = &of.window;
    let window = [
        ("length", number(w.length)),
        ("n", number(w.n)),
        ("q", number(w.q)),
        ("y", number(w.y)),
        ("reads", number(w.reads)),
        ("told", number(of.told)),
    ];
    kept([
        ("at", text(at)),
        ("last", number(of.last)),
        ("since", number(of.since)),
        ("entered", number(of.entered)),
        ("expired", number(of.expired)),
        ("caught", number(of.caught)),
        ("todo", todo(of.scan)),
        ("ran", number(of.ran)),
        ("window", kept(window)),
        ("memory", memory(&of.policy)),
    ])
}

fn dispatcher(of: &Dispatcher) -> Node {
    let at = match of.at {
        DispatcherAt::Remaining => "remaining",
        DispatcherAt::Stamp => "stamp",
        DispatcherAt::Claim => "claim",
        DispatcherAt::Active => "active",
        DispatcherAt::Epoch => "epoch",
        DispatcherAt::Wake => "wake",
        DispatcherAt::Look => "scan",
        DispatcherAt::Take => "take",
        DispatcherAt::Running => "running",
        DispatcherAt::Settle => "settle",
        DispatcherAt::Straggling => "straggling",
        DispatcherAt::Inactive => "inactive",
        DispatcherAt::Unclaim => "unclaim",
        DispatcherAt::Return => "return",
        DispatcherAt::Outside => "",
    };
    kept([
        ("at", text(at)),
        ("slot", number(of.slot as u32)),
        ("total", number(of.total)),
        ("own", number(of.own)),
        ("pauses", number(of.pauses)),
    ])
}

impl Model {
    /// The state as the specification gives it: the same keys and values.
    pub fn state(&self) -> Node {
        let cells = &self.cells;
        let name = |worker: &usize| Node::Text(self.names[*worker].clone());
        let counters = Counter::ALL.map(|counter| (Name::from(counter.word()), number(cells.counters[counter as usize].get())));
        let slots = cells.slots.iter().enumerate().map(|(i, slot)| {
            let words = [
                ("claim", number(slot.claim.get())),
                ("remaining", number(slot.remaining.get())),
                ("panicked", number(slot.panicked.get())),
                ("published_at", number(slot.published_at.get())),
            ];
            (i.to_string(), kept(words))
        });
        let calls = cells.calls.get();
        let calls = calls.iter().enumerate().filter_map(|(place, call)| {
            let (epoch, at) = (*call)?;
            Some((place.to_string(), Node::List(vec![number(epoch), number(at)])))
        });
        let calls = sorted(calls.map(|(place, call)| (Name::from(place), call)).collect());
        let workers = self.workers.iter().map(|of| (self.names[of.number].clone(), worker(of, cells.is_parked(of.number))));
        let builder = match self.barrier.at {
            BarrierAt::Barrier => "barrier",
            BarrierAt::LastLook => "last_look",
            BarrierAt::Done => "built",
        };
        let builder = [("at", text(builder)), ("passes", number(self.barrier.passes)), ("start", number(self.barrier.start.unwrap_or(0)))];
        let lone = [
            ("memory", memory(&self.lone.policy)),
            ("carried", number(self.lone.carried)),
            ("window", number(self.lone.window.unwrap_or(0))),
            ("met", number(self.lone.window.is_some())),
        ];
        kept([
            ("now", number(self.now)),
            ("shutdown", number(cells.shutdown())),
            ("epoch", number(cells.epoch())),
            ("ready", number(cells.ready())),
            ("active", number(cells.active())),
            ("taken", number(cells.taken())),
            ("sleepers", Node::List(cells.sleepers.borrow().iter().map(name).collect())),
            ("calls", calls),
            ("counters", kept_sorted(counters)),
            ("slots", kept(slots)),
            ("workers", kept(workers)),
            ("dispatchers", kept(self.dispatchers.iter().map(|(name, of)| (name.clone(), dispatcher(of))))),
            ("builder", kept(builder)),
            ("lone", kept(lone)),
        ])
    }

    /// What is wrong inside, a line each.
    pub fn audit(&self) -> Vec<String> {
        let (cells, mut wrong) = (&self.cells, Vec::new());
        let held = |slot: usize| self.dispatchers.values().filter(|of| of.at != DispatcherAt::Outside && of.slot == slot).count();
        for slot in 0..cells.slots.len() {
            let (holders, taken) = (held(slot), cells.taken() >> slot & 1);
            if holders != taken as usize {
                wrong.push(format!("slot {slot} has {holders} holders, its bit says {taken}"));
            }
            if cells.active() >> slot & 1 == 1 && holders == 0 {
                wrong.push(format!("slot {slot} is published by nobody"));
            }
        }
        let sleepers = cells.sleepers.borrow();
        for (i, &sleeper) in sleepers.iter().enumerate() {
            if self.workers[sleeper].at != WorkerAt::Asleep || sleepers[..i].contains(&sleeper) {
                wrong.push(format!("{} is among the sleepers, and is not asleep once", self.names[sleeper]));
            }
        }
        let left = self.workers.iter().filter(|of| {
            (of.scan.left != 0) != matches!(of.at, WorkerAt::Scan | WorkerAt::Take(_) | WorkerAt::Running(_) | WorkerAt::Settle(_))
        });
        wrong.extend(left.map(|of| format!("{} has slots to look at outside a scan, or none within", self.names[of.number])));
        wrong
    }
}

fn kept_sorted<const N: usize>(found: [(Name, Node); N]) -> Node {
    let Node::Dict(pairs) = kept(found) else { return kept::<&str>([]) };
    sorted(pairs)
}
