//! Records as items. Folders and assignments have the extent of the folder as their geometry.

use super::{
    OgcState,
    bbox::BoxFilter,
    crs::{CollectionCrs, ItemCrs},
    fields::Fields,
    filter::ItemFilter,
    item_query::ItemQuery,
    items::{ItemSource, begin_search, respond_item, respond_page},
    page::PageWriter,
    parameters::Parameters,
    sort::{SortOrder, SortedItem, Sorter},
    sorted_items::{SortableItems, SortedItems},
    time_range::TimeRange,
};
use crate::{
    http::{HttpError, ResponseOptions},
    token_auth::Caller,
};
use axum::response::Response;
use groma_domain::{
    Kind, RecordId, Timestamp, WorkspaceId,
    cql2::{Properties, PropertyKind, Value},
    layer::LayerCrs,
    reference::Key,
};
use groma_geo::{Bbox, Geometry, Position, geojson::write_geometry};
use groma_store::Store;
use serde::Deserialize;
use std::{borrow::Cow, collections::HashMap, sync::Arc};

/// The number of records that are read at a time.
const CHUNK: u32 = 500;

pub(super) async fn list_items(
    ogc: OgcState,
    caller: Caller,
    kind: Kind,
    query: Option<String>,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let workspace = caller.token.workspace;
    let fields = Fields::of_records(kind);
    let systems = CollectionCrs::of(&ogc, workspace, LayerCrs::CRS84).await?;
    let query = ItemQuery::parse(query.as_deref(), &systems, &fields)?;
    let search = begin_search(&ogc, &caller, &query).await?;
    let page = PageWriter::new(&query.cursor, query.limit, query.is_filtered());
    let total = ogc.store.totals(workspace).await?[kind as usize];
    let source = RecordItems {
        geometries: RecordGeometries::new(ogc.store.clone(), workspace, kind),
        after: if query.order.is_some() { 0 } else { page.start() },
        total,
        fields,
        crs: query.crs.clone(),
        bbox: query.bbox.clone(),
        datetime: query.datetime,
        filter: query.filter.clone(),
    };
    if let Some(order) = query.order.clone() {
        let sorter = Sorter::new(&query.cursor, query.limit);
        let source = SortedItems::new(source, order, sorter);
        let query = (query, search);
        return respond_page(&ogc, kind.plural(), source, query, None, options).await;
    }
    respond_page(&ogc, kind.plural(), source, (query, search), None, options).await
}

pub(super) async fn get_item(
    ogc: OgcState,
    caller: Caller,
    kind: Kind,
    item: String,
    query: Option<String>,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let workspace = caller.token.workspace;
    let parameters = Parameters::parse(query.as_deref(), &["f", "crs"])?;
    let systems = CollectionCrs::of(&ogc, workspace, LayerCrs::CRS84).await?;
    let crs = ItemCrs::parse("crs", parameters.get("crs"), &systems)?;
    let not_found = || HttpError::not_found("item", &item);
    let id: RecordId = item.parse().map_err(|_| not_found())?;
    let document = ogc.store.get(workspace, kind, &Key::Id(id)).await?.ok_or_else(not_found)?;
    let record = Record::read(&document)?;
    let mut geometries = RecordGeometries::new(ogc.store.clone(), workspace, kind);
    let geometry = geometries.of(&record).await?;
    let mut out = Vec::new();
    write_record(&record, &document, geometry.as_ref(), &crs, &mut out);
    respond_item(&ogc, kind.plural(), (&id.to_string(), out), &crs, options)
}

/// The records of a kind.
struct RecordItems {
    geometries: RecordGeometries,
    after: u64,
    total: u64,
    fields: Fields,
    crs: ItemCrs,
    bbox: Option<BoxFilter>,
    datetime: Option<TimeRange>,
    filter: Option<Arc<ItemFilter>>,
}

impl ItemSource for RecordItems {
    async fn advance(&mut self, mut page: PageWriter) -> Result<(PageWriter, bool), HttpError> {
        let RecordGeometries { store, workspace, kind, .. } = &self.geometries;
        let records = store.export(*workspace, *kind, self.after, page.wanted(CHUNK)).await?;
        let Some(last) = records.last() else { return Ok((page, false)) };
        self.after = last.position;
        for exported in records {
            let record = Record::read(&exported.document)?;
            let geometry = self.geometries.of(&record).await?;
            if self.matches(&record, &exported.document, geometry.as_ref())? {
                page.add(exported.position, |out| {
                    write_record(&record, &exported.document, geometry.as_ref(), &self.crs, out);
                    Ok::<_, HttpError>(())
                })?;
            }
        }
        if page.has_counted() {
            self.after = self.after.max(page.after);
        }
        Ok((page, true))
    }

    fn total(&self) -> u64 {
        self.total
    }
}

impl RecordItems {
    fn matches(
        &self,
        record: &Record,
        document: &[u8],
        geometry: Option<&Geometry>,
    ) -> Result<bool, HttpError> {
        if self.datetime.is_some_and(|range| !range.contains(record.updated_at)) {
            return Ok(false);
        }
        if let Some(BoxFilter { crs, bbox }) = &self.bbox {
            let geometry =
                geometry.and_then(|geometry| crs.system.geometry_from_wgs84(geometry, None));
            if !geometry.is_some_and(|geometry| geometry.intersects_box(*bbox)) {
                return Ok(false);
            }
        }
        let Some(filter) = &self.filter else { return Ok(true) };
        let document = read_document(document)?;
        let system = &filter.crs.system;
        let geometry =
            || Ok(geometry.and_then(|geometry| system.geometry_from_wgs84(geometry, None)));
        filter.prepare().matches(&|name| self.value(&document, name), geometry)
    }

    /// The value of a field. Amounts are texts in documents.
    fn value<'v>(&self, document: &Properties<'v>, name: &str) -> Value<'v> {
        let value = match name.split_once('.') {
            Some((person, member)) => document.get_within(person, member),
            None => document.get(name),
        };
        match value {
            Value::Text(text) if self.fields.kind(name) == Some(PropertyKind::Number) => {
                text.parse().map_or(Value::Null, Value::Number)
            }
            value => value,
        }
    }
}

impl SortableItems for RecordItems {
    type Id = RecordId;

    async fn sort_next(
        &mut self,
        order: &Arc<SortOrder>,
        mut sorter: Sorter<RecordId>,
    ) -> Result<(Sorter<RecordId>, bool), HttpError> {
        let RecordGeometries { store, workspace, kind, .. } = &self.geometries;
        let records = store.export(*workspace, *kind, self.after, CHUNK).await?;
        let Some(last) = records.last() else { return Ok((sorter, false)) };
        self.after = last.position;
        for exported in records {
            let record = Record::read(&exported.document)?;
            let geometry = self.geometries.of(&record).await?;
            if self.matches(&record, &exported.document, geometry.as_ref())? {
                let document = read_document(&exported.document)?;
                let key = order.key(&|name| self.value(&document, name));
                let position = exported.position;
                sorter.add(SortedItem { key, position, item: record.id });
            }
        }
        Ok((sorter, true))
    }

    async fn write(
        &mut self,
        items: Vec<SortedItem<RecordId>>,
        mut page: PageWriter,
    ) -> Result<PageWriter, HttpError> {
        for SortedItem { key, position, item } in items {
            let RecordGeometries { store, workspace, kind, .. } = &self.geometries;
            let document = store.get(*workspace, *kind, &Key::Id(item)).await?;
            let Some(document) = document else { continue };
            let record = Record::read(&document)?;
            let geometry = self.geometries.of(&record).await?;
            page.add_sorted(position, key, |out| {
                write_record(&record, &document, geometry.as_ref(), &self.crs, out);
                Ok::<_, HttpError>(())
            })?;
        }
        Ok(page)
    }

    fn total(&self) -> u64 {
        self.total
    }
}

fn read_document(document: &[u8]) -> Result<Properties<'_>, HttpError> {
    Properties::read_bytes(document).map_err(|error| HttpError::internal(error.to_string()))
}

/// The part of a record's document that this API needs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    id: RecordId,
    folder_id: Option<RecordId>,
    bbox: Option<Bbox>,
    updated_at: Timestamp,
}

impl Record {
    fn read(document: &[u8]) -> Result<Self, HttpError> {
        serde_json::from_slice(document).map_err(|error| HttpError::internal(error.to_string()))
    }
}

/// The geometries of records. The extents of folders are kept.
struct RecordGeometries {
    store: Store,
    workspace: WorkspaceId,
    kind: Kind,
    extents: HashMap<RecordId, Option<Bbox>>,
}

impl RecordGeometries {
    fn new(store: Store, workspace: WorkspaceId, kind: Kind) -> Self {
        Self { store, workspace, kind, extents: HashMap::new() }
    }

    async fn of(&mut self, record: &Record) -> Result<Option<Geometry>, HttpError> {
        let extent = match (self.kind, record.folder_id) {
            (Kind::Folder, _) => record.bbox,
            (Kind::Assignment, Some(folder)) => self.extent_of(folder).await?,
            _ => None,
        };
        Ok(extent.map(rectangle))
    }

    async fn extent_of(&mut self, folder: RecordId) -> Result<Option<Bbox>, HttpError> {
        if let Some(extent) = self.extents.get(&folder) {
            return Ok(*extent);
        }
        let document = self.store.get(self.workspace, Kind::Folder, &Key::Id(folder)).await?;
        let extent = match document {
            Some(document) => Record::read(&document)?.bbox,
            None => None,
        };
        self.extents.insert(folder, extent);
        Ok(extent)
    }
}

/// A box as a polygon.
fn rectangle(Bbox([west, south, east, north]): Bbox) -> Geometry {
    let corners = [(west, south), (east, south), (east, north), (west, north), (west, south)];
    Geometry::Polygon(vec![corners.map(|(x, y)| Position { x, y, z: None }).to_vec()])
}

/// Appends a record as a Feature whose properties are its document.
fn write_record(
    record: &Record,
    document: &[u8],
    geometry: Option<&Geometry>,
    crs: &ItemCrs,
    out: &mut Vec<u8>,
) {
    let geometry = geometry.and_then(|geometry| crs.system.geometry_from_wgs84(geometry, None));
    out.extend_from_slice(b"{\"type\":\"Feature\",\"id\":\"");
    out.extend_from_slice(record.id.to_string().as_bytes());
    out.extend_from_slice(b"\",\"geometry\":");
    match geometry {
        Some(geometry) => write_geometry(&crs.in_axis_order(Cow::Owned(geometry)), out),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"properties\":");
    out.extend_from_slice(document);
    out.push(b'}');
}
