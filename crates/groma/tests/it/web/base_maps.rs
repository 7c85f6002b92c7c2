//! Settings > Base maps, and the Content-Security-Policy of pages with a map.

use super::Browser;
use crate::on_both_engines;
use groma_testkit::TestServer;
use serde_json::{Value, json};

const PATH: &str = "/settings/base-maps";

/// The policy of pages that load only from this application.
const STRICT: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self' blob:; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

fn add(browser: &Browser, kind: &str, fields: &[(&str, &str)]) {
    let form = format!("{PATH}/new?kind={kind}");
    assert_eq!(browser.submit(&form, &form, fields), PATH);
}

fn policy(browser: &Browser, path: &str) -> (String, String) {
    let page = browser.page(path);
    let header = |name| page.response.header(name).unwrap().to_owned();
    (header("content-security-policy"), header("referrer-policy"))
}

/// The base maps in the configuration of the page's map.
fn configured(browser: &Browser, path: &str) -> Value {
    let page = browser.page(path);
    let mut config = page.between("data-config=\"", "\"").unwrap().to_owned();
    for (entity, character) in [("&#34;", "\""), ("&#60;", "<"), ("&#62;", ">"), ("&#38;", "&")] {
        config = config.replace(entity, character);
    }
    let config: Value = serde_json::from_str(&config).unwrap();
    config["baseMaps"]["list"].clone()
}

fn create_folder(browser: &Browser) -> String {
    browser.submit("/folders/new", "/folders/new", &[("name", "Chêne"), ("currency", "EUR")])
}

on_both_engines! {
    fn base_map_is_added_from_a_preset_and_reaches_the_map(engine: Engine) {
        let server = TestServer::start(engine);
        let browser = Browser::of_owner(&server);
        browser.page(PATH).shows("No base maps yet");
        browser.page(&format!("{PATH}/new")).shows("preset=swisstopo-map");
        let preset = format!("{PATH}/new?preset=ordnance-survey");
        let form = browser.page(&preset);
        form.shows("https://api.os.uk/maps/raster/v1/zxy/Road_3857/{z}/{x}/{y}.png?key={key}");
        form.shows("every member can read it");
        let url = "https://api.os.uk/maps/raster/v1/zxy/Road_3857/{z}/{x}/{y}.png?key={key}";
        let fields = [("name", "OS"), ("url", url), ("key", "a b"), ("attribution", "© <OS>"), ("minZoom", "7"), ("maxZoom", "16"), ("isDefault", "true")];
        add(&browser, "xyz", &fields);
        let list = browser.page(PATH);
        list.shows("api.os.uk");
        list.shows("Base map “OS” saved.");
        let folder = create_folder(&browser);
        for path in ["/map", folder.as_str()] {
            let maps = configured(&browser, path);
            assert_eq!(maps[0]["tiles"], json!([url.replace("{key}", "a%20b")]));
            assert_eq!(maps[0]["attribution"], "© <OS>");
            let zooms = (&maps[0]["minZoom"], &maps[0]["maxZoom"], &maps[0]["isDefault"]);
            assert_eq!(zooms, (&json!(7), &json!(16), &json!(true)));
        }
        browser.page("/settings/activity").shows("added base map");
        let log = browser.page("/settings/security-log?topic=baseMap");
        log.shows("Base map added");
        log.shows("<td class=\"hide-on-phone\">https://api.os.uk</td>");
    }

    fn policy_names_the_servers_of_base_maps_on_pages_with_a_map_only(engine: Engine) {
        let server = TestServer::start(engine);
        let browser = Browser::of_owner(&server);
        let folder = create_folder(&browser);
        let unchanged = (STRICT.to_owned(), "same-origin".to_owned());
        for path in ["/map", folder.as_str(), "/folders", PATH] {
            assert_eq!(policy(&browser, path), unchanged, "{path}");
        }
        add(&browser, "xyz", &[("name", "Tiles"), ("url", "https://{s}.tiles.test/{z}/{x}/{y}")]);
        add(&browser, "style", &[("name", "Style"), ("url", "https://style.test:8443/a.json"), ("hosts", "https://glyphs.test/x\r\nhttps://style.test:8443")]);
        let hosts = "https://a.tiles.test https://b.tiles.test https://c.tiles.test \
            https://style.test:8443 https://glyphs.test";
        let expected = STRICT
            .replace("img-src 'self'", &format!("img-src 'self' {hosts}"))
            .replace("connect-src 'self'", &format!("connect-src 'self' {hosts}"));
        for path in ["/map", folder.as_str()] {
            let expected = (expected.clone(), "strict-origin-when-cross-origin".to_owned());
            assert_eq!(policy(&browser, path), expected, "{path}");
        }
        for path in ["/", "/folders", "/account", PATH, "/settings/layers"] {
            assert_eq!(policy(&browser, path), unchanged, "{path}");
        }
        assert_eq!(browser.get("/nowhere").response.header("referrer-policy"), Some("same-origin"));
    }

    fn problems_of_a_base_map_are_shown_at_their_fields(engine: Engine) {
        let server = TestServer::start(engine);
        let browser = Browser::of_owner(&server);
        let form = format!("{PATH}/new?kind=wms");
        let fields = [("name", ""), ("url", "http://wms.test/?a={key}"), ("maxZoom", "99"), ("attributionUrl", "javascript:alert(1)")];
        let wrong = browser.send_form(&form, &form, &fields);
        assert_eq!(wrong.response.status, 400);
        assert_eq!(wrong.error_of("name"), Some("Must not be empty"));
        assert_eq!(wrong.error_of("url"), Some("Must start with https://; http:// is accepted only for your own network"));
        assert_eq!(wrong.error_of("key"), Some("Is required"));
        assert_eq!(wrong.error_of("layers"), Some("Is required"));
        assert_eq!(wrong.error_of("maxZoom"), Some("Must be a whole number from 0 to 24"));
        assert_eq!(wrong.error_of("attributionUrl"), Some("Must be a URL that starts with https://"));
        assert_eq!(browser.get(&format!("{PATH}/new?kind=svg")).response.status, 200, "the choice of kinds");
        assert_eq!(browser.send_form(PATH, &format!("{PATH}/new?kind=svg"), &[]).response.status, 404);
    }

    fn base_maps_are_edited_moved_and_deleted(engine: Engine) {
        let server = TestServer::start(engine);
        let browser = Browser::of_owner(&server);
        let url = "https://tiles.test/{z}/{x}/{y}.png";
        for name in ["Plan", "Aerial"] {
            add(&browser, "xyz", &[("name", name), ("url", url)]);
        }
        let names = || -> Vec<String> {
            let maps = configured(&browser, "/map");
            maps.as_array().unwrap().iter().map(|map| map["name"].as_str().unwrap().into()).collect()
        };
        let id = configured(&browser, "/map")[1]["id"].as_str().unwrap().to_owned();
        let edit = format!("{PATH}/{id}");
        browser.page(&edit).shows(url);
        browser.submit(&edit, &edit, &[("name", "Aerial images"), ("url", url)]);
        browser.submit(PATH, &format!("{edit}/move"), &[("to", "up")]);
        assert_eq!(names(), ["Aerial images", "Plan"]);
        let delete = format!("{edit}/delete");
        browser.page(&delete).shows("Delete base map");
        browser.submit(&delete, &delete, &[]);
        assert_eq!(names(), ["Plan"]);
        assert_eq!(browser.get(&edit).response.status, 404);
    }
}
