//! The native engine of slotwise: one module per module of the specification, under the same name.
pub mod faults;
pub mod ledger;
