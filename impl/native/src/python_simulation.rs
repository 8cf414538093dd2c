//! The Python face of the native simulations.
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::batching_run::Run;
use crate::batching_scenarios::Scenario as Work;
use crate::batching_simulation;
use crate::faults::NONE as NO_FAULT;
use crate::simulation::{self, Log, Scenario};

type Starts = Vec<(i64, u64, usize)>;
type Ends = Vec<(i64, u64)>;
type Unserved = Vec<(usize, &'static str)>;

/// Play a scenario. `profile` and `scenario`: a Profile and a Scenario, or their JSON. Answers the starts (when, lease, task), the ends
/// (when, lease), and the tasks that have not started, each with why it was refused, or "" if it still waits. A task is its place among
/// the scenario's arrivals; times are nanoseconds. ValueError: one line that says what is wrong. Other threads run meanwhile.
#[pyfunction]
pub fn simulate(py: Python<'_>, profile: &Bound<'_, PyAny>, scenario: &Bound<'_, PyAny>) -> PyResult<(Starts, Ends, Unserved)> {
    let (profile, scenario) = (json(profile)?, json(scenario)?);
    let (profile, scenario) = (profile.as_bytes(), scenario.as_bytes());
    let log = py.detach(|| -> Result<Log, String> {
        let profile = serde_json::from_slice(profile).map_err(|error| format!("not a profile: {error}"))?;
        let scenario = Scenario::read(scenario).map_err(|error| format!("not a scenario: {error}"))?;
        simulation::run(&profile, scenario, NO_FAULT)
    });
    let Log { starts, ends, unserved } = log.map_err(PyValueError::new_err)?;
    Ok((starts, ends, unserved))
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
