//! The engine's Python face: typed methods that answer lists of tuples as the specification does, and the whole-trace call.
use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple, PyType};
use pyo3::{IntoPyObjectExt, intern};

use serde::de::DeserializeOwned;

use crate::admission::Admission as Engine;
use crate::faults::{Faults, NONE as NO_FAULT};
use crate::ledger::{Ledger, Needs};
use crate::state::Node;
use crate::trace;
use crate::words::{About, Claim, Command, GroupIn, LATEST, MOST, Seen, TaskIn, Text};

pub type Any<'py> = Bound<'py, PyAny>;

pub fn wrong(error: String) -> PyErr {
    PyValueError::new_err(error)
}

/// One scheduler. Every method answers what was seen: a list of tuples, each a word and what it is about.
#[cfg_attr(not(feature = "faults"), pyclass(module = "slotwise.impl._native"))]
#[cfg_attr(feature = "faults", pyclass(module = "slotwise.fuzz._faulty"))]
struct Admission {
    engine: Engine,
    saw: Vec<Seen>,
}

impl Admission {
    fn set_up(profile: &Any<'_>, capacity: &Any<'_>, faults: Faults) -> PyResult<Self> {
        let profile = read_profile(profile, intern!(profile.py(), "slotwise.spec.vocabulary"))?;
        let capacity: Vec<(String, i64)> =
            read_units(capacity, "capacity")?.into_iter().map(|(name, units)| (name.into_owned(), units)).collect();
        Ok(Admission { engine: Engine::new(&profile, &capacity, faults).map_err(wrong)?, saw: Vec::new() })
    }

    fn enter<'py>(slf: &Bound<'py, Self>) -> PyResult<PyRefMut<'py, Self>> {
        slf.try_borrow_mut().map_err(|_| PyRuntimeError::new_err("another call is inside this scheduler; it serves one at a time"))
    }

    fn at(&self, at: Option<Any<'_>>) -> PyResult<i64> {
        at.map_or(Ok(self.engine.now), |at| number(&at, "at", LATEST))
    }

    fn answer<'py>(&mut self, py: Python<'py>, command: &Command, at: i64) -> PyResult<Bound<'py, PyList>> {
        self.saw.clear();
        self.engine.step(command, at, &mut self.saw);
        let seen = self.saw.iter().map(|seen| show(py, seen, &self.engine.ledger)).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, seen)
    }
}

#[pymethods]
impl Admission {
    /// A scheduler with nothing waiting and nothing running. `profile`: a Profile, the name of one, or its JSON; `capacity`: units of each resource.
    #[cfg(not(feature = "faults"))]
    #[new]
    fn new(profile: &Any<'_>, capacity: &Any<'_>) -> PyResult<Self> {
        Self::set_up(profile, capacity, NO_FAULT)
    }

    #[cfg(feature = "faults")]
    #[new]
    #[pyo3(signature = (profile, capacity, *, fault = None))]
    fn new(profile: &Any<'_>, capacity: &Any<'_>, fault: Option<&str>) -> PyResult<Self> {
        Self::set_up(profile, capacity, read_fault(fault)?)
    }

    /// Tasks arrive. `groups` specifies groups that they name.
    #[pyo3(signature = (tasks, groups = None, *, at = None))]
    fn enqueue<'py>(
        slf: &Bound<'py, Self>,
        tasks: &Any<'py>,
        groups: Option<&Any<'py>>,
        at: Option<Any<'py>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut this = Self::enter(slf)?;
        let (command, at) = (read_enqueue(tasks, groups)?, this.at(at)?);
        this.answer(slf.py(), &command, at)
    }

    /// A waiting task is withdrawn.
    #[pyo3(signature = (task, *, at = None))]
    fn discard<'py>(slf: &Bound<'py, Self>, task: &str, at: Option<Any<'py>>) -> PyResult<Bound<'py, PyList>> {
        let mut this = Self::enter(slf)?;
        let at = this.at(at)?;
        this.answer(slf.py(), &Command::Discard { task: task.into() }, at)
    }

    /// All waiting tasks that match are withdrawn: of that group, and with an id that begins so.
    #[pyo3(signature = (*, group = None, prefix = "", at = None))]
    fn discard_where<'py>(slf: &Bound<'py, Self>, group: Option<&str>, prefix: &str, at: Option<Any<'py>>) -> PyResult<Bound<'py, PyList>> {
        let mut this = Self::enter(slf)?;
        let at = this.at(at)?;
        this.answer(slf.py(), &Command::DiscardWhere { group: group.map(Cow::Borrowed), prefix: prefix.into() }, at)
    }

    /// Start what may start, one after another, at most so many; without `at_most`, all.
    #[pyo3(signature = (*, at = None, at_most = None))]
    fn pump<'py>(slf: &Bound<'py, Self>, at: Option<Any<'py>>, at_most: Option<Any<'py>>) -> PyResult<Bound<'py, PyList>> {
        let mut this = Self::enter(slf)?;
        let at = this.at(at)?;
        let at_most = at_most.map_or(Ok(MOST), |most| number(&most, "at_most", MOST))?;
        this.answer(slf.py(), &Command::Pump { at_most }, at)
    }

    /// Which task would start next, and the version of the queue, for `commit`.
    #[pyo3(signature = (*, at = None))]
    fn select<'py>(slf: &Bound<'py, Self>, at: Option<Any<'py>>) -> PyResult<Bound<'py, PyList>> {
        let mut this = Self::enter(slf)?;
        let at = this.at(at)?;
        this.answer(slf.py(), &Command::Select, at)
    }

    /// Start the selected task, unless the queue has changed since.
    #[pyo3(signature = (task, version, *, at = None))]
    fn commit<'py>(slf: &Bound<'py, Self>, task: &str, version: Any<'py>, at: Option<Any<'py>>) -> PyResult<Bound<'py, PyList>> {
        let mut this = Self::enter(slf)?;
        let (version, at) = (number(&version, "version", MOST)?, this.at(at)?);
        this.answer(slf.py(), &Command::Commit { task: task.into(), version }, at)
    }

    /// A task has ended. `claim`: what the caller believes of the lease.
    #[pyo3(signature = (lease, claim = None, *, at = None))]
    fn release<'py>(
        slf: &Bound<'py, Self>,
        lease: Any<'py>,
        claim: Option<Any<'py>>,
        at: Option<Any<'py>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut this = Self::enter(slf)?;
        let (lease, at) = (number(&lease, "lease", MOST)?, this.at(at)?);
        let claim = claim.map_or(Ok(Claim::default()), |claim| read_claim(&claim))?;
        this.answer(slf.py(), &Command::Release { lease, claim }, at)
    }

    /// Why does each head wait? One verdict for each, in the order of turn.
    #[pyo3(signature = (*, at = None))]
    fn explain<'py>(slf: &Bound<'py, Self>, at: Option<Any<'py>>) -> PyResult<Bound<'py, PyList>> {
        let mut this = Self::enter(slf)?;
        let at = this.at(at)?;
        this.answer(slf.py(), &Command::Explain, at)
    }

    /// Do one command of the vocabulary.
    fn step<'py>(slf: &Bound<'py, Self>, command: &Any<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut this = Self::enter(slf)?;
        let py = slf.py();
        let kind = CLASSES.kind_of(&command.get_type())?;
        let at = number(&command.getattr(intern!(py, "at"))?, "at", LATEST)?;
        let text = |name| command.getattr(name)?.extract::<String>().map(Cow::Owned);
        let get = |name: &'static str, attribute: &Bound<'py, PyString>| number(&command.getattr(attribute)?, name, MOST);
        let command = match kind {
            "enqueue" => read_enqueue(&command.getattr(intern!(py, "tasks"))?, Some(&command.getattr(intern!(py, "groups"))?))?,
            "discard" => Command::Discard { task: text(intern!(py, "task"))? },
            "discard_where" => {
                let group: Option<String> = command.getattr(intern!(py, "group"))?.extract()?;
                Command::DiscardWhere { group: group.map(Cow::Owned), prefix: text(intern!(py, "prefix"))? }
            }
            "pump" => Command::Pump { at_most: get("at_most", intern!(py, "at_most"))? },
            "select" => Command::Select,
            "commit" => Command::Commit { task: text(intern!(py, "task"))?, version: get("version", intern!(py, "version"))? },
            "release" => {
                let claim = command.getattr(intern!(py, "claim"))?;
                let claim = if claim.is_none() { Claim::default() } else { read_claim(&claim)? };
                Command::Release { lease: get("lease", intern!(py, "lease"))?, claim }
            }
            _ => Command::Explain,
        };
        this.answer(py, &command, at)
    }

    /// The whole state, canonical: the same keys and values as the specification's.
    fn state<'py>(slf: &Bound<'py, Self>) -> PyResult<Any<'py>> {
        node(slf.py(), &Self::enter(slf)?.engine.state())
    }

    /// What groups owe, units by resource; of those that owe something. Empty under a discipline without debts.
    fn debts<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let (this, dict) = (Self::enter(slf)?, PyDict::new(slf.py()));
        for (group, resource, units) in this.engine.debts() {
            let owed = match dict.get_item(group)? {
                Some(owed) => owed.cast_into::<PyDict>()?,
                None => {
                    let owed = PyDict::new(slf.py());
                    dict.set_item(group, &owed)?;
                    owed
                }
            };
            owed.set_item(resource, units)?;
        }
        Ok(dict)
    }

    /// What is wrong inside, a line each; nothing, if all is well.
    fn audit(slf: &Bound<'_, Self>) -> PyResult<Vec<String>> {
        Ok(Self::enter(slf)?.engine.audit())
    }

    /// Another scheduler in the same state.
    fn clone(slf: &Bound<'_, Self>) -> PyResult<Self> {
        Ok(Admission { engine: Self::enter(slf)?.engine.clone(), saw: Vec::new() })
    }

    /// Heads examined since the beginning, to find who starts next.
    fn examined(slf: &Bound<'_, Self>) -> PyResult<u64> {
        Ok(Self::enter(slf)?.engine.examined())
    }

    /// Play a whole trace file: a line for every command, with the list of what was seen. Other threads run meanwhile.
    #[cfg(not(feature = "faults"))]
    #[staticmethod]
    fn run<'py>(py: Python<'py>, trace: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        self::run(py, trace, NO_FAULT, trace::run)
    }

    #[cfg(feature = "faults")]
    #[staticmethod]
    #[pyo3(signature = (trace, *, fault = None))]
    fn run<'py>(py: Python<'py>, trace: &[u8], fault: Option<&str>) -> PyResult<Bound<'py, PyBytes>> {
        self::run(py, trace, read_fault(fault)?, trace::run)
    }
}

#[cfg(feature = "faults")]
pub fn read_fault(name: Option<&str>) -> PyResult<Faults> {
    name.map_or(Ok(NO_FAULT), |name| Faults::named(name).ok_or_else(|| wrong(format!("no fault is called {name:?}"))))
}

/// A profile: itself, its JSON, or its name in the mechanism's vocabulary.
pub fn read_profile<P: DeserializeOwned>(profile: &Any<'_>, vocabulary: &Bound<'_, PyString>) -> PyResult<P> {
    let py = profile.py();
    if let Ok(name) = profile.cast::<PyString>() {
        let known = py.import(vocabulary)?.getattr(intern!(py, "PROFILES"))?;
        let names = || known.try_iter().and_then(|names| names.map(|name| name?.extract::<String>()).collect::<PyResult<Vec<_>>>());
        let found = known
            .get_item(name)
            .or_else(|_| Err(wrong(format!("no profile is called {:?}; there are {}", name.to_str()?, names()?.join(", ")))))?;
        return read_profile(&found, vocabulary);
    }
    read_json(profile, "profile")
}

/// A struct of a vocabulary: itself, or its JSON.
pub fn read_json<T: DeserializeOwned>(value: &Any<'_>, what: &str) -> PyResult<T> {
    let py = value.py();
    let json = match value.cast::<PyBytes>() {
        Ok(bytes) => bytes.clone(),
        Err(_) => py.import(intern!(py, "msgspec.json"))?.getattr(intern!(py, "encode"))?.call1((value,))?.cast_into::<PyBytes>()?,
    };
    serde_json::from_slice(json.as_bytes()).map_err(|error| wrong(format!("not a {what}: {error}")))
}

/// Play a whole trace; other threads run meanwhile.
pub fn run<'py>(
    py: Python<'py>,
    trace: &[u8],
    faults: Faults,
    play: impl Fn(&[u8], Faults) -> Result<Vec<u8>, String> + Send + Sync,
) -> PyResult<Bound<'py, PyBytes>> {
    let seen = py.detach(|| play(trace, faults)).map_err(wrong)?;
    Ok(PyBytes::new(py, &seen))
}

/// The commands that classes of a vocabulary stand for: their tags. Any copy of the vocabulary will do.
pub struct Classes {
    pub kinds: &'static [&'static str],
    pub known: Mutex<Vec<(Py<PyType>, &'static str)>>,
}

impl Classes {
    pub fn kind_of(&self, class: &Bound<'_, PyType>) -> PyResult<&'static str> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, kind)) = known.iter().find(|(known, _)| known.is(class)) {
            return Ok(kind);
        }
        let py = class.py();
        let tag =
            class.getattr(intern!(py, "__struct_config__")).and_then(|config| config.getattr(intern!(py, "tag"))?.extract::<String>());
        let kind = tag.ok().and_then(|tag| self.kinds.iter().find(|kind| **kind == tag));
        let kind = kind.ok_or_else(|| PyTypeError::new_err(format!("expected a command of the vocabulary, found {class}")))?;
        if known.len() >= 64 {
            known.clear();
        }
        known.push((class.clone().unbind(), kind));
        Ok(kind)
    }
}

static CLASSES: Classes = Classes {
    kinds: &["enqueue", "discard", "discard_where", "pump", "select", "commit", "release", "explain"],
    known: Mutex::new(Vec::new()),
};

/// A number from 0.
pub fn number(value: &Any<'_>, what: &str, most: i64) -> PyResult<i64> {
    integer(value, what, 0, most)
}

pub fn integer(value: &Any<'_>, what: &str, least: i64, most: i64) -> PyResult<i64> {
    match value.extract::<i64>() {
        Ok(number) => trace::within(what, number, least, most).map_err(wrong),
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
            Err(wrong(format!("{what} must be {least} to {most}, found {value}")))
        }
        Err(_) => Err(PyTypeError::new_err(format!("{what} must be an integer, found {}", value.get_type()))),
    }
}

fn read_units<'py>(value: &Any<'py>, what: &str) -> PyResult<Vec<(Text<'py>, i64)>> {
    let dict =
        value.cast::<PyDict>().map_err(|_| PyTypeError::new_err(format!("{what} must be a dict of units, found {}", value.get_type())))?;
    let mut units = Vec::with_capacity(dict.len());
    for (name, amount) in dict.iter() {
        let amount =
            amount.extract::<i64>().map_err(|_| wrong(format!("{what}: {name} must be an integer up to {MOST}, found {amount}")))?;
        units.push((Cow::Owned(name.extract()?), amount));
    }
    Ok(units)
}

fn read_enqueue<'py>(tasks: &Any<'py>, groups: Option<&Any<'py>>) -> PyResult<Command<'py>> {
    let tasks = tasks.try_iter()?.map(|task| read_task(&task?)).collect::<PyResult<_>>()?;
    let groups = match groups {
        Some(groups) => groups.try_iter()?.map(|group| read_group(&group?)).collect::<PyResult<_>>()?,
        None => Vec::new(),
    };
    Ok(Command::Enqueue { tasks, groups })
}

/// An attribute of one of the vocabulary's structs.
fn part<'py>(of: &Any<'py>, name: &Bound<'py, PyString>, what: &str) -> PyResult<Any<'py>> {
    of.getattr(name).map_err(|_| PyTypeError::new_err(format!("expected a {what}, found {}", of.get_type())))
}

fn read_task<'py>(task: &Any<'py>) -> PyResult<TaskIn<'py>> {
    let py = task.py();
    let text = |name| part(task, name, "Task")?.extract::<String>().map(Cow::Owned);
    let needs = read_units(&part(task, intern!(py, "needs"), "Task")?, "needs")?;
    trace::task(text(intern!(py, "id"))?, text(intern!(py, "group"))?, needs).map_err(wrong)
}

fn read_group<'py>(group: &Any<'py>) -> PyResult<GroupIn<'py>> {
    let py = group.py();
    let name: String = part(group, intern!(py, "name"), "Group")?.extract()?;
    trace::named("a group", &name).map_err(wrong)?;
    let limit = |what: &'static str, attribute| {
        let limit = part(group, attribute, "Group")?;
        if limit.is_none() { Ok(None) } else { number(&limit, what, MOST).map(Some) }
    };
    let (share, running) = (limit("share_limit", intern!(py, "share_limit"))?, limit("running_limit", intern!(py, "running_limit"))?);
    let spec = trace::spec(part(group, intern!(py, "weight"), "Group")?.extract()?, share, running).map_err(wrong)?;
    Ok(GroupIn { name: Cow::Owned(name), spec })
}

fn read_claim<'py>(claim: &Any<'py>) -> PyResult<Claim<'py>> {
    let py = claim.py();
    let task: Option<String> = part(claim, intern!(py, "task"), "Claim")?.extract()?;
    let needs = part(claim, intern!(py, "needs"), "Claim")?;
    let needs = if needs.is_none() { None } else { Some(read_units(&needs, "needs")?) };
    if let Some(needs) = &needs {
        trace::units("a claim", needs).map_err(wrong)?;
    }
    let generation = number(&part(claim, intern!(py, "generation"), "Claim")?, "generation", MOST)?;
    Ok(Claim { task: task.map(Cow::Owned), needs, generation })
}

fn show<'py>(py: Python<'py>, Seen(word, about): &Seen, ledger: &Ledger) -> PyResult<Bound<'py, PyTuple>> {
    let word = PyString::intern(py, word);
    match about {
        About::Nothing => (word,).into_pyobject(py),
        About::Number(number) => (word, number).into_pyobject(py),
        About::Task(task) => (word, &**task).into_pyobject(py),
        About::Reason(task, refusal) => (word, &**task, PyString::intern(py, refusal.word())).into_pyobject(py),
        About::Version(task, version) => (word, &**task, version).into_pyobject(py),
        About::Start(lease, task, needs) => (word, lease, &**task, show_needs(py, needs, ledger)?).into_pyobject(py),
    }
}

fn show_needs<'py>(py: Python<'py>, needs: &Needs, ledger: &Ledger) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for &(r, units) in needs.iter() {
        dict.set_item(PyString::new(py, ledger.name(r)), units)?;
    }
    Ok(dict)
}

pub fn node<'py>(py: Python<'py>, of: &Node) -> PyResult<Any<'py>> {
    match of {
        Node::Integer(number) => number.into_bound_py_any(py),
        Node::Text(text) => text.into_bound_py_any(py),
        Node::List(items) => PyList::new(py, items.iter().map(|item| node(py, item)).collect::<PyResult<Vec<_>>>()?)?.into_bound_py_any(py),
        Node::Dict(pairs) => {
            let dict = PyDict::new(py);
            for (key, value) in pairs {
                dict.set_item(&**key, node(py, value)?)?;
            }
            dict.into_bound_py_any(py)
        }
    }
}

/// The cost of one cycle (end a random running task, enqueue one for its group, start what can start): nanoseconds in the fastest
/// slice, and the most heads examined for one dispatch.
#[pyfunction]
#[pyo3(signature = (load, profile, groups, cycles))]
fn cycle(py: Python<'_>, load: &str, profile: &str, groups: u32, cycles: u32) -> PyResult<(f64, u64)> {
    py.detach(|| crate::cycle::cycle(load, profile, groups, cycles)).map_err(wrong)
}

fn fill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Admission>()?;
    module.add_class::<crate::python_batching::Batcher>()?;
    module.add_class::<crate::python_spin::Spinner>()?;
    #[cfg(not(feature = "faults"))]
    {
        module.add_function(wrap_pyfunction!(crate::python_simulation::simulate, module)?)?;
        module.add_function(wrap_pyfunction!(crate::python_simulation::simulate_batching, module)?)?;
    }
    #[cfg(all(not(feature = "faults"), target_os = "linux", not(loom)))]
    {
        use crate::python_pool::{Kernel, Pool, axpy, calibrate, spin_ns, sum_of_squares};
        module.add_class::<Pool>()?;
        module.add_class::<Kernel>()?;
        for function in [
            wrap_pyfunction!(spin_ns, module)?,
            wrap_pyfunction!(sum_of_squares, module)?,
            wrap_pyfunction!(axpy, module)?,
            wrap_pyfunction!(calibrate, module)?,
        ] {
            module.add_function(function)?;
        }
    }
    module.add("LOADS", PyTuple::new(module.py(), crate::cycle::LOADS)?)?;
    module.add_function(wrap_pyfunction!(cycle, module)?)
}

/// The engine.
#[cfg(not(feature = "faults"))]
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    fill(module)
}

/// The engine's faulty twin.
#[cfg(feature = "faults")]
#[pymodule]
fn _faulty(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let shown = |&(name, rule, what, profiles): &crate::faults::Fault| (name, rule, what, PyTuple::new(py, profiles)?).into_pyobject(py);
    let faults = crate::faults::catalogue().map(shown).collect::<PyResult<Vec<_>>>()?;
    module.add("FAULTS", PyTuple::new(py, faults)?)?;
    let faults = crate::faults::batching_catalogue().map(shown).collect::<PyResult<Vec<_>>>()?;
    module.add("BATCHING_FAULTS", PyTuple::new(py, faults)?)?;
    let faults = crate::faults::spin_catalogue().map(shown).collect::<PyResult<Vec<_>>>()?;
    module.add("SPIN_FAULTS", PyTuple::new(py, faults)?)?;
    fill(module)
}
