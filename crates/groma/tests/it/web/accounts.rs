//! The page of a member, and deleting one's own account.

use super::Browser;
use crate::on_both_engines;
use groma_testkit::{TestServer, server::OWNER, server::WORKSPACE};
use serde_json::json;

const CREW: &str = "crew@office.test";
const PASSWORD: &str = "a password of theirs";

fn member(server: &TestServer, email: &str, role: &str) -> Browser {
    let add = ["user", "add", email, "--workspace", WORKSPACE, "--role", role];
    server.run_with_input(&format!("{PASSWORD}\n"), &add).expect_success();
    Browser::logged_in(server, email, PASSWORD)
}

/// The path of the page of a member.
fn path_of(owner: &Browser, email: &str) -> String {
    let page = owner.page("/settings/members");
    let row = page.text.split("<tr").skip(1).find(|row| row.contains(email)).unwrap();
    let id = row.split("/settings/members/").nth(1).unwrap().split(['/', '"']).next().unwrap();
    format!("/settings/members/{id}")
}

on_both_engines! {
    fn owner_disables_enables_and_deletes_an_account(engine: Engine) {
        let server = TestServer::start(engine);
        let owner = Browser::of_owner(&server);
        let crew = member(&server, CREW, "editor");
        let token = server.create_token_for(WORKSPACE, CREW, &["READ_FOLDER"]);
        let path = path_of(&owner, CREW);
        owner.page(&path).shows("name=\"revoke_tokens\" value=\"true\" checked");
        let disable = format!("{path}/disable");
        assert_eq!(crew.send_form("/", &disable, &[]).response.status, 403);
        owner.submit(&path, &disable, &[("revoke_tokens", "true")]);
        assert!(crew.get("/").location().starts_with("/login"));
        server.get_until("/folders", &token, |response| response.status == 401);
        owner.page("/settings/members").shows(">Disabled<");
        owner.submit(&path, &format!("{path}/enable"), &[]);
        Browser::logged_in(&server, CREW, PASSWORD);
        let delete = format!("{path}/delete");
        owner.page(&delete).shows("Former member");
        owner.submit(&delete, &delete, &[]);
        owner.page("/settings/members").hides(CREW);
        owner.page("/settings/security-log").shows("Account deleted");
        owner.page("/settings/security-log").hides(CREW);
    }

    fn account_of_someone_in_another_workspace_cannot_be_changed(engine: Engine) {
        let server = TestServer::start(engine);
        let owner = Browser::of_owner(&server);
        let _crew = member(&server, CREW, "editor");
        let create = ["workspace", "create", "Elsewhere", "--owner", CREW];
        server.run(&create).expect_success();
        let path = path_of(&owner, CREW);
        let page = owner.page(&path);
        page.shows("belongs to a workspace that you do not own");
        page.hides("Disable account");
        let rejected = owner.send_form(&path, &format!("{path}/disable"), &[]);
        assert_eq!(rejected.response.status, 404);
        let own = path_of(&owner, OWNER);
        owner.page(&own).shows("This is your own account.");
    }

    fn account_is_deleted_by_typing_its_address(engine: Engine) {
        let server = TestServer::start(engine);
        let owner = Browser::of_owner(&server);
        let crew = member(&server, CREW, "editor");
        server.import("folders", &[json!({ "reference": "x", "name": "x", "owner": CREW })]);
        let wrong = crew.send_form("/account", "/account/delete", &[("confirm", "x@office.test")]);
        assert_eq!(wrong.error_of("confirm"), Some("Is not the address of your account"));
        let only = owner.send_form("/account", "/account/delete", &[("confirm", OWNER)]);
        assert_eq!(only.response.status, 400);
        only.shows(&format!("the only owner of {WORKSPACE}"));
        let to = crew.submit("/account", "/account/delete", &[("confirm", "CREW@office.test")]);
        assert_eq!(to, "/login");
        crew.page("/login").shows("Your account was deleted.");
        owner.page("/folders/x").shows("Former member");
        owner.page("/folders/x").hides(CREW);
    }

    fn former_member_is_erased_by_an_owner(engine: Engine) {
        let server = TestServer::start(engine);
        let owner = Browser::of_owner(&server);
        server.import("folders", &[json!({ "reference": "x", "name": "x", "owner": CREW })]);
        let page = owner.page("/settings/members");
        let path = page.between("href=\"/settings/people/", "\"").unwrap();
        let path = format!("/settings/people/{path}");
        owner.submit(&path, &path, &[]);
        owner.page("/settings/members").hides("/settings/people/");
        owner.page("/folders/x").shows("Former member");
        assert_eq!(owner.get(&path).response.status, 404);
    }

    fn logging_out_everywhere_ends_this_session_too(engine: Engine) {
        let server = TestServer::start(engine);
        let (one, two) = (Browser::of_owner(&server), Browser::of_owner(&server));
        assert_eq!(one.submit("/account", "/account/sessions/end-all", &[]), "/login");
        one.page("/login").shows("You are logged out everywhere.");
        assert!(one.get("/").location().starts_with("/login"));
        assert!(two.get("/").location().starts_with("/login"));
    }

    fn tokens_that_a_new_limit_ends_are_marked(engine: Engine) {
        let server = TestServer::start(engine);
        let owner = Browser::of_owner(&server);
        server.create_token(&["READ_FOLDER"]);
        owner.page("/settings/tokens").hides("by the longest lifetime");
        let fields = [("name", WORKSPACE), ("currency", "EUR"), ("maxTokenDays", "30")];
        owner.submit("/settings/workspace", "/settings/workspace", &fields);
        let page = owner.page("/settings/tokens");
        page.shows("by the longest lifetime");
        page.shows("1 token was created for longer than 30 days");
        owner.page("/settings/workspace").shows("Applies to existing tokens too");
    }

    fn password_change_revokes_tokens_if_asked(engine: Engine) {
        let server = TestServer::start(engine);
        let crew = member(&server, CREW, "editor");
        let token = server.create_token_for(WORKSPACE, CREW, &["READ_FOLDER"]);
        let fields = [("current", PASSWORD), ("password", "a better password 7")];
        crew.submit("/account", "/account/password", &fields);
        server.get("/folders", &token).ok();
        let fields = [
            ("current", "a better password 7"),
            ("password", "the best password 8"),
            ("revoke_tokens", "true"),
        ];
        crew.submit("/account", "/account/password", &fields);
        server.get("/folders", &token).error(401);
    }
}
