//! Geometries posted over HTTP, each body synced before the response.

use crate::{
    Result,
    dataset::{Cover, Dataset},
    load,
    profile::Profile,
    report::{Goal, Part, Row, Unit},
    server::Server,
};
use groma_store::Store;

/// FeatureCollections of 10,000 parcels.
pub(crate) async fn measure(profile: &Profile, part: &mut Part, dataset: &Dataset) -> Result {
    const FEATURES: u64 = 10_000;
    const POSTS: u64 = 9;
    let database = profile.new_sqlite("posted")?;
    let store = Store::open(&database.parse()?).await?;
    load::workspace(&store).await?;
    drop(store);
    let server = Server::start(&database)?;
    let token = server.create_token()?;
    let mut rates = Vec::new();
    for post in 0..POSTS {
        let mut body = br#"{"type":"FeatureCollection","features":["#.to_vec();
        for n in 0..FEATURES {
            if n > 0 {
                body.push(b',');
            }
            let feature = dataset.feature(Cover::Parcels, post * FEATURES + n, 1_000_000);
            write_feature(&feature, &mut body)?;
        }
        body.extend_from_slice(b"]}");
        let time = server.post("/api/public/v1/geometries/geojson", &token, body)?;
        rates.push(FEATURES as f64 / time.as_secs_f64());
    }
    let row = Row::new("features posted, 10,000 parcels a body", Unit::PerSecond, &rates);
    part.row(row.goal(Goal::AtLeast(50_000.0)));
    Ok(())
}

pub(crate) fn write_feature(feature: &groma_geo::geojson::Feature, body: &mut Vec<u8>) -> Result {
    body.extend_from_slice(br#"{"type":"Feature","id":""#);
    body.extend_from_slice(feature.external_id.as_deref().unwrap_or_default().as_bytes());
    body.extend_from_slice(br#"","properties":"#);
    serde_json::to_writer(&mut *body, &feature.properties)?;
    body.extend_from_slice(br#","geometry":"#);
    if let Some(geometry) = &feature.geometry {
        groma_geo::geojson::write_geometry(geometry, body);
    }
    body.push(b'}');
    Ok(())
}
