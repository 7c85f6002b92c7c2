//! Every route of the web application with the access that it requires. The router is built from this
//! list, and a test requests each route with each role.

use super::{
    Shared, account,
    authorize::{Access, AccessCheck, MAX_FORM_BYTES, RequestBody, authorize},
    dashboard, exports, feature_table, imports, invitation, login, map, not_found_page,
    password_reset,
    records::{
        archive, delete, detail,
        form::{assignments, budgets, expenses, folders},
        list, status,
    },
    search,
    settings::{
        self, activity, base_maps, layers, members, security_log, statuses, tokens, webhooks,
        workspace,
    },
    setup, suggestions, verification,
};
use axum::{
    Router,
    extract::Request,
    http::Method,
    middleware,
    routing::{MethodRouter, get, post},
};
use groma_domain::Permission::{Administer, ChangeRecords, Own, Read};

pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) access: Access,
    handler: MethodRouter<Shared>,
}

/// The maximum size of a shape drawn on the map.
const MAX_SHAPE_BYTES: usize = 16 << 20;

/// The route whose handler receives the body and checks the form token itself.
const UPLOAD_PATH: &str = "/imports";

macro_rules! routes {
    ($($method:ident $path:literal $access:expr => $handler:expr;)*) => {
        vec![$(Route {
            method: method_of(stringify!($method)),
            path: $path,
            access: $access,
            handler: $method($handler),
        }),*]
    };
}

fn method_of(name: &str) -> Method {
    if name == "get" { Method::GET } else { Method::POST }
}

const fn member(permission: groma_domain::Permission) -> Access {
    Access::Member(permission)
}

const fn recent_member(permission: groma_domain::Permission) -> Access {
    Access::RecentMember(permission)
}

pub(super) fn all() -> Vec<Route> {
    use Access::{LoggedIn, Public, RecentlyLoggedIn};
    routes! {
        get  "/login" Public => login::login_page;
        post "/login" Public => login::login;
        post "/logout" Public => login::logout;
        get  "/login/second-factor" Public => login::second_factor::second_factor_page;
        post "/login/second-factor" Public => login::second_factor::check_code;
        post "/login/passkey/start" Public => login::passkey::start;
        post "/login/passkey/finish" Public => login::passkey::finish;
        get  "/login/with/{provider}" Public => login::provider::start;
        get  "/login/with/{provider}/callback" Public => login::provider::callback;
        get  "/login/confirm" LoggedIn => login::confirm::confirm_page;
        post "/login/confirm" LoggedIn => login::confirm::confirm;
        get  "/setup" Public => setup::setup_page;
        post "/setup" Public => setup::setup;
        get  "/join/{secret}" Public => invitation::invitation_page;
        post "/join/{secret}" Public => invitation::join;
        get  "/forgot-password" Public => password_reset::request_page;
        post "/forgot-password" Public => password_reset::request;
        get  "/reset-password/{secret}" Public => password_reset::open_link;
        get  "/reset-password" Public => password_reset::reset_page;
        post "/reset-password" Public => password_reset::reset;
        get  "/verify-email/{secret}" Public => verification::page;
        post "/verify-email/{secret}" Public => verification::verify;

        get  "/account" LoggedIn => account::account_page;
        post "/account/name" LoggedIn => account::change_name;
        post "/account/preferences" LoggedIn => account::save_preferences;
        post "/account/password" LoggedIn => account::change_password;
        post "/account/verify-email" LoggedIn => verification::send;
        post "/account/sessions/{id}/end" LoggedIn => account::end_session;
        post "/account/sessions/end-others" LoggedIn => account::end_others;
        get  "/account/security" LoggedIn => account::security::page;
        get  "/account/authenticator" RecentlyLoggedIn => account::authenticator::page;
        post "/account/authenticator" RecentlyLoggedIn => account::authenticator::add;
        post "/account/authenticator/remove" RecentlyLoggedIn => account::authenticator::remove;
        post "/account/passkeys/start" RecentlyLoggedIn => account::passkeys::start;
        post "/account/passkeys/finish" RecentlyLoggedIn => account::passkeys::finish;
        post "/account/passkeys/{id}/remove" RecentlyLoggedIn => account::passkeys::remove;
        post "/account/recovery-codes" RecentlyLoggedIn => account::security::replace_recovery_codes;
        post "/account/password/remove" RecentlyLoggedIn => account::security::remove_password;
        post "/account/connect/{provider}" RecentlyLoggedIn => login::provider::connect;
        post "/account/disconnect/{provider}" RecentlyLoggedIn => account::security::disconnect;
        post "/account/sessions/end-all" LoggedIn => account::end_all;
        post "/account/delete" RecentlyLoggedIn => account::delete;
        post "/workspaces/enter" LoggedIn => account::enter_workspace;

        get  "/" member(Read) => dashboard::page;
        get  "/suggestions/{plural}" member(Read) => suggestions::records;
        get  "/search/hits" member(Read) => search::hits;
        get  "/search" member(Read) => search::page;
        get  "/search/export" member(Read) => exports::search;

        get  "/suggestions/labels/{field}" member(Read) => suggestions::labels;
        get  "/lists/{plural}/export" member(Read) => exports::list;
        post "/lists/{plural}/columns" member(Read) => list::choose_columns;
        post "/lists/{plural}/views" member(Read) => list::views::save;
        post "/lists/{plural}/bulk" member(ChangeRecords) => list::bulk::apply;
        get  "/lists/{plural}/{key}/{field}" member(ChangeRecords) => list::cells::form;
        post "/lists/{plural}/{key}/{field}" member(ChangeRecords) => list::cells::save;
        post "/views/{id}/delete" member(Read) => list::views::delete;

        get  "/folders" member(Read) => list::folders;
        get  "/folders/new" member(ChangeRecords) => folders::new_page;
        post "/folders/new" member(ChangeRecords) => folders::create;
        get  "/folders/{key}" member(Read) => detail::folder;
        get  "/folders/{key}/edit" member(ChangeRecords) => folders::edit_page;
        post "/folders/{key}/edit" member(ChangeRecords) => folders::update;
        post "/folders/{key}/status" member(ChangeRecords) => status::folder;
        post "/folders/{key}/archive" member(ChangeRecords) => archive::archive;
        post "/folders/{key}/unarchive" member(ChangeRecords) => archive::unarchive;
        get  "/folders/{key}/delete" member(ChangeRecords) => delete::folders::delete_page;
        post "/folders/{key}/delete" member(ChangeRecords) => delete::folders::delete;
        get  "/folders/{key}/export/records" member(Read) => exports::folder_records;
        get  "/folders/{key}/export/features" member(Read) => exports::folder_features;
        get  "/folders/{key}/geometries.geojson" member(Read) => map::folder_geometries;

        get  "/assignments" member(Read) => list::assignments;
        get  "/assignments/new" member(ChangeRecords) => assignments::new_page;
        post "/assignments/new" member(ChangeRecords) => assignments::create;
        get  "/assignments/{key}" member(Read) => detail::assignment;
        get  "/assignments/{key}/edit" member(ChangeRecords) => assignments::edit_page;
        post "/assignments/{key}/edit" member(ChangeRecords) => assignments::update;
        post "/assignments/{key}/status" member(ChangeRecords) => status::assignment;
        get  "/assignments/{key}/delete" member(ChangeRecords) => delete::assignments::delete_page;
        post "/assignments/{key}/delete" member(ChangeRecords) => delete::assignments::delete;

        get  "/expenses" member(Read) => list::expenses;
        get  "/expenses/new" member(ChangeRecords) => expenses::new_page;
        post "/expenses/new" member(ChangeRecords) => expenses::create;
        get  "/expenses/{key}" member(Read) => detail::expense;
        get  "/expenses/{key}/edit" member(ChangeRecords) => expenses::edit_page;
        post "/expenses/{key}/edit" member(ChangeRecords) => expenses::update;
        post "/expenses/{key}/status" member(ChangeRecords) => status::expense;
        get  "/expenses/{key}/delete" member(ChangeRecords) => delete::expenses::delete_page;
        post "/expenses/{key}/delete" member(ChangeRecords) => delete::expenses::delete;

        get  "/budgets" member(Read) => list::budgets;
        get  "/budgets/new" member(ChangeRecords) => budgets::new_page;
        post "/budgets/new" member(ChangeRecords) => budgets::create;
        get  "/budgets/{key}" member(Read) => detail::budget;
        get  "/budgets/{key}/edit" member(ChangeRecords) => budgets::edit_page;
        post "/budgets/{key}/edit" member(ChangeRecords) => budgets::update;
        post "/budgets/{key}/status" member(ChangeRecords) => status::budget;
        get  "/budgets/{key}/delete" member(ChangeRecords) => delete::budgets::delete_page;
        post "/budgets/{key}/delete" member(ChangeRecords) => delete::budgets::delete;

        get  "/imports" member(ChangeRecords) => imports::list_page;
        post "/imports" member(ChangeRecords) => imports::upload;
        get  "/imports/{id}" member(ChangeRecords) => imports::import_page;
        post "/imports/{id}" member(ChangeRecords) => imports::save;
        post "/imports/{id}/cancel" member(ChangeRecords) => imports::cancel;
        get  "/imports/{id}/events" member(ChangeRecords) => imports::events;
        get  "/imports/{id}/rejected.csv" member(ChangeRecords) => imports::rejected;

        get  "/map" member(Read) => map::page;
        get  "/map/tiles/{layer}/{z}/{x}/{y}" member(Read) => map::tile;
        get  "/map/folders.geojson" member(Read) => map::folders;
        get  "/map/folders" member(Read) => map::find_folders;
        get  "/map/features" member(Read) => feature_table::search;
        get  "/map/layers/{layer}/table" member(Read) => feature_table::table;
        get  "/map/layers/{layer}/export" member(Read) => exports::layer;
        get  "/map/features/{layer}/{feature}" member(Read) => map::feature;
        post "/map/geometries" member(ChangeRecords) => map::save;
        post "/map/geometries/{id}/delete" member(ChangeRecords) => map::delete;

        get  "/settings" member(Read) => settings::index;
        get  "/settings/tokens" member(Read) => tokens::page;
        get  "/settings/tokens/new" recent_member(Read) => tokens::new_page;
        post "/settings/tokens/new" recent_member(Read) => tokens::create;
        get  "/settings/tokens/{id}/revoke" member(Read) => tokens::revoke_page;
        post "/settings/tokens/{id}/revoke" member(Read) => tokens::revoke;
        get  "/settings/webhooks" member(Administer) => webhooks::page;
        get  "/settings/webhooks/new" member(Administer) => webhooks::new_page;
        post "/settings/webhooks/new" member(Administer) => webhooks::create;
        get  "/settings/webhooks/{id}" member(Administer) => webhooks::deliveries::page;
        get  "/settings/webhooks/{id}/edit" member(Administer) => webhooks::edit_page;
        post "/settings/webhooks/{id}/edit" member(Administer) => webhooks::update;
        post "/settings/webhooks/{id}/test" member(Administer) => webhooks::test;
        post "/settings/webhooks/{id}/enable" member(Administer) => webhooks::enable;
        post "/settings/webhooks/{id}/disable" member(Administer) => webhooks::disable;
        get  "/settings/webhooks/{id}/rotate" member(Administer) => webhooks::rotate_page;
        post "/settings/webhooks/{id}/rotate" member(Administer) => webhooks::rotate;
        post "/settings/webhooks/{id}/redeliver" member(Administer) => webhooks::deliveries::redeliver_failed;
        get  "/settings/webhooks/{id}/deliveries/{delivery}" member(Administer) => webhooks::deliveries::delivery;
        post "/settings/webhooks/{id}/deliveries/{delivery}/again" member(Administer) => webhooks::deliveries::redeliver;
        get  "/settings/webhooks/{id}/delete" member(Administer) => webhooks::delete_page;
        post "/settings/webhooks/{id}/delete" member(Administer) => webhooks::delete;
        get  "/settings/members" member(Read) => members::page;
        post "/settings/members/{id}/role" member(Administer) => members::set_role;
        get  "/settings/members/{id}" member(Administer) => members::member::page;
        post "/settings/members/{id}/disable" recent_member(Own) => members::member::disable;
        post "/settings/members/{id}/enable" member(Own) => members::member::enable;
        get  "/settings/members/{id}/delete" recent_member(Own) => members::member::delete_page;
        post "/settings/members/{id}/delete" recent_member(Own) => members::member::delete;
        get  "/settings/people/{id}/erase" recent_member(Own) => members::erasure::page;
        post "/settings/people/{id}/erase" recent_member(Own) => members::erasure::erase;
        get  "/settings/members/{id}/remove" member(Read) => members::remove_page;
        post "/settings/members/{id}/remove" member(Read) => members::remove;
        post "/settings/invitations" member(Administer) => members::invite;
        post "/settings/service-accounts" member(Administer) => members::add_service_account;
        post "/settings/invitations/{id}/cancel" member(Administer) => members::cancel_invitation;
        get  "/settings/workspace" member(Administer) => workspace::page;
        post "/settings/workspace" member(Administer) => workspace::save;
        get  "/settings/workspace/delete" recent_member(Own) => workspace::delete_page;
        post "/settings/workspace/delete" recent_member(Own) => workspace::delete;
        get  "/settings/statuses" member(Administer) => statuses::page;
        get  "/settings/statuses/new" member(Administer) => statuses::new_page;
        post "/settings/statuses/new" member(Administer) => statuses::create;
        get  "/settings/statuses/{id}" member(Administer) => statuses::edit_page;
        post "/settings/statuses/{id}" member(Administer) => statuses::update;
        post "/settings/statuses/{id}/move" member(Administer) => statuses::move_status;
        get  "/settings/statuses/{id}/delete" member(Administer) => statuses::delete_page;
        post "/settings/statuses/{id}/delete" member(Administer) => statuses::delete;
        get  "/settings/layers" member(Administer) => layers::page;
        get  "/settings/layers/new" member(Administer) => layers::new_page;
        post "/settings/layers/new" member(Administer) => layers::create;
        get  "/settings/layers/{id}" member(Administer) => layers::edit_page;
        post "/settings/layers/{id}" member(Administer) => layers::update;
        get  "/settings/layers/{id}/fields" member(Administer) => layers::fields::page;
        post "/settings/layers/{id}/fields" member(Administer) => layers::fields::update;
        get  "/settings/layers/{id}/style" member(Administer) => layers::style::page;
        post "/settings/layers/{id}/style" member(Administer) => layers::style::update;
        get  "/settings/layers/{id}/check" member(Read) => layers::check::page;
        post "/settings/layers/{id}/check" member(Read) => layers::check::run;
        post "/settings/layers/{id}/repair" member(ChangeRecords) => layers::check::repair;
        post "/settings/layers/{id}/lock" member(Administer) => layers::set_locked;
        post "/settings/layers/{id}/move" member(Administer) => layers::move_layer;
        get  "/settings/layers/{id}/delete" member(Administer) => layers::delete_page;
        post "/settings/layers/{id}/delete" member(Administer) => layers::delete;
        get  "/settings/base-maps" member(Administer) => base_maps::page;
        get  "/settings/base-maps/new" member(Administer) => base_maps::new_page;
        post "/settings/base-maps/new" member(Administer) => base_maps::create;
        get  "/settings/base-maps/{id}" member(Administer) => base_maps::edit_page;
        post "/settings/base-maps/{id}" member(Administer) => base_maps::update;
        post "/settings/base-maps/{id}/move" member(Administer) => base_maps::move_base_map;
        get  "/settings/base-maps/{id}/delete" member(Administer) => base_maps::delete_page;
        post "/settings/base-maps/{id}/delete" member(Administer) => base_maps::delete;
        get  "/settings/activity" member(Administer) => activity::page;
        get  "/settings/security-log" member(Own) => security_log::page;
    }
}

/// Builds the router. A wrong method gets the page for an unknown address.
pub(super) fn router(web: &Shared) -> Router {
    let mut router = Router::new();
    for Route { method, path, access, handler } in all() {
        let body = match method {
            Method::GET => RequestBody::Form(0),
            _ if path == UPLOAD_PATH => RequestBody::Upload,
            _ if path.starts_with("/map/") => RequestBody::Form(MAX_SHAPE_BYTES),
            _ => RequestBody::Form(MAX_FORM_BYTES),
        };
        let check = AccessCheck { web: web.clone(), access, body };
        let handler = handler.route_layer(middleware::from_fn_with_state(check, authorize));
        router = router.route(path, handler);
    }
    let state = web.clone();
    let wrong_method = move |request: Request| async move { not_found_page(&state, request).await };
    router.method_not_allowed_fallback(wrong_method).with_state(web.clone())
}

#[cfg(test)]
mod tests;
