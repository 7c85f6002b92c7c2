//! The pages of folders, assignments, expenses and budgets.

pub(super) mod archive;
mod columns;
pub(super) mod delete;
pub(super) mod detail;
mod edit_path;
pub(super) mod form;
mod form_fields;
mod form_values;
pub(super) mod list;
mod quick_add;
pub(super) mod rows;
pub(super) mod status;
