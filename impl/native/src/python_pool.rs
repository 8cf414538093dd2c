//! The Python face of the pool of threads: fan-outs of native kernels, and of a Python callable.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::python::{Any, integer, number, read_profile, wrong};
use crate::python_cells::Cells;
use crate::spin::Counter;
use crate::spin_calibrate::calibrate as measure;
use crate::spin_measure::{back_to_back, busy, idle_share, worker_time};
use crate::spin_pool::{Refused, SpinPool};
use crate::spin_time::Row;
use crate::spin_words::{SOME, Setup};
use crate::words::LATEST;

/// Between two looks for a signal while a call waits for the tasks of others.
const LOOK: Duration = Duration::from_millis(20);

type WorkerRow = (&'static str, (u64, u64, u64, u64), (u64, u64, u64), (BTreeMap<usize, u64>, u64));

fn refused(why: Refused) -> PyErr {
    PyRuntimeError::new_err(why.to_string())
}

/// What a native task does; made by `spin_ns`, `sum_of_squares`, `axpy`.
#[pyclass(module = "slotwise.impl._native", frozen)]
pub struct Kernel(Work);

enum Work {
    Spin(Duration),
    SumOfSquares(Cells),
    Axpy(f64, Cells, Cells),
}

/// Each task keeps its core busy for so many nanoseconds.
#[pyfunction]
pub fn spin_ns(ns: Any<'_>) -> PyResult<Kernel> {
    Ok(Kernel(Work::Spin(Duration::from_nanos(number(&ns, "ns", LATEST)? as u64))))
}

/// The sum of the squares of a buffer of doubles; each task has a piece of it. The sum is that of the pieces in order.
#[pyfunction]
pub fn sum_of_squares(x: &Any<'_>) -> PyResult<Kernel> {
    Ok(Kernel(Work::SumOfSquares(Cells::of(x, "x", false)?)))
}

/// y[i] += a * x[i] over two buffers of doubles; each task has a piece of them. ValueError if they aren't of one length.
#[pyfunction]
pub fn axpy(a: f64, x: &Any<'_>, y: &Any<'_>) -> PyResult<Kernel> {
    let (x, y) = (Cells::of(x, "x", false)?, Cells::of(y, "y", true)?);
    if x.len() != y.len() {
        return Err(PyValueError::new_err(format!("x has {} doubles, y {}", x.len(), y.len())));
    }
    Ok(Kernel(Work::Axpy(a, x, y)))
}

/// The piece of so many doubles that a task has.
fn piece(index: usize, tasks: usize, length: usize) -> std::ops::Range<usize> {
    let from = |task: usize| (task as u128 * length as u128 / tasks as u128) as usize;
    from(index)..from(index + 1)
}

impl Work {
    fn run(&self, index: usize, parts: &[AtomicU64]) {
        match self {
            Work::Spin(long) => busy(*long),
            Work::SumOfSquares(x) => {
                let sum: f64 = piece(index, parts.len(), x.len()).map(|i| x.get(i) * x.get(i)).sum();
                parts[index].store(sum.to_bits(), Ordering::Relaxed);
            }
            Work::Axpy(a, x, y) => piece(index, parts.len(), y.len()).for_each(|i| y.set(i, y.get(i) + a * x.get(i))),
        }
    }
}

/// The first error of a fan-out; tasks that have not begun by then do not run.
#[derive(Default)]
struct Stop {
    stopped: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Stop {
    fn is_on(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn fail(&self, error: PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// What to call while waiting: signals are looked for now and then.
    fn look(&self) -> impl Fn() {
        let last = std::cell::Cell::new(Instant::now());
        move || {
            if last.get().elapsed() >= LOOK {
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    self.fail(error);
                }
                last.set(Instant::now());
            }
        }
    }

    fn result(self, py: Python<'_>) -> PyResult<()> {
        let error = self.error.into_inner().unwrap_or_else(PoisonError::into_inner);
        error.map_or_else(|| py.check_signals(), Err)
    }
}

/// Threads for fan-outs, on the engine's own machines. `slotwise.impl.spin_pool` is its comfortable face.
#[pyclass(module = "slotwise.impl._native", frozen)]
pub struct Pool(SpinPool);

impl Pool {
    /// The pool, if it can run something.
    fn open(&self) -> PyResult<&SpinPool> {
        self.0.check_process().map_err(refused)?;
        if self.0.is_shut_down() {
            return Err(PyRuntimeError::new_err("this pool is shut down"));
        }
        Ok(&self.0)
    }
}

#[pymethods]
impl Pool {
    /// `profile`: a Profile, the name of one, or its JSON; the costs are nanoseconds. ValueError: what is out of its bounds, or that the
    /// workers are not ready in time.
    #[new]
    fn new(profile: &Any<'_>, width: Any<'_>, park: Any<'_>, wake: Any<'_>, catch: Any<'_>) -> PyResult<Self> {
        let py = profile.py();
        let profile = read_profile(profile, intern!(py, "slotwise.spec.spin_vocabulary"))?;
        let setup = Setup {
            width: integer(&width, "width", 1, 64)?,
            park: integer(&park, "park", 8, 1_000_000_000)?,
            wake: number(&wake, "wake", LATEST)?,
            catch: number(&catch, "catch", LATEST)?,
            ..Setup::default()
        };
        py.detach(|| SpinPool::new(&profile, &setup)).map(Pool).map_err(wrong)
    }

    /// Call `task` with each of the items, in any order; the results, in the items' order.
    fn map<'py>(&self, task: Any<'py>, items: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyList>> {
        let (pool, py) = (self.open()?, task.py());
        let items: Vec<Py<PyAny>> = items.iter().map(Bound::unbind).collect();
        let (task, stop) = (task.unbind(), Stop::default());
        let results: Vec<OnceLock<Py<PyAny>>> = items.iter().map(|_| OnceLock::new()).collect();
        let job = |index: usize| {
            if stop.is_on() {
                return;
            }
            Python::attach(|py| match task.call1(py, (&items[index],)) {
                Ok(result) => results[index].set(result).unwrap_or(()),
                Err(error) => stop.fail(error),
            });
        };
        py.detach(|| {
            let look = stop.look();
            pool.run_while(items.len(), &job, Some(&look)).map(|_| ())
        })
        .map_err(refused)?;
        stop.result(py)?;
        PyList::new(py, results.into_iter().filter_map(OnceLock::into_inner))
    }

    /// Run a native kernel in so many tasks, without Python's lock. The sum, if it is one.
    fn run(&self, py: Python<'_>, kernel: &Bound<'_, Kernel>, tasks: Any<'_>) -> PyResult<Option<f64>> {
        let (pool, tasks) = (self.open()?, number(&tasks, "tasks", SOME)? as usize);
        let work = &kernel.get().0;
        let stop = Stop::default();
        let parts: Vec<AtomicU64> = (0..tasks).map(|_| AtomicU64::new(0)).collect();
        let job = |index: usize| {
            if !stop.is_on() {
                work.run(index, &parts);
            }
        };
        py.detach(|| {
            let look = stop.look();
            pool.run_while(tasks, &job, Some(&look)).map(|_| ())
        })
        .map_err(refused)?;
        stop.result(py)?;
        let sum = || parts.iter().map(|part| f64::from_bits(part.load(Ordering::Relaxed))).sum();
        Ok(matches!(work, Work::SumOfSquares(_)).then(sum))
    }

    /// What has been counted; the pool goes on meanwhile.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (counter, count) in Counter::ALL.iter().zip(self.0.counters()) {
            dict.set_item(counter.word(), count)?;
        }
        Ok(dict)
    }

    /// Of each worker: what it does now; nanoseconds that it has run, spun, yielded and been parked; spins that found a task; windows that
    /// ended in a park, and nanoseconds spun in them; how late it woke, as counts by bucket (`slotwise.impl.meter_rows`) and their sum.
    fn rows(&self) -> Vec<WorkerRow> {
        let shown = |(row, hits): (Row, u64)| {
            (
                row.state.word(),
                (row.run, row.spin, row.yielded, row.parked),
                (hits, row.misses, row.wasted),
                (row.wakes.into_iter().collect(), row.woken),
            )
        };
        self.0.rows().into_iter().map(shown).collect()
    }

    /// The window that each worker would spin now, in nanoseconds.
    fn windows(&self) -> Vec<u64> {
        self.0.windows()
    }

    /// Processor time that each worker has used, in nanoseconds, as the kernel accounts it; None where it doesn't tell.
    fn worker_time(&self) -> Option<Vec<u64>> {
        worker_time(&self.0)
    }

    /// Nanoseconds of each of so many fan-outs of native tasks, one right after the other; each task is busy for `ns`.
    fn back_to_back(&self, py: Python<'_>, rounds: usize, tasks: usize, ns: u64) -> PyResult<Vec<u64>> {
        let pool = self.open()?;
        py.detach(|| back_to_back(pool, rounds, tasks, Duration::from_nanos(ns))).map_err(refused)
    }

    /// The share of one core that the workers together use in so many seconds, while nobody dispatches; None where the kernel doesn't tell.
    fn idle_share(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<f64>> {
        let pool = self.open()?;
        let over = Duration::try_from_secs_f64(seconds).map_err(|error| wrong(format!("seconds: {error}")))?;
        py.detach(|| idle_share(pool, over)).map_err(refused)
    }

    #[getter]
    fn width(&self) -> usize {
        self.0.width()
    }

    #[getter]
    fn workers(&self) -> usize {
        self.0.workers()
    }

    /// End the workers and wait for them. Fan-outs under way are finished by those that run them.
    fn shutdown(&self, py: Python<'_>) {
        py.detach(|| self.0.shutdown());
    }
}

/// What waiting costs on this machine, with so many workers: the processor time of a park, and how late a parked and a spinning thread see a
/// publication; nanoseconds, medians of 200. Takes some tens of milliseconds.
#[pyfunction]
pub fn calibrate(py: Python<'_>, workers: Any<'_>) -> PyResult<(i64, i64, i64)> {
    let workers = number(&workers, "workers", 63)? as usize;
    let costs = py.detach(|| measure(workers));
    Ok((costs.park, costs.wake, costs.catch))
}
