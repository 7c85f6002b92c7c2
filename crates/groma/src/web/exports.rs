//! Downloads of records and layers, written by the code of `groma export`.
//!
//! A file is written to a temporary file first: its memory does not grow with its content, and a failure is a page
//! instead of half a file.

use super::{
    WebError,
    form::Query,
    i18n::{MessageId, id},
    records::list,
    request_context::MemberContext,
};
use crate::{
    cli::RecordFormat,
    export::{ExportError, LayerExport, RecordExport, RecordSelection},
    http::NO_STORE,
    member_slots::MemberSlot,
};
use axum::{
    body::{Body, Bytes},
    extract::Path,
    http::{HeaderName, HeaderValue, header},
    response::Response,
};
use futures_util::{
    Stream,
    future::{Either, select},
    stream,
};
use groma_domain::{Kind, LayerId, RecordId, SearchTerm, layer::LayerKey, text::fold};
use groma_files::{FormatLimit, LayerFormat};
use groma_geo::Crs;
use groma_store::{RecordQuery, Sort};
use serde_json::{Value, json};
use std::{
    fs::File,
    io::{self, BufWriter, Read, Seek},
    pin::pin,
};
use tokio::{runtime::Handle, sync::oneshot, task::spawn_blocking};

/// How much of a file is sent at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// A list of records, with its filters and in its order.
pub(super) async fn list(
    ctx: MemberContext,
    Path(plural): Path<String>,
    query: Query,
) -> Result<Response, WebError> {
    let kind = list::parse_plural(&plural)?;
    let records = list::all_records(&ctx, &query, kind).await?;
    let name = dated(&ctx, &ctx.t().kind_title(kind));
    send_records(ctx, &query, records, name, json!({ "kind": kind.plural() })).await
}

/// The records of one kind that the search finds.
pub(super) async fn search(ctx: MemberContext, query: Query) -> Result<Response, WebError> {
    let kind = list::parse_plural(query.get("kind"))?;
    let typed: String = query.get("q").trim().chars().take(200).collect();
    let term = SearchTerm::parse(&typed).ok().flatten().ok_or_else(WebError::not_found)?;
    let records = RecordQuery { term: Some(term), ..RecordQuery::all(kind) };
    let name = dated(&ctx, &format!("{} {typed}", ctx.t().kind_title(kind)));
    send_records(ctx, &query, records, name, json!({ "kind": kind.plural() })).await
}

/// A folder, or its records of one kind.
pub(super) async fn folder_records(
    ctx: MemberContext,
    Path(key): Path<String>,
    query: Query,
) -> Result<Response, WebError> {
    let folder = ctx.record(Kind::Folder, &key).await?;
    let kind = list::parse_plural(query.get("kind"))?;
    let mut records = RecordQuery { sort: Sort::OLDEST, ..RecordQuery::all(kind) };
    match kind {
        Kind::Folder => records.reference = Some(folder.reference().to_owned()),
        _ => records.folder = Some(folder.id()?),
    }
    let name = dated(&ctx, &format!("{} {}", folder.reference(), ctx.t().kind_title(kind)));
    let details = json!({ "kind": kind.plural(), "folder": folder.reference() });
    send_records(ctx, &query, records, name, details).await
}

/// The features of a folder in one layer.
pub(super) async fn folder_features(
    ctx: MemberContext,
    Path(key): Path<String>,
    query: Query,
) -> Result<Response, WebError> {
    let folder = ctx.record(Kind::Folder, &key).await?;
    let folder = (folder.id()?, folder.reference().to_owned());
    let layer = query.get("layer").to_owned();
    send_layer(ctx, &query, &layer, Some(folder)).await
}

/// A layer.
pub(super) async fn layer(
    ctx: MemberContext,
    Path(layer): Path<String>,
    query: Query,
) -> Result<Response, WebError> {
    send_layer(ctx, &query, &layer, None).await
}

async fn send_records(
    ctx: MemberContext,
    query: &Query,
    records: RecordQuery,
    name: String,
    details: Value,
) -> Result<Response, WebError> {
    let format = RecordFormat::of_name(query.get("format"));
    let format = format.ok_or_else(|| WebError::bad_request(id("error-export-format")))?;
    let media_type = match format {
        RecordFormat::Csv => "text/csv; charset=utf-8",
        RecordFormat::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        RecordFormat::Json => "application/json",
        RecordFormat::Ndjson => "application/x-ndjson",
    };
    let export = RecordExport {
        store: ctx.store().clone(),
        workspace: ctx.workspace_id(),
        selection: RecordSelection::Records(Box::new(records)),
        format,
    };
    let name = format!("{name}.{}", format.name());
    send(ctx, Export::Records(Box::new(export)), &name, media_type, details).await
}

/// Sends the features of a layer, or those of a folder only, which comes with its reference.
async fn send_layer(
    ctx: MemberContext,
    query: &Query,
    layer: &str,
    folder: Option<(RecordId, String)>,
) -> Result<Response, WebError> {
    let layer: LayerId = layer.parse().map_err(|_| WebError::not_found())?;
    let found = ctx.store().layer(ctx.workspace_id(), &LayerKey::Id(layer)).await?;
    let layer = found.ok_or_else(WebError::not_found)?;
    let format = LayerFormat::of_name(query.get("format")).filter(|format| format.can_be_written());
    let format = format.ok_or_else(|| WebError::bad_request(id("error-export-format")))?;
    let chosen = query.given("crs").map(Crs::parse).transpose();
    // The menu offers the same systems for all formats, but KML knows only one.
    let chosen = chosen.map(|crs| crs.filter(|_| format != LayerFormat::Kml));
    let crs = chosen.and_then(|chosen| LayerExport::crs_of_file(&layer, format, chosen));
    let crs = crs.map_err(|_| WebError::bad_request(id("error-export-crs")))?;
    let (folder, reference) = folder.unzip();
    let slug = layer.slug.as_str().to_owned();
    let name = match &reference {
        Some(reference) => format!("{reference} {slug}.{}", format.extension()),
        None => format!("{slug}.{}", format.extension()),
    };
    let mut details = json!({ "layer": slug });
    if let Some(reference) = reference {
        details["folder"] = reference.into();
    }
    let (store, workspace) = (ctx.store().clone(), ctx.workspace_id());
    let export = LayerExport { store, workspace, layer, folder, crs, format };
    send(ctx, Export::Layer(Box::new(export)), &name, media_type_of(format), details).await
}

fn media_type_of(format: LayerFormat) -> &'static str {
    match format {
        LayerFormat::GeoJson => "application/geo+json",
        LayerFormat::GeoJsonSeq => "application/x-ndjson",
        LayerFormat::GeoPackage => "application/geopackage+sqlite3",
        LayerFormat::Shapefile => "application/zip",
        LayerFormat::FlatGeobuf => "application/octet-stream",
        LayerFormat::Csv => "text/csv; charset=utf-8",
        LayerFormat::Kml => "application/vnd.google-earth.kml+xml",
        LayerFormat::Gpx => "application/gpx+xml",
        LayerFormat::Dxf => "image/vnd.dxf",
    }
}

/// What a download contains.
enum Export {
    Records(Box<RecordExport>),
    Layer(Box<LayerExport>),
}

impl Export {
    async fn write(&self, out: &mut BufWriter<File>) -> Result<(), ExportError> {
        match self {
            Self::Records(export) => export.write(out).await,
            Self::Layer(export) => export.write(out).await.map(drop),
        }
    }
}

/// Writes an export and sends it.
async fn send(
    ctx: MemberContext,
    export: Export,
    name: &str,
    media_type: &'static str,
    details: Value,
) -> Result<Response, WebError> {
    let slot = ctx.export_slot().await?;
    let entry = ctx.request.security_entry("export.created").in_workspace(ctx.workspace_id());
    ctx.store().log_security(entry.with_details(details)).await?;
    // Dropped with this request: an export for a client that has gone away ends.
    let (_client, gone) = oneshot::channel::<()>();
    let runtime = Handle::current();
    let written = spawn_blocking(move || {
        let mut out = BufWriter::new(tempfile::tempfile()?);
        match runtime.block_on(select(pin!(export.write(&mut out)), gone)) {
            Either::Left((written, _)) => written?,
            Either::Right(_) => return Err(io::Error::from(io::ErrorKind::Interrupted).into()),
        }
        let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok::<_, ExportError>((file, slot))
    });
    let written = written.await.map_err(|error| WebError::internal(error.to_string()))?;
    let (file, slot) = written?;
    let length = file.metadata().map_err(|error| WebError::internal(error.to_string()))?.len();
    let mut response = Response::new(Body::from_stream(chunks(file, slot)));
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: HeaderValue| headers.insert(name, value);
    set(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    set(header::CONTENT_LENGTH, HeaderValue::from(length));
    set(header::CONTENT_DISPOSITION, attachment(name));
    set(header::CACHE_CONTROL, NO_STORE);
    Ok(response)
}

/// The content of a file. The slot is free when it is sent, or when the client has gone away.
fn chunks(file: File, slot: MemberSlot) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    stream::try_unfold((file, slot), async |(mut file, slot)| {
        let read = spawn_blocking(move || {
            let mut chunk = vec![0; CHUNK_BYTES];
            let length = file.read(&mut chunk)?;
            chunk.truncate(length);
            Ok::<_, io::Error>((file, chunk))
        });
        let (file, chunk) = read.await.map_err(io::Error::other)??;
        Ok((!chunk.is_empty()).then(|| (Bytes::from(chunk), (file, slot))))
    })
}

/// A name with today's date.
fn dated(ctx: &MemberContext, name: &str) -> String {
    format!("{name} {}", ctx.request.today())
}

/// Names the file that the browser saves: in full, and in ASCII for others.
pub(super) fn attachment(name: &str) -> HeaderValue {
    let is_safe = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let words = name.split(|c: char| !is_safe(c)).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("-");
    let plain: String = fold(&name).chars().map(|c| if c.is_ascii() { c } else { '_' }).collect();
    let encoded = super::form::encode(&name);
    let value = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}");
    HeaderValue::try_from(value).unwrap_or(HeaderValue::from_static("attachment"))
}

fn limit_message(limit: FormatLimit) -> MessageId {
    match limit {
        FormatLimit::SheetRows => id("error-export-sheet-rows"),
        FormatLimit::SheetText { .. } => id("error-export-sheet-text"),
        FormatLimit::Columns => id("error-export-columns"),
        FormatLimit::ShapefileRow => id("error-export-shapefile-row"),
        FormatLimit::ShapefileSize => id("error-export-shapefile-size"),
        FormatLimit::KmlCrs => id("error-export-crs"),
    }
}

impl From<ExportError> for WebError {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Store(error) => error.into(),
            ExportError::Format(limit) => Self::bad_request(limit_message(limit)),
            ExportError::OutsideArea { .. } => Self::bad_request(id("error-export-outside-area")),
            ExportError::Io(_) | ExportError::Damaged(_) => Self::internal(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_safe_in_a_header_and_on_every_system() {
        for (name, plain, encoded) in [
            ("Dépenses 2026-01-31.csv", "depenses-2026-01-31.csv", "D%C3%A9penses-2026-01-31.csv"),
            ("../..\\a\"\r\n;b.gpkg", "..-..-a-b.gpkg", "..-..-a-b.gpkg"),
            ("道路.csv", "__.csv", "%E9%81%93%E8%B7%AF.csv"),
        ] {
            let header = attachment(name);
            let expected = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}");
            assert_eq!(header.to_str().unwrap(), expected);
        }
    }
}
