//! Webhook deliveries.
//!
//! - [`signature`]: signs a delivery.
//! - [`address`]: decides which addresses a delivery may reach.
//! - [`endpoint_policy`]: decides which URLs endpoints can have.
//! - [`client`]: the guarded HTTP client.
//! - [`schedule`]: when to retry.
//! - [`delivery`]: the loop that leases, sends and records deliveries.
//!
//! The store holds all state. A crash loses nothing that this crate keeps in memory.

pub mod address;
pub mod client;
pub mod delivery;
pub mod endpoint_policy;
pub mod schedule;
pub mod signature;

pub use address::AddressPolicy;
pub use client::{Client, Resolver, SendError};
pub use delivery::{DeliveryLoop, DeliverySender, Heartbeat};
pub use endpoint_policy::EndpointPolicy;
