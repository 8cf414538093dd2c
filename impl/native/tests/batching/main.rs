//! The collectors from outside: recorded vectors, answers by hand, and what is looked at however much waits.
mod answers;
mod golden;
mod growth;
mod player;
mod simulation;
