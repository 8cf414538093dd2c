//! The Python face of the native simulation.
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

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

fn json<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(bytes.clone());
    }
    let py = value.py();
    Ok(py.import(intern!(py, "msgspec.json"))?.getattr(intern!(py, "encode"))?.call1((value,))?.cast_into::<PyBytes>()?)
}
