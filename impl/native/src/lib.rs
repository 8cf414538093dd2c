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
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "python")]
mod python_batching;
#[cfg(all(feature = "python", not(feature = "faults")))]
mod python_simulation;
pub mod refresh;
pub mod simulation;
pub mod slot_time;
pub mod state;
pub mod strict;
pub mod tables;
pub mod trace;
pub mod twister;
pub mod words;
