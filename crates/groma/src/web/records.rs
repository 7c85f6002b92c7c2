//! The pages of folders, assignments, expenses and budgets.

pub(super) mod archive;
pub(super) mod delete;
pub(super) mod detail;
pub(super) mod form;
mod form_fields;
mod form_values;
pub(super) mod list;
pub(super) mod rows;
pub(super) mod status;
