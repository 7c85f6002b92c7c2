//! The rate: exactly so many accepted requests in any 60 seconds, told in every answer.

use crate::{
    client::{API, Answer, Client},
    database::Engine,
    office::{NO_LIMIT, Office},
    on_both_engines,
    sample::{self, FOLDER},
};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const PER_MINUTE: &str = "GROMA_LIMITS__REQUESTS_PER_MINUTE";

fn number(answer: &Answer, name: &str) -> u64 {
    let text = answer.header(name).unwrap_or_else(|| panic!("{name} is missing"));
    text.parse().unwrap_or_else(|_| panic!("{name}: {text}"))
}

fn remaining(answer: &Answer) -> u64 {
    number(answer, "x-ratelimit-remaining")
}

/// Checks that the headers are all there and say the same.
fn check_headers(answer: &Answer, limit: u64) {
    assert_eq!(number(answer, "x-ratelimit-limit"), limit);
    assert_eq!(
        answer.header("ratelimit-policy"),
        Some(format!("\"default\";q={limit};w=60").as_str())
    );
    let left = remaining(answer);
    assert!(left < limit, "this one counts");
    let standing = answer.header("ratelimit").unwrap();
    let seconds = standing
        .strip_prefix(&format!("\"default\";r={left};t="))
        .unwrap_or_else(|| panic!("{standing}"));
    let seconds: u64 = seconds.parse().unwrap();
    assert!(seconds <= 60, "{seconds}");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let reset = number(answer, "x-ratelimit-reset");
    assert!((now..=now + 61).contains(&reset), "{reset} seen at {now}");
    assert!(reset.abs_diff(now + seconds) <= 2, "{reset} is not {now} + {seconds}");
}

/// Sends so many requests at once, spread over the clients.
fn storm(clients: &[&Client], token: &str, count: usize) -> Vec<Answer> {
    let path = format!("{API}/folders");
    std::thread::scope(|scope| {
        let senders: Vec<_> = (0..count)
            .map(|index| {
                let (client, path) = (clients[index % clients.len()], &path);
                scope.spawn(move || client.ask("GET", path).token(token).send())
            })
            .collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).collect()
    })
}

/// Checks that exactly `limit` passed and the others were refused in the right form.
fn check_storm(answers: &[Answer], limit: usize) {
    let (passed, refused): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.status == 200);
    assert_eq!(passed.len(), limit);
    let mut left: Vec<_> = passed.iter().map(|answer| remaining(answer)).collect();
    left.sort_unstable();
    let expected: Vec<_> = (0..limit as u64).collect();
    assert_eq!(left, expected, "each sees one less");
    for answer in answers {
        check_headers(answer, limit as u64);
    }
    for answer in passed {
        assert_eq!(answer.header("retry-after"), None);
    }
    for answer in refused {
        answer.is_error(429, &format!("Rate limit exceeded: {limit} requests per minute"));
        assert_eq!(remaining(answer), 0);
        assert!((1..=60).contains(&number(answer, "retry-after")));
    }
}

on_both_engines! {
    fn exactly_100_of_150_concurrent_requests_pass(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        check_storm(&storm(&[office.main()], &token, 150), 100);
    }

    fn the_headers_tell_how_many_are_left(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        for left in (97..100).rev() {
            let answer = office.get("/folders", &token);
            check_headers(&answer, 100);
            assert_eq!(remaining(&answer), left);
            assert_eq!(answer.header("retry-after"), None);
        }
    }

    fn every_answer_to_a_good_token_counts(engine: Engine) {
        let office = Office::start(engine);
        sample::fill(&office);
        let token = office.token(&["READ_FOLDER"]);
        let etag = office.get("/folders", &token).header("etag").unwrap().to_owned();
        let list = format!("{API}/folders");
        let mut left = 99;
        let mut counts = |answer: Answer, status: u16| {
            left -= 1;
            assert_eq!((answer.status, remaining(&answer)), (status, left));
            check_headers(&answer, 100);
        };
        counts(office.main().ask("GET", &list).token(&token).header("If-None-Match", etag).send(), 304);
        counts(office.get("/folders?page=0", &token), 400);
        counts(office.get("/folders/%FF", &token), 400);
        counts(office.get("/expenses", &token), 403);
        counts(office.get("/folders/missing", &token), 404);
        counts(office.get(&format!("/folders/{FOLDER}"), &token), 200);
        counts(office.get("/statuses", &token), 200);
        counts(office.main().ask("HEAD", &list).token(&token).send(), 200);
    }

    fn what_needs_no_token_does_not_count(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        assert_eq!(remaining(&office.get("/folders", &token)), 99);
        for (method, path) in [
            ("GET", "/api/public/v1/openapi.json"), ("GET", "/docs/"), ("GET", "/docs"),
            ("OPTIONS", "/api/public/v1/folders"), ("GET", "/api/public/v1/nowhere"),
            ("DELETE", "/api/public/v1/folders"),
        ] {
            let answer = office.main().ask(method, path).token(&token).send();
            assert_eq!(answer.header("x-ratelimit-limit"), None, "{method} {path}");
            let geo = office.geo().ask(method, path).token(&token).send();
            assert_eq!(geo.header("x-ratelimit-limit"), None, "{method} {path}");
        }
        office.get("/folders", "malformed").error(401);
        office.get("/folders", &format!("svc_{}", "0".repeat(48))).error(401);
        assert_eq!(remaining(&office.get("/folders", &token)), 98);
    }

    fn a_refused_request_does_not_count(engine: Engine) {
        let office = Office::start_with(engine, &[(PER_MINUTE, "3")]);
        let token = office.token(&["READ_FOLDER"]);
        let first = number(&office.get("/folders", &token), "x-ratelimit-reset");
        office.get("/folders", &token).ok();
        office.get("/folders", &token).ok();
        for _ in 0..20 {
            let refused = office.get("/folders", &token);
            refused.error(429);
            let reset = number(&refused, "x-ratelimit-reset");
            assert!(reset.abs_diff(first) <= 1, "{reset} has moved from {first}");
        }
    }

    fn a_restart_forgets_nothing(engine: Engine) {
        let mut office = Office::start_with(engine, &[(PER_MINUTE, "3")]);
        let (one, two) = (office.token(&["READ_FOLDER"]), office.token(&["READ_FOLDER"]));
        let first = number(&office.get("/folders", &one), "x-ratelimit-reset");
        office.get("/folders", &one).ok();
        for _ in 0..2 {
            assert_eq!(office.close(), Some(0));
            office.open();
        }
        let third = office.get("/folders", &one);
        assert_eq!(remaining(&third), 0);
        assert!(number(&third, "x-ratelimit-reset").abs_diff(first) <= 1);
        office.get("/folders", &one).error(429);
        assert_eq!(remaining(&office.get("/folders", &two)), 2);
    }

    fn each_token_has_a_window_of_its_own(engine: Engine) {
        let office = Office::start_with(engine, &[(PER_MINUTE, "2")]);
        let (one, two) = (office.token(&["READ_FOLDER"]), office.token(&["READ_FOLDER"]));
        office.get("/folders", &one).ok();
        office.get("/folders", &one).ok();
        office.get("/folders", &one).error(429);
        assert_eq!(remaining(&office.get("/folders", &two)), 1);
        office.get("/folders", &two).ok();
        office.get("/folders", &two).error(429);
    }

    fn zero_turns_it_off_and_its_headers_vanish(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        let token = office.token(&["READ_FOLDER"]);
        for answer in storm(&[office.main()], &token, 120) {
            answer.ok();
            for name in ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "ratelimit", "ratelimit-policy", "retry-after"] {
                assert_eq!(answer.header(name), None, "{name}");
            }
        }
    }
}

#[test]
fn two_programs_on_one_postgresql_share_the_window() {
    let office = Office::start(Engine::Postgres);
    let second = office.another_program();
    let token = office.token(&["READ_FOLDER"]);
    check_storm(&storm(&[office.main(), &second.main], &token, 150), 100);
}

/// Takes a minute: the length of the window is no setting. Both engines wait side by side.
#[test]
fn one_passes_when_retry_after_says() {
    let waiting = [Engine::Sqlite, Engine::Postgres]
        .map(|engine| std::thread::spawn(move || wait_for_one_more(engine)));
    waiting.into_iter().for_each(|thread| thread.join().unwrap());
}

fn wait_for_one_more(engine: Engine) {
    let office = Office::start_with(engine, &[(PER_MINUTE, "3")]);
    let token = office.token(&["READ_FOLDER"]);
    let begin = Instant::now();
    for _ in 0..3 {
        office.get("/folders", &token).ok();
    }
    let refused = office.get("/folders", &token);
    refused.error(429);
    let wait = Duration::from_secs(number(&refused, "retry-after"));
    let due = Instant::now() + wait;
    assert!(wait <= Duration::from_secs(60));
    // Not before: the window is exact, so a second less is too early.
    std::thread::park_timeout(wait.saturating_sub(Duration::from_millis(1500)));
    if begin.elapsed() < Duration::from_millis(59_900) {
        office.get("/folders", &token).error(429);
    }
    while let Some(left) = due.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    {
        std::thread::park_timeout(left);
    }
    let answer = office.get("/folders", &token);
    answer.ok();
    check_headers(&answer, 3);
}
