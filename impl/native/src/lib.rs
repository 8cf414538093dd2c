//! The native engine of slotwise: one module per module of the specification, under the same name, and the structures they stand on.
pub mod admission;
pub mod aws_durable;
pub mod batching;
pub mod batching_run;
pub mod batching_scenarios;
pub mod batching_sdk;
pub mod batching_service;
pub mod batching_simulation;
pub mod batching_trace;
pub mod batching_words;
pub mod batching_world;
pub mod bounded_borrow;
pub mod collector;
pub mod cycle;
pub mod fair_queue;
pub mod faults;
pub mod heads;
pub mod leases;
pub mod ledger;
pub mod line;
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "python")]
mod python_batching;
#[cfg(all(feature = "python", not(feature = "faults"), target_os = "linux", not(loom)))]
mod python_cells;
#[cfg(all(feature = "python", not(feature = "faults"), target_os = "linux", not(loom)))]
mod python_pool;
#[cfg(all(feature = "python", not(feature = "faults")))]
mod python_simulation;
#[cfg(feature = "python")]
mod python_spin;
pub mod refresh;
pub mod simulation;
pub mod slot_time;
pub mod spin;
#[cfg(all(target_os = "linux", not(loom)))]
pub mod spin_calibrate;
pub mod spin_cells;
#[cfg(feature = "faults")]
pub mod spin_faults;
pub mod spin_futex;
pub mod spin_lone;
#[cfg(loom)]
pub mod spin_loom;
#[cfg(not(loom))]
pub mod spin_measure;
pub mod spin_memory;
pub mod spin_model;
pub mod spin_policy;
pub mod spin_pool;
pub mod spin_slot;
pub mod spin_state;
pub mod spin_sync;
#[cfg(not(loom))]
pub mod spin_time;
pub mod spin_trace;
pub mod spin_whole;
pub mod spin_window;
pub mod spin_words;
pub mod state;
pub mod strict;
pub mod tables;
pub mod trace;
pub mod twister;
pub mod words;
