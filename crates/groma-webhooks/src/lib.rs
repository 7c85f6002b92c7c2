//! Webhook deliveries: what is signed and how ([`signature`]), where a delivery may go ([`address`]),
//! how it is sent ([`client`]), when it is tried again ([`schedule`]), and the loop that does all that
//! ([`delivery`]).
//!
//! Nothing here knows of handlers or pages, and nothing but the store knows what is to be sent: what
//! this crate holds in memory can be lost at any moment without losing a delivery.

pub mod address;
pub mod client;
pub mod delivery;
pub mod schedule;
pub mod signature;

pub use address::AddressPolicy;
pub use client::{Client, Resolver};
pub use delivery::{Deliveries, Pulse, Sender};
