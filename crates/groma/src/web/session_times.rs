//! When sessions end, and how long a login is recent.

use super::form::encode;
use groma_domain::Timestamp;
use groma_store::Session;

const MINUTE_MILLIS: i64 = 60 * 1_000;
const IDLE_MILLIS: i64 = 14 * 24 * 60 * MINUTE_MILLIS;
const MAX_MILLIS: i64 = 90 * 24 * 60 * MINUTE_MILLIS;
/// How long a login is recent enough to open a page of a sensitive action, and how much longer the form of
/// that page can be sent.
const RECENT_MILLIS: i64 = 10 * MINUTE_MILLIS;
const FORM_MILLIS: i64 = 10 * MINUTE_MILLIS;

/// When a session expires: 14 days after its last use, at the latest 90 days after the login.
pub(super) fn session_end(opened: Timestamp, used: Timestamp) -> Timestamp {
    used.plus_millis(IDLE_MILLIS).min(opened.plus_millis(MAX_MILLIS))
}

/// Whether the user of a session proved recently who they are.
pub(super) fn is_recent_login(session: &Session, now: Timestamp, is_form: bool) -> bool {
    let limit = if is_form { RECENT_MILLIS + FORM_MILLIS } else { RECENT_MILLIS };
    now.as_millis() - session.authenticated_at.as_millis() < limit
}

/// The page that asks who is logged in, and then leads to `next`.
pub(super) fn confirmation_path(next: &str) -> String {
    format!("/login/confirm?next={}", encode(next))
}
