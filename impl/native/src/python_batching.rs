//! The Python face of the collector: typed methods that answer lists of tuples as the specification does, and the whole-trace call.
use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::batching_trace::{self as trace, TOKEN};
use crate::batching_words::{Command, FURTHEST, MANY, Refresh, Seen, Submit};
use crate::collector::Collector;
use crate::faults::{Faults, NONE as NO_FAULT};
#[cfg(feature = "faults")]
use crate::python::read_fault;
use crate::python::{Any, Classes, integer, node, number, read_profile, wrong};
use crate::trace::within;
use crate::words::{LATEST, MOST, Text};

/// One collector. Every method answers what was seen: a list of tuples, each a word and what it is about. Times are nanoseconds.
#[cfg_attr(not(feature = "faults"), pyclass(module = "slotwise.impl._native"))]
#[cfg_attr(feature = "faults", pyclass(module = "slotwise.fuzz._faulty"))]
pub struct Batcher {
    engine: Collector,
    saw: Vec<Seen>,
}

static CLASSES: Classes =
    Classes { kinds: &["submit", "refresh", "cancel", "credit", "stop", "pump", "respond", "page", "fail"], known: Mutex::new(Vec::new()) };

/// An integer argument that may be left out, but is never none.
pub enum Given<'py> {
    Is(i64),
    Odd(Any<'py>),
}

impl<'py> FromPyObject<'_, 'py> for Given<'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(value.extract::<i64>().map_or_else(|_| Given::Odd(value.to_owned()), Given::Is))
    }
}

impl Given<'_> {
    fn within(self, what: &str, least: i64, most: i64) -> PyResult<i64> {
        match self {
            Given::Is(number) => within(what, number, least, most).map_err(wrong),
            Given::Odd(value) => integer(&value, what, least, most),
        }
    }
}

const NO: Given<'static> = Given::Is(0);

impl Batcher {
    fn set_up(profile: &Any<'_>, token: &str, hint: Given<'_>, faults: Faults) -> PyResult<Self> {
        let profile = read_profile(profile, intern!(profile.py(), "slotwise.spec.batching_vocabulary"))?;
        let hint = hint.within("hint", -FURTHEST, FURTHEST)?;
        Ok(Batcher { engine: trace::set_up(&profile, token, hint, faults).map_err(wrong)?, saw: Vec::new() })
    }

    fn enter<'py>(slf: &Bound<'py, Self>) -> PyResult<PyRefMut<'py, Self>> {
        slf.try_borrow_mut().map_err(|_| PyRuntimeError::new_err("another call is inside this collector; it serves one at a time"))
    }

    fn answer<'py>(slf: &Bound<'py, Self>, command: &Command, at: &Any<'py>) -> PyResult<Bound<'py, PyList>> {
        let at = number(at, "at", LATEST)?;
        let mut this = Self::enter(slf)?;
        let Batcher { engine, saw } = &mut *this;
        saw.clear();
        engine.step(command, at, saw);
        let seen = saw.iter().map(|seen| show(slf.py(), seen)).collect::<PyResult<Vec<_>>>()?;
        PyList::new(slf.py(), seen)
    }
}

#[pymethods]
impl Batcher {
    /// A collector with nothing queued and nothing in flight. `profile`: a Profile, the name of one, or its JSON; `token`: of the first
    /// request; `hint`: the caller's wall clock minus its local clock.
    #[cfg(not(feature = "faults"))]
    #[new]
    #[pyo3(signature = (profile, *, token = TOKEN, hint = NO))]
    fn new(profile: &Any<'_>, token: &str, hint: Given<'_>) -> PyResult<Self> {
        Self::set_up(profile, token, hint, NO_FAULT)
    }

    #[cfg(feature = "faults")]
    #[new]
    #[pyo3(signature = (profile, *, token = TOKEN, hint = NO, fault = None))]
    fn new(profile: &Any<'_>, token: &str, hint: Given<'_>, fault: Option<&str>) -> PyResult<Self> {
        Self::set_up(profile, token, hint, fault.map_or(Ok(NO_FAULT), |fault| read_fault(Some(fault)))?)
    }

    /// A producer has an update of so many bytes, or an empty one.
    #[pyo3(signature = (id, size = NO, sync = true, empty = false, parent = None, ends = false, r#final = false, *, at))]
    #[allow(clippy::too_many_arguments)]
    fn submit<'py>(
        slf: &Bound<'py, Self>,
        id: &str,
        size: Given<'py>,
        sync: bool,
        empty: bool,
        parent: Option<&str>,
        ends: bool,
        r#final: bool,
        at: Any<'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        let size = size.within("size", 0, MOST)?;
        let item = Submit { id: id.into(), size, sync, empty, parent: parent.map(Cow::Borrowed), ends, is_final: r#final };
        Self::answer(slf, &trace::submit(item).map_err(wrong)?, &at)
    }

    /// A branch of `owner` starts to wait for an operation: until the service's stamp `key`, or a local time `due`.
    #[pyo3(signature = (id, key = None, due = None, owner = "", index = NO, *, at))]
    fn refresh<'py>(
        slf: &Bound<'py, Self>,
        id: &str,
        key: Option<Any<'py>>,
        due: Option<Any<'py>>,
        owner: &str,
        index: Given<'py>,
        at: Any<'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        let key = read_stamp(key, "key")?;
        let due = due.map(|due| number(&due, "due", LATEST)).transpose()?;
        let index = index.within("index", 0, MOST)?;
        let asked = Refresh { id: id.into(), key, due, owner: owner.into(), index };
        Self::answer(slf, &trace::refresh(asked).map_err(wrong)?, &at)
    }

    /// Nobody waits any more: for the refresh `id`, or else for any of `owner`.
    #[pyo3(signature = (id = None, owner = "", *, at))]
    fn cancel<'py>(slf: &Bound<'py, Self>, id: Option<&str>, owner: &str, at: Any<'py>) -> PyResult<Bound<'py, PyList>> {
        let id = trace::perhaps("a refresh's id", id.map(Cow::Borrowed)).map_err(wrong)?;
        Self::answer(slf, &Command::Cancel { id, owner: owner.into() }, &at)
    }

    /// So many producers more (or fewer) are running, or outside in user code.
    #[pyo3(signature = (running = NO, outside = NO, *, at))]
    fn credit<'py>(slf: &Bound<'py, Self>, running: Given<'py>, outside: Given<'py>, at: Any<'py>) -> PyResult<Bound<'py, PyList>> {
        let (running, outside) = (running.within("running", -MANY, MANY)?, outside.within("outside", -MANY, MANY)?);
        Self::answer(slf, &Command::Credit { running, outside }, &at)
    }

    /// The invocation ends: nothing more is accepted.
    #[pyo3(signature = (*, at))]
    fn stop<'py>(slf: &Bound<'py, Self>, at: Any<'py>) -> PyResult<Bound<'py, PyList>> {
        Self::answer(slf, &Command::Stop, &at)
    }

    /// What shall the driver do now?
    #[pyo3(signature = (*, at))]
    fn pump<'py>(slf: &Bound<'py, Self>, at: Any<'py>) -> PyResult<Bound<'py, PyList>> {
        Self::answer(slf, &Command::Pump, &at)
    }

    /// The request's answer: the next token, the service's stamp of its processing, what it shows done, and a marker if there are more pages.
    #[pyo3(signature = (token = None, stamp = None, done = None, marker = None, *, at))]
    fn respond<'py>(
        slf: &Bound<'py, Self>,
        token: Option<&str>,
        stamp: Option<Any<'py>>,
        done: Option<Any<'py>>,
        marker: Option<&str>,
        at: Any<'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        let token = trace::perhaps("a token", token.map(Cow::Borrowed)).map_err(wrong)?;
        let marker = trace::perhaps("a marker", marker.map(Cow::Borrowed)).map_err(wrong)?;
        let command = Command::Respond { token, stamp: read_stamp(stamp, "stamp")?, done: read_done(done)?, marker };
        Self::answer(slf, &command, &at)
    }

    /// Another page of the answer.
    #[pyo3(signature = (done = None, marker = None, *, at))]
    fn page<'py>(slf: &Bound<'py, Self>, done: Option<Any<'py>>, marker: Option<&str>, at: Any<'py>) -> PyResult<Bound<'py, PyList>> {
        let marker = trace::perhaps("a marker", marker.map(Cow::Borrowed)).map_err(wrong)?;
        Self::answer(slf, &Command::Page { done: read_done(done)?, marker }, &at)
    }

    /// The request, or the fetch of a page, raised an error.
    #[pyo3(signature = (*, at))]
    fn fail<'py>(slf: &Bound<'py, Self>, at: Any<'py>) -> PyResult<Bound<'py, PyList>> {
        Self::answer(slf, &Command::Fail, &at)
    }

    /// Do one command of the vocabulary.
    fn step<'py>(slf: &Bound<'py, Self>, command: &Any<'py>) -> PyResult<Bound<'py, PyList>> {
        let py = slf.py();
        let get = |name: &str| command.getattr(PyString::intern(py, name));
        let text = |name| get(name)?.extract::<String>().map(Cow::<str>::Owned);
        let perhaps = |name| Ok::<_, PyErr>(get(name)?.extract::<Option<String>>()?.map(Cow::<str>::Owned));
        let some = |name| get(name).map(|value| (!value.is_none()).then_some(value));
        let flag = |name| get(name)?.extract::<bool>();
        let kind = CLASSES.kind_of(&command.get_type())?;
        let at = get("at")?;
        let command = match kind {
            "submit" => trace::submit(Submit {
                id: text("id")?,
                size: number(&get("size")?, "size", MOST)?,
                sync: flag("sync")?,
                empty: flag("empty")?,
                parent: perhaps("parent")?,
                ends: flag("ends")?,
                is_final: flag("final")?,
            }),
            "refresh" => trace::refresh(Refresh {
                id: text("id")?,
                key: read_stamp(some("key")?, "key")?,
                due: some("due")?.map(|due| number(&due, "due", LATEST)).transpose()?,
                owner: text("owner")?,
                index: number(&get("index")?, "index", MOST)?,
            }),
            "cancel" => {
                let owner = text("owner")?;
                trace::perhaps("a refresh's id", perhaps("id")?).map(|id| Command::Cancel { id, owner })
            }
            "credit" => Ok(Command::Credit {
                running: integer(&get("running")?, "running", -MANY, MANY)?,
                outside: integer(&get("outside")?, "outside", -MANY, MANY)?,
            }),
            "stop" => Ok(Command::Stop),
            "pump" => Ok(Command::Pump),
            "respond" => Ok(Command::Respond {
                token: trace::perhaps("a token", perhaps("token")?).map_err(wrong)?,
                stamp: read_stamp(some("stamp")?, "stamp")?,
                done: read_done(some("done")?)?,
                marker: trace::perhaps("a marker", perhaps("marker")?).map_err(wrong)?,
            }),
            "page" => Ok(Command::Page {
                done: read_done(some("done")?)?,
                marker: trace::perhaps("a marker", perhaps("marker")?).map_err(wrong)?,
            }),
            _ => Ok(Command::Fail),
        };
        Self::answer(slf, &command.map_err(wrong)?, &at)
    }

    /// The whole state, canonical: the same keys and values as the specification's.
    fn state<'py>(slf: &Bound<'py, Self>) -> PyResult<Any<'py>> {
        node(slf.py(), &Self::enter(slf)?.engine.state())
    }

    /// What is wrong inside, a line each; nothing, if all is well.
    fn audit(slf: &Bound<'_, Self>) -> PyResult<Vec<String>> {
        Ok(Self::enter(slf)?.engine.audit())
    }

    /// Another collector in the same state.
    fn clone(slf: &Bound<'_, Self>) -> PyResult<Self> {
        Ok(Batcher { engine: Self::enter(slf)?.engine.clone(), saw: Vec::new() })
    }

    /// What was looked at since the beginning, to answer the commands: items, refreshes, instants.
    fn examined(slf: &Bound<'_, Self>) -> PyResult<u64> {
        Ok(Self::enter(slf)?.engine.examined())
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

fn read_stamp(value: Option<Any<'_>>, what: &str) -> PyResult<Option<i64>> {
    value.map(|value| integer(&value, what, -FURTHEST, FURTHEST)).transpose()
}

/// Ids of operations; a text is not taken for the list of its letters.
fn read_done<'py>(ids: Option<Any<'py>>) -> PyResult<Vec<Text<'py>>> {
    let Some(ids) = ids else { return Ok(Vec::new()) };
    if ids.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("done must be a list of ids, found a str"));
    }
    let ids = ids.try_iter()?.map(|id| id?.extract::<String>().map(Cow::Owned)).collect::<PyResult<_>>()?;
    trace::done(ids).map_err(wrong)
}

fn list<'py>(py: Python<'py>, ids: &[Arc<str>]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, ids.iter().map(|id| &**id))
}

fn show<'py>(py: Python<'py>, seen: &Seen) -> PyResult<Bound<'py, PyTuple>> {
    let said = |word| PyString::intern(py, word);
    let word = said(seen.word());
    match seen {
        Seen::Accepted(id) => (word, &**id).into_pyobject(py),
        Seen::Rejected(id, why) => (word, &**id, said(why.word())).into_pyobject(py),
        Seen::Settled(id, outcome) => (word, &**id, said(outcome.word())).into_pyobject(py),
        Seen::Again(id, due) => (word, &**id, *due).into_pyobject(py),
        Seen::Resumed(owner, key, ids) => (word, &**owner, *key, list(py, ids)?).into_pyobject(py),
        Seen::Fetch(marker, token) => (word, &**marker, &**token).into_pyobject(py),
        Seen::Send(updates, refreshes, token) => (word, list(py, updates)?, list(py, refreshes)?, &**token).into_pyobject(py),
        Seen::Sleep(until) => match until.map(i64::try_from) {
            Some(Ok(until)) => (word, until).into_pyobject(py),
            _ => (word, *until).into_pyobject(py),
        },
        Seen::Exit => (word,).into_pyobject(py),
        Seen::Unexpected(command) => (word, said(command)).into_pyobject(py),
        Seen::TimeReversed(now) => (word, *now).into_pyobject(py),
    }
}
