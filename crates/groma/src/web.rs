//! The web application.

pub(crate) mod assets;
