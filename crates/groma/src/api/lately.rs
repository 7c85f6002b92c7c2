//! Answers that were given lately. Each is of one edition of the database and good for as long as that
//! lasts: whatever is committed, by this program or by a command beside it, ends it. On PostgreSQL,
//! where replicas write too, nothing is kept.

use super::answer::{Encoding, Made, Wishes};
use axum::response::Response;
use bytes::Bytes;
use groma_domain::{Kind, ListParams, WorkspaceId, reference::Key};
use groma_store::Edition;
use quick_cache::{Weighter, sync::Cache};
use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// What one takes as a rule.
const USUAL: u64 = 4 << 10;
/// How many questions are remembered, so that an answer is kept only when it is asked for again: what
/// goes through all records would otherwise push out what is asked for all the time.
const REMEMBERED: usize = 8 << 10;

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
    hasher: RandomState,
    /// Hashes of what was asked, each in its place.
    questions: Box<[AtomicU64]>,
}

impl Lately {
    /// Up to so many bytes, nearly.
    pub(crate) fn new(bytes: u64) -> Self {
        let usual = usize::try_from(bytes / USUAL).unwrap_or_default();
        Self {
            answers: Cache::with_weighter(usual, bytes, Weight),
            hasher: RandomState::new(),
            questions: (0..REMEMBERED).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// The answer, if it was given in this edition.
    pub(super) fn get(&self, asked: &Asked, edition: Option<Edition>) -> Option<Arc<Made>> {
        let answer = self.answers.get(asked)?;
        (Some(answer.edition) == edition).then_some(answer.made)
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
        let Some(edition) = edition.filter(|_| self.was_asked(&asked)) else {
            return wishes.json(body);
        };
        // Editions outlast the moments in which they are known without asking.
        let made = self.get(&asked, Some(edition)).unwrap_or_else(|| {
            let made = Arc::new(Made::json(body.into(), asked.encoding));
            self.answers.insert(asked, Answer { edition, made: made.clone() });
            made
        });
        wishes.made_json(&made)
    }

    /// Whether this was asked lately. From here on it was.
    fn was_asked(&self, asked: &Asked) -> bool {
        let hash = self.hasher.hash_one(asked);
        let place = hash as usize % REMEMBERED;
        self.questions[place].swap(hash, Ordering::Relaxed) == hash
    }
}
