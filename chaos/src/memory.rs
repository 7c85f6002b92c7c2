//! Request bodies that try to exhaust the memory of the process.

use crate::{Result, Scale, ensure, fixture::Fixture, report::ScenarioResult};
use groma_testkit::{Client, Engine, Response, ServerProcess, http::API};
use serde_json::{Value, json};

const MB: u64 = 1 << 20;
/// The limit of a decompressed body, which the bombs exceed several hundred times.
const BODY_LIMIT: u64 = MB;

pub(crate) async fn run(_: Scale) -> Result<Vec<ScenarioResult>> {
    let bombs = decompression_bombs(Engine::Sqlite).await?;
    let features = many_features(Engine::Sqlite).await?;
    let mut results = vec![bombs, features];
    for engine in Engine::ALL {
        results.push(large_layer(engine).await?);
    }
    Ok(results)
}

fn post(client: &Client, token: &str, body: Vec<u8>, encoding: Option<&str>) -> Response {
    let path = format!("{API}/geometries/geojson");
    let request =
        client.request("POST", &path).token(token).header("Content-Type", "application/json");
    let request = match encoding {
        Some(encoding) => request.header("Content-Encoding", encoding),
        None => request,
    };
    request.body(body).send()
}

fn peak(server: &ServerProcess) -> Result<u64> {
    server.memory("VmHWM")
}

/// Half a gigabyte of spaces in a small compressed body.
async fn decompression_bombs(engine: Engine) -> Result<ScenarioResult> {
    let mut fixture = Fixture::new(engine);
    fixture.set_env("GROMA_LIMITS__GEOJSON_BYTES", &BODY_LIMIT.to_string());
    let server = fixture.serve().await?;
    let point = json!({ "type": "Point", "coordinates": [2.0, 48.0] }).to_string().into_bytes();
    ensure(post(server.geo(), fixture.token(), point, None).status == 200, || "no post".into())?;
    let before = peak(&server)?;
    let start = br#"{"type":"FeatureCollection","features":["#;
    let spaces = vec![b' '; MB as usize];
    let gzip = [gzip(start), gzip(&spaces).repeat(512)].concat();
    let zstd = [zstd(start)?, zstd(&spaces)?.repeat(512)].concat();
    let bombs = [("gzip", gzip), ("zstd", zstd), ("br", brotli(start)?)];
    let count = bombs.len() as u64;
    for (encoding, bomb) in bombs {
        let response = post(server.geo(), fixture.token(), bomb, Some(encoding));
        ensure(response.status == 400, || format!("{encoding}: {}", response.text()))?;
    }
    let growth = (peak(&server)? - before) / MB;
    ensure(growth < 64, || format!("decompression bombs took {growth} MB"))?;
    Ok(ScenarioResult {
        acknowledged: count,
        details: format!("rejected; peak memory grew by {growth} MB"),
        ..ScenarioResult::new("decompression bombs of 512 MB", &engine, count)
    })
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).expect("compression in memory");
    encoder.finish().expect("compression in memory")
}

fn zstd(bytes: &[u8]) -> Result<Vec<u8>> {
    Ok(zstd::bulk::compress(bytes, 19)?)
}

/// Brotli cannot concatenate compressed pieces as gzip and zstd do.
fn brotli(start: &[u8]) -> Result<Vec<u8>> {
    use std::io::Read;
    let spaces = std::io::repeat(b' ').take(512 * MB);
    let mut compressed = Vec::new();
    brotli::CompressorReader::new(start.chain(spaces), 1 << 16, 2, 22)
        .read_to_end(&mut compressed)?;
    Ok(compressed)
}

/// A body that is five times as long takes no more memory.
async fn many_features(engine: Engine) -> Result<ScenarioResult> {
    const FEW: usize = 2_500;
    const MANY: usize = 12_500;
    const FILLER: usize = 3_000;
    let fixture = Fixture::new(engine);
    let server = fixture.serve().await?;
    let filler = "x".repeat(FILLER);
    let feature = |n: usize| {
        let geometry = json!({ "type": "Point", "coordinates": [2.0, 48.0] });
        json!({ "type": "Feature", "id": n, "geometry": geometry, "properties": { "filler": filler } })
    };
    // The last feature is invalid, so nothing is stored.
    let reject = |count: usize| -> Result<u64> {
        let features: Vec<Value> = (0..count).map(feature).chain([json!(0)]).collect();
        let body = json!({ "type": "FeatureCollection", "features": features });
        let response = post(server.geo(), fixture.token(), body.to_string().into_bytes(), None);
        ensure(response.status == 400, || response.text())?;
        peak(&server)
    };
    // The first bodies also pay for buffers that each thread keeps.
    let mut few = 0;
    for _ in 0..4 {
        few = reject(FEW)?;
    }
    let many = reject(MANY)?;
    // Threads whose buffers are still small can add some megabytes, but not half of the longer body.
    let tolerance = ((MANY - FEW) * FILLER / 2) as u64;
    ensure(few < 160 * MB, || format!("the short body took {} MB", few / MB))?;
    ensure(many < few + tolerance, || format!("from {} to {} MB", few / MB, many / MB))?;
    Ok(ScenarioResult {
        acknowledged: 5,
        details: format!("peak memory {} MB for 8 MB, {} MB for 38 MB", few / MB, many / MB),
        ..ScenarioResult::new("a body of 12,500 features", &engine, 1)
    })
}

/// The memory for a post depends on the body, not on the size of the layer.
async fn large_layer(engine: Engine) -> Result<ScenarioResult> {
    const COUNT: u32 = 5_000;
    let fixture = Fixture::new(engine);
    let server = fixture.serve().await?;
    let grid = |n: u32| [2.0 + f64::from(n % 71) * 1e-3, 48.0 + f64::from(n / 71) * 1e-3];
    let send = |name: &str, position: &dyn Fn(u32) -> [f64; 2]| -> Result {
        let feature = |n: u32| {
            let geometry = json!({ "type": "Point", "coordinates": position(n) });
            json!({ "type": "Feature", "id": format!("{name} {n}"), "geometry": geometry, "properties": { "n": n } })
        };
        let features: Vec<Value> = (0..COUNT).map(feature).collect();
        let body = json!({ "type": "FeatureCollection", "features": features });
        let response = post(server.geo(), fixture.token(), body.to_string().into_bytes(), None);
        ensure(response.status == 200, || response.text())
    };
    send("grid", &grid)?;
    let before = peak(&server)?;
    send("spot", &|_| [2.0, 48.0])?;
    send("copy", &grid)?;
    send("grid", &|n| [grid(n)[0] + 5e-4, grid(n)[1]])?;
    let growth = (peak(&server)? - before) / MB;
    ensure(growth < 150, || format!("posts into a large layer took {growth} MB"))?;
    Ok(ScenarioResult {
        acknowledged: 4,
        details: format!("peak memory grew by {growth} MB"),
        ..ScenarioResult::new("posts into a large layer", &engine, 4)
    })
}
