//! The parameter `filter` and the parameters of properties.

use super::{
    crs::{CollectionCrs, ItemCrs},
    fields::Fields,
    parameters::{Parameters, invalid},
};
use crate::http::HttpError;
use groma_domain::cql2::{Candidates, Context, Filter, Item, Value};
use groma_geo::{Geometry, PreparedShape, Relation, Shape};

/// Conditions that items must fulfil.
pub(super) struct ItemFilter {
    /// The filter, and the reference system of its geometries.
    filter: Option<Filter>,
    pub(super) crs: ItemCrs,
    /// Those of property parameters.
    properties: Vec<Filter>,
}

impl ItemFilter {
    /// Parses the parameters; `None` if there is no condition. `reserved` are the parameters with another
    /// meaning.
    pub(super) fn parse(
        parameters: &Parameters,
        reserved: &[&str],
        fields: &Fields,
        collection: &CollectionCrs,
    ) -> Result<Option<Self>, HttpError> {
        let crs = ItemCrs::parse("filter-crs", parameters.get("filter-crs"), collection)?;
        let context = Context {
            properties: fields.properties(),
            is_northing_first: crs.is_northing_first(),
            is_in_degrees: crs.system.is_wgs84(),
        };
        let parse = match parameters.get("filter-lang") {
            None | Some("cql2-text") => Filter::parse_text,
            Some("cql2-json") => Filter::parse_json,
            Some(_) => return Err(invalid("filter-lang", "must be cql2-text or cql2-json")),
        };
        let filter = parameters.get("filter").map(|text| parse(text, context)).transpose();
        let filter = filter.map_err(|error| invalid("filter", error.to_string()))?;
        let mut properties = Vec::new();
        for property in fields.parameters().filter(|one| !reserved.contains(&one.name.as_str())) {
            if let Some(value) = parameters.get(&property.name) {
                let condition = Filter::parse_value(property, value);
                properties.push(condition.map_err(|message| invalid(&property.name, message))?);
            }
        }
        let is_empty = filter.is_none() && properties.is_empty();
        Ok((!is_empty).then_some(Self { filter, crs, properties }))
    }

    /// What an index of these properties can look up.
    pub(super) fn candidates(&self, is_indexed: impl Fn(&str) -> bool) -> Candidates {
        let mut all = Candidates::default();
        for filter in self.filter.iter().chain(&self.properties) {
            let Candidates { ranges, boxes } = filter.candidates(&is_indexed);
            all.ranges.extend(ranges);
            all.boxes.extend(boxes);
        }
        all
    }

    /// Prepares the geometries of the filter.
    pub(super) fn prepare(&self) -> PreparedFilter<'_> {
        let shapes = self.filter.iter().flat_map(Filter::shapes).map(Shape::prepare).collect();
        PreparedFilter { filter: self, shapes }
    }
}

/// A filter with its geometries, for many items.
pub(super) struct PreparedFilter<'a> {
    filter: &'a ItemFilter,
    shapes: Vec<PreparedShape<'a>>,
}

impl PreparedFilter<'_> {
    /// Whether an item matches. Its geometry, in the reference system of the filter, is read only if needed.
    pub(super) fn matches<'v, E>(
        &self,
        value: &dyn Fn(&str) -> Value<'v>,
        geometry: impl FnOnce() -> Result<Option<Geometry>, E>,
    ) -> Result<bool, E> {
        let mut subject = Subject { value, shape: None, shapes: &self.shapes };
        if !self.filter.properties.iter().all(|filter| filter.matches(&subject)) {
            return Ok(false);
        }
        let Some(filter) = &self.filter.filter else { return Ok(true) };
        if filter.is_spatial() {
            subject.shape = geometry()?.as_ref().map(Shape::from);
        }
        Ok(filter.matches(&subject))
    }
}

/// An item as filters see it.
struct Subject<'a, 'v> {
    value: &'a dyn Fn(&str) -> Value<'v>,
    shape: Option<Shape>,
    shapes: &'a [PreparedShape<'a>],
}

impl Item for Subject<'_, '_> {
    fn value(&self, name: &str) -> Value<'_> {
        (self.value)(name)
    }

    fn has_no_geometry(&self) -> bool {
        self.shape.is_none()
    }

    fn relation(&self, relation: Relation, shape: usize) -> Option<bool> {
        Some(self.shapes.get(shape)?.is_related(self.shape.as_ref()?, relation))
    }

    fn relation_to_itself(&self, relation: Relation) -> Option<bool> {
        let shape = self.shape.as_ref()?;
        Some(shape.prepare().is_related(shape, relation))
    }
}
