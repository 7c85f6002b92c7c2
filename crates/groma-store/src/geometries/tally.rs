//! What is counted for a layer, kept exact as its features come, change and go.

use crate::{
    Error, Result,
    tx::{LayerWrite, StoredFeature, Tx, Write},
};
use groma_domain::{Layer, WorkspaceId, layer::FieldCounts};
use groma_geo::{
    Bbox, Geometry,
    attributes::{self, FieldKind},
    wkb,
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How many features share one box.
const PART: u64 = 1_024;

pub(super) struct Tally {
    pub(super) layer: Layer,
    numbers: HashMap<String, usize>,
    /// How the boxes of parts grow.
    grown: BTreeMap<u64, Bbox>,
    /// The boxes of those that went, by part.
    gone: Vec<(u64, Bbox)>,
}

impl Tally {
    pub(super) fn new(layer: Layer) -> Self {
        let names = layer.fields.iter().enumerate();
        let numbers = names.map(|(number, field)| (field.name.clone(), number)).collect();
        Self { layer, numbers, grown: BTreeMap::new(), gone: Vec::new() }
    }

    /// The number of a field; a new one when it is not known yet.
    pub(super) fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.layer.fields.len();
        self.layer.fields.push(FieldCounts::new(name.to_owned()));
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// Counts a feature that comes.
    pub(super) fn add(
        &mut self,
        seq: u64,
        sort: Option<Sort>,
        bbox: Option<Bbox>,
        attributes: &[u8],
    ) {
        *sort_count(&mut self.layer, sort) += 1;
        for (field, kind) in attributes::field_kinds(attributes) {
            let field = usize::try_from(field).ok();
            if let Some(field) = field.and_then(|field| self.layer.fields.get_mut(field)) {
                *kind_count(field, kind) += 1;
            }
        }
        if let Some(bbox) = bbox {
            let part = self.grown.entry(seq / PART).or_insert(bbox);
            *part = part.union(bbox);
            self.layer.bounds = Some(self.layer.bounds.map_or(bbox, |bounds| bounds.union(bbox)));
        }
    }

    /// Counts a feature that goes; returns its geometry, if it has one.
    pub(super) fn remove(&mut self, feature: &StoredFeature) -> Result<Option<Geometry>> {
        let geometry = feature.geometry.as_deref().map(read_shape).transpose()?;
        let count = sort_count(&mut self.layer, geometry.as_ref().map(Sort::of));
        *count = count.saturating_sub(1);
        let properties: Map<String, Value> = serde_json::from_str(&feature.properties)?;
        for (name, value) in &properties {
            let field = self.numbers.get(name).and_then(|no| self.layer.fields.get_mut(*no));
            if let (Some(field), Some(kind)) = (field, attributes::field_kind(value)) {
                let count = kind_count(field, kind);
                *count = count.saturating_sub(1);
            }
        }
        if let Some(bbox) = geometry.as_ref().and_then(Geometry::bbox) {
            self.gone.push((feature.seq / PART, bbox));
        }
        Ok(geometry)
    }

    /// The boxes that grew, to be written.
    pub(super) fn grown(&mut self, layer: u64) -> impl Iterator<Item = Write> {
        let grown = std::mem::take(&mut self.grown).into_iter();
        grown
            .map(move |(part, bounds)| Write::Layer(LayerWrite::GrowExtent { layer, part, bounds }))
    }

    /// Lets the boxes shrink to what is left. Everything else must be written by now.
    pub(super) async fn shrink<T: Tx>(
        &mut self,
        tx: &mut T,
        workspace: WorkspaceId,
        layer: u64,
    ) -> Result<()> {
        let gone = std::mem::take(&mut self.gone);
        if gone.is_empty() {
            return Ok(());
        }
        let parts: BTreeSet<u64> = gone.iter().map(|(part, _)| *part).collect();
        let parts: Vec<u64> = parts.into_iter().collect();
        for (part, extent) in tx.extents(workspace, layer, Some(&parts)).await? {
            let held = |(of, bbox): &(u64, Bbox)| *of == part && bbox.touches_edge_of(extent);
            if gone.iter().any(held) {
                let (first, last) = (part * PART, part * PART + PART - 1);
                let left = tx.features_between(workspace, layer, first, last).await?;
                let bounds = around(left.iter().filter_map(|f| f.geometry.as_deref()))?;
                let write = LayerWrite::SetExtent { layer, part, bounds };
                tx.write(workspace, vec![Write::Layer(write)]).await?;
            }
        }
        let held = |bounds: Bbox| gone.iter().any(|(_, bbox)| bbox.touches_edge_of(bounds));
        if self.layer.bounds.is_some_and(held) {
            let extents = tx.extents(workspace, layer, None).await?;
            self.layer.bounds = extents.into_iter().map(|(_, bbox)| bbox).reduce(Bbox::union);
        }
        Ok(())
    }
}

/// The box around shapes in WKB.
pub(super) fn around<'w>(shapes: impl Iterator<Item = &'w [u8]>) -> Result<Option<Bbox>> {
    let mut bounds: Option<Bbox> = None;
    for shape in shapes {
        if let Some(bbox) = read_shape(shape)?.bbox() {
            bounds = Some(bounds.map_or(bbox, |bounds| bounds.union(bbox)));
        }
    }
    Ok(bounds)
}

pub(super) fn read_shape(shape: &[u8]) -> Result<Geometry> {
    wkb::from_wkb(shape).map_err(|error| Error::Damaged(error.to_string()))
}

/// The sort of a geometry that a layer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Point,
    Line,
    Polygon,
    Mixed,
}

impl Sort {
    pub(super) fn of(geometry: &Geometry) -> Self {
        match geometry {
            Geometry::Point(_) | Geometry::MultiPoint(_) => Self::Point,
            Geometry::LineString(_) | Geometry::MultiLineString(_) => Self::Line,
            Geometry::Polygon(_) | Geometry::MultiPolygon(_) => Self::Polygon,
            Geometry::Collection(_) => Self::Mixed,
        }
    }
}

fn sort_count(layer: &mut Layer, sort: Option<Sort>) -> &mut u64 {
    let counts = &mut layer.counts;
    match sort {
        Some(Sort::Point) => &mut counts.points,
        Some(Sort::Line) => &mut counts.lines,
        Some(Sort::Polygon) => &mut counts.polygons,
        Some(Sort::Mixed) => &mut counts.mixed,
        None => &mut counts.none,
    }
}

fn kind_count(field: &mut FieldCounts, kind: FieldKind) -> &mut u64 {
    match kind {
        FieldKind::String => &mut field.strings,
        FieldKind::Number => &mut field.numbers,
        FieldKind::Boolean => &mut field.booleans,
    }
}
