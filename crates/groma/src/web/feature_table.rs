//! The table of a layer's features beside the map, and the search for features by their attributes.

use super::{
    WebError,
    form::Query,
    format::{self, Moment},
    i18n::{Localizer, id},
    map::{TILE_ID_STEP, as_json, feature_title},
    record_data::RecordLink,
    request_context::MemberContext,
};
use askama::Template;
use axum::{extract::Path, response::Response};
use futures_util::future::try_join_all;
use groma_domain::{
    Kind, Layer, LayerId, RecordId,
    layer::{FieldCounts, LayerKey},
    text::fold,
};
use groma_geo::{Bbox, wkb};
use groma_store::{
    COUNT_LIMIT, Comparison, FeatureSort, FeatureTablePage, FeatureTableQuery, LayerFeature,
    PropertyCondition, RecordCount,
};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// The rows of a page.
const PAGE: u32 = 100;
/// The columns of properties: more would make the page slow.
const MAX_COLUMNS: usize = 60;
/// The features that the search shows, and the letters to type before it starts.
const MAX_HITS: u32 = 5;
const MIN_LETTERS: usize = 2;
/// In larger layers, the search shows the first matches instead of the best ones.
const MAX_RANKED: u64 = 200_000;

#[derive(Template)]
#[template(path = "feature_table.html")]
struct TableFragment {
    t: Localizer,
    layer: String,
    columns: Vec<Column>,
    /// The selected feature, if it is not on this page.
    pinned: Option<Row>,
    rows: Vec<Row>,
    range: String,
    /// How many rows the previous and the next page skip.
    previous: Option<u64>,
    next: Option<u64>,
    is_filtered: bool,
}

struct Column {
    label: String,
    sort: String,
    is_number: bool,
    /// `ascending` or `descending` when the table is sorted by it.
    sorted: Option<&'static str>,
}

struct Row {
    /// The number of the feature in tiles.
    feature: u64,
    label: String,
    bbox: String,
    external_id: Option<String>,
    cells: Vec<String>,
    folder: Option<RecordLink>,
    assignment: Option<RecordLink>,
    updated: Moment,
}

impl TableFragment {
    fn is_number(&self, index: &usize) -> bool {
        self.columns.get(*index).is_some_and(|column| column.is_number)
    }
}

pub(super) async fn table(
    ctx: MemberContext,
    Path(layer): Path<String>,
    query: Query,
) -> Result<Response, WebError> {
    let key = LayerKey::Id(layer.parse().map_err(|_| WebError::not_found())?);
    let request = parse_query(ctx.t(), &query)?;
    let page = find(&ctx, &key, &request).await?.ok_or_else(WebError::not_found)?;
    let selected = match query.get("selected").parse() {
        Ok(number) => pinned(&ctx, &page, number).await?,
        Err(_) => None,
    };
    let fields = columns_of(&page.layer);
    let mut rows = Vec::with_capacity(page.features.len());
    let shown: Vec<&LayerFeature> = selected.iter().chain(&page.features).collect();
    let links = Links::read(&ctx, &shown).await?;
    for feature in shown {
        rows.push(row(&ctx, feature, &fields, &links)?);
    }
    let pinned = selected.is_some().then(|| rows.remove(0));
    let skip = request.skip;
    let last = skip + rows.len() as u64;
    ctx.fragment(&TableFragment {
        t: ctx.t(),
        columns: columns(ctx.t(), &fields, &request),
        pinned,
        range: range(ctx.t(), &page, skip),
        previous: skip.checked_sub(1).map(|_| skip.saturating_sub(u64::from(PAGE))),
        next: (!rows.is_empty() && last < page.reachable).then_some(last),
        is_filtered: request.is_filtered(),
        layer: page.layer.name,
        rows,
    })
}

async fn find(
    ctx: &MemberContext,
    key: &LayerKey,
    query: &FeatureTableQuery,
) -> Result<Option<FeatureTablePage>, WebError> {
    let mut search = ctx.begin_search().await?;
    let page = search.step(ctx.store().feature_table(ctx.workspace_id(), key, query)).await;
    Ok(page.ok_or(groma_store::Error::SearchTimeout)??)
}

/// The selected feature, if it belongs to this layer and is not on the page.
async fn pinned(
    ctx: &MemberContext,
    page: &FeatureTablePage,
    number: u64,
) -> Result<Option<LayerFeature>, WebError> {
    if page.features.iter().any(|feature| feature.position == number / TILE_ID_STEP) {
        return Ok(None);
    }
    let layer = page.layer.id;
    let found = ctx.store().geometry_by_tile_id(ctx.workspace_id(), layer, number).await?;
    Ok(found.map(|(_, feature)| feature))
}

fn parse_query(t: Localizer, query: &Query) -> Result<FeatureTableQuery, WebError> {
    let text = query.given("q").map(|text| text.chars().take(200).collect::<String>());
    let (mut term, mut conditions) = (None, Vec::new());
    match (text, query.given("column")) {
        (Some(text), Some(column)) => {
            let comparison = match query.get("op") {
                "equal" => Comparison::Equal,
                "at-least" => Comparison::AtLeast,
                "at-most" => Comparison::AtMost,
                _ => Comparison::Contains,
            };
            // Numbers are typed as the user's language writes them.
            let number = t.parse_decimal(&text).filter(|_| comparison != Comparison::Contains);
            let (property, value) = (column.to_owned(), number.unwrap_or(text));
            conditions.push(PropertyCondition { property, comparison, value });
        }
        (text, _) => term = text,
    }
    let bbox = query.given("bbox").map(|text| {
        let numbers = text.split(',').map(|number| number.trim().parse().ok());
        let numbers: Option<Vec<f64>> = numbers.collect();
        let numbers = numbers.filter(|numbers| numbers.iter().all(|number| number.is_finite()));
        let bounds: Option<[f64; 4]> = numbers.and_then(|numbers| numbers.try_into().ok());
        bounds.map(Bbox).ok_or_else(|| WebError::bad_request(id("map-table-bad-query")))
    });
    let sort = match query.get("sort") {
        "id" => FeatureSort::ExternalId,
        "updated" => FeatureSort::Updated,
        other => match other.strip_prefix("property:") {
            Some(name) => FeatureSort::Property(name.to_owned()),
            None => FeatureSort::Created,
        },
    };
    Ok(FeatureTableQuery {
        term,
        conditions,
        bbox: bbox.transpose()?,
        sort,
        is_descending: query.get("order") == "descending",
        skip: query.get("skip").parse().unwrap_or(0),
        limit: PAGE,
        count_limit: COUNT_LIMIT,
    })
}

/// The properties that features have.
fn columns_of(layer: &Layer) -> Vec<&FieldCounts> {
    let is_used = |field: &&FieldCounts| field.strings + field.numbers + field.booleans > 0;
    layer.fields.iter().filter(is_used).take(MAX_COLUMNS).collect()
}

fn columns(t: Localizer, fields: &[&FieldCounts], query: &FeatureTableQuery) -> Vec<Column> {
    let direction = if query.is_descending { "descending" } else { "ascending" };
    let column = |label: String, name: String, sort: FeatureSort, is_number: bool| Column {
        label,
        sort: name,
        is_number,
        sorted: (query.sort == sort).then_some(direction),
    };
    let mut columns: Vec<Column> = fields
        .iter()
        .map(|field| {
            let is_number = field.numbers > 0 && field.strings + field.booleans == 0;
            let sort = FeatureSort::Property(field.name.clone());
            column(field.name.clone(), format!("property:{}", field.name), sort, is_number)
        })
        .collect();
    let external_id = t.msg("map-table-external-id").to_string();
    columns.push(column(external_id, "id".to_owned(), FeatureSort::ExternalId, false));
    let updated = t.msg("map-table-updated").to_string();
    columns.push(column(updated, "updated".to_owned(), FeatureSort::Updated, false));
    columns
}

/// The folders and assignments of the rows.
struct Links {
    folders: HashMap<RecordId, RecordLink>,
    assignments: HashMap<RecordId, RecordLink>,
}

impl Links {
    async fn read(ctx: &MemberContext, features: &[&LayerFeature]) -> Result<Self, WebError> {
        let folders = features.iter().filter_map(|feature| feature.folder).collect();
        let assignments = features.iter().filter_map(|feature| feature.assignment).collect();
        Ok(Self {
            folders: ctx.record_links(Kind::Folder, folders).await?,
            assignments: ctx.record_links(Kind::Assignment, assignments).await?,
        })
    }
}

fn row(
    ctx: &MemberContext,
    feature: &LayerFeature,
    fields: &[&FieldCounts],
    links: &Links,
) -> Result<Row, WebError> {
    let t = ctx.t();
    let properties = properties(feature)?;
    let text =
        |value: Option<&Value>| value.map(|value| format::plain_text(t, value)).unwrap_or_default();
    let feature_number = feature.position * TILE_ID_STEP;
    Ok(Row {
        feature: feature_number,
        label: feature_title(t, feature, &properties)
            .unwrap_or_else(|| t.msg("map-table-feature").arg("number", feature.position).into()),
        bbox: bounds(feature)?.map(bounds_text).unwrap_or_default(),
        external_id: feature.external_id.clone(),
        cells: fields.iter().map(|field| text(properties.get(&field.name))).collect(),
        folder: feature.folder.and_then(|id| links.folders.get(&id)).cloned(),
        assignment: feature.assignment.and_then(|id| links.assignments.get(&id)).cloned(),
        updated: ctx.moment(feature.updated_at),
    })
}

fn properties(feature: &LayerFeature) -> Result<Map<String, Value>, WebError> {
    serde_json::from_str(&feature.properties).map_err(|error| WebError::internal(error.to_string()))
}

fn bounds(feature: &LayerFeature) -> Result<Option<Bbox>, WebError> {
    let Some(shape) = &feature.geometry else { return Ok(None) };
    let geometry = wkb::from_wkb(shape).map_err(|error| WebError::internal(error.to_string()))?;
    Ok(geometry.bbox())
}

fn bounds_text(Bbox(bounds): Bbox) -> String {
    bounds.map(|number| number.to_string()).join(",")
}

/// The rows of this page and their number: `1–100 of 1,204`.
fn range(t: Localizer, page: &FeatureTablePage, skip: u64) -> String {
    if page.features.is_empty() {
        return String::new();
    }
    let last = skip + page.features.len() as u64;
    let is_cut = last >= page.reachable && page.count != RecordCount::Exactly(page.reachable);
    let message = if is_cut { t.msg("list-range-cut") } else { t.msg("list-range") };
    message.arg("first", skip + 1).arg("last", last).arg("total", t.count(page.count)).into()
}

/// The features of some layers that contain a text, the best matches first.
pub(super) async fn search(ctx: MemberContext, query: Query) -> Result<Response, WebError> {
    let term: String = query.get("term").trim().chars().take(200).collect();
    if term.chars().count() < MIN_LETTERS {
        return Ok(as_json(&json!([])));
    }
    let wanted: Vec<LayerId> =
        query.get("layers").split(',').filter_map(|id| id.parse().ok()).collect();
    let layers = ctx.store().all_layers(ctx.workspace_id()).await?;
    let layers = layers.into_iter().filter(|layer| wanted.contains(&layer.id));
    let pages = layers.map(async |layer| {
        let is_ranked = layer.counts.total() <= MAX_RANKED;
        let request = FeatureTableQuery {
            term: Some(term.clone()),
            sort: if is_ranked { FeatureSort::Relevance } else { FeatureSort::Created },
            limit: MAX_HITS,
            ..FeatureTableQuery::default()
        };
        let key = LayerKey::Id(layer.id);
        let found = find(&ctx, &key, &request).await?;
        Ok::<_, WebError>((layer, found.map(|page| page.features).unwrap_or_default()))
    });
    let pages = try_join_all(pages).await?;
    let folded = fold(&term);
    let mut hits = Vec::new();
    // One of each layer in turn, so that no layer hides the others.
    for index in 0..MAX_HITS as usize {
        for (layer, features) in &pages {
            if let Some(feature) = features.get(index) {
                hits.push(hit(ctx.t(), layer, feature, &folded)?);
            }
        }
    }
    hits.truncate(MAX_HITS as usize);
    Ok(as_json(&hits))
}

fn hit(
    t: Localizer,
    layer: &Layer,
    feature: &LayerFeature,
    folded: &str,
) -> Result<Value, WebError> {
    let properties = properties(feature)?;
    let title = feature_title(t, feature, &properties);
    let texts = properties.iter().map(|(name, value)| (name, format::plain_text(t, value)));
    let found = texts.filter(|(_, text)| fold(text).contains(folded)).find(|(_, text)| {
        // The title is shown anyway.
        title.as_ref() != Some(text)
    });
    Ok(json!({
        "layerId": layer.id,
        "layer": layer.name,
        "color": layer.color,
        "featureId": feature.position * TILE_ID_STEP,
        "title": title.unwrap_or_else(|| layer.name.clone()),
        "match": found.map(|(name, text)| format!("{name}: {text}")),
        "bbox": bounds(feature)?.map(|Bbox(bounds)| bounds),
    }))
}
