//! The Python face of a model's pool: typed methods that answer lists of tuples as the specification does, and the whole-trace call.
use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::batching_words::SECOND;
use crate::faults::Faults;
#[cfg(not(feature = "faults"))]
use crate::faults::NONE as NO_FAULT;
#[cfg(feature = "faults")]
use crate::python::read_fault;
use crate::python::{Any, Classes, integer, node, number, read_json, read_profile, wrong};
use crate::spin::Counter;
use crate::spin_model::{About, Model, Seen};
use crate::spin_trace as trace;
use crate::spin_words::{Command, SOME, Script, Setup, Wait};
use crate::words::LATEST;

/// One pool, each of whose actors steps when it is told. Every method answers what was seen: a list of tuples, each a word and what it is
/// about. Times are nanoseconds.
#[cfg_attr(not(feature = "faults"), pyclass(module = "slotwise.impl._native"))]
#[cfg_attr(feature = "faults", pyclass(module = "slotwise.fuzz._faulty"))]
pub struct Spinner {
    /// Its cells may move between threads, but not be seen by two.
    engine: Mutex<Model>,
    saw: Vec<Seen>,
}

static CLASSES: Classes =
    Classes { kinds: &["dispatch", "go", "end", "stir", "shutdown", "counters", "wait", "script", "gap"], known: Mutex::new(Vec::new()) };

impl Spinner {
    fn set_up(profile: &Any<'_>, setup: Option<&Any<'_>>, faults: Faults) -> PyResult<Self> {
        let profile = read_profile(profile, intern!(profile.py(), "slotwise.spec.spin_vocabulary"))?;
        let setup = setup.map_or(Ok(Setup::default()), |setup| read_json(setup, "setup"))?;
        Ok(Self::of(Model::new(&profile, &setup, faults).map_err(wrong)?))
    }

    fn of(engine: Model) -> Self {
        Spinner { engine: Mutex::new(engine), saw: Vec::new() }
    }

    fn enter<'py>(slf: &Bound<'py, Self>) -> PyResult<PyRefMut<'py, Self>> {
        slf.try_borrow_mut().map_err(|_| PyRuntimeError::new_err("another call is inside this pool; it serves one at a time"))
    }

    fn engine(&mut self) -> (&mut Model, &mut Vec<Seen>) {
        (self.engine.get_mut().unwrap_or_else(PoisonError::into_inner), &mut self.saw)
    }

    /// `at`: by default the time of the last command.
    fn answer<'py>(slf: &Bound<'py, Self>, command: &Command, at: Option<Any<'py>>) -> PyResult<Bound<'py, PyList>> {
        let mut this = Self::enter(slf)?;
        let (engine, saw) = this.engine();
        let at = at.map_or(Ok(engine.now), |at| number(&at, "at", LATEST))?;
        saw.clear();
        engine.step(command, at, saw);
        let seen = saw.iter().map(|seen| show(slf.py(), seen)).collect::<PyResult<Vec<_>>>()?;
        PyList::new(slf.py(), seen)
    }
}

fn actor(name: &str) -> PyResult<Cow<'_, str>> {
    trace::actor(name.into()).map_err(wrong)
}

fn some(value: Option<Any<'_>>, what: &str, least: i64, most: i64) -> PyResult<Option<i64>> {
    value.map(|value| integer(&value, what, least, most)).transpose()
}

fn readings(value: &Any<'_>) -> PyResult<Vec<i64>> {
    value.try_iter()?.map(|reading| number(&reading?, "a reading", LATEST)).collect()
}

#[pymethods]
impl Spinner {
    /// A pool whose workers are ready, unless it is to be built. `profile`: a Profile, the name of one, or its JSON; `setup`: a Setup, or its JSON.
    #[cfg(not(feature = "faults"))]
    #[new]
    #[pyo3(signature = (profile, setup = None))]
    fn new(profile: &Any<'_>, setup: Option<&Any<'_>>) -> PyResult<Self> {
        Self::set_up(profile, setup, NO_FAULT)
    }

    #[cfg(feature = "faults")]
    #[new]
    #[pyo3(signature = (profile, setup = None, *, fault = None))]
    fn new(profile: &Any<'_>, setup: Option<&Any<'_>>, fault: Option<&str>) -> PyResult<Self> {
        Self::set_up(profile, setup, read_fault(fault)?)
    }

    /// A thread asks for a fan-out of so many tasks.
    #[pyo3(signature = (actor, total, *, at = None))]
    fn dispatch<'py>(slf: &Bound<'py, Self>, actor: &str, total: Any<'py>, at: Option<Any<'py>>) -> PyResult<Bound<'py, PyList>> {
        let command = Command::Dispatch { actor: self::actor(actor)?, total: number(&total, "total", SOME)? };
        Self::answer(slf, &command, at)
    }

    /// The actor's next steps: up to `times`, fewer if it comes to wait for something.
    #[pyo3(signature = (actor, times = None, *, at = None))]
    fn go<'py>(slf: &Bound<'py, Self>, actor: &str, times: Option<Any<'py>>, at: Option<Any<'py>>) -> PyResult<Bound<'py, PyList>> {
        let times = some(times, "times", 1, SOME)?.unwrap_or(1);
        Self::answer(slf, &Command::Go { actor: self::actor(actor)?, times }, at)
    }

    /// The task that the actor runs ends, or panics.
    #[pyo3(signature = (actor, panics = false, *, at = None))]
    fn end<'py>(slf: &Bound<'py, Self>, actor: &str, panics: bool, at: Option<Any<'py>>) -> PyResult<Bound<'py, PyList>> {
        Self::answer(slf, &Command::End { actor: self::actor(actor)?, panics }, at)
    }

    /// A parked worker's wait returns though nobody woke it.
    #[pyo3(signature = (actor, *, at = None))]
    fn stir<'py>(slf: &Bound<'py, Self>, actor: &str, at: Option<Any<'py>>) -> PyResult<Bound<'py, PyList>> {
        Self::answer(slf, &Command::Stir { actor: self::actor(actor)? }, at)
    }

    /// The pool ends: workers leave as soon as they see it.
    #[pyo3(signature = (*, at = None))]
    fn shutdown<'py>(slf: &Bound<'py, Self>, at: Option<Any<'py>>) -> PyResult<Bound<'py, PyList>> {
        Self::answer(slf, &Command::Shutdown, at)
    }

    /// A snapshot of the counters.
    #[pyo3(signature = (*, at = None))]
    fn counters<'py>(slf: &Bound<'py, Self>, at: Option<Any<'py>>) -> PyResult<Bound<'py, PyList>> {
        Self::answer(slf, &Command::Counters, at)
    }

    /// One whole window in virtual time, apart from the pool.
    #[pyo3(signature = (window, *, pause = None, clock = None, yields = None, first_yield = None, publish = None, shutdown = None, at = None))]
    #[allow(clippy::too_many_arguments)]
    fn wait<'py>(
        slf: &Bound<'py, Self>,
        window: Any<'py>,
        pause: Option<Any<'py>>,
        clock: Option<Any<'py>>,
        yields: Option<Any<'py>>,
        first_yield: Option<Any<'py>>,
        publish: Option<Any<'py>>,
        shutdown: Option<Any<'py>>,
        at: Option<Any<'py>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let cost = |value, what| some(value, what, 1, SECOND);
        let (window, pause) = (number(&window, "window", SECOND)?, cost(pause, "pause")?);
        let costs = Wait::costing(window, pause, cost(clock, "clock")?, cost(yields, "yields")?);
        let (publish, shutdown) = (some(publish, "publish", 0, LATEST)?, some(shutdown, "shutdown", 0, LATEST)?);
        let command = trace::wait(Wait { first_yield: cost(first_yield, "first_yield")?, publish, shutdown, ..costs });
        Self::answer(slf, &command.map_err(wrong)?, at)
    }

    /// One whole window on a scripted clock, apart from the pool.
    #[pyo3(signature = (window, readings = None, *, publish = None, shutdown = None, at = None))]
    fn script<'py>(
        slf: &Bound<'py, Self>,
        window: Any<'py>,
        readings: Option<&Any<'py>>,
        publish: Option<Any<'py>>,
        shutdown: Option<Any<'py>>,
        at: Option<Any<'py>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let window = number(&window, "window", SECOND)?;
        let readings = readings.map_or(Ok(Vec::new()), self::readings)?;
        let (publish, shutdown) = (some(publish, "publish", 1, SOME)?, some(shutdown, "shutdown", 1, SOME)?);
        Self::answer(slf, &trace::script(Script { window, readings, publish, shutdown }).map_err(wrong)?, at)
    }

    /// A lone worker has nothing to do until a publication after so long; `ran`: it got a task of it.
    #[pyo3(signature = (gap, ran = true, *, at = None))]
    fn gap<'py>(slf: &Bound<'py, Self>, gap: Any<'py>, ran: bool, at: Option<Any<'py>>) -> PyResult<Bound<'py, PyList>> {
        Self::answer(slf, &Command::Gap { gap: number(&gap, "gap", LATEST)?, ran }, at)
    }

    /// Do one command of the vocabulary.
    fn step<'py>(slf: &Bound<'py, Self>, command: &Any<'py>) -> PyResult<Bound<'py, PyList>> {
        let py = slf.py();
        let get = |name: &str| command.getattr(PyString::intern(py, name));
        let int = |name, least, most| integer(&get(name)?, name, least, most);
        let given = |name, least, most| some(get(name).map(|value| (!value.is_none()).then_some(value))?, name, least, most);
        let flag = |name| get(name)?.extract::<bool>();
        let who = || trace::actor(Cow::Owned(get("actor")?.extract()?)).map_err(wrong);
        let kind = CLASSES.kind_of(&command.get_type())?;
        let at = get("at")?;
        let command = match kind {
            "dispatch" => Command::Dispatch { actor: who()?, total: int("total", 0, SOME)? },
            "go" => Command::Go { actor: who()?, times: int("times", 1, SOME)? },
            "end" => Command::End { actor: who()?, panics: flag("panics")? },
            "stir" => Command::Stir { actor: who()? },
            "shutdown" => Command::Shutdown,
            "counters" => Command::Counters,
            "wait" => {
                let cost = |name| int(name, 1, SECOND);
                Command::Wait(Wait {
                    window: int("window", 0, SECOND)?,
                    pause: cost("pause")?,
                    clock: cost("clock")?,
                    yields: cost("yields")?,
                    first_yield: given("first_yield", 1, SECOND)?,
                    publish: given("publish", 0, LATEST)?,
                    shutdown: given("shutdown", 0, LATEST)?,
                })
            }
            "script" => Command::Script(Script {
                window: int("window", 0, SECOND)?,
                readings: readings(&get("readings")?)?,
                publish: given("publish", 1, SOME)?,
                shutdown: given("shutdown", 1, SOME)?,
            }),
            _ => Command::Gap { gap: int("gap", 0, LATEST)?, ran: flag("ran")? },
        };
        Self::answer(slf, &command, Some(at))
    }

    /// The whole state, canonical: the same keys and values as the specification's.
    fn state<'py>(slf: &Bound<'py, Self>) -> PyResult<Any<'py>> {
        node(slf.py(), &Self::enter(slf)?.engine().0.state())
    }

    /// What is wrong inside, a line each; nothing, if all is well.
    fn audit(slf: &Bound<'_, Self>) -> PyResult<Vec<String>> {
        Ok(Self::enter(slf)?.engine().0.audit())
    }

    /// Another pool in the same state.
    fn clone(slf: &Bound<'_, Self>) -> PyResult<Self> {
        Ok(Self::of(Self::enter(slf)?.engine().0.clone()))
    }

    /// Steps of actors since the beginning, passes of windows among them.
    fn examined(slf: &Bound<'_, Self>) -> PyResult<u64> {
        Ok(Self::enter(slf)?.engine().0.steps)
    }

    /// Play a whole trace file: a line for every command, with the list of what was seen. Other threads run meanwhile.
    #[cfg(not(feature = "faults"))]
    #[staticmethod]
    fn run<'py>(py: Python<'py>, trace: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        crate::python::run(py, trace, NO_FAULT, trace::run)
    }

    #[cfg(feature = "faults")]
    #[staticmethod]
    #[pyo3(signature = (trace, *, fault = None))]
    fn run<'py>(py: Python<'py>, trace: &[u8], fault: Option<&str>) -> PyResult<Bound<'py, PyBytes>> {
        crate::python::run(py, trace, read_fault(fault)?, trace::run)
    }
}

fn show<'py>(py: Python<'py>, Seen(word, about): &Seen) -> PyResult<Bound<'py, PyTuple>> {
    let said = |word| PyString::intern(py, word);
    let word = said(word);
    match about {
        About::One(a) => (word, a).into_pyobject(py),
        About::Two(a, b) => (word, a, b).into_pyobject(py),
        About::Actor(actor) => (word, &**actor).into_pyobject(py),
        About::Number(actor, a) => (word, &**actor, a).into_pyobject(py),
        About::Pair(actor, a, b) => (word, &**actor, a, b).into_pyobject(py),
        About::Triple(actor, a, b, c) => (word, &**actor, a, b, c).into_pyobject(py),
        About::Word(actor, why) => (word, &**actor, said(why)).into_pyobject(py),
        About::Wrote(actor, slot, what) => (word, &**actor, slot, said(what)).into_pyobject(py),
        About::Wakes(actor, number, workers) => (word, &**actor, number, &**workers).into_pyobject(py),
        About::Waited(used, outcome, next) => (word, used, said(outcome), next).into_pyobject(py),
        About::Outcome((outcome, n, y, reads, time)) => (word, said(outcome.word()), n, y, reads, time).into_pyobject(py),
        About::Counters(counts) => {
            let mut told = vec![word.into_any()];
            for (counter, count) in Counter::ALL.into_iter().zip(counts) {
                told.push(said(counter.word()).into_any());
                told.push(count.into_pyobject(py)?.into_any());
            }
            PyTuple::new(py, told)
        }
    }
}
