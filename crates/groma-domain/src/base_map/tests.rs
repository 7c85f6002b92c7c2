use super::*;

fn input(kind: &str, url: &str) -> BaseMapInput {
    BaseMapInput {
        name: "Ground".into(),
        kind: kind.into(),
        url: url.into(),
        ..BaseMapInput::default()
    }
}

fn id(number: u128) -> BaseMapId {
    BaseMapId(uuid::Uuid::from_u128(number))
}

fn parse(input: &BaseMapInput) -> Result<BaseMap, DomainError> {
    BaseMap::parse(id(1), input)
}

fn problems(input: &BaseMapInput) -> Vec<String> {
    match parse(input) {
        Err(DomainError::Invalid(errors)) => errors.iter().map(ToString::to_string).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn tiles_are_requested_with_the_key_from_every_subdomain() {
    let typed = BaseMapInput {
        key: "a b/ü".into(),
        ..input("xyz", "https://{s}.tiles.test/{z}/{x}/{-y}.png?k={key}")
    };
    let map = parse(&typed).unwrap();
    assert!(map.is_tms());
    assert_eq!(map.urls()[1], "https://b.tiles.test/{z}/{x}/{y}.png?k=a%20b%2F%C3%BC");
    let origins = ["https://a.tiles.test", "https://b.tiles.test", "https://c.tiles.test"];
    assert_eq!(map.origins(), origins);
    assert_eq!((map.min_zoom, map.max_zoom, map.tile_size), (0, 19, 256));
    assert_eq!(map.without_key().key, None);
}

#[test]
fn wmts_placeholders_become_those_of_the_map() {
    let url = "https://wmts.test/g?TILEMATRIX={TileMatrix}&TILEROW={TileRow}&TILECOL={TileCol}";
    let map = parse(&input("wmts", url)).unwrap();
    assert_eq!(map.urls(), ["https://wmts.test/g?TILEMATRIX={z}&TILEROW={y}&TILECOL={x}"]);
    let map = parse(&input("wmts", "https://wmts.test/{z}/{y}/{x}.jpeg")).unwrap();
    assert_eq!(map.urls(), ["https://wmts.test/{z}/{y}/{x}.jpeg"]);
}

#[test]
fn wms_request_replaces_the_parameters_of_a_copied_url() {
    let url = "https://wms.test/ows?MAP=/a.map&SERVICE=WMS&REQUEST=GetCapabilities&CRS=EPSG:2154";
    let typed = BaseMapInput {
        layers: "roads,plan & parcels".into(),
        format: "jpeg".into(),
        tile_size: "512".into(),
        ..input("wms", url)
    };
    let expected = "https://wms.test/ows?MAP=/a.map&service=WMS&version=1.3.0&request=GetMap\
        &layers=roads%2Cplan%20%26%20parcels&styles=&crs=EPSG:3857&bbox={bbox-epsg-3857}\
        &width=512&height=512&format=image/jpeg&transparent=false";
    assert_eq!(parse(&typed).unwrap().urls(), [expected]);
}

#[test]
fn style_lists_the_other_hosts_that_it_loads_from() {
    let typed = BaseMapInput {
        hosts: "https://tiles.test/v3/ \n https://glyphs.test:8443 https://tiles.test".into(),
        ..input("style", "https://style.test/style.json?key={key}")
    };
    let typed = BaseMapInput { key: "abc".into(), ..typed };
    let map = parse(&typed).unwrap();
    assert_eq!(map.urls(), ["https://style.test/style.json?key=abc"]);
    let origins = ["https://style.test", "https://tiles.test", "https://glyphs.test:8443"];
    assert_eq!(map.origins(), origins);
}

#[test]
fn all_problems_are_reported_at_their_fields() {
    let typed = BaseMapInput {
        name: " ".into(),
        key: "abc".into(),
        attribution_url: "javascript:alert(1)".into(),
        min_zoom: "9".into(),
        max_zoom: "3".into(),
        tile_size: "300".into(),
        ..input("xyz", "https://tiles.test/{z}/{x}.png")
    };
    assert_eq!(
        problems(&typed),
        [
            "name must not be empty",
            "url must contain {z}, {x}, {y}",
            "key is not used: the URL does not contain {key}",
            "attributionUrl must be a URL that starts with https://",
            "maxZoom must be a whole number from 9 to 24",
            "tileSize must be one of 256, 512",
        ]
    );
    assert_eq!(problems(&input("wms", "https://wms.test/")), ["layers is required"]);
    assert_eq!(problems(&input("style", "https://s.test/{key}")), ["key is required"]);
    assert_eq!(problems(&input("svg", ""))[0], "kind must be one of xyz, wmts, wms, style");
}

#[test]
fn url_that_a_policy_cannot_name_is_rejected() {
    for (url, problem) in [
        ("https://a.test;b/{z}/{x}/{y}", "must have a host name and a valid port"),
        ("https://[::1]/{z}/{x}/{y}", "must have a host name and a valid port"),
        ("https://{z}.test/{x}/{y}", "must have a host name and a valid port"),
        ("https://me:pw@a.test/{z}/{x}/{y}", "must not contain credentials"),
        (
            "https://a.test/{z}/{x}/{y} 'unsafe-inline'",
            "must not contain spaces or control characters",
        ),
        ("ftp://a.test/{z}/{x}/{y}", "must be a URL that starts with https://"),
        (
            "http://tiles.test/{z}/{x}/{y}",
            "must start with https://; http:// is accepted only for your own network",
        ),
        (
            "https://a.test/{z}/{x}/{y}/{Style}",
            "contains the unknown placeholder {Style}; replace it by its value",
        ),
    ] {
        assert_eq!(problems(&input("xyz", url)), [format!("url {problem}")], "{url}");
    }
    for url in ["http://127.0.0.1:8080", "http://10.1.2.3", "http://tiles", "http://gis.lan"] {
        parse(&input("xyz", &format!("{url}/{{z}}/{{x}}/{{y}}"))).unwrap();
    }
}

fn numbered(number: u128, is_default: bool) -> BaseMap {
    let name = format!("Map {number}");
    let typed = BaseMapInput { name, is_default, ..input("xyz", "https://a.test/{z}/{x}/{y}") };
    BaseMap::parse(id(number), &typed).unwrap()
}

#[test]
fn list_keeps_its_order_and_one_default() {
    let mut maps = BaseMaps::default();
    for number in 1..=3 {
        maps.add(numbered(number, number != 3)).unwrap();
    }
    let order = |maps: &BaseMaps| -> Vec<(u128, bool)> {
        maps.as_slice().iter().map(|map| (map.id.0.as_u128(), map.is_default)).collect()
    };
    assert_eq!(order(&maps), [(1, false), (2, true), (3, false)]);
    maps.shift(id(3), true).unwrap();
    maps.shift(id(1), true).unwrap();
    maps.replace(numbered(3, true)).unwrap();
    assert_eq!(order(&maps), [(1, false), (3, true), (2, false)]);
    maps.remove(id(3)).unwrap();
    assert!(maps.remove(id(3)).is_err() && maps.get(id(3)).is_err());
    let same_name = BaseMap { id: id(9), ..numbered(1, false) };
    assert!(maps.add(same_name).is_err(), "the name is taken");
    for number in 10..28 {
        maps.add(numbered(number, false)).unwrap();
    }
    assert!(maps.add(numbered(99, false)).is_err(), "at most {MAX_BASE_MAPS}");
}

#[test]
fn every_preset_is_valid_once_it_has_its_key() {
    for preset in presets::PRESETS {
        let typed = BaseMapInput { name: preset.id.into(), ..preset.input() };
        let needs_key = typed.url.contains("{key}");
        assert_eq!(needs_key, preset.id == "ordnance-survey");
        let key = if needs_key { "abc".into() } else { String::new() };
        let map = parse(&BaseMapInput { key, ..typed }).unwrap();
        assert_eq!(map.origins().len(), 1, "{}", preset.id);
        assert!(!map.attribution.is_empty());
    }
}
