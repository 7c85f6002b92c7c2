//! Reads GeoJSON documents and passes on their features. `objects` reads the members of an object.

mod objects;

use super::{
    DocumentError, Feature, FeaturePatch, Options,
    coordinates::CoordinateReader,
    id::repeated_id,
    object_type::{Member, ObjectType},
    parse_error::{ErrorPath, ParseError, ParseResult},
    scanner::{Scanner, ValueKind},
};
use crate::{Crs, message};
use objects::{Object, Role};
use rustc_hash::FxHashSet;
use serde_json::Map;
use std::io;
use twox_hash::XxHash3_128;

pub(super) struct Reader<'a> {
    json: Scanner<'a>,
    options: &'a Options,
    /// Receives each feature; false stops the reading.
    on_feature: &'a mut dyn FnMut(Feature) -> bool,
    /// The reference system of objects that do not name one.
    crs: Crs,
    /// The last `crs` by name. Some files repeat it in every geometry.
    last_crs: Option<(String, Crs)>,
    coordinates: CoordinateReader,
    /// How many geometries the collections of the current feature have so far.
    parts: usize,
    /// The unknown members of the current feature: the number of their object and a hash of their
    /// name.
    unknown_members: FxHashSet<(usize, u128)>,
    /// How many GeoJSON objects have been read so far.
    objects: usize,
    /// Hashes of all feature ids so far.
    ids: FxHashSet<u128>,
    feature_count: u64,
    errors: Vec<DocumentError>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        input: &'a mut dyn io::Read,
        options: &'a Options,
        on_feature: &'a mut dyn FnMut(Feature) -> bool,
    ) -> Self {
        Self {
            json: Scanner::new(input),
            options,
            on_feature,
            crs: options.crs.clone(),
            last_crs: None,
            coordinates: CoordinateReader::default(),
            parts: 0,
            unknown_members: FxHashSet::default(),
            objects: 0,
            ids: FxHashSet::default(),
            feature_count: 0,
            errors: Vec::new(),
        }
    }

    /// The number of features that were passed on, and the errors that did not stop the reading.
    pub(super) fn into_result(self) -> (u64, Vec<DocumentError>) {
        (self.feature_count, self.errors)
    }

    /// Reads a document of one object.
    pub(super) fn read_document(&mut self) -> ParseResult<()> {
        self.json.skip_byte_order_mark()?;
        self.root()?;
        self.json.expect_end()
    }

    /// Reads a sequence of documents.
    pub(super) fn read_sequence(&mut self) -> ParseResult<()> {
        self.json.skip_byte_order_mark()?;
        self.json.begin_sequence()?;
        let mut has_failed = false;
        while self.json.next_text(has_failed)? {
            self.crs = self.options.crs.clone();
            let result = self.root().and_then(|()| self.json.expect_end());
            has_failed = result.is_err();
            result.or_else(|error| self.record(*error))?;
        }
        Ok(())
    }

    /// Reads a merge patch of a Feature.
    pub(super) fn read_patch(&mut self) -> ParseResult<FeaturePatch> {
        self.json.skip_byte_order_mark()?;
        let line = self.begin_feature();
        if self.json.kind()? != ValueKind::Object {
            return Err(self.json.invalid(message!("must be an object")));
        }
        let object = self.object(Role::Feature)?;
        self.json.expect_end()?;
        if object.members.contains(Member::Properties) && object.properties.is_none() {
            return Err(self.json.invalid(message!("must be an object")))
                .at_member(Member::Properties.name());
        }
        let has_geometry = object.geometry.is_some();
        let geometry = object.geometry.flatten();
        let geometry = geometry
            .map(|geometry| self.finish_geometry(geometry, object.crs))
            .transpose()
            .at_member(Member::Geometry.name())?;
        let properties = object.properties.unwrap_or_default();
        let mut feature = Feature { line, ..Feature::new(object.id, None, properties) };
        if let Some(geometry) = geometry {
            geometry.add_to(&mut feature, "/geometry");
        }
        Ok(FeaturePatch { feature, has_geometry })
    }

    /// Reads only the `crs` of the outermost object.
    pub(super) fn read_root_crs(&mut self) -> ParseResult<Option<Crs>> {
        self.json.skip_byte_order_mark()?;
        if self.json.kind()? != ValueKind::Object {
            return Ok(None);
        }
        self.json.open_object()?;
        while let Some(name) = self.json.next_key()? {
            if name == Member::Crs.name() {
                return self.crs_value();
            }
            self.json.skip_value()?;
        }
        Ok(None)
    }

    /// Records an error after which reading can continue. Returns any other error.
    fn record(&mut self, error: ParseError) -> ParseResult<()> {
        match error {
            ParseError::Invalid(detail) | ParseError::Syntax(detail) => {
                self.errors.push(detail.into());
            }
            other => return Err(Box::new(other)),
        }
        if self.errors.len() >= self.options.max_errors {
            return Err(Box::new(ParseError::TooManyErrors));
        }
        Ok(())
    }

    fn root(&mut self) -> ParseResult<()> {
        let line = self.begin_feature();
        if self.json.kind()? != ValueKind::Object {
            return Err(self.json.invalid(message!("must be a GeoJSON object")));
        }
        let object = self.object(Role::Root)?;
        match self.type_of(&object)? {
            ObjectType::FeatureCollection if !object.members.contains(Member::Features) => {
                Err(self.missing(Member::Features))
            }
            ObjectType::FeatureCollection => Ok(()),
            ObjectType::Feature => self.finish_feature(object, None, line),
            ObjectType::GeometryCollection | ObjectType::Geometry(_) => {
                let geometry = self.geometry_of(object)?;
                let finished = self.finish_geometry(geometry, None)?;
                let mut feature = Feature { line, ..Feature::new(None, None, Map::new()) };
                finished.add_to(&mut feature, "");
                self.emit(feature)
            }
        }
    }

    /// Reads the next value as `features`. Records an error in one feature and continues with the
    /// next.
    fn features(&mut self) -> ParseResult<()> {
        self.json.require_array()?;
        let depth = self.json.depth();
        let mut index = 0;
        while self.json.next_item().at_index(index)? {
            if let Err(error) = self.feature(index).at_index(index) {
                if !matches!(*error, ParseError::Invalid(_)) {
                    return Err(error);
                }
                self.record(*error.at_member(Member::Features.name()))?;
                self.json.skip_to_depth(depth).at_index(index)?;
            }
            index += 1;
        }
        Ok(())
    }

    fn feature(&mut self, index: usize) -> ParseResult<()> {
        let line = self.begin_feature();
        if self.json.kind()? != ValueKind::Object {
            return Err(self.json.invalid(message!("must be a Feature")));
        }
        let object = self.object(Role::Feature)?;
        self.type_of(&object)?;
        self.finish_feature(object, Some(index), line)
    }

    /// Resets the limits that apply to one feature. Returns the current line.
    fn begin_feature(&mut self) -> u64 {
        self.coordinates.begin_feature();
        self.parts = 0;
        self.unknown_members.clear();
        self.json.line()
    }

    fn finish_feature(
        &mut self,
        object: Object,
        index: Option<usize>,
        line: u64,
    ) -> ParseResult<()> {
        let Some(geometry) = object.geometry else { return Err(self.missing(Member::Geometry)) };
        if !object.members.contains(Member::Properties) {
            return Err(self.missing(Member::Properties));
        }
        let geometry = geometry
            .map(|geometry| self.finish_geometry(geometry, object.crs))
            .transpose()
            .at_member(Member::Geometry.name())?;
        if let Some(id) = &object.id
            && !self.ids.insert(XxHash3_128::oneshot(id.as_bytes()))
        {
            return Err(self.json.invalid(repeated_id(id))).at_member(Member::Id.name());
        }
        let properties = object.properties.unwrap_or_default();
        let mut feature = Feature { index, line, ..Feature::new(object.id, None, properties) };
        if let Some(geometry) = geometry {
            geometry.add_to(&mut feature, "/geometry");
        }
        self.emit(feature)
    }

    fn emit(&mut self, feature: Feature) -> ParseResult<()> {
        self.feature_count += 1;
        match (self.on_feature)(feature) {
            true => Ok(()),
            false => Err(Box::new(ParseError::Stopped)),
        }
    }
}
