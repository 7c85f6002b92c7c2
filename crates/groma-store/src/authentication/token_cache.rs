//! Tokens that were used, so that a request does not query the database. Cleared at every commit.

use super::AuthenticatedToken;
use groma_domain::token::TokenHash;
use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use std::sync::Arc;

#[derive(Default)]
pub(super) struct TokenCache(RwLock<CachedTokens>);

#[derive(Default)]
struct CachedTokens {
    /// Counts how many times the cache was cleared.
    generation: u64,
    tokens: FxHashMap<[u8; 32], Arc<AuthenticatedToken>>,
}

impl TokenCache {
    pub(super) fn get(&self, hash: &TokenHash) -> Option<Arc<AuthenticatedToken>> {
        self.0.read().tokens.get(&hash.0).cloned()
    }

    /// The generation, to be read before a token is read from the database: if the cache is cleared in
    /// between, the token may be outdated and is not cached.
    pub(super) fn generation(&self) -> u64 {
        self.0.read().generation
    }

    pub(super) fn put(&self, generation: u64, hash: TokenHash, token: Arc<AuthenticatedToken>) {
        let mut cached = self.0.write();
        if cached.generation == generation {
            cached.tokens.insert(hash.0, token);
        }
    }

    pub(super) fn clear(&self) {
        let mut cached = self.0.write();
        cached.generation += 1;
        cached.tokens.clear();
    }
}
