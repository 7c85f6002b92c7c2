//! Answers that were given lately. Each is of one edition of the database and good for as long as that
//! lasts: whatever is committed, by this program or by a command beside it, ends it. On PostgreSQL,
//! where replicas write too, nothing is kept.

use super::{
    answer::{Encoding, Made, Wishes},
    sieve::Sieve,
};
use axum::response::Response;
use bytes::Bytes;
use groma_domain::{Kind, ListParams, WorkspaceId, reference::Key};
use groma_store::Edition;
use quick_cache::{Weighter, sync::Cache};
use std::sync::Arc;

/// What one takes as a rule.
const USUAL: u64 = 4 << 10;

/// What is asked for, in an encoding.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Asked {
    pub(super) workspace: WorkspaceId,
    pub(super) kind: Kind,
    pub(super) which: Which,
    pub(super) encoding: Encoding,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Which {
    One(Key),
    Page(ListParams),
}

#[derive(Clone)]
struct Answer {
    edition: Edition,
    made: Arc<Made>,
}

#[derive(Clone)]
struct Weight;

impl Weighter<Asked, Answer> for Weight {
    fn weight(&self, _: &Asked, answer: &Answer) -> u64 {
        answer.made.weight() as u64
    }
}

pub(crate) struct Lately {
    answers: Cache<Asked, Answer, Weight>,
    sieve: Sieve,
}

impl Lately {
    /// Up to so many bytes, nearly.
    pub(crate) fn new(bytes: u64) -> Self {
        let usual = usize::try_from(bytes / USUAL).unwrap_or_default();
        Self { answers: Cache::with_weighter(usual, bytes, Weight), sieve: Sieve::new() }
    }

    /// The answer, if it was given in this edition, which is asked for only when there is one.
    pub(super) fn get(
        &self,
        asked: &Asked,
        edition: impl FnOnce() -> Option<Edition>,
    ) -> Option<Arc<Made>> {
        let answer = self.answers.get(asked)?;
        (Some(answer.edition) == edition()).then_some(answer.made)
    }

    /// Answers with this JSON, which was read of an edition, and keeps the answer if it was asked for
    /// before.
    pub(super) fn answer(
        &self,
        asked: Asked,
        edition: Option<Edition>,
        wishes: Wishes,
        body: impl Into<Bytes>,
    ) -> Response {
        let Some(edition) = edition.filter(|_| self.sieve.was_asked(&asked)) else {
            return wishes.json(body);
        };
        // Editions outlast the moments in which they are known without asking.
        let made = self.get(&asked, || Some(edition)).unwrap_or_else(|| {
            let made = Arc::new(Made::json(body.into(), asked.encoding));
            self.answers.insert(asked, Answer { edition, made: made.clone() });
            made
        });
        wishes.made_json(&made)
    }
}
