//! The guarded client and the loop, with what a program alone does not let a test bring: a resolver of
//! its own, certificates, a clock that moves when it is told to.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, and so do the pieces it is made of"
)]

mod client;
mod days;
