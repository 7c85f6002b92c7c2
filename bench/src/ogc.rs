//! Layers by the OGC API on both engines: all parcels page by page, parcels in boxes and by filters, and new
//! features in tiles; pages and boxes compared with TiPg on the same parcels in PostGIS.

mod boxes;
mod edits;
mod filters;
mod pages;

use crate::{
    Result,
    dataset::{Cover, Dataset},
    layers, load, martin,
    profile::{CONNECTIONS, Profile, psql, vacuum},
    report::Part,
    row::number,
    server::{Server, send},
    tipg::{self, Tipg},
};
use groma_domain::{
    Timestamp,
    layer::{DeclaredField, DeclaredType, LayerKey, LayerSetup},
};
use groma_store::{Actor, Store};
use groma_testkit::{Client, http::Request};
use serde_json::Value;

/// The parcels in Groma, and in TiPg.
const ITEMS: &str = "/ogc/collections/parcels/items";
const PEER_ITEMS: &str = "/collections/public.parcels/items";

/// A running server, and a client of its Geo API.
struct Engine {
    name: &'static str,
    server: Server,
    client: Client,
    token: String,
}

impl Engine {
    fn start(name: &'static str, database: &str) -> Result<Self> {
        let limits = [("GROMA_LIMITS__MAP_REQUESTS_PER_MINUTE", "1000000")];
        let server = Server::start_with(database, &limits)?;
        let (client, token) = (Client::new(server.geo), server.create_token()?);
        Ok(Self { name, server, client, token })
    }

    /// The body of a successful response.
    fn get(&self, path: &str) -> Result<Vec<u8>> {
        send(&self.client, &Request::new("GET", path).token(&self.token))
    }
}

pub(crate) async fn run(profile: &Profile) -> Result<Part> {
    let mut part = Part::new("ogc", "Layers by the OGC API");
    part.note(format!(
        "{} parcels in Groma and in PostGIS, as in the part tiles; the goals are per engine. Items: one client follows \
         the links to the next page, with 1,000 features a page as GeoJSON. TiPg counts all features and skips those \
         of earlier pages for every page, so only {} of its pages are read, evenly spread. Boxes: wrk with \
         {CONNECTIONS} connections, 80 to 120 features in a box. The features of the first page and of boxes are \
         compared before the measurement. Filters: CQL2 with a declared field and a box, one request at a time for the \
         first 100 features with the number of all matches, at most 10,000. Edits: one feature at a time, from the \
         POST to the tile that contains it.",
        number(profile.parcels as f64),
        pages::PEER_PAGES,
    ));
    let dataset = Dataset::new();
    let (file, own) = (profile.sqlite("tiles")?, profile.postgres("tiles")?);
    let theirs = profile.postgres("martin")?;
    for database in [&file, &own] {
        layers::load(&database.parse()?, &dataset, profile.parcels).await?;
        declare_fields(database).await?;
    }
    martin::fill(&theirs, &dataset, Cover::Parcels, profile.parcels)?;
    vacuum(&own)?;
    vacuum(&theirs)?;
    let tipg = Tipg::start(&theirs)?;
    let version = psql(&theirs, "SELECT postgis_lib_version()")?;
    part.peer("PostGIS", version, "one database for Martin and TiPg");
    part.peer("TiPg", tipg::version()?, tipg::SETTINGS);

    let engines = [Engine::start("SQLite", &file)?, Engine::start("PostgreSQL", &own)?];
    pages::measure(profile, &mut part, &engines, &tipg)?;
    boxes::measure(profile, &mut part, &engines, &tipg, &dataset)?;
    drop(tipg);
    for engine in &engines {
        filters::measure(profile, &mut part, engine, &dataset)?;
        edits::measure(profile, &mut part, engine, &dataset)?;
    }
    Ok(part)
}

/// Declares the fields that the filters use.
async fn declare_fields(database: &str) -> Result {
    let store = Store::open(&database.parse()?).await?;
    let workspace = load::workspace(&store).await?;
    let key = LayerKey::Slug(Cover::Parcels.name().to_owned());
    let layer = store.layer(workspace, &key).await?.ok_or("the layer is missing")?;
    if !layer.declared_fields.is_empty() {
        return Ok(());
    }
    let field = |name: &str, field_type| DeclaredField {
        name: name.to_owned(),
        field_type,
        required: false,
        choices: Vec::new(),
        default: None,
        unit: None,
    };
    let fields = vec![field("use", DeclaredType::Text), field("area", DeclaredType::Number)];
    let setup = LayerSetup { declared_fields: Some(fields), ..LayerSetup::default() };
    let now = Timestamp::from(jiff::Timestamp::now());
    store.set_up_layer(workspace, Actor::Operator, key, setup, now).await?;
    Ok(())
}

/// A box around a parcel with sides of this many metres, as west, south, east and north.
fn box_around(dataset: &Dataset, n: u64, count: u64, side: f64) -> String {
    let ((x, y), _) = dataset.place(Cover::Parcels, n, count);
    let north = side / 2.0 / 111_320.0;
    let east = north / y.to_radians().cos();
    format!("{:.7},{:.7},{:.7},{:.7}", x - east, y - north, x + east, y + north)
}

/// The numbers of the parcels of a page, which Groma has as external ids and TiPg as ids.
fn parcel_numbers(page: &[u8], member: &str) -> Result<Vec<u64>> {
    let page: Value = serde_json::from_slice(page)?;
    let features = page["features"].as_array().ok_or("no features")?;
    let number = |feature: &Value| match &feature[member] {
        Value::String(text) => Ok(text.parse()?),
        id => Ok(id.as_u64().ok_or("no id")?),
    };
    features.iter().map(number).collect()
}
