//! Generates inputs from a corpus and adds failures to it.

use proptest::{
    prelude::*,
    sample::Index,
    test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner},
};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Checks every file of a target's corpus, and then inputs that the strategy generates from it.
pub(super) fn fuzz<S>(
    target: &str,
    cases: u32,
    strategy: impl FnOnce(&[Vec<u8>]) -> S,
    check: impl Fn(&[u8]),
) where
    S: Strategy<Value = Vec<u8>>,
{
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz").join(target);
    let mut corpus = Vec::new();
    for path in files(&folder) {
        println!("{}", path.display());
        let bytes = std::fs::read(path).unwrap();
        check(&bytes);
        corpus.push(bytes);
    }
    assert!(!corpus.is_empty(), "{target} has no corpus");
    let strategy = strategy(&corpus);
    let end = std::env::var("FUZZ_SECONDS").ok().map(|seconds| {
        let seconds = seconds.parse().expect("FUZZ_SECONDS is a number of seconds");
        Instant::now() + Duration::from_secs(seconds)
    });
    loop {
        let config =
            Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
        let mut runner = match end {
            None => {
                TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
            }
            Some(_) => TestRunner::new(config),
        };
        let outcome = runner.run(&strategy, |input| {
            check(&input);
            Ok(())
        });
        match outcome {
            Ok(()) if end.is_none_or(|end| Instant::now() >= end) => return,
            Ok(()) => {}
            Err(TestError::Fail(reason, input)) => {
                let path =
                    folder.join(format!("found-{:032x}", twox_hash::XxHash3_128::oneshot(&input)));
                std::fs::write(&path, &input).unwrap();
                let text = String::from_utf8_lossy(&input);
                panic!("{reason}\n{text}\nsaved as {}", path.display());
            }
            Err(TestError::Abort(reason)) => panic!("{reason}"),
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// A mutation of an input.
#[derive(Clone, Debug)]
enum Mutation {
    Set(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Repeat(Index, usize, usize),
    End(Index),
    /// Continues with the rest of another input from that position.
    Splice(Index, Index, Index),
}

/// Inputs of a corpus with some mutations, some of which insert these words.
pub(super) fn changed(
    corpus: &[Vec<u8>],
    words: &[&str],
) -> impl Strategy<Value = Vec<u8>> + use<> {
    let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
    let at = any::<Index>;
    let change = prop_oneof![
        2 => (at(), any::<u8>()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        4 => (at(), prop::sample::select(words)).prop_map(|(at, word)| Mutation::Insert(at, word)),
        2 => (at(), 1_usize..20).prop_map(|(at, length)| Mutation::Remove(at, length)),
        1 => (at(), 1_usize..40, 1_usize..20).prop_map(|(at, length, times)| Mutation::Repeat(at, length, times)),
        1 => at().prop_map(Mutation::End),
        1 => (at(), at(), at()).prop_map(|(other, at, from)| Mutation::Splice(other, at, from)),
    ];
    let corpus = corpus.to_vec();
    (at(), prop::collection::vec(change, 0..8)).prop_map(move |(chosen, changes)| {
        let mut input = chosen.get(&corpus).clone();
        for change in changes {
            input = apply(change, input, &corpus);
        }
        input
    })
}

fn apply(change: Mutation, mut input: Vec<u8>, corpus: &[Vec<u8>]) -> Vec<u8> {
    let place = |at: Index, input: &[u8]| at.index(input.len() + 1);
    match change {
        Mutation::Set(at, byte) => {
            let at = place(at, &input);
            if let Some(old) = input.get_mut(at) {
                *old = byte;
            }
        }
        Mutation::Insert(at, word) => {
            let at = place(at, &input);
            input.splice(at..at, word);
        }
        Mutation::Remove(at, length) => {
            let at = place(at, &input);
            let end = input.len().min(at + length);
            input.drain(at..end);
        }
        Mutation::Repeat(at, length, times) => {
            let at = place(at, &input);
            let end = input.len().min(at + length);
            let part = input[at..end].repeat(times);
            input.splice(at..at, part);
        }
        Mutation::End(at) => input.truncate(place(at, &input)),
        Mutation::Splice(other, at, from) => {
            let other = other.get(corpus);
            input.truncate(place(at, &input));
            input.extend_from_slice(&other[place(from, other)..]);
        }
    }
    input
}
