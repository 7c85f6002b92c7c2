//! Pages of records: creating, editing, finding, archiving and deleting them; escaping.

use super::Browser;
use crate::on_both_engines;
use groma_testkit::{
    TestServer,
    server::{OWNER, WORKSPACE},
};
use serde_json::json;

on_both_engines! {
    fn folder_is_created_edited_archived_restored_and_deleted(engine: Engine) {
        let server = TestServer::start(engine);
        let browser = Browser::of_owner(&server);
        browser.page("/folders").shows("No folders yet");
        let wrong = browser.send_form(
            "/folders/new",
            "/folders/new",
            &[("name", " "), ("clientName", "Town council"), ("startDate", "2026-02-01"), ("dueDate", "2026-13-01")],
        );
        assert_eq!(wrong.response.status, 400);
        assert_eq!(wrong.error_of("name"), Some("Must not be empty"));
        assert_eq!(wrong.error_of("dueDate"), Some("Must be a date, for example 2026-11-15"));
        wrong.shows("value=\"Town council\"");
        let fields = [
            ("_whole", "1"), ("name", "Chêne, boundary survey"), ("clientName", "Town council"),
            ("tags", "cadastre, urgent"), ("cf_name", "Sheet"), ("cf_kind", "number"), ("cf_value", "12"),
        ];
        assert_eq!(browser.submit("/folders/new", "/folders/new", &fields), "/folders/F-000001");
        let page = browser.page("/folders/F-000001");
        page.shows("Folder F-000001 created.");
        page.shows("Town council");
        assert_eq!(page.between("<dt>Sheet</dt>", "</dd>").map(str::trim), Some("<dd>12"));
        browser.page("/folders/F-000001").hides("Folder F-000001 created.");
        let edit = browser.page("/folders/F-000001/edit");
        let version = edit.between("name=\"version\" value=\"", "\"").unwrap().to_owned();
        let change = [("version", version.as_str()), ("name", "Chêne, division"), ("owner", ""), ("status", ""), ("tags", "")];
        browser.submit("/folders/F-000001/edit", "/folders/F-000001/edit", &change);
        // A conflicting edit shows both versions and saves nothing.
        let stale = [("version", version.as_str()), ("name", "Chêne, other")];
        let conflict = browser.send_form("/folders/F-000001/edit", "/folders/F-000001/edit", &stale);
        assert_eq!(conflict.response.status, 409);
        conflict.shows("<td class=\"theirs\">Chêne, division</td>");
        conflict.shows("<td class=\"mine\">Chêne, other</td>");
        conflict.shows("value=\"Chêne, other\"");
        let newer = conflict.between("name=\"version\" value=\"", "\"").unwrap();
        let mine = [("version", newer), ("name", "Chêne, other")];
        browser.submit("/folders/F-000001/edit", "/folders/F-000001/edit", &mine);
        browser.page("/folders").shows("Chêne, other");
        // Archive, then undo.
        browser.submit("/folders/F-000001", "/folders/F-000001/archive", &[]);
        let page = browser.page("/folders");
        page.hides("Chêne, other");
        let undo = page.between("<div class=\"toast\">", "</div>").unwrap();
        let action = undo.split("action=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        browser.page("/folders?state=archived").shows("Chêne, other");
        browser.submit("/folders", &action, &[]);
        browser.page("/folders").shows("Chêne, other");
        // Deleting requires the reference and lists what is deleted too.
        browser.submit("/assignments/new", "/assignments/new", &[("title", "Stake out"), ("folder", "F-000001")]);
        let request = browser.page("/folders/F-000001/delete");
        request.shows("1 assignment");
        let version = request.between("name=\"version\" value=\"", "\"").unwrap().to_owned();
        let wrong = [("confirm", "F-1"), ("version", version.as_str())];
        let wrong = browser.send_form("/folders/F-000001/delete", "/folders/F-000001/delete", &wrong);
        assert_eq!(wrong.response.status, 400);
        let right = [("confirm", "F-000001"), ("version", version.as_str())];
        browser.submit("/folders/F-000001/delete", "/folders/F-000001/delete", &right);
        assert_eq!(browser.get("/folders/F-000001").response.status, 404);
        assert_eq!(browser.get("/assignments/A-000001").response.status, 404);
    }

    fn lists_are_searched_filtered_sorted_and_paged(engine: Engine) {
        let server = TestServer::start(engine);
        let folders: Vec<_> = (1..=120).map(|n| json!({
            "reference": format!("N-{n:03}"), "name": format!("{} {n:03}", if n % 2 == 0 { "Chêne" } else { "Ormes" }),
            "dueDate": if n % 3 == 0 { json!(format!("2026-05-{:02}", 1 + n % 28)) } else { json!(null) },
            "owner": if n == 7 { "crew@example.test" } else { "lead@example.test" },
            "archivedAt": if n > 115 { json!("2026-06-01T00:00:00Z") } else { json!(null) },
        })).collect();
        server.import("folders", &folders);
        let browser = Browser::of_owner(&server);
        let page = browser.page("/folders");
        page.shows("1–50 of 115");
        page.shows("N-115");
        page.hides("N-116");
        browser.page("/folders?page=3").shows("101–115 of 115");
        browser.page("/folders?state=archived").shows("1–5 of 5");
        let found = browser.page("/folders?q=CHENE%20004");
        found.shows("1–1 of 1");
        found.shows("N-004");
        browser.page("/folders?q=chene&state=archived").shows("1–3 of 3");
        let first = browser.page("/folders?sort=name").text;
        assert!(first.find("N-002").unwrap() < first.find("N-004").unwrap());
        let due = browser.page("/folders?sort=due").text;
        assert!(due.contains("1 May") && due.find("N-084").unwrap() < due.find("N-003").unwrap());
        let people = browser.page("/folders").text;
        let crew = people.split("<option value=\"").find(|o| o.contains(">Crew<")).unwrap();
        let crew = crew.split('"').next().unwrap();
        let of_crew = browser.page(&format!("/folders?person={crew}"));
        of_crew.shows("1–1 of 1");
        of_crew.shows("N-007");
        let none = browser.page("/folders?q=%3Cscript%3Enothing");
        none.shows("No folders match");
        none.shows("&#60;script&#62;nothing");
        // A script gets only the list.
        let fragment = browser.request("GET", "/folders?q=ormes", &[("HX-Request", "true".to_owned())], None);
        assert!(!fragment.text.contains("<html") && fragment.text.contains("<div class=\"table-scroll\">"));
        fragment.shows("id=\"count\" hx-swap-oob=\"true\">58<");
        browser.page("/search?q=N-007").shows("Exact reference");
        browser.page("/search?q=crew").shows("crew@example.test");
    }

    fn expenses_are_entered_in_sequence_and_totalled_by_currency(engine: Engine) {
        let server = TestServer::start(engine);
        server.import("folders", &[json!({ "name": "Ring road", "currency": "EUR" })]);
        server.import("budgets", &[json!({ "name": "Travel", "folder": "F-000001", "amount": "100" })]);
        let browser = Browser::of_owner(&server);
        let enter = |amount: &str, currency: &str, budget: &str| {
            let fields = [
                ("_whole", "1"), ("folder", "F-000001"), ("incurredOn", "2026-03-02"), ("unitAmount", amount),
                ("currency", currency), ("category", "Travel"), ("budget", budget), ("again", "1"),
            ];
            browser.submit("/expenses/new", "/expenses/new", &fields)
        };
        let on = enter("75.50", "EUR", "B-000001");
        assert_eq!(on, "/expenses/new?folder=F-000001&incurredOn=2026-03-02&category=Travel&budget=B-000001&currency=EUR");
        enter("30", "EUR", "B-000001");
        enter("1200", "JPY", "");
        let page = browser.page(&on);
        page.shows("value=\"2026-03-02\"");
        page.shows("105.50 <small>EUR</small>");
        page.shows("1,200 <small>JPY</small>");
        let list = browser.page("/expenses?folder=F-000001");
        list.shows("1–3 of 3");
        list.shows("105.50 <small>EUR</small>");
        let budget = browser.page("/budgets/B-000001");
        budget.shows("class=\"chart over\"");
        budget.shows("This is over budget.");
        browser.page("/budgets?over=all").shows("106%");
        browser.page("/").shows("Over budget");
    }

    fn typed_text_is_never_markup(engine: Engine) {
        let server = TestServer::start(engine);
        let evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>";
        let browser = Browser::of_owner(&server);
        server.import("folders", &[json!({
            "reference": "<i>x", "name": evil, "description": evil, "clientName": evil, "tags": ["<b>tag"],
            "customFields": { "<u>name": evil }, "externalId": evil,
        })]);
        server.import("assignments", &[json!({ "title": evil, "folder": "<i>x", "description": evil })]);
        server.import("expenses", &[json!({
            "folder": "<i>x", "unitAmount": 1, "incurredOn": "2026-01-01", "description": evil, "vendor": evil, "category": evil,
        })]);
        server.import("budgets", &[json!({ "name": evil, "folder": "<i>x", "amount": 1, "category": evil })]);
        browser.submit("/settings/statuses/new", "/settings/statuses/new", &[("name", evil), ("appliesTo", "folder"), ("group", "todo"), ("color", "#112233")]);
        browser.submit("/settings/layers/new", "/settings/layers/new", &[("name", evil)]);
        browser.send_form("/settings/tokens/new", "/settings/tokens/new", &[("name", evil), ("expires", "30")]);
        browser.submit("/settings/workspace", "/settings/workspace", &[("name", evil), ("currency", "EUR")]);
        let folder = "/folders/%3Ci%3Ex";
        for path in [
            "/", "/folders", folder, "/folders/%3Ci%3Ex/edit", "/folders/%3Ci%3Ex/delete", "/assignments", "/assignments/A-000001",
            "/expenses", "/expenses/E-000001", "/expenses/new?folder=%3Ci%3Ex", "/budgets", "/budgets/B-000001", "/map",
            "/map?folder=%3Ci%3Ex", "/search?q=%3Cscript%3E", "/settings/statuses", "/settings/layers", "/settings/tokens",
            "/settings/workspace", "/settings/workspace/delete", "/settings/activity", "/account", "/settings/members",
            "/folders?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "/folders/new?name=%22%3E%3Cscript%3E",
        ] {
            let page = browser.page(path);
            for markup in ["<script>alert", "<img", "<i>x", "<b>tag", "<u>name", "onerror=alert(2)>"] {
                assert!(!page.text.contains(markup), "{markup} in {path}: {}", page.text);
            }
        }
    }

    fn records_of_another_workspace_are_not_found(engine: Engine) {
        let server = TestServer::start(engine);
        server.create_workspace("Branch");
        server.import_into("Branch", "folders", &[json!({ "name": "Secret" })]);
        server.run_with_input("levels and rods 24\n", &["user", "add", "crew@example.test", "--workspace", WORKSPACE, "--role", "owner"]).expect_success();
        let crew = Browser::logged_in(&server, "crew@example.test", "levels and rods 24");
        for path in ["/folders/F-000001", "/folders/F-000001/edit", "/folders/F-000001/geometries.geojson"] {
            assert_eq!(crew.get(path).response.status, 404, "{path}");
        }
        crew.page("/folders").hides("Secret");
        crew.page("/search?q=secret").shows("No results for");
    }

    fn open_assignments_exclude_cancelled_ones(engine: Engine) {
        let server = TestServer::start(engine);
        server.import("folders", &[json!({ "name": "Ring road" })]);
        let assignment = |title: &str, status: &str| json!({
            "title": title, "folder": "F-000001", "status": status, "dueDate": "2020-01-01", "assignees": [OWNER],
        });
        server.import("assignments", &[
            assignment("Stake out", "To do"),
            assignment("Draw the plan", "In progress"),
            assignment("Close the file", "Done"),
            assignment("Second visit", "Cancelled"),
        ]);
        let browser = Browser::of_owner(&server);
        let open = browser.page("/assignments");
        open.shows("1–2 of 2");
        open.shows("Stake out");
        open.shows("Draw the plan");
        open.hides("Second visit");
        let badge = open.between("href=\"/assignments\"", "</a>").unwrap();
        assert!(badge.contains("<span class=\"count\">2</span>"), "{badge}");
        browser.page("/assignments?state=done").shows("1–1 of 1");
        let cancelled = browser.page("/assignments?state=cancelled");
        cancelled.shows("1–1 of 1");
        cancelled.shows("Second visit");
        let dashboard = browser.page("/");
        let main = dashboard.between("<div class=\"figures\">", "<h2>Activity</h2>").unwrap();
        assert!(main.contains("Stake out") && !main.contains("Second visit"), "{main}");
    }

    fn deleting_a_folder_shows_the_exact_number_of_its_shapes(engine: Engine) {
        let server = TestServer::start(engine);
        server.import("folders", &[json!({ "name": "Ring road" })]);
        let features: Vec<_> = (0..1_205).map(|n| json!({
            "type": "Feature", "properties": {},
            "geometry": { "type": "Point", "coordinates": [2.0 + f64::from(n) / 10_000.0, 47.0] },
        })).collect();
        let collection = json!({ "type": "FeatureCollection", "features": features });
        let token = server.create_token(&["READ_FOLDER"]);
        server
            .geo()
            .request("POST", "/api/public/v1/geometries/geojson?folder=F-000001")
            .token(&token)
            .header("Content-Type", "application/geo+json")
            .body(collection.to_string())
            .send()
            .ok();
        Browser::of_owner(&server).page("/folders/F-000001/delete").shows("1,205 shapes on the map");
    }

    fn title_and_sidebar_show_the_product_or_the_configured_name(engine: Engine) {
        let server = TestServer::start(engine);
        let page = Browser::of_owner(&server).page("/");
        page.shows("<title>Dashboard · Groma</title>");
        page.shows("<span>Groma<small>");
        let server = TestServer::start_with(engine, &[("GROMA_SERVICE__NAME", "Cadastre")]);
        let page = Browser::of_owner(&server).page("/");
        page.shows("<title>Dashboard · Cadastre</title>");
        page.shows("<span>Cadastre<small>");
    }
}
