//! The system clock, read only at the edges of the program: the domain and the store take the time as
//! an argument.

use groma_domain::Timestamp;

/// The current time.
pub(crate) fn now() -> Timestamp {
    jiff::Timestamp::now().into()
}
