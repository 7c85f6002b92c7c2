//! Every route of the web application, with what it asks of whoever comes. The router is made of this
//! list, and so is the test that tries each of them with each role.

use super::{
    Shared, WebError, account, dashboard, entry,
    guard::{Guard, Needs, guard},
    map,
    records::{
        detail,
        form::{assignments, budgets, expenses, folders},
        list, remove, status,
    },
    search,
    settings::{self, activity, layers, members, statuses, tokens, webhooks, workspace},
};
use axum::{
    Router,
    http::Method,
    middleware,
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use groma_domain::Permission::{Administer, ChangeRecords, Own, Read};

/// One route.
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) needs: Needs,
    handler: MethodRouter<Shared>,
}

/// The most that a form may hold.
const FORM_BYTES: usize = 1 << 20;
/// The most that a drawn shape may hold.
const SHAPE_BYTES: usize = 16 << 20;

macro_rules! routes {
    ($($method:ident $path:literal $needs:expr => $handler:expr;)*) => {
        vec![$(Route {
            method: method_of(stringify!($method)),
            path: $path,
            needs: $needs,
            handler: $method($handler),
        }),*]
    };
}

fn method_of(name: &str) -> Method {
    if name == "get" { Method::GET } else { Method::POST }
}

/// A member who may this.
const fn may(permission: groma_domain::Permission) -> Needs {
    Needs::Member(permission)
}

/// The list.
pub(super) fn all() -> Vec<Route> {
    use Needs::{Login, Nothing};
    routes! {
        get  "/login" Nothing => entry::login_page;
        post "/login" Nothing => entry::login;
        post "/logout" Nothing => entry::logout;
        get  "/setup" Nothing => entry::setup_page;
        post "/setup" Nothing => entry::setup;
        get  "/join/{secret}" Nothing => entry::join_page;
        post "/join/{secret}" Nothing => entry::join;

        get  "/account" Login => account::account_page;
        post "/account/password" Login => account::change_password;
        post "/account/sessions/{id}/end" Login => account::end_session;
        post "/account/sessions/end-others" Login => account::end_others;
        post "/workspaces/enter" Login => account::enter_workspace;

        get  "/" may(Read) => dashboard::page;
        get  "/search" may(Read) => search::page;

        get  "/folders" may(Read) => list::folders;
        get  "/folders/new" may(ChangeRecords) => folders::new_page;
        post "/folders/new" may(ChangeRecords) => folders::create;
        get  "/folders/{key}" may(Read) => detail::folder;
        get  "/folders/{key}/edit" may(ChangeRecords) => folders::edit_page;
        post "/folders/{key}/edit" may(ChangeRecords) => folders::update;
        post "/folders/{key}/status" may(ChangeRecords) => status::folder;
        post "/folders/{key}/archive" may(ChangeRecords) => remove::archive;
        post "/folders/{key}/unarchive" may(ChangeRecords) => remove::unarchive;
        get  "/folders/{key}/delete" may(ChangeRecords) => remove::folders::delete_page;
        post "/folders/{key}/delete" may(ChangeRecords) => remove::folders::delete;
        get  "/folders/{key}/geometries.geojson" may(Read) => map::folder_geometries;

        get  "/assignments" may(Read) => list::assignments;
        get  "/assignments/new" may(ChangeRecords) => assignments::new_page;
        post "/assignments/new" may(ChangeRecords) => assignments::create;
        get  "/assignments/{key}" may(Read) => detail::assignment;
        get  "/assignments/{key}/edit" may(ChangeRecords) => assignments::edit_page;
        post "/assignments/{key}/edit" may(ChangeRecords) => assignments::update;
        post "/assignments/{key}/status" may(ChangeRecords) => status::assignment;
        get  "/assignments/{key}/delete" may(ChangeRecords) => remove::assignments::delete_page;
        post "/assignments/{key}/delete" may(ChangeRecords) => remove::assignments::delete;

        get  "/expenses" may(Read) => list::expenses;
        get  "/expenses/new" may(ChangeRecords) => expenses::new_page;
        post "/expenses/new" may(ChangeRecords) => expenses::create;
        get  "/expenses/{key}" may(Read) => detail::expense;
        get  "/expenses/{key}/edit" may(ChangeRecords) => expenses::edit_page;
        post "/expenses/{key}/edit" may(ChangeRecords) => expenses::update;
        post "/expenses/{key}/status" may(ChangeRecords) => status::expense;
        get  "/expenses/{key}/delete" may(ChangeRecords) => remove::expenses::delete_page;
        post "/expenses/{key}/delete" may(ChangeRecords) => remove::expenses::delete;

        get  "/budgets" may(Read) => list::budgets;
        get  "/budgets/new" may(ChangeRecords) => budgets::new_page;
        post "/budgets/new" may(ChangeRecords) => budgets::create;
        get  "/budgets/{key}" may(Read) => detail::budget;
        get  "/budgets/{key}/edit" may(ChangeRecords) => budgets::edit_page;
        post "/budgets/{key}/edit" may(ChangeRecords) => budgets::update;
        post "/budgets/{key}/status" may(ChangeRecords) => status::budget;
        get  "/budgets/{key}/delete" may(ChangeRecords) => remove::budgets::delete_page;
        post "/budgets/{key}/delete" may(ChangeRecords) => remove::budgets::delete;

        get  "/map" may(Read) => map::page;
        get  "/map/tiles/{layer}/{z}/{x}/{y}" may(Read) => map::tile;
        get  "/map/folders.geojson" may(Read) => map::folders;
        get  "/map/folders" may(Read) => map::find_folders;
        get  "/map/features/{layer}/{feature}" may(Read) => map::feature;
        post "/map/geometries" may(ChangeRecords) => map::save;
        post "/map/geometries/{id}/delete" may(ChangeRecords) => map::delete;

        get  "/settings" may(Read) => settings::index;
        get  "/settings/tokens" may(Read) => tokens::page;
        get  "/settings/tokens/new" may(Read) => tokens::new_page;
        post "/settings/tokens/new" may(Read) => tokens::create;
        get  "/settings/tokens/{id}/revoke" may(Read) => tokens::revoke_page;
        post "/settings/tokens/{id}/revoke" may(Read) => tokens::revoke;
        get  "/settings/webhooks" may(Administer) => webhooks::page;
        get  "/settings/webhooks/new" may(Administer) => webhooks::new_page;
        post "/settings/webhooks/new" may(Administer) => webhooks::create;
        get  "/settings/webhooks/{id}" may(Administer) => webhooks::deliveries::page;
        get  "/settings/webhooks/{id}/edit" may(Administer) => webhooks::edit_page;
        post "/settings/webhooks/{id}/edit" may(Administer) => webhooks::update;
        post "/settings/webhooks/{id}/test" may(Administer) => webhooks::test;
        post "/settings/webhooks/{id}/enable" may(Administer) => webhooks::enable;
        post "/settings/webhooks/{id}/disable" may(Administer) => webhooks::disable;
        get  "/settings/webhooks/{id}/rotate" may(Administer) => webhooks::rotate_page;
        post "/settings/webhooks/{id}/rotate" may(Administer) => webhooks::rotate;
        post "/settings/webhooks/{id}/redeliver" may(Administer) => webhooks::deliveries::redeliver_failed;
        get  "/settings/webhooks/{id}/deliveries/{delivery}" may(Administer) => webhooks::deliveries::delivery;
        post "/settings/webhooks/{id}/deliveries/{delivery}/again" may(Administer) => webhooks::deliveries::redeliver;
        get  "/settings/webhooks/{id}/delete" may(Administer) => webhooks::delete_page;
        post "/settings/webhooks/{id}/delete" may(Administer) => webhooks::delete;
        get  "/settings/members" may(Read) => members::page;
        post "/settings/members/{id}/role" may(Administer) => members::set_role;
        get  "/settings/members/{id}/remove" may(Read) => members::remove_page;
        post "/settings/members/{id}/remove" may(Read) => members::remove;
        post "/settings/invitations" may(Administer) => members::invite;
        post "/settings/invitations/{id}/cancel" may(Administer) => members::cancel_invitation;
        get  "/settings/workspace" may(Administer) => workspace::page;
        post "/settings/workspace" may(Administer) => workspace::save;
        get  "/settings/workspace/delete" may(Own) => workspace::delete_page;
        post "/settings/workspace/delete" may(Own) => workspace::delete;
        get  "/settings/statuses" may(Administer) => statuses::page;
        get  "/settings/statuses/new" may(Administer) => statuses::new_page;
        post "/settings/statuses/new" may(Administer) => statuses::create;
        get  "/settings/statuses/{id}" may(Administer) => statuses::edit_page;
        post "/settings/statuses/{id}" may(Administer) => statuses::update;
        post "/settings/statuses/{id}/move" may(Administer) => statuses::move_status;
        get  "/settings/statuses/{id}/delete" may(Administer) => statuses::delete_page;
        post "/settings/statuses/{id}/delete" may(Administer) => statuses::delete;
        get  "/settings/layers" may(Administer) => layers::page;
        get  "/settings/layers/new" may(Administer) => layers::new_page;
        post "/settings/layers/new" may(Administer) => layers::create;
        get  "/settings/layers/{id}" may(Administer) => layers::edit_page;
        post "/settings/layers/{id}" may(Administer) => layers::update;
        get  "/settings/layers/{id}/delete" may(Administer) => layers::delete_page;
        post "/settings/layers/{id}/delete" may(Administer) => layers::delete;
        get  "/settings/activity" may(Administer) => activity::page;
    }
}

/// The router of that list. A wrong method is a page that is not there.
pub(super) fn router(web: &Shared) -> Router {
    let mut router = Router::new();
    for Route { method, path, needs, handler } in all() {
        let body = match method {
            Method::GET => 0,
            _ if path.starts_with("/map/") => SHAPE_BYTES,
            _ => FORM_BYTES,
        };
        let before = Guard { web: web.clone(), needs, body };
        let handler = handler.route_layer(middleware::from_fn_with_state(before, guard));
        router = router.route(path, handler);
    }
    let is_secure = web.is_secure;
    let wrong_method = move || async move { no_such_page(is_secure) };
    router.method_not_allowed_fallback(wrong_method).with_state(web.clone())
}

fn no_such_page(is_secure: bool) -> Response {
    let mut response = WebError::not_found().into_response();
    crate::http::security_headers::secure(&mut response, is_secure, &[]);
    response
}

#[cfg(test)]
mod tests;
