//! `Idempotency-Key`: a POST that may be sent again without being done again.

use super::{GEOJSON, Map, feature, point};
use crate::{
    client::{API, Answer},
    database::Engine,
    on_both_engines,
};
use serde_json::{Value, json};

fn post(map: &Map, key: &str, query: &str, body: &Value) -> Answer {
    let headers = [("Content-Type", "application/geo+json"), ("Idempotency-Key", key)];
    map.post_as(query, body.to_string(), &headers)
}

/// Checks that this is the first answer, not an earlier one again.
#[track_caller]
fn is_first(answer: &Answer) {
    answer.ok();
    assert_eq!(answer.header("idempotent-replayed"), None);
}

#[track_caller]
fn is_again(answer: &Answer, first: &Answer) {
    answer.ok();
    assert_eq!(answer.header("idempotent-replayed"), Some("true"));
    assert_eq!(answer.text(), first.text());
}

on_both_engines! {
    fn the_first_answer_is_given_again(engine: Engine) {
        let mut map = Map::open(engine);
        let body = feature(Value::Null, point(2.0, 48.0), json!({}));
        let first = post(&map, "one", "", &body);
        is_first(&first);
        for _ in 0..3 {
            is_again(&post(&map, "one", "", &body), &first);
        }
        assert_eq!(map.count(), 1);
        // Another key, and no key, are other requests.
        is_first(&post(&map, "two", "", &body));
        map.post("", &body);
        assert_eq!(map.count(), 3);
        // It is not only in memory.
        map.office.kill();
        map.office.open();
        is_again(&post(&map, "one", "", &body), &first);
        assert_eq!(map.count(), 3);
    }

    fn the_same_key_with_another_body_is_refused(engine: Engine) {
        let map = Map::open(engine);
        let first = post(&map, "one", "", &point(2.0, 48.0));
        is_first(&first);
        let message = post(&map, "one", "", &point(3.0, 48.0)).error(400);
        assert!(message.starts_with("Idempotency-Key "), "{message}");
        // A body is its bytes, however they were packed.
        post(&map, "one", "", &json!({ "coordinates": [2.0, 48.0], "type": "Point" })).error(400);
        is_again(&post(&map, "one", "", &point(2.0, 48.0)), &first);
        let packed = zstd::encode_all(point(2.0, 48.0).to_string().as_bytes(), 1).unwrap();
        let headers = [("Content-Type", "application/geo+json"), ("Idempotency-Key", "one"), ("Content-Encoding", "zstd")];
        is_again(&map.post_as("", packed, &headers), &first);
        assert_eq!(map.count(), 1);
    }

    fn a_key_belongs_to_its_token(engine: Engine) {
        let mut map = Map::open(engine);
        is_first(&post(&map, "one", "", &point(2.0, 48.0)));
        let other = map.office.token(&[]);
        let mine = std::mem::replace(&mut map.token, other);
        is_first(&post(&map, "one", "", &point(3.0, 48.0)));
        map.token = mine;
        let again = post(&map, "one", "", &point(2.0, 48.0));
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(map.count(), 2);
    }

    fn what_was_refused_may_be_put_right_under_its_key(engine: Engine) {
        let map = Map::open(engine);
        map.post("", &point(2.0, 48.0));
        post(&map, "one", "", &json!({})).spots();
        post(&map, "one", "?layer=nowhere", &point(2.0, 48.0)).error(400);
        is_first(&post(&map, "one", "", &point(2.0, 48.0)));
        assert_eq!(map.count(), 2);
    }

    fn a_key_is_a_short_visible_word(engine: Engine) {
        let map = Map::open(engine);
        let longest = "x".repeat(255);
        for key in ["1", "a-b_c.~!", "\"quoted\"", &longest] {
            is_first(&post(&map, key, "", &point(2.0, 48.0)));
        }
        let too_long = "x".repeat(256);
        for key in ["", "a b", &too_long] {
            let message = post(&map, key, "", &point(2.0, 48.0)).error(400);
            assert!(message.starts_with("Idempotency-Key must be 1 to 255 visible characters"), "{message}");
        }
        let twice = [("Content-Type", "application/json"), ("Idempotency-Key", "a"), ("Idempotency-Key", "a")];
        map.post_as("", point(2.0, 48.0).to_string(), &twice).error(400);
        assert_eq!(map.count(), 4);
    }

    fn of_many_with_one_key_one_is_done(engine: Engine) {
        let map = Map::open(engine);
        let body = feature(Value::Null, point(2.0, 48.0), json!({}));
        let answers: Vec<Answer> = std::thread::scope(|scope| {
            let (map, body) = (&map, &body);
            let sent: Vec<_> = (0..16).map(|_| scope.spawn(move || post(map, "one", "", body))).collect();
            sent.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let (first, others): (Vec<_>, Vec<_>) =
            answers.iter().partition(|answer| answer.header("idempotent-replayed").is_none());
        assert_eq!(first.len(), 1);
        others.into_iter().for_each(|answer| is_again(answer, first[0]));
        assert_eq!(map.count(), 1);
    }
}

#[test]
fn another_replica_gives_the_first_answer_again() {
    let map = Map::open(Engine::Postgres);
    let second = map.office.another_program();
    let body = point(2.0, 48.0);
    let first = post(&map, "one", "", &body);
    is_first(&first);
    let path = format!("{API}{GEOJSON}");
    let ask = second.geo.ask("POST", &path).token(&map.token).header("Idempotency-Key", "one");
    let again = ask.header("Content-Type", "application/geo+json").body(body.to_string()).send();
    is_again(&again, &first);
    assert_eq!(map.count(), 1);
}
