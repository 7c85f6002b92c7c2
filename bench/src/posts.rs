//! Geometries posted over HTTP, each body synced before it is answered.

use crate::{
    Outcome,
    effort::Effort,
    land::{Cover, Land},
    load,
    office::Office,
    report::{Goal, Part, Row, Unit},
};
use groma_store::Store;

/// FeatureCollections of 10,000 parcels.
pub(crate) async fn measure(effort: &Effort, part: &mut Part, land: &Land) -> Outcome {
    const FEATURES: u64 = 10_000;
    const POSTS: u64 = 9;
    let database = effort.new_sqlite("posted")?;
    let store = Store::open(&database.parse()?).await?;
    load::workspace(&store).await?;
    drop(store);
    let office = Office::start(&database)?;
    let token = office.token()?;
    let file = format!("{}/posted.geojson", effort.folder()?);
    let mut rates = Vec::new();
    for post in 0..POSTS {
        let mut body = br#"{"type":"FeatureCollection","features":["#.to_vec();
        for n in 0..FEATURES {
            if n > 0 {
                body.push(b',');
            }
            let feature = land.feature(Cover::Parcels, post * FEATURES + n, 1_000_000);
            write_feature(&feature, &mut body)?;
        }
        body.extend_from_slice(b"]}");
        std::fs::write(&file, &body)?;
        let seconds = office.post("/api/public/v1/geometries/geojson", &token, &file)?;
        rates.push(FEATURES as f64 / seconds);
    }
    let row = Row::new("features posted, 10,000 parcels a body", Unit::PerSecond, &rates);
    part.row(row.goal(Goal::AtLeast(50_000.0)));
    Ok(())
}

fn write_feature(feature: &groma_geo::geojson::Feature, body: &mut Vec<u8>) -> Outcome {
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
