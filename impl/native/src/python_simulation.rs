//! The Python face of the native simulations.
use std::convert::Infallible;

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyTuple};

use crate::batching_run::Run;
use crate::batching_scenarios::Scenario as Work;
use crate::batching_simulation;
use crate::faults::NONE as NO_FAULT;
use crate::simulation::{self, Log, Scenario};

type Unserved = Vec<(usize, &'static str)>;

/// Play a scenario. `profile` and `scenario`: a Profile and a Scenario, or their JSON. Answers the starts (when, lease, task), the ends
/// (when, lease), and the tasks that have not started, each with why it was refused, or "" if it still waits. A task is its place among
/// the scenario's arrivals; times are nanoseconds. ValueError: one line that says what is wrong. Other threads run meanwhile.
#[pyfunction]
pub fn simulate<'py>(
    py: Python<'py>,
    profile: &Bound<'py, PyAny>,
    scenario: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyList>, Unserved)> {
    let (profile, scenario) = (json(profile)?, json(scenario)?);
    let (profile, scenario) = (profile.as_bytes(), scenario.as_bytes());
    let log = py.detach(|| -> Result<Log, String> {
        let profile = serde_json::from_slice(profile).map_err(|error| format!("not a profile: {error}"))?;
        let scenario = Scenario::read(scenario).map_err(|error| format!("not a scenario: {error}"))?;
        simulation::run(&profile, scenario, NO_FAULT)
    });
    let Log { starts, ends, unserved } = log.map_err(PyValueError::new_err)?;
    // Mostly something starts when something ends: an instant and a lease are one object each, wherever they stand.
    let lease_of: Vec<_> = starts.iter().map(|&(_, lease, _)| number(py, lease)).collect();
    let (mut begun, mut ended) = (Vec::with_capacity(starts.len()), Vec::with_capacity(ends.len()));
    let (mut starts, mut ends) = (starts.into_iter().zip(&lease_of).peekable(), ends.into_iter().peekable());
    while let Some(at) = starts.peek().map(|&((at, ..), _)| at).into_iter().chain(ends.peek().map(|&(at, _)| at)).min() {
        let when = number(py, at);
        while let Some((_, lease)) = ends.next_if(|&(end, _)| end == at) {
            ended.push(PyTuple::new(py, [&when, &lease_of[lease as usize - 1]])?);
        }
        while let Some(((_, _, task), lease)) = starts.next_if(|&((start, ..), _)| start == at) {
            begun.push(PyTuple::new(py, [&when, lease, &number(py, task)])?);
        }
    }
    Ok((PyList::new(py, begun)?, PyList::new(py, ended)?, unserved))
}

fn number<'py>(
    py: Python<'py>,
    number: impl IntoPyObject<'py, Target = PyInt, Output = Bound<'py, PyInt>, Error = Infallible>,
) -> Bound<'py, PyInt> {
    number.into_pyobject(py).unwrap_or_else(|never| match never {})
}

type Calls = Vec<(i64, usize, usize, bool)>;
type Ending = (String, Option<i64>, Option<i64>, Option<i64>);
type Attempts<T> = Vec<(T, i64)>;
type Played<'py> = (Bound<'py, PyBytes>, Calls, Ending, Attempts<String>, Attempts<String>);

/// Play a scenario of durable work around the engine's collector. `profile` and `scenario`: those of the batching, or their JSON; `seed`: who
/// is ready goes on in a seeded order. Answers the log, a line for each command with what was seen; the requests (when, updates, refreshes, in
/// vain); how the handler ended, suspended until when, when it returned, and when the collector ended; when each attempt was reached; and
/// their scheduled ends. Times are nanoseconds. ValueError: one line that says what is wrong. Other threads run meanwhile.
#[pyfunction]
#[pyo3(signature = (profile, scenario, *, seed = None))]
pub fn simulate_batching<'py>(
    py: Python<'py>,
    profile: &Bound<'py, PyAny>,
    scenario: &Bound<'py, PyAny>,
    seed: Option<u64>,
) -> PyResult<Played<'py>> {
    let (profile, scenario) = (json(profile)?, json(scenario)?);
    let (profile, scenario) = (profile.as_bytes(), scenario.as_bytes());
    let run = py.detach(|| -> Result<Run, String> {
        let profile = serde_json::from_slice(profile).map_err(|error| format!("not a profile: {error}"))?;
        let scenario = Work::read(scenario).map_err(|error| format!("not a scenario: {error}"))?;
        batching_simulation::run(&profile, scenario, seed, NO_FAULT)
    });
    let run = run.map_err(PyValueError::new_err)?;
    let calls = run.calls.iter().map(|call| (call.at, call.updates, call.refreshes, call.in_vain)).collect();
    let ending = (run.result, run.until, run.handler, run.exit);
    let reached = run.reached.into_iter().map(|(attempt, at)| (attempt.to_string(), at)).collect();
    Ok((PyBytes::new(py, &run.log), calls, ending, reached, run.ends))
}

fn json<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(bytes.clone());
    }
    let py = value.py();
    Ok(py.import(intern!(py, "msgspec.json"))?.getattr(intern!(py, "encode"))?.call1((value,))?.cast_into::<PyBytes>()?)
}
