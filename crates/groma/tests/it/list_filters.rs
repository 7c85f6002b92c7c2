//! Filters, orders, cursors and links of lists.

use crate::{on_both_engines, sample_records::many_folders};
use groma_testkit::{API, Engine, Response, TestServer, server::NO_RATE_LIMIT};
use serde_json::{Value, json};

const MAIN_LISTS: [&str; 6] =
    ["/folders", "/assignments", "/expenses", "/budgets", "/statuses", "/members"];

on_both_engines! {
    filters_and_orders_combine
    wrong_value_returns_400_with_the_allowed_values
    unknown_status_person_or_record_returns_400_that_names_it
    links_lead_to_the_pages_around_and_keep_other_parameters
    cursors_walk_through_every_list
    cursor_of_another_list_order_or_workspace_returns_400
    deletes_and_inserts_shift_nothing_behind_a_cursor
    filters_of_other_lists_are_ignored
}

/// A server with a few records of each kind.
fn start(engine: Engine) -> (TestServer, String) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let folder = |n: usize| {
        json!({
            "reference": format!("f{n}"), "name": format!("Lot {}", 9 - n),
            "owner": (["survey.lead@office.test", "field.crew@office.test"][n % 2]), "tags": (["survey"][..n % 2]),
            "dueDate": (n != 3).then(|| format!("2026-01-0{}", 1 + n)), "clientName": (["Chêne", "Orme"][n % 2]),
            "status": (["Quoted", "Drawing", "Delivered"][n % 3]), "externalId": format!("ERP {}", n % 3),
        })
    };
    server.import("folders", &(0..6).map(folder).collect::<Vec<_>>());
    let assignment = |n: usize| {
        json!({
            "reference": format!("a{n}"), "folder": format!("f{}", n % 2), "title": format!("Task {n}"),
            "assignees": ["survey.lead@office.test"], "priority": (["low", "urgent"][n % 2]),
        })
    };
    server.import("assignments", &(0..4).map(assignment).collect::<Vec<_>>());
    server.import(
        "budgets",
        &[json!({ "reference": "b", "folder": "f0", "name": "Travel", "amount": 100 })],
    );
    let expense = |n: usize| {
        json!({
            "reference": format!("e{n}"), "folder": "f0", "assignment": n.is_multiple_of(2).then_some("a0"),
            "budget": (n > 1).then_some("b"), "unitAmount": ([9, 10, -1, 100][n]), "billable": n == 1,
            "incurredOn": format!("2026-02-0{}", 4 - n), "category": "Travel", "submittedBy": "field.crew@office.test",
        })
    };
    server.import("expenses", &(0..4).map(expense).collect::<Vec<_>>());
    server.run(&["archive", "folder", "f5"]).expect_success();
    let token = server.create_full_token();
    (server, token)
}

fn filters_and_orders_combine(engine: Engine) {
    let (server, token) = start(engine);
    let created = server.get("/folders/f2", &token).ok()["createdAt"].clone();
    let created = created.as_str().unwrap();
    let archived = server.get("/folders/f5", &token).ok()["updatedAt"].clone();
    let archived = archived.as_str().unwrap();
    let crew = server.get("/folders/f1", &token).ok()["owner"]["id"].clone();
    let drawing = server.get("/folders/f1", &token).ok()["statusId"].clone();
    let (crew, drawing) = (crew.as_str().unwrap(), drawing.as_str().unwrap());
    for (query, expected) in [
        ("folders?sort=name".to_owned(), "f5 f4 f3 f2 f1 f0"),
        ("folders?sort=-name&limit=2&page=2".to_owned(), "f2 f3"),
        ("folders?sort=dueDate".to_owned(), "f0 f1 f2 f4 f5 f3"),
        ("folders?sort=-dueDate".to_owned(), "f5 f4 f2 f1 f0 f3"),
        ("folders?sort=-createdAt".to_owned(), "f5 f4 f3 f2 f1 f0"),
        ("folders?sort=-updatedAt&limit=1".to_owned(), "f5"),
        ("folders?sort=-reference".to_owned(), "f5 f4 f3 f2 f1 f0"),
        (format!("folders?createdSince={created}"), "f0 f1 f2 f3 f4 f5"),
        (format!("folders?updatedSince={archived}"), "f5"),
        ("folders?createdSince=2999-01-01T00:00:00%2B01:00".to_owned(), ""),
        ("folders?reference=f3".to_owned(), "f3"),
        ("folders?reference=F3".to_owned(), ""),
        ("folders?externalId=ERP+1".to_owned(), "f1 f4"),
        ("folders?status=drawing".to_owned(), "f1 f4"),
        (format!("folders?status={drawing},Delivered&sort=name"), "f5 f4 f2 f1"),
        ("folders?owner=Field.Crew@office.test".to_owned(), "f1 f3 f5"),
        (format!("folders?owner={crew}&archived=false"), "f1 f3"),
        ("folders?archived=true".to_owned(), "f5"),
        ("folders?tag=SURVEY&clientName=orme&term=lot+8".to_owned(), "f1"),
        ("folders?dueBefore=2026-01-03".to_owned(), "f0 f1"),
        ("folders?dueAfter=2026-01-03".to_owned(), "f4 f5"),
        ("folders?bbox=1,2,3,4".to_owned(), ""),
        ("assignments?folder=f1&assignee=survey.lead@office.test".to_owned(), "a1 a3"),
        ("assignments?priority=urgent&sort=-title".to_owned(), "a3 a1"),
        ("expenses?sort=amount".to_owned(), "e2 e0 e1 e3"),
        ("expenses?sort=-incurredOn".to_owned(), "e0 e1 e2 e3"),
        ("expenses?assignment=a0&budget=b".to_owned(), "e2"),
        ("expenses?billable=true&category=TRAVEL".to_owned(), "e1"),
        ("expenses?incurredSince=2026-02-02&incurredUntil=2026-02-03".to_owned(), "e1 e2"),
        (
            "expenses?submittedBy=field.crew@office.test&billable=false&folder=f0".to_owned(),
            "e0 e2 e3",
        ),
        ("budgets?folder=f0&sort=name".to_owned(), "b"),
        ("budgets?category=x".to_owned(), ""),
    ] {
        let response = server.get(&format!("/{query}"), &token);
        let references = response.column("reference");
        assert_eq!(references.join(" "), expected, "{query}: {}", response.text());
    }
    // The extent of a folder.
    let point = json!({ "type": "Point", "coordinates": [2.5, 47.5] });
    let path = format!("{API}/geometries/geojson?folder=f2");
    let request = server.geo().request("POST", &path).token(&token);
    request.header("Content-Type", "application/geo+json").body(point.to_string()).send().ok();
    for (bbox, expected) in [
        ("2,47,3,48", "f2"),
        ("2.5,47.5,2.5,47.5", "f2"),
        ("2.51,47,3,48", ""),
        ("3,47,2.6,48", "f2"),
        ("3,47,2,48", ""),
    ] {
        let found = server.get(&format!("/folders?bbox={bbox}"), &token).column("reference");
        // A box from 3 eastwards to 2.6 contains everything but what is between.
        assert_eq!(found.join(" "), expected, "{bbox}");
    }
}

fn wrong_value_returns_400_with_the_allowed_values(engine: Engine) {
    let (server, token) = start(engine);
    let time = "must be a time such as 2026-01-31T12:00:00Z";
    let date = "must be a date such as 2026-01-31";
    let sides = "must be four numbers in degrees: west, south, east, north";
    let text = "must be a text of 1 to 200 characters";
    let long = "%C3%A9".repeat(201);
    for (list, name, wrong, allowed) in [
        ("folders", "updatedSince", &["yesterday", "2026-01-31", "1769860800", ""][..], time),
        ("folders", "createdSince", &["2026-13-01T00:00:00Z", "2026-01-31T12:00:00"], time),
        ("folders", "externalId", &["", "%00", "%FF", &long], text),
        ("folders", "tag", &["", "a%0A", &long], text),
        ("folders", "clientName", &["", "%1F"], text),
        ("folders", "reference", &["", "%00", &long], "must be a reference of 1 to 64 characters"),
        ("folders", "archived", &["", "yes", "1", "TRUE", "both"], "must be true or false"),
        ("folders", "dueBefore", &["", "tomorrow", "2026-02-30", "20260131", "2026-1-31"], date),
        ("folders", "dueAfter", &["9999-12-31", "2026-01-31T12:00:00Z"], date),
        (
            "folders",
            "bbox",
            &["", "1,2,3", "a,b,c,d", "1,5,3,4", "181,0,182,1", "1,2,3,NaN"],
            sides,
        ),
        ("assignments", "priority", &["", "High", "5"], "must be one of low, normal, high, urgent"),
        ("expenses", "billable", &["", "no"], "must be true or false"),
        ("expenses", "category", &["", &long], text),
        ("expenses", "incurredSince", &["", "x"], date),
        ("expenses", "incurredUntil", &["2026-00-01"], date),
        (
            "folders",
            "sort",
            &["", "-", "Name", "title", "name,dueDate", "--name", "amount", "+name"],
            "must be one of createdAt, updatedAt, reference, name, dueDate; a leading - reverses the order",
        ),
        (
            "expenses",
            "sort",
            &["name", "dueDate"],
            "must be one of createdAt, updatedAt, reference, incurredOn, amount; a leading - reverses the order",
        ),
    ] {
        for wrong in wrong {
            let path = format!("/{list}?{name}={wrong}");
            server.get(&path, &token).assert_error(400, &format!("{name} {allowed}"));
        }
        let twice = server.get(&format!("/{list}?{name}=a&{name}=b"), &token).error(400);
        assert_eq!(twice, format!("{name} {allowed} and must be given only once"));
    }
    for list in MAIN_LISTS {
        let message = server.get(&format!("{list}?cursor=&page=1"), &token).error(400);
        assert_eq!(message, "cursor cannot be combined with page; leave out one of them");
        let message = server.get(&format!("{list}?cursor=&cursor="), &token).error(400);
        assert!(
            message.starts_with("cursor must be empty or come from the Link header"),
            "{message}"
        );
    }
}

fn unknown_status_person_or_record_returns_400_that_names_it(engine: Engine) {
    let (server, token) = start(engine);
    let id = "0190b3c4-2222-7000-8000-000000000003";
    for (query, message) in [
        (
            "folders?status=Quoted,Lost".to_owned(),
            "status `Lost` is unknown; must be ids or names of folder statuses, separated by commas",
        ),
        // A status of assignments.
        (
            "folders?status=To+do".to_owned(),
            "status `To do` is unknown; must be ids or names of folder statuses, separated by commas",
        ),
        (
            format!("expenses?status={id}"),
            "status `0190b3c4-2222-7000-8000-000000000003` is unknown; must be ids or names of expense statuses, separated by commas",
        ),
        (
            "folders?owner=nobody@office.test".to_owned(),
            "owner must be the id or email address of a person in this workspace",
        ),
        (
            format!("assignments?assignee={id}"),
            "assignee must be the id or email address of a person in this workspace",
        ),
        (
            "expenses?submittedBy=bert".to_owned(),
            "submittedBy must be the id or email address of a person in this workspace",
        ),
        ("assignments?folder=nowhere".to_owned(), "folder does not exist in this workspace"),
        (format!("expenses?assignment={id}"), "assignment does not exist in this workspace"),
        ("expenses?budget=a0".to_owned(), "budget does not exist in this workspace"),
    ] {
        server.get(&format!("/{query}"), &token).assert_error(400, message);
    }
}

/// The targets of a response's links, by relation.
fn links(response: &Response) -> Vec<(String, String)> {
    let header = response.header("link").expect("links");
    let link = |link: &str| {
        let (target, relation) = link.split_once("; rel=").unwrap();
        (relation.trim_matches('"').to_owned(), target.trim_matches(['<', '>']).to_owned())
    };
    header.split(", ").map(link).collect()
}

fn link(response: &Response, relation: &str) -> Option<String> {
    links(response).into_iter().find(|(name, _)| name == relation).map(|(_, target)| target)
}

/// Follows a link.
fn follow(server: &TestServer, url: &str, token: &str) -> Response {
    let path = url.split_once("/api/public/v1").unwrap_or_else(|| panic!("{url}")).1;
    server.get(path, token)
}

fn links_lead_to_the_pages_around_and_keep_other_parameters(engine: Engine) {
    let public = ("GROMA_SERVER__PUBLIC_URL", "https://groma.test");
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT, public]);
    server.import("folders", &many_folders(25));
    let token = server.create_full_token();
    let at = |query: &str| format!("https://groma.test{API}/folders?{query}");
    for (query, expected) in [
        (
            "?limit=10",
            vec![
                ("first", "limit=10&page=1"),
                ("next", "limit=10&page=2"),
                ("last", "limit=10&page=3"),
            ],
        ),
        (
            "?page=2&x=%26+é&limit=10",
            vec![
                ("first", "x=%26+%C3%A9&limit=10&page=1"),
                ("prev", "x=%26+%C3%A9&limit=10&page=1"),
                ("next", "x=%26+%C3%A9&limit=10&page=3"),
                ("last", "x=%26+%C3%A9&limit=10&page=3"),
            ],
        ),
        ("?page=9", vec![("first", "page=1"), ("prev", "page=1"), ("last", "page=1")]),
        ("?term=nowhere", vec![("first", "term=nowhere&page=1"), ("last", "term=nowhere&page=1")]),
        ("", vec![("first", "page=1"), ("last", "page=1")]),
    ] {
        let query = query.replace('é', "%C3%A9");
        let expected: Vec<_> =
            expected.into_iter().map(|(relation, to)| (relation.to_owned(), at(to))).collect();
        let response = server.get(&format!("/folders{query}"), &token);
        assert_eq!(links(&response), expected, "{query}");
        let exposed = response.header("access-control-expose-headers").unwrap();
        assert!(exposed.split(", ").any(|name| name == "Link"), "{exposed}");
    }
    for list in MAIN_LISTS {
        let response = server.get(&format!("{list}?limit=100"), &token);
        assert_eq!(links(&response).len(), 2, "{list}");
    }
    let layers = server.geo().request("GET", &format!("{API}/layers")).token(&token).send();
    let first = link(&layers, "first").unwrap();
    assert!(first.ends_with("/api/public/v1/layers?page=1") && !first.contains("groma.test"));
    let request = server.main().request("GET", &format!("{API}/folders?cursor=&limit=10"));
    let response = request.token(&token).send();
    let relations: Vec<_> = links(&response).into_iter().map(|(relation, _)| relation).collect();
    assert_eq!(relations, ["first", "next", "last"]);
    assert_eq!(link(&response, "first"), Some(at("limit=10&cursor=")));
    let paging = ["total", "page", "size", "pages"].map(|name| response.json()[name].as_u64());
    assert_eq!(paging, [25, 0, 10, 3].map(Some));
}

fn cursors_walk_through_every_list(engine: Engine) {
    let (server, token) = start(engine);
    for query in [
        "/folders?limit=2",
        "/folders?sort=-dueDate&limit=1",
        "/folders?sort=name&limit=4&archived=false",
        "/folders?term=lot&limit=5",
        "/assignments?folder=f0&limit=1",
        "/expenses?sort=-amount&limit=3",
        "/budgets?limit=1",
        "/statuses?limit=7",
        "/statuses?limit=1&term=approved",
        "/members?limit=1",
    ] {
        let all: Vec<Value> =
            server.get(&query.replace("limit=", "limit=100&x="), &token).content();
        let (mut walked, mut response) =
            (Vec::new(), server.get(&format!("{query}&cursor="), &token));
        loop {
            assert_eq!(response.ok()["page"], 0);
            assert_eq!(response.ok()["total"], all.len());
            walked.extend(response.content());
            let Some(next) = link(&response, "next") else { break };
            response = follow(&server, &next, &token);
        }
        assert_eq!(walked, all, "{query}");
        let mut response = follow(&server, &link(&response, "last").unwrap(), &token);
        let mut walked = response.content();
        while let Some(previous) = link(&response, "prev") {
            response = follow(&server, &previous, &token);
            walked.splice(0..0, response.content());
        }
        assert_eq!(walked, all, "{query}");
    }
}

fn cursor_of_another_list_order_or_workspace_returns_400(engine: Engine) {
    let (server, token) = start(engine);
    server.create_workspace("North office");
    let elsewhere = server.create_token_in("North office", &["READ_FOLDER"]);
    let response = server.get("/folders?cursor=&limit=1", &token);
    let next = link(&response, "next").unwrap();
    let cursor = next.rsplit_once("cursor=").unwrap().1;
    let message = "cursor is not from this list in this workspace and order; to start over, send an empty cursor";
    for (path, token) in [
        (format!("/assignments?cursor={cursor}"), &token),
        (format!("/statuses?cursor={cursor}"), &token),
        (format!("/members?cursor={cursor}"), &token),
        (format!("/folders?cursor={cursor}&sort=-createdAt"), &token),
        (format!("/folders?cursor={cursor}&sort=name"), &token),
        (format!("/folders?cursor={cursor}"), &elsewhere),
        (format!("/folders?cursor={}", &cursor[1..]), &token),
        ("/folders?cursor=1".to_owned(), &token),
        ("/folders?cursor=%FF%00".to_owned(), &token),
    ] {
        server.get(&path, token).assert_error(400, message);
    }
    // Filters and the limit may change.
    let response =
        server.get(&format!("/folders?cursor={cursor}&archived=false&limit=100"), &token);
    assert_eq!(response.column("reference"), ["f1", "f2", "f3", "f4"]);
    assert_eq!(
        server.get(&format!("/folders?cursor={cursor}&sort=createdAt"), &token).ok()["total"],
        6
    );
}

fn deletes_and_inserts_shift_nothing_behind_a_cursor(engine: Engine) {
    let (server, token) = start(engine);
    for sort in ["createdAt", "-name"] {
        let first = server.get(&format!("/folders?cursor=&limit=2&sort={sort}"), &token);
        let next = link(&first, "next").unwrap();
        let second = follow(&server, &next, &token).column("reference");
        for reference in first.column("reference") {
            server.run(&["delete", "folder", &reference]).expect_success();
        }
        server.import("folders", &[json!({ "name": "Lot 99" })]);
        let total = server.get("/folders", &token).ok()["total"].clone();
        let again = follow(&server, &next, &token);
        assert_eq!(again.column("reference"), second, "{sort}");
        assert_eq!(again.ok()["total"], total);
    }
}

fn filters_of_other_lists_are_ignored(engine: Engine) {
    let (server, token) = start(engine);
    for (list, query) in [
        (
            "folders",
            "billable=maybe&priority=x&folder=nowhere&incurredSince=x&category=&assignee=x",
        ),
        ("budgets", "archived=x&bbox=1&tag=&dueBefore=x&owner=x"),
        ("statuses", "sort=x&status=x&updatedSince=x"),
        ("members", "sort=x&owner=x"),
    ] {
        let plain = server.get(&format!("/{list}"), &token).body;
        assert_eq!(server.get(&format!("/{list}?{query}"), &token).body, plain, "{list}");
    }
}
