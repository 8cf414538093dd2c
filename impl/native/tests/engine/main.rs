//! The engine from outside: recorded vectors, and lockstep with the rules written plainly.
mod examined;
mod golden;
mod lockstep;
mod play;
