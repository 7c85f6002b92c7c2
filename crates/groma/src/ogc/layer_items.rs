//! The features of layers as items.

use super::{
    OgcState,
    bbox::BoxFilter,
    crs::{CONTENT_CRS, ItemCrs},
    item_query::ItemQuery,
    items::{ItemSource, respond_item, respond_page},
    page::PageWriter,
    parameters::Parameters,
    time_range::TimeRange,
};
use crate::{
    http::{HttpError, ResponseOptions},
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
    layer::{LayerCrs, LayerKey},
};
use groma_geo::{Crs, Geometry, wkb};
use groma_store::{FeatureReader, LayerFeature};
use std::{borrow::Cow, sync::Arc};
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
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let (workspace, key) = (caller.token.workspace, LayerKey::parse(&collection));
    let layer = ogc.store.layer(workspace, &key).await?;
    let layer = layer.ok_or_else(|| layer_not_found(&collection))?;
    let query = ItemQuery::parse(query.as_deref(), layer.crs)?;
    let etag = page_etag(&layer, &query, &options);
    if let Some(mut response) = options.if_current(&etag) {
        response.headers_mut().insert(CONTENT_CRS, query.crs.header());
        return Ok(response);
    }
    let page = PageWriter::new(query.after, query.limit, query.is_filtered());
    let bounds = query.bbox.as_ref().and_then(BoxFilter::wgs84_bounds);
    let key = LayerKey::Id(layer.id);
    let reader = ogc.store.read_features(workspace, &key, bounds, page.start()).await?;
    let reader = reader.ok_or_else(|| layer_not_found(&collection))?;
    let features = Arc::new(FeatureWriter::new(&layer, &query));
    let source = LayerItems { reader, features };
    respond_page(&ogc, layer.slug.as_str(), source, query, Some(etag), options).await
}

/// `/ogc/collections/{collection}/items/{item}`
pub(super) async fn get_item(
    State(ogc): State<OgcState>,
    Extension(caller): Extension<Caller>,
    Path((collection, item)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let workspace = caller.token.workspace;
    let layer = ogc.store.layer(workspace, &LayerKey::parse(&collection)).await?;
    let layer = layer.ok_or_else(|| layer_not_found(&collection))?;
    let parameters = Parameters::parse(query.as_deref(), &["f", "crs"])?;
    let crs = ItemCrs::parse("crs", parameters.get("crs"), layer.crs)?;
    let not_found = || HttpError::not_found("item", &item);
    let id: GeometryId = item.parse().map_err(|_| not_found())?;
    let found = ogc.store.geometry(workspace, id).await?.filter(|(of, _)| of.id == layer.id);
    let (_, feature) = found.ok_or_else(not_found)?;
    let document = feature_document(&feature, &layer, &crs)?;
    respond_item(&ogc, layer.slug.as_str(), (&id.to_string(), document), &crs, options)
}

/// A feature of a layer as GeoJSON, in a reference system.
pub(super) fn feature_document(
    feature: &LayerFeature,
    layer: &Layer,
    crs: &ItemCrs,
) -> Result<Vec<u8>, HttpError> {
    let mut out = Vec::new();
    Item::new(feature)?.write((layer.id, layer.crs), crs, &mut out)?;
    Ok(out)
}

/// A weak ETag: the revision of the layer, and the query. The time in a page is not part of it.
fn page_etag(layer: &Layer, query: &ItemQuery, options: &ResponseOptions) -> HeaderValue {
    let query = query.parameters.query_string(Some(query.after));
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

/// Filters features and writes them.
struct FeatureWriter {
    layer: (LayerId, LayerCrs),
    crs: ItemCrs,
    bbox: Option<BoxFilter>,
    datetime: Option<TimeRange>,
}

impl FeatureWriter {
    fn new(layer: &Layer, query: &ItemQuery) -> Self {
        Self {
            layer: (layer.id, layer.crs),
            crs: query.crs.clone(),
            bbox: query.bbox.clone(),
            datetime: query.datetime,
        }
    }

    fn add_all(&self, features: &[LayerFeature], page: &mut PageWriter) -> Result<(), HttpError> {
        for feature in features {
            if page.is_complete() {
                break;
            }
            let item = Item::new(feature)?;
            if self.matches(&item)? {
                page.add(feature.position, |out| item.write(self.layer, &self.crs, out))?;
            }
        }
        Ok(())
    }

    fn matches(&self, item: &Item<'_>) -> Result<bool, HttpError> {
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
        out: &mut Vec<u8>,
    ) -> Result<(), HttpError> {
        let geometry = self.geometry_in(&crs.system, own)?.map(|one| crs.in_axis_order(one));
        self.feature.document(layer).write_with(geometry.as_deref(), out);
        Ok(())
    }
}

fn read_wkb(bytes: impl AsRef<[u8]>) -> Result<Geometry, HttpError> {
    wkb::from_wkb(bytes.as_ref()).map_err(|error| HttpError::internal(error.to_string()))
}
