//! Geometry objects.

use super::{
    Reader,
    objects::{Object, Role},
};
use crate::{
    Crs, Geometry,
    geojson::{
        MAX_COLLECTION_DEPTH, MAX_PARTS,
        object_type::{Member, ObjectType},
        parse_error::{ErrorPath, ParseResult},
        scanner::ValueKind,
        to_wgs84::ToWgs84,
    },
    repair,
};

/// A geometry in its original reference system.
pub(super) struct ReadGeometry {
    geometry: Geometry,
    /// The reference system that the geometry itself names.
    crs: Option<Crs>,
}

impl Reader<'_> {
    pub(super) fn geometry_or_null(&mut self) -> ParseResult<Option<ReadGeometry>> {
        match self.json.kind()? {
            ValueKind::Null => self.json.null().map(|()| None),
            ValueKind::Object => {
                let object = self.object(Role::Geometry { collection_depth: 0 })?;
                self.geometry_of(object).map(Some)
            }
            _ => Err(self.json.invalid("must be a geometry object or null")),
        }
    }

    /// Reads the next value as the `geometries` of a collection that is nested in
    /// `collection_depth` others.
    pub(super) fn geometries(&mut self, collection_depth: usize) -> ParseResult<Vec<Geometry>> {
        if collection_depth == MAX_COLLECTION_DEPTH {
            return Err(self.json.invalid(format!(
                "GeometryCollections can be nested at most {MAX_COLLECTION_DEPTH} levels deep"
            )));
        }
        self.json.require_array()?;
        let mut geometries = Vec::new();
        while self.json.next_item().at_index(geometries.len())? {
            let part = self.collection_part(collection_depth + 1);
            geometries.push(part.at_index(geometries.len())?);
        }
        Ok(geometries)
    }

    fn collection_part(&mut self, collection_depth: usize) -> ParseResult<Geometry> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            let message = format!("exceeds the limit of {MAX_PARTS} geometries per feature");
            return Err(self.json.invalid(message));
        }
        if self.json.kind()? != ValueKind::Object {
            return Err(self.json.invalid("must be a geometry object"));
        }
        let object = self.object(Role::Geometry { collection_depth })?;
        self.geometry_of(object).map(|read| read.geometry)
    }

    /// The geometry that the members of an object describe.
    pub(super) fn geometry_of(&mut self, object: Object) -> ParseResult<ReadGeometry> {
        let geometry = match self.type_of(&object)? {
            ObjectType::Geometry(geometry_type) => {
                let Some(coordinates) = object.coordinates else {
                    return Err(self.missing(Member::Coordinates));
                };
                let geometry = coordinates.into_geometry(geometry_type, &self.json);
                let geometry = geometry.at_member(Member::Coordinates.name())?;
                let counted = self.coordinates.count_rings(&geometry, &self.json);
                counted.at_member(Member::Coordinates.name())?;
                geometry
            }
            _ => match object.geometries {
                Some(geometries) => Geometry::Collection(geometries),
                None => return Err(self.missing(Member::Geometries)),
            },
        };
        Ok(ReadGeometry { geometry, crs: object.crs })
    }

    /// Transforms a geometry to WGS 84 and repairs it. Its reference system is its own, or else that
    /// of its feature, or else that of the document.
    pub(super) fn finish_geometry(
        &self,
        read: ReadGeometry,
        feature_crs: Option<Crs>,
    ) -> ParseResult<Geometry> {
        let ReadGeometry { mut geometry, crs } = read;
        let crs = crs.or(feature_crs);
        let crs = crs.as_ref().unwrap_or(&self.crs);
        ToWgs84 { crs, json: &self.json }.geometry(&mut geometry)?;
        Ok(repair::repair_geometry(geometry))
    }
}
