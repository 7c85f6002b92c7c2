//! Letting a request in: whose token it is, and where it stands in its rate window.

use groma_domain::{
    PersonId, Role, Timestamp, TokenId, WorkspaceId,
    rate_limit::{RateLimitStatus, SlidingWindow, WINDOW_MICROS},
    scope::Scopes,
    token::PresentedToken,
};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

/// Who a token speaks for.
#[derive(Clone, Debug)]
pub struct Bearer {
    /// The token.
    pub token: TokenId,
    /// The workspace it opens.
    pub workspace: WorkspaceId,
    /// Its owner.
    pub person: PersonId,
    /// Its owner's role now.
    pub role: Role,
    /// What it may.
    pub scopes: Scopes,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
}

/// The answer to a token.
#[derive(Debug)]
pub enum Admission {
    /// Nobody's, revoked, or of someone who is no member any more.
    Unknown,
    /// It was good until it expired.
    Expired,
    /// Known. `rate` is `None` when no limit is set; otherwise it says whether this request passes.
    Known {
        /// Who.
        bearer: Arc<Bearer>,
        /// Where the token stands in its window.
        rate: Option<RateLimitStatus>,
    },
}

/// Rate windows of a program that serves alone.
pub(crate) struct RateWindows {
    start: Instant,
    windows: Mutex<FxHashMap<TokenId, SlidingWindow>>,
}

impl RateWindows {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), windows: Mutex::default() }
    }

    pub(crate) fn admit(&self, token: TokenId, limit: u32) -> Option<RateLimitStatus> {
        if limit == 0 {
            return None;
        }
        let mut windows = self.windows.lock();
        // Read under the lock, so that moments enter a window in their order.
        let now = self.now();
        Some(windows.entry(token).or_default().try_acquire(now, limit))
    }

    /// The windows in a form that outlives the program: tokens with the moments that count, by the
    /// clock on the wall.
    pub(crate) fn written(&self) -> Vec<(TokenId, Vec<u8>)> {
        let mut windows = self.windows.lock();
        let (now, wall) = (self.now(), wall_micros());
        let moments = |window: &mut SlidingWindow| {
            let moments = window.accepted(now).map(|moment| wall.saturating_sub(now - moment));
            moments.flat_map(u64::to_le_bytes).collect::<Vec<u8>>()
        };
        let written = windows.iter_mut().map(|(token, window)| (*token, moments(window)));
        written.filter(|(_, moments)| !moments.is_empty()).collect()
    }

    /// Takes up the windows that another program has written.
    pub(crate) fn take_up(&self, written: Vec<(TokenId, Vec<u8>)>) {
        let mut windows = self.windows.lock();
        let (now, wall) = (self.now(), wall_micros());
        for (token, moments) in written {
            let ages = moments
                .as_chunks()
                .0
                .iter()
                .map(|moment| wall.saturating_sub(u64::from_le_bytes(*moment)));
            let recent = ages.filter(|age| *age < WINDOW_MICROS);
            windows.insert(token, SlidingWindow::of(recent.map(|age| now - age)));
        }
    }

    /// Forgets windows in which nothing counts any more.
    pub(crate) fn prune(&self) {
        let mut windows = self.windows.lock();
        let now = self.now();
        windows.retain(|_, window| !window.is_idle(now));
    }

    /// The moment by a clock that does not go back. It begins with the length of a window, so that
    /// it can also name what was accepted before the program began.
    fn now(&self) -> u64 {
        WINDOW_MICROS + u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX / 2)
    }
}

/// Microseconds since 1970.
fn wall_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Known tokens, so that a request need not ask the database. Cleared when anything changes there.
///
/// They are known again by their look, and not by what is stored of them, which would cost every request
/// a SHA-256. Nor are they kept themselves.
#[derive(Default)]
pub(crate) struct TokenCache {
    keys: [RandomState; 2],
    bearers: parking_lot::RwLock<(u64, FxHashMap<Look, Arc<Bearer>>)>,
}

/// A token under two keys (SipHash) that are drawn when the program starts and that nobody is told, so
/// that nobody can make another token look like a known one but by guessing both of its halves.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Look([u64; 2]);

impl TokenCache {
    pub(crate) fn get(&self, token: PresentedToken<'_>) -> Option<Arc<Bearer>> {
        let look = self.look(token);
        self.bearers.read().1.get(&look).cloned()
    }

    fn look(&self, token: PresentedToken<'_>) -> Look {
        Look(self.keys.each_ref().map(|key| key.hash_one(token.as_bytes())))
    }

    /// A mark to be taken before a token is read: if the cache is cleared in between, what was read
    /// may be old and is not kept.
    pub(crate) fn mark(&self) -> u64 {
        self.bearers.read().0
    }

    pub(crate) fn put(&self, mark: u64, token: PresentedToken<'_>, bearer: Arc<Bearer>) {
        let look = self.look(token);
        let mut bearers = self.bearers.write();
        if bearers.0 == mark {
            bearers.1.insert(look, bearer);
        }
    }

    pub(crate) fn clear(&self) {
        let mut bearers = self.bearers.write();
        bearers.0 += 1;
        bearers.1.clear();
    }
}

/// When tokens were last used, written down now and then instead of with every request.
#[derive(Default)]
pub(crate) struct LastUses {
    uses: Mutex<FxHashMap<TokenId, Timestamp>>,
}

impl LastUses {
    pub(crate) fn note(&self, token: TokenId, now: Timestamp) {
        self.uses.lock().insert(token, now);
    }

    pub(crate) fn take(&self) -> Vec<(TokenId, Timestamp)> {
        std::mem::take(&mut *self.uses.lock()).into_iter().collect()
    }
}
