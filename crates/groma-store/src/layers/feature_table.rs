//! Pages of a layer's features for people: filtered by text and properties, sorted by any property.
//!
//! There is no index over properties. The features are read in chunks, which are filtered and sorted in the
//! blocking pool; only the keys of a page and of the pages before it are kept. Reading stops when the caller
//! goes away.

use super::{
    FeatureQuery, LayerFeature, Layers, StoredFeature, StoredLayer,
    feature_query::{self, Source},
    postgres,
    property_filter::{
        FeatureAttributes, ParsedCondition, Properties, PropertyCondition, SortValue,
    },
    sqlite,
};
use crate::{
    RecordCount, Result,
    engine::{blocking_pool::run_blocking, dispatch},
};
use groma_domain::{GeometryId, Layer, WorkspaceId, layer::LayerKey, text::fold};
use groma_geo::Bbox;
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

/// The most features that are read at a time.
const CHUNK: u64 = 5_000;
/// How far one can page.
const PAGING_LIMIT: u64 = 100_000;

/// A query for a page of a layer's features. Filters combine by AND.
#[derive(Clone, Debug, Default)]
pub struct FeatureTableQuery {
    /// A text that the external id or a property contains, or the whole id.
    pub term: Option<String>,
    /// Conditions on properties.
    pub conditions: Vec<PropertyCondition>,
    /// Only features that meet this box. West is greater than east if it crosses the antimeridian.
    pub bbox: Option<Bbox>,
    /// The order. Features with equal values are in the order of creation.
    pub sort: FeatureSort,
    /// Whether the greatest value comes first. Features without a value come last either way.
    pub is_descending: bool,
    /// How many to skip.
    pub skip: u64,
    /// How many at most.
    pub limit: u32,
    /// Up to this number features are counted, if the order does not require reading all of them.
    pub count_limit: u64,
}

impl FeatureTableQuery {
    /// Whether some features may be left out.
    #[must_use]
    pub fn is_filtered(&self) -> bool {
        let has_term = self.term.as_deref().is_some_and(|term| !term.trim().is_empty());
        has_term || !self.conditions.is_empty() || self.bbox.is_some()
    }
}

/// What features are sorted by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FeatureSort {
    /// The order of creation.
    #[default]
    Created,
    /// The time of the last change.
    Updated,
    /// How well they match the text: a value is equal to it, starts with it or contains it.
    Relevance,
    /// The id that they were posted with.
    ExternalId,
    /// A property: numbers by value, then text without regard to case and accents.
    Property(String),
}

/// A page of features in a table.
#[derive(Clone, Debug)]
pub struct FeatureTablePage {
    /// The layer.
    pub layer: Layer,
    /// The features.
    pub features: Vec<LayerFeature>,
    /// How many features match.
    pub count: RecordCount,
    /// How many of them can be reached by paging.
    pub reachable: u64,
}

impl Layers {
    /// A page of the features of a layer, filtered and sorted; `None` when there is no such layer.
    pub(crate) async fn feature_table(
        &self,
        workspace: WorkspaceId,
        key: &LayerKey,
        query: &FeatureTableQuery,
    ) -> Result<Option<FeatureTablePage>> {
        let stored = dispatch!(&self.engine, layer(workspace, key))?;
        let Some(stored) = stored else { return Ok(None) };
        let collector = self.collect(workspace, &stored, query).await?;
        let is_complete = collector.is_complete();
        let (counted, total) = (collector.count, stored.layer.counts.total());
        let count = match is_complete {
            false => RecordCount::Exactly(counted),
            true if collector.is_unfiltered => RecordCount::Exactly(total.max(counted)),
            true => RecordCount::MoreThan(query.count_limit),
        };
        let (RecordCount::Exactly(reachable) | RecordCount::MoreThan(reachable)) = count;
        let positions = collector.page(query);
        let found = dispatch!(&self.engine, features_at(workspace, stored.no, &positions))?;
        let mut found: FxHashMap<u64, StoredFeature> =
            found.into_iter().map(|feature| (feature.position, feature)).collect();
        // Features may have been deleted since.
        let features = positions.iter().filter_map(|position| found.remove(position));
        let features = features.map(LayerFeature::from).collect();
        let reachable = reachable.min(PAGING_LIMIT);
        Ok(Some(FeatureTablePage { layer: stored.layer, features, count, reachable }))
    }

    async fn collect(
        &self,
        workspace: WorkspaceId,
        stored: &StoredLayer,
        query: &FeatureTableQuery,
    ) -> Result<Collector> {
        let mut collector = Collector::new(query);
        let chunk = collector.chunk();
        let mut after = 0;
        let Some(bbox) = query.bbox else {
            while !collector.is_complete() {
                let (no, limit) = (stored.no, chunk);
                let rows =
                    dispatch!(&self.engine, feature_attributes(workspace, no, after, limit))?;
                let Some(last) = rows.last() else { break };
                after = last.position;
                collector = run_blocking(move || collector.add(rows)).await??;
            }
            return Ok(collector);
        };
        let boxed = FeatureQuery { bbox: Some(bbox), ..FeatureQuery::default() };
        let mut source: Source = self.source(workspace, stored, &boxed).await?;
        while !collector.is_complete() {
            let limit = feature_query::CHUNK;
            let features = self.read_chunk(workspace, stored.no, &mut source, after, limit).await?;
            let Some(last) = features.last() else { break };
            after = last.position;
            collector = run_blocking(move || collector.add_in_box(features, &boxed)).await??;
        }
        Ok(collector)
    }
}

/// Filters features, counts the matches and keeps the first ones of the order.
struct Collector {
    term: Option<Term>,
    conditions: Vec<ParsedCondition>,
    is_unfiltered: bool,
    sort: FeatureSort,
    is_descending: bool,
    /// How many of the first matches are needed.
    wanted: usize,
    count_limit: u64,
    count: u64,
    found: Vec<(SortValue, u64)>,
}

struct Term {
    folded: String,
    id: Option<GeometryId>,
}

impl Collector {
    fn new(query: &FeatureTableQuery) -> Self {
        let term = query.term.as_deref().map(str::trim).filter(|term| !term.is_empty());
        let wanted = query.skip.min(PAGING_LIMIT) + u64::from(query.limit);
        Self {
            term: term.map(|term| Term { folded: fold(term), id: term.parse().ok() }),
            conditions: query.conditions.iter().map(ParsedCondition::new).collect(),
            is_unfiltered: !query.is_filtered(),
            sort: query.sort.clone(),
            is_descending: query.is_descending,
            wanted: usize::try_from(wanted).unwrap_or(usize::MAX),
            count_limit: query.count_limit,
            count: 0,
            found: Vec::new(),
        }
    }

    /// Whether features arrive in the order of the table.
    fn is_in_order(&self) -> bool {
        self.sort == FeatureSort::Created && !self.is_descending
    }

    /// Whether the features that were not read do not matter.
    fn is_complete(&self) -> bool {
        self.is_in_order()
            && self.found.len() >= self.wanted
            && (self.is_unfiltered || self.count > self.count_limit)
    }

    /// How many features to read at a time.
    fn chunk(&self) -> u32 {
        let needs_all = !self.is_in_order() || !self.is_unfiltered;
        let chunk = if needs_all { CHUNK } else { CHUNK.min(self.wanted as u64).max(1) };
        u32::try_from(chunk).unwrap_or(u32::MAX)
    }

    fn add(mut self, features: Vec<FeatureAttributes>) -> Result<Self> {
        for feature in features {
            let properties = Properties::read(&feature.properties)?;
            if !self.matches(&feature, &properties)? {
                continue;
            }
            self.count += 1;
            if self.is_in_order() && self.found.len() >= self.wanted {
                continue;
            }
            let value = self.sort_value(&feature, &properties)?;
            self.found.push((value, feature.position));
            if self.found.len() >= self.wanted.saturating_mul(2).max(1_000) {
                self.discard_last();
            }
        }
        Ok(self)
    }

    fn add_in_box(self, features: Vec<StoredFeature>, query: &FeatureQuery) -> Result<Self> {
        let mut inside = Vec::with_capacity(features.len());
        for feature in features {
            if query.matches(&feature)? {
                inside.push(FeatureAttributes {
                    position: feature.position,
                    id: feature.id,
                    external_id: feature.external_id,
                    properties: feature.properties,
                    updated_at: feature.updated_at,
                });
            }
        }
        self.add(inside)
    }

    fn matches(&self, feature: &FeatureAttributes, properties: &Properties<'_>) -> Result<bool> {
        for condition in &self.conditions {
            if !condition.matches(properties)? {
                return Ok(false);
            }
        }
        let Some(Term { folded, id }) = &self.term else { return Ok(true) };
        let external_id = feature.external_id.as_deref();
        Ok(id.is_some_and(|id| id == feature.id)
            || external_id.is_some_and(|id| fold(id).contains(folded))
            || properties.contain(folded)?)
    }

    fn sort_value(
        &self,
        feature: &FeatureAttributes,
        properties: &Properties<'_>,
    ) -> Result<SortValue> {
        Ok(match &self.sort {
            FeatureSort::Created => SortValue::Number(feature.position as f64),
            FeatureSort::Updated => SortValue::Number(feature.updated_at.as_millis() as f64),
            FeatureSort::Relevance => self.relevance(feature, properties)?,
            FeatureSort::ExternalId => match &feature.external_id {
                Some(id) => SortValue::Text(fold(id)),
                None => SortValue::Missing,
            },
            FeatureSort::Property(name) => match properties.get(name) {
                Some(raw) => SortValue::read(raw)?,
                None => SortValue::Missing,
            },
        })
    }

    fn relevance(
        &self,
        feature: &FeatureAttributes,
        properties: &Properties<'_>,
    ) -> Result<SortValue> {
        let Some(Term { folded, .. }) = &self.term else { return Ok(SortValue::Missing) };
        let rank = |text: &str| match text.strip_prefix(folded.as_str()) {
            Some("") => 0,
            Some(_) => 1,
            None => 2,
        };
        let external_id = feature.external_id.as_deref().map_or(2, |id| rank(&fold(id)));
        let property = properties.texts()?.iter().map(|text| rank(text)).min();
        Ok(SortValue::Number(f64::from(property.unwrap_or(2).min(external_id))))
    }

    fn compare(is_descending: bool, one: &(SortValue, u64), two: &(SortValue, u64)) -> Ordering {
        one.0.compare(&two.0, is_descending).then(one.1.cmp(&two.1))
    }

    fn discard_last(&mut self) {
        if self.wanted < self.found.len() {
            let is_descending = self.is_descending;
            let compare = |one: &_, two: &_| Self::compare(is_descending, one, two);
            self.found.select_nth_unstable_by(self.wanted, compare);
            self.found.truncate(self.wanted);
        }
    }

    /// The positions of the page's features, in order.
    fn page(mut self, query: &FeatureTableQuery) -> Vec<u64> {
        self.discard_last();
        let is_descending = self.is_descending;
        self.found.sort_unstable_by(|one, two| Self::compare(is_descending, one, two));
        let skip = usize::try_from(query.skip.min(PAGING_LIMIT)).unwrap_or(usize::MAX);
        self.found.into_iter().skip(skip).map(|(_, position)| position).collect()
    }
}
