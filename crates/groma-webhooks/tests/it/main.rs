//! Tests of the guarded client and of the delivery loop that need a custom resolver, custom
//! certificates or a clock that the test moves.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod client;
mod delivery_loop;
