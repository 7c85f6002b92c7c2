//! Statistics of a layer (counts, fields, bounds), kept exact as features are added, changed and removed.

use super::{LayerTx, LayerWrite, StoredFeature};
use crate::{Error, Result};
use groma_domain::{Layer, WorkspaceId, layer::FieldCounts};
use groma_geo::{
    Bbox, Geometry,
    attributes::{self, FieldValue},
    wkb,
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The number of features that share a bounding box.
const RUN: u64 = 1_024;

pub(super) struct LayerStats {
    pub(super) layer: Layer,
    numbers: HashMap<String, usize>,
    /// How the boxes of runs grow.
    grown: BTreeMap<u64, Bbox>,
    /// The boxes of removed features, by run.
    removed: Vec<(u64, Bbox)>,
}

impl LayerStats {
    pub(super) fn new(layer: Layer) -> Self {
        let names = layer.fields.iter().enumerate();
        let numbers = names.map(|(number, field)| (field.name.clone(), number)).collect();
        Self { layer, numbers, grown: BTreeMap::new(), removed: Vec::new() }
    }

    /// The number of a field, which is added if it is new.
    pub(super) fn field_number(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.layer.fields.len();
        self.layer.fields.push(FieldCounts::new(name.to_owned()));
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// Adds a feature.
    pub(super) fn add(
        &mut self,
        position: u64,
        class: Option<GeometryClass>,
        bbox: Option<Bbox>,
        attributes: &[u8],
    ) {
        *class_count(&mut self.layer, class) += 1;
        self.each_field(attributes, |field, value| match value {
            FieldValue::String(text) => field.add_string(text),
            FieldValue::Number(number) => field.add_number(number),
            FieldValue::Boolean => field.booleans += 1,
        });
        if let Some(bbox) = bbox {
            let run = self.grown.entry(position / RUN).or_insert(bbox);
            *run = run.union(bbox);
            self.layer.bounds = Some(self.layer.bounds.map_or(bbox, |bounds| bounds.union(bbox)));
        }
    }

    /// Removes a feature; returns its geometry, if it has one.
    pub(super) fn remove(&mut self, feature: &StoredFeature) -> Result<Option<Geometry>> {
        let geometry = feature.geometry.as_deref().map(read_geometry).transpose()?;
        let count = class_count(&mut self.layer, geometry.as_ref().map(GeometryClass::of));
        *count = count.saturating_sub(1);
        let properties: Map<String, Value> = serde_json::from_str(&feature.properties)?;
        let numbered = properties.iter();
        let numbered =
            numbered.filter_map(|(name, value)| Some((*self.numbers.get(name)? as u32, value)));
        let attributes = attributes::encode(numbered);
        self.each_field(&attributes, |field, value| match value {
            FieldValue::String(text) => field.remove_string(text),
            FieldValue::Number(_) => field.numbers = field.numbers.saturating_sub(1),
            FieldValue::Boolean => field.booleans = field.booleans.saturating_sub(1),
        });
        if self.layer.counts.total() == 0 {
            self.layer.fields.iter_mut().for_each(FieldCounts::reset);
        }
        if let Some(bbox) = geometry.as_ref().and_then(Geometry::bbox) {
            self.removed.push((feature.position / RUN, bbox));
        }
        Ok(geometry)
    }

    fn each_field(
        &mut self,
        attributes: &[u8],
        mut count: impl FnMut(&mut FieldCounts, FieldValue<'_>),
    ) {
        for (field, value) in attributes::field_values(attributes) {
            let field = usize::try_from(field).ok();
            if let Some(field) = field.and_then(|field| self.layer.fields.get_mut(field)) {
                count(field, value);
            }
        }
    }

    /// The writes of the boxes that grew.
    pub(super) fn grown_extents(&mut self, layer: u64) -> impl Iterator<Item = LayerWrite> {
        let grown = std::mem::take(&mut self.grown).into_iter();
        grown.map(move |(run, bounds)| LayerWrite::GrowExtent { layer, run, bounds })
    }

    /// Shrinks the boxes to the remaining features. All other writes must be executed by now.
    pub(super) async fn shrink<T: LayerTx>(
        &mut self,
        tx: &mut T,
        workspace: WorkspaceId,
        layer: u64,
    ) -> Result<()> {
        let removed = std::mem::take(&mut self.removed);
        if removed.is_empty() {
            return Ok(());
        }
        let runs: BTreeSet<u64> = removed.iter().map(|(run, _)| *run).collect();
        let runs: Vec<u64> = runs.into_iter().collect();
        for (run, extent) in tx.extents(workspace, layer, Some(&runs)).await? {
            let at_edge = |(of, bbox): &(u64, Bbox)| *of == run && bbox.touches_edge_of(extent);
            if removed.iter().any(at_edge) {
                let (first, last) = (run * RUN, run * RUN + RUN - 1);
                let remaining = tx.features_between(workspace, layer, first, last).await?;
                let bounds = bounds(remaining.iter().filter_map(|f| f.geometry.as_deref()))?;
                let write = LayerWrite::SetExtent { layer, run, bounds };
                tx.write_layers(workspace, vec![write]).await?;
            }
        }
        let at_edge = |bounds: Bbox| removed.iter().any(|(_, bbox)| bbox.touches_edge_of(bounds));
        if self.layer.bounds.is_some_and(at_edge) {
            let extents = tx.extents(workspace, layer, None).await?;
            self.layer.bounds = extents.into_iter().map(|(_, bbox)| bbox).reduce(Bbox::union);
        }
        Ok(())
    }
}

/// The bounding box of geometries in WKB.
pub(super) fn bounds<'w>(geometries: impl Iterator<Item = &'w [u8]>) -> Result<Option<Bbox>> {
    let mut bounds: Option<Bbox> = None;
    for geometry in geometries {
        if let Some(bbox) = read_geometry(geometry)?.bbox() {
            bounds = Some(bounds.map_or(bbox, |bounds| bounds.union(bbox)));
        }
    }
    Ok(bounds)
}

fn read_geometry(wkb: &[u8]) -> Result<Geometry> {
    wkb::from_wkb(wkb).map_err(|error| Error::Damaged(error.to_string()))
}

/// The classes of geometries that a layer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GeometryClass {
    Point,
    Line,
    Polygon,
    Mixed,
}

impl GeometryClass {
    pub(super) fn of(geometry: &Geometry) -> Self {
        match geometry {
            Geometry::Point(_) | Geometry::MultiPoint(_) => Self::Point,
            Geometry::LineString(_) | Geometry::MultiLineString(_) => Self::Line,
            Geometry::Polygon(_) | Geometry::MultiPolygon(_) => Self::Polygon,
            Geometry::Collection(_) => Self::Mixed,
        }
    }
}

fn class_count(layer: &mut Layer, class: Option<GeometryClass>) -> &mut u64 {
    let counts = &mut layer.counts;
    match class {
        Some(GeometryClass::Point) => &mut counts.points,
        Some(GeometryClass::Line) => &mut counts.lines,
        Some(GeometryClass::Polygon) => &mut counts.polygons,
        Some(GeometryClass::Mixed) => &mut counts.mixed,
        None => &mut counts.none,
    }
}
