//! The web application in a browser without scripts: cookies, pages, forms.

mod accounts;
mod base_maps;
mod browser;
mod exports;
mod feature_table;
mod imports;
mod login;
mod login_throttling;
mod mail;
mod records;
mod settings;
mod shapes;
mod webhooks;

pub(crate) use browser::Browser;
use groma_testkit::server::PASSWORD;

/// The password of the owner.
pub(crate) fn password() -> &'static str {
    PASSWORD.trim_end()
}
