//! The features of layers as items.

use super::{
    OgcState,
    bbox::BoxFilter,
    crs::{CONTENT_CRS, CollectionCrs, ItemCrs},
    fields::Fields,
    filter::{ItemFilter, PreparedFilter},
    item_query::ItemQuery,
    items::{ItemSource, begin_search, respond_item, respond_page},
    page::PageWriter,
    parameters::Parameters,
    sort::{SortOrder, SortedItem, Sorter},
    sorted_items::{SortableItems, SortedItems},
    time_range::TimeRange,
};
use crate::{
    http::{DocumentOfPage, HttpError, ResponseOptions},
    token_auth::Caller,
};
use axum::{
    Extension,
    extract::{Path, RawQuery, State},
    http::HeaderValue,
    response::Response,
};
use groma_domain::{
    GeometryId, Layer, LayerId,
    cql2::{Candidates, Properties, Value},
    layer::{LayerCrs, LayerKey},
};
use groma_geo::{Bbox, Crs, Geometry, wkb};
use groma_store::{FeatureReader, LayerFeature};
use std::{borrow::Cow, collections::HashMap, sync::Arc};
use twox_hash::XxHash3_128;

/// The number of features that are read at a time.
const CHUNK: u32 = 1_000;

pub(super) fn layer_not_found(key: &str) -> HttpError {
    HttpError::not_found("collection", key)
}

/// `/ogc/collections/{collection}/items`
pub(super) async fn list_items(
    State(ogc): State<OgcState>,
    Extension(caller): Extension<Caller>,
    Path(collection): Path<String>,
    RawQuery(query): RawQuery,
    page: Option<Extension<DocumentOfPage>>,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let max_geometry_bytes = max_geometry_bytes(page);
    let (workspace, key) = (caller.token.workspace, LayerKey::parse(&collection));
    let layer = ogc.store.layer(workspace, &key).await?;
    let layer = layer.ok_or_else(|| layer_not_found(&collection))?;
    let fields = Arc::new(Fields::of_layer(&layer));
    let systems = CollectionCrs::of(&ogc, workspace, layer.crs).await?;
    let query = ItemQuery::parse(query.as_deref(), &systems, &fields)?;
    let etag = page_etag(&layer, &query, &options);
    if let Some(mut response) = options.if_current(&etag) {
        response.headers_mut().insert(CONTENT_CRS, query.crs.header());
        return Ok(response);
    }
    let search = begin_search(&ogc, &caller, &query).await?;
    let page = PageWriter::new(&query.cursor, query.limit, query.is_filtered());
    let start = if query.order.is_some() { 0 } else { page.start() };
    let key = LayerKey::Id(layer.id);
    let candidates = candidates(&layer, &query);
    let reader = ogc.store.read_features(workspace, &key, &candidates, start).await?;
    let reader = reader.ok_or_else(|| layer_not_found(&collection))?;
    let features = Arc::new(FeatureWriter {
        max_geometry_bytes,
        ..FeatureWriter::new(&layer, fields, &query)
    });
    if let Some(order) = query.order.clone() {
        let sorter = Sorter::new(&query.cursor, query.limit);
        let source = SortedItems::new(LayerItems { reader, features }, order, sorter);
        let query = (query, search);
        return respond_page(&ogc, layer.slug.as_str(), source, query, Some(etag), options).await;
    }
    let source = LayerItems { reader, features };
    let query = (query, search);
    respond_page(&ogc, layer.slug.as_str(), source, query, Some(etag), options).await
}

/// `/ogc/collections/{collection}/items/{item}`
pub(super) async fn get_item(
    State(ogc): State<OgcState>,
    Extension(caller): Extension<Caller>,
    Path((collection, item)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    page: Option<Extension<DocumentOfPage>>,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let workspace = caller.token.workspace;
    let layer = ogc.store.layer(workspace, &LayerKey::parse(&collection)).await?;
    let layer = layer.ok_or_else(|| layer_not_found(&collection))?;
    let parameters = Parameters::parse(query.as_deref(), &["f", "crs"])?;
    let systems = CollectionCrs::of(&ogc, workspace, layer.crs).await?;
    let crs = ItemCrs::parse("crs", parameters.get("crs"), &systems)?;
    let not_found = || HttpError::not_found("item", &item);
    let id: GeometryId = item.parse().map_err(|_| not_found())?;
    let found = ogc.store.geometry(workspace, id).await?.filter(|(of, _)| of.id == layer.id);
    let (_, feature) = found.ok_or_else(not_found)?;
    let mut document = Vec::new();
    let max_geometry_bytes = max_geometry_bytes(page);
    Item::new(&feature)?.write((layer.id, layer.crs), &crs, max_geometry_bytes, &mut document)?;
    respond_item(&ogc, layer.slug.as_str(), (&id.to_string(), document), &crs, options)
}

/// A feature of a layer as GeoJSON, in a reference system.
pub(super) fn feature_document(
    feature: &LayerFeature,
    layer: &Layer,
    crs: &ItemCrs,
) -> Result<Vec<u8>, HttpError> {
    let mut out = Vec::new();
    Item::new(feature)?.write((layer.id, layer.crs), crs, usize::MAX, &mut out)?;
    Ok(out)
}

/// The size of geometries from which on a document leaves them empty.
fn max_geometry_bytes(page: Option<Extension<DocumentOfPage>>) -> usize {
    page.map_or(usize::MAX, |Extension(page)| page.max_geometry_bytes)
}

/// What the store can look up for a query.
fn candidates(layer: &Layer, query: &ItemQuery) -> Candidates {
    let is_declared = |name: &str| layer.declared_fields.iter().any(|field| field.name == name);
    let mut candidates = match &query.filter {
        None => Candidates::default(),
        Some(filter) => {
            let mut candidates = filter.candidates(is_declared);
            let in_degrees = |bbox: &Bbox| match filter.crs.system.is_wgs84() {
                true => Some(*bbox),
                false => filter.crs.system.wgs84_bounds(*bbox),
            };
            candidates.boxes = candidates.boxes.iter().filter_map(in_degrees).collect();
            candidates
        }
    };
    candidates.boxes.extend(query.bbox.as_ref().and_then(BoxFilter::wgs84_bounds));
    candidates
}

/// A weak ETag: the revision of the layer, and the query. The time in a page is not part of it.
fn page_etag(layer: &Layer, query: &ItemQuery, options: &ResponseOptions) -> HeaderValue {
    let query = query.parameters.query_string(&query.cursor);
    let hash = XxHash3_128::oneshot(format!("{}?{query}", layer.id).as_bytes());
    let encoding = options.encoding().name().unwrap_or("identity");
    let text = format!("W/\"{}-{hash:032x}-{encoding}\"", layer.revision);
    // Quoted digits and letters are always a valid header value.
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("\"\""))
}

/// The features of a layer.
struct LayerItems {
    reader: FeatureReader,
    features: Arc<FeatureWriter>,
}

impl ItemSource for LayerItems {
    async fn advance(&mut self, mut page: PageWriter) -> Result<(PageWriter, bool), HttpError> {
        let read = self.reader.next(page.wanted(CHUNK)).await?;
        if read.is_empty() {
            return Ok((page, false));
        }
        let features = self.features.clone();
        let write = move || features.add_all(&read, &mut page).map(|()| page);
        let written = tokio::task::spawn_blocking(write).await;
        let page = written.map_err(|error| HttpError::internal(error.to_string()))??;
        if page.has_counted() {
            self.reader.skip_to(page.after);
        }
        Ok((page, true))
    }

    fn total(&self) -> u64 {
        self.reader.layer().counts.total()
    }
}

impl SortableItems for LayerItems {
    type Id = ();

    async fn sort_next(
        &mut self,
        order: &Arc<SortOrder>,
        mut sorter: Sorter<()>,
    ) -> Result<(Sorter<()>, bool), HttpError> {
        let read = self.reader.next(CHUNK).await?;
        if read.is_empty() {
            return Ok((sorter, false));
        }
        let (features, order) = (self.features.clone(), order.clone());
        let sort = move || features.sort_all(&read, &order, &mut sorter).map(|()| sorter);
        let sorted = tokio::task::spawn_blocking(sort).await;
        let sorter = sorted.map_err(|error| HttpError::internal(error.to_string()))??;
        Ok((sorter, true))
    }

    async fn write(
        &mut self,
        items: Vec<SortedItem<()>>,
        mut page: PageWriter,
    ) -> Result<PageWriter, HttpError> {
        let positions: Vec<u64> = items.iter().map(|item| item.position).collect();
        let found = self.reader.read_at(&positions).await?;
        let found: HashMap<u64, _> =
            found.into_iter().map(|feature| (feature.position, feature)).collect();
        for SortedItem { key, position, .. } in items {
            if let Some(feature) = found.get(&position) {
                page.add_sorted(position, key, |out| self.features.write(feature, out))?;
            }
        }
        Ok(page)
    }

    fn total(&self) -> u64 {
        ItemSource::total(self)
    }
}

/// Filters features and writes them.
struct FeatureWriter {
    layer: (LayerId, LayerCrs),
    fields: Arc<Fields>,
    crs: ItemCrs,
    bbox: Option<BoxFilter>,
    datetime: Option<TimeRange>,
    filter: Option<Arc<ItemFilter>>,
    /// Larger geometries are written as empty ones.
    max_geometry_bytes: usize,
}

impl FeatureWriter {
    fn new(layer: &Layer, fields: Arc<Fields>, query: &ItemQuery) -> Self {
        Self {
            layer: (layer.id, layer.crs),
            fields,
            crs: query.crs.clone(),
            bbox: query.bbox.clone(),
            datetime: query.datetime,
            filter: query.filter.clone(),
            max_geometry_bytes: usize::MAX,
        }
    }

    fn add_all(&self, features: &[LayerFeature], page: &mut PageWriter) -> Result<(), HttpError> {
        let filter = self.filter.as_deref().map(ItemFilter::prepare);
        for feature in features {
            if page.is_complete() {
                break;
            }
            let item = Item::new(feature)?;
            if self.matches(&item, filter.as_ref())? {
                page.add(feature.position, |out| self.write_item(&item, out))?;
            }
        }
        Ok(())
    }

    /// Adds the keys of the features that match to an order.
    fn sort_all(
        &self,
        features: &[LayerFeature],
        order: &SortOrder,
        sorter: &mut Sorter<()>,
    ) -> Result<(), HttpError> {
        let filter = self.filter.as_deref().map(ItemFilter::prepare);
        for feature in features {
            if self.matches(&Item::new(feature)?, filter.as_ref())? {
                let properties = read_properties(feature)?;
                let key = order.key(&|name| self.value(feature, &properties, name));
                sorter.add(SortedItem { key, position: feature.position, item: () });
            }
        }
        Ok(())
    }

    /// Writes a feature.
    fn write(&self, feature: &LayerFeature, out: &mut Vec<u8>) -> Result<(), HttpError> {
        self.write_item(&Item::new(feature)?, out)
    }

    fn write_item(&self, item: &Item<'_>, out: &mut Vec<u8>) -> Result<(), HttpError> {
        item.write(self.layer, &self.crs, self.max_geometry_bytes, out)
    }

    fn value<'v>(
        &self,
        feature: &'v LayerFeature,
        properties: &Properties<'v>,
        name: &str,
    ) -> Value<'v> {
        let text = |text: Option<String>| text.map_or(Value::Null, |text| Value::Text(text.into()));
        match name {
            _ if !self.fields.is_member(name) => properties.get(name),
            "id" => text(Some(feature.id.to_string())),
            "externalId" => text(feature.external_id.clone()),
            "folderId" => text(feature.folder.map(|id| id.to_string())),
            "assignmentId" => text(feature.assignment.map(|id| id.to_string())),
            "createdAt" => Value::Instant(feature.created_at.into()),
            "updatedAt" => Value::Instant(feature.updated_at.into()),
            _ => Value::Null,
        }
    }

    fn matches(
        &self,
        item: &Item<'_>,
        filter: Option<&PreparedFilter<'_>>,
    ) -> Result<bool, HttpError> {
        if !self.is_in_box_and_time(item)? {
            return Ok(false);
        }
        let (Some(prepared), Some(filter)) = (filter, &self.filter) else { return Ok(true) };
        let properties = read_properties(item.feature)?;
        let value = |name: &str| self.value(item.feature, &properties, name);
        let geometry = || {
            let geometry = item.geometry_in(&filter.crs.system, self.layer.1)?;
            Ok::<_, HttpError>(geometry.map(Cow::into_owned))
        };
        prepared.matches(&value, geometry)
    }

    fn is_in_box_and_time(&self, item: &Item<'_>) -> Result<bool, HttpError> {
        if self.datetime.is_some_and(|range| !range.contains(item.feature.updated_at)) {
            return Ok(false);
        }
        let Some(filter) = &self.bbox else { return Ok(true) };
        let (_, own) = self.layer;
        let geometry = item.geometry_in(&filter.crs.system, own)?;
        Ok(geometry.is_some_and(|geometry| geometry.intersects_box(filter.bbox)))
    }
}

/// A feature with its geometry.
struct Item<'a> {
    feature: &'a LayerFeature,
    /// In WGS 84.
    geometry: Option<Geometry>,
}

impl<'a> Item<'a> {
    fn new(feature: &'a LayerFeature) -> Result<Self, HttpError> {
        let geometry = feature.geometry.as_deref().map(read_wkb).transpose()?;
        Ok(Self { feature, geometry })
    }

    /// The geometry in a system, easting first; `None` also if it is outside the area in which the system can
    /// be used. In the layer's own system, coordinates are those that were sent.
    fn geometry_in(
        &self,
        system: &Crs,
        own: LayerCrs,
    ) -> Result<Option<Cow<'_, Geometry>>, HttpError> {
        if let Some(original) = &self.feature.original
            && system.code().is_some()
            && own.code() == system.code()
        {
            return Ok(Some(Cow::Owned(read_wkb(original)?)));
        }
        let Some(geometry) = &self.geometry else { return Ok(None) };
        Ok(match system.is_wgs84() {
            true => Some(Cow::Borrowed(geometry)),
            false => system.geometry_from_wgs84(geometry, None).map(Cow::Owned),
        })
    }

    fn write(
        &self,
        (layer, own): (LayerId, LayerCrs),
        crs: &ItemCrs,
        max_geometry_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), HttpError> {
        let is_large =
            self.feature.geometry.as_ref().is_some_and(|wkb| wkb.len() > max_geometry_bytes);
        let geometry = match is_large {
            true => Some(Cow::Owned(Geometry::Collection(Vec::new()))),
            false => self.geometry_in(&crs.system, own)?,
        };
        let geometry = geometry.map(|one| crs.in_axis_order(one));
        self.feature.document(layer).write_with(geometry.as_deref(), out);
        Ok(())
    }
}

fn read_properties(feature: &LayerFeature) -> Result<Properties<'_>, HttpError> {
    Properties::read(&feature.properties).map_err(|error| HttpError::internal(error.to_string()))
}

fn read_wkb(bytes: impl AsRef<[u8]>) -> Result<Geometry, HttpError> {
    wkb::from_wkb(bytes.as_ref()).map_err(|error| HttpError::internal(error.to_string()))
}
