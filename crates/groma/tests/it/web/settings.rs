//! Settings: tokens, members, statuses, layers, deleting a workspace.

use super::Browser;
use crate::on_both_engines;
use groma_testkit::{TestServer, server::OWNER, server::WORKSPACE};
use serde_json::json;

fn member(server: &TestServer, email: &str, role: &str) -> Browser {
    let add = ["user", "add", email, "--workspace", WORKSPACE, "--role", role];
    server.run_with_input("plumb line and prism 71\n", &add).expect_success();
    Browser::logged_in(server, email, "plumb line and prism 71")
}

on_both_engines! {
    fn token_is_shown_once_works_as_pasted_and_can_be_revoked(engine: Engine) {
        let server = TestServer::start(engine);
        let browser = Browser::of_owner(&server);
        browser.page("/settings/tokens").shows("No tokens yet");
        browser.page("/settings/tokens/new").shows("List and read folders");
        let wrong = browser.send_form("/settings/tokens/new", "/settings/tokens/new", &[("name", ""), ("expires", "7")]);
        assert_eq!(wrong.error_of("name"), Some("Must not be empty"));
        let once = browser.page("/settings/tokens/new");
        let once = once.between("name=\"once\" value=\"", "\"").unwrap().to_owned();
        let fields = [("once", once.as_str()), ("name", "QGIS office"), ("scope", "READ_FOLDER"), ("scope", "READ_BUDGET"), ("expires", "90")];
        let made = browser.send_form("/settings/tokens/new", "/settings/tokens/new", &fields);
        assert_eq!(made.response.status, 200, "{}", made.text);
        assert_eq!(made.response.header("cache-control"), Some("no-store"));
        let token = made.between("<code id=\"token\">", "</code>").unwrap().to_owned();
        let curl = made.between("<pre id=\"curl\" tabindex=\"0\">", "</pre>").unwrap().replace("&#34;", "\"");
        assert!(curl.contains(&format!("Authorization: Bearer {token}")), "{curl}");
        assert!(curl.contains(&format!("http://{}/api/public/v1/folders?limit=5", server.main().authority())));
        server.get("/folders?limit=5", &token).ok();
        server.get("/expenses", &token).error(403);
        // Submitting the form again creates no second token.
        assert_eq!(browser.submit("/settings/tokens/new", "/settings/tokens/new", &fields), "/settings/tokens");
        browser.page("/settings/tokens").shows("This token was already created.");
        let list = browser.page("/settings/tokens");
        list.hides(&token);
        assert_eq!(list.text.matches("QGIS office").count(), 2, "one row with its link");
        list.shows(&format!("svc_…{}", &token[token.len() - 4..]));
        list.shows("just now");
        let row = list.text.split("<tr").find(|row| row.contains("/revoke\"")).unwrap();
        let revoke = row.split("/settings/tokens/").nth(1).unwrap().split('/').next().unwrap();
        // An editor cannot revoke another member's token.
        let editor = member(&server, "editor@example.test", "editor");
        let path = format!("/settings/tokens/{revoke}/revoke");
        assert_eq!(editor.get(&path).response.status, 404);
        assert_eq!(editor.send_form("/", &path, &[]).response.status, 404);
        editor.page("/settings/tokens").hides("QGIS office");
        server.get("/folders", &token).ok();
        browser.submit(&path, &path, &[]);
        server.get("/folders", &token).assert_error(401, "Unknown or revoked token");
        // Only administrators can grant MANAGE_WEBHOOK.
        editor.page("/settings/tokens/new").shows("Only administrators and owners can grant this scope.");
        let fields = [("name", "x"), ("scope", "MANAGE_WEBHOOK"), ("expires", "none")];
        let rejected = editor.send_form("/settings/tokens/new", "/settings/tokens/new", &fields);
        rejected.shows("Your role cannot grant all of these scopes.");
    }

    fn last_owner_cannot_leave_and_removed_member_loses_tokens(engine: Engine) {
        let server = TestServer::start(engine);
        let owner = Browser::of_owner(&server);
        let admin = member(&server, "admin@example.test", "admin");
        let editor = member(&server, "editor@example.test", "editor");
        let token = server.create_token_for(WORKSPACE, "editor@example.test", &["READ_FOLDER"]);
        server.get("/folders", &token).ok();
        let page = owner.page("/settings/members");
        let id_of = |email: &str| {
            let row = page.text.split("<tr").skip(1).find(|row| row.contains(email)).unwrap();
            row.split("/settings/members/").nth(1).unwrap().split(['/', '"']).next().unwrap().to_owned()
        };
        let me = id_of(OWNER);
        let role = |browser: &Browser, id: &str, role: &str| {
            browser.send_form("/settings/members", &format!("/settings/members/{id}/role"), &[("role", role)])
        };
        let rejected = role(&owner, &me, "admin");
        assert_eq!(rejected.response.status, 400);
        rejected.shows("a workspace needs an owner");
        let leave = format!("/settings/members/{me}/remove");
        owner.send_form(&leave, &leave, &[]).shows("a workspace needs an owner");
        // An administrator can neither change nor appoint owners.
        assert_eq!(role(&admin, &me, "viewer").response.status, 403);
        assert_eq!(role(&admin, &id_of("editor@example.test"), "owner").response.status, 403);
        assert_eq!(admin.send_form("/settings/members", &leave, &[]).response.status, 403);
        // An editor cannot remove others.
        let out = format!("/settings/members/{}/remove", id_of("admin@example.test"));
        assert_eq!(editor.send_form("/settings/members", &out, &[]).response.status, 403);
        let editors = format!("/settings/members/{}/remove", id_of("editor@example.test"));
        admin.submit(&editors, &editors, &[]);
        assert_eq!(editor.get("/").location(), "/account", "access ends immediately");
        server.get_until("/folders", &token, |response| response.status == 401);
        // After the member returns, the old token stays revoked.
        server.run(&["user", "add", "editor@example.test", "--workspace", WORKSPACE, "--role", "editor"]).expect_success();
        editor.page("/folders");
        server.get("/folders", &token).error(401);
    }

    fn statuses_are_created_moved_and_replaced(engine: Engine) {
        let server = TestServer::start(engine);
        server.import("folders", &[json!({ "name": "a", "status": "Quoted" })]);
        let browser = Browser::of_owner(&server);
        let names = |page: &str| {
            let folders = page.split("<h2>Assignments</h2>").next().unwrap().to_owned();
            let cells = folders.split("</svg>").filter_map(|cell| cell.split("</span>").next());
            cells.map(str::to_owned).filter(|name| ["Quoted", "Field work", "Drawing", "Tendered"].contains(&name.as_str())).collect::<Vec<_>>()
        };
        let page = browser.page("/settings/statuses").text;
        assert_eq!(names(&page), ["Quoted", "Field work", "Drawing"]);
        let id_of = |page: &str, name: &str| {
            let row = page.split("<tr").find(|row| row.contains(&format!("</svg>{name}</span>"))).unwrap();
            row.split("/settings/statuses/").nth(1).unwrap().split('/').next().unwrap().to_owned()
        };
        let quoted = id_of(&page, "Quoted");
        let moved = format!("/settings/statuses/{quoted}/move");
        browser.submit("/settings/statuses", &moved, &[("to", "down")]);
        assert_eq!(names(&browser.page("/settings/statuses").text), ["Field work", "Quoted", "Drawing"]);
        let taken = browser.send_form("/settings/statuses/new", "/settings/statuses/new", &[("name", "quoted"), ("appliesTo", "folder"), ("color", "#aabbcc"), ("group", "todo")]);
        assert_eq!(taken.error_of("name"), Some("“quoted” already exists"));
        let fields = [("name", "Tendered"), ("appliesTo", "folder"), ("color", "#AABBCC"), ("group", "todo"), ("isDefault", "true")];
        browser.submit("/settings/statuses/new", "/settings/statuses/new", &fields);
        let page = browser.page("/settings/statuses").text;
        let tendered = id_of(&page, "Tendered");
        let delete = format!("/settings/statuses/{quoted}/delete");
        browser.page(&delete).shows("1 folder with this status will get the new status");
        let rejected = browser.send_form(&delete, &delete, &[("replacement", "")]);
        assert_eq!(rejected.error_of("replacement"), Some("Is required: this status is in use"));
        browser.submit(&delete, &delete, &[("replacement", &tendered)]);
        browser.page("/folders/F-000001").shows("Tendered");
        browser.page("/settings/activity").shows("Tendered");
    }

    fn layer_and_workspace_are_edited_and_deleted(engine: Engine) {
        let server = TestServer::start(engine);
        let browser = Browser::of_owner(&server);
        browser.submit("/settings/layers/new", "/settings/layers/new", &[("name", "Parcels")]);
        let page = browser.page("/settings/layers");
        let id = page.between("href=\"/settings/layers/01", "\"").unwrap();
        let path = format!("/settings/layers/01{id}");
        let wrong = browser.send_form(&path, &path, &[("name", "Plots"), ("color", "red")]);
        assert_eq!(wrong.error_of("color"), Some("Must be a hexadecimal colour, for example #2b6cb0"));
        browser.submit(&path, &path, &[("name", "Plots"), ("color", "#010203"), ("description", "All of them")]);
        let page = browser.page("/settings/layers");
        page.shows("Plots");
        page.shows("parcels");
        let delete = format!("{path}/delete");
        assert_eq!(browser.send_form(&delete, &delete, &[("confirm", "plots")]).response.status, 400);
        browser.submit(&delete, &delete, &[("confirm", "parcels")]);
        browser.page("/settings/layers").shows("No layers yet");
        // An administrator can rename the workspace, only an owner can delete it.
        let admin = member(&server, "admin@example.test", "admin");
        admin.submit("/settings/workspace", "/settings/workspace", &[("name", "Bureau"), ("currency", "CHF")]);
        assert_eq!(admin.get("/settings/workspace/delete").response.status, 403);
        let delete = "/settings/workspace/delete";
        assert_eq!(browser.send_form(delete, delete, &[("confirm", WORKSPACE)]).response.status, 400);
        assert_eq!(browser.submit(delete, delete, &[("confirm", "Bureau")]), "/account");
        browser.page("/account").shows("You are not a member of any workspace.");
        assert_eq!(browser.get("/folders").location(), "/account");
    }
}
