//! The pool that spins, from outside: recorded vectors, and what holds however the actors' steps are mixed.
mod golden;
mod mixed;
mod refusals;
#[cfg(feature = "faults")]
mod seeded;
