//! Programs, databases, receivers and clients that tests, bench and chaos start.
//!
//! This crate knows the program only from outside: its commands, settings, log and HTTP addresses.
//! It depends on no other crate of the workspace, so every crate can use it in tests. Tests use the
//! functions that panic; bench and chaos use those that return a [`Result`].

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and so do its fixtures"
)]

pub mod canvas;
pub mod database;
pub mod http;
pub mod mail_server;
pub mod mvt;
pub mod postgres;
pub mod postgres_cluster;
pub mod program;
pub mod receiver;
pub mod server;
pub mod tls;
pub mod wait;

pub use database::{Database, Engine};
pub use http::{API, Client, Response};
pub use mail_server::MailServer;
pub use program::{CommandOutput, Program};
pub use receiver::Receiver;
pub use server::{ServerProcess, TestServer};
pub use wait::wait_until;

/// Any failure of a tool's fixture.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
/// A result with any failure of a tool's fixture.
pub type Result<T = ()> = std::result::Result<T, Error>;
