//! The web application as a browser without script meets it: cookies, pages, forms.

mod browser;
mod coming_in;
mod records;
mod settings;
mod shapes;
mod throttle;
mod webhooks;

pub(crate) use browser::Browser;
use groma_testkit::server::PASSWORD;

/// The password that the tests' owner has, as it is typed.
pub(crate) fn password() -> &'static str {
    PASSWORD.trim_end()
}
