//! The members of GeoJSON objects, which can come in any order, and the geometries that they describe.

use super::Reader;
use crate::{
    Crs, Geometry,
    geojson::{
        MAX_COLLECTION_DEPTH, MAX_KEYS, MAX_PARTS,
        coordinates::Coordinates,
        finished_geometry::FinishedGeometry,
        id::read_id,
        limits,
        object_type::{Member, MemberSet, ObjectType},
        parse_error::{ErrorPath, ParseError, ParseResult, excerpt},
        properties::{duplicate_member, read_properties, read_value},
        scanner::{MAX_KEY_BYTES, ValueKind},
    },
    message,
};
use serde_json::{Map, Value};
use twox_hash::XxHash3_128;

/// Where an object occurs, which determines its possible types.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Role {
    /// The whole document, of any type.
    Root,
    /// An item of `features`.
    Feature,
    /// The `geometry` of a feature, or an item of that many nested collections.
    Geometry { collection_depth: usize },
}

/// A geometry in its original reference system.
pub(super) struct ReadGeometry {
    geometry: Geometry,
    /// The reference system that the geometry itself names.
    crs: Option<Crs>,
}

/// The members of an object read so far.
#[derive(Default)]
pub(super) struct Object {
    pub members: MemberSet,
    pub object_type: Option<ObjectType>,
    pub id: Option<String>,
    pub geometry: Option<Option<ReadGeometry>>,
    pub properties: Option<Map<String, Value>>,
    pub coordinates: Option<Coordinates>,
    pub geometries: Option<Vec<Geometry>>,
    pub crs: Option<Crs>,
}

impl Reader<'_> {
    pub(super) fn object(&mut self, role: Role) -> ParseResult<Object> {
        let mut object = Object::default();
        self.objects += 1;
        let (object_number, mut unknown_members) = (self.objects, 0);
        self.json.open_object()?;
        while let Some(name) = self.json.next_key()? {
            match Member::from_name(name) {
                Some(member) => {
                    self.member(member, &mut object, role).at_member(member.name())?;
                }
                None => {
                    let name = name.to_owned();
                    unknown_members += 1;
                    self.unknown_member(&name, object_number, unknown_members).at_member(&name)?;
                }
            }
        }
        Ok(object)
    }

    fn member(&mut self, member: Member, object: &mut Object, role: Role) -> ParseResult<()> {
        if !object.members.insert(member) {
            return Err(self.json.invalid(duplicate_member()));
        }
        let forbidden = match (object.object_type, role) {
            (Some(object_type), _) => object_type.forbidden_members(),
            (None, Role::Feature) => ObjectType::Feature.forbidden_members(),
            (None, Role::Geometry { .. }) => {
                &[Member::Geometry, Member::Properties, Member::Features]
            }
            (None, Role::Root) => &[],
        };
        if forbidden.contains(&member) {
            let message = message!("`{name}` is not allowed in this object", name = member.name());
            return Err(self.json.invalid(message));
        }
        let is_feature = match object.object_type {
            Some(object_type) => object_type == ObjectType::Feature,
            None => !matches!(role, Role::Geometry { .. }),
        };
        match member {
            Member::Type => object.object_type = Some(self.object_type(object.members, role)?),
            Member::Id if is_feature => object.id = Some(read_id(&mut self.json)?),
            Member::Properties if is_feature => object.properties = self.properties()?,
            Member::Id | Member::Properties => self.json.skip_value()?,
            Member::Geometry => object.geometry = Some(self.geometry_or_null()?),
            Member::Coordinates => {
                let geometry_type = match object.object_type {
                    Some(ObjectType::Geometry(geometry_type)) => Some(geometry_type),
                    _ => None,
                };
                object.coordinates = Some(self.coordinates.read(geometry_type, &mut self.json)?);
            }
            Member::Geometries => {
                let collection_depth = match role {
                    Role::Geometry { collection_depth } => collection_depth,
                    Role::Root | Role::Feature => 0,
                };
                object.geometries = Some(self.geometries(collection_depth)?);
            }
            Member::Features => self.features()?,
            Member::Bbox => self.bbox()?,
            Member::Crs => self.crs(object, role)?,
        }
        Ok(())
    }

    /// Skips a member that GeoJSON does not define. It is the `count`-th of its object.
    fn unknown_member(&mut self, name: &str, object: usize, count: usize) -> ParseResult<()> {
        if count > MAX_KEYS {
            let message =
                message!("exceeds the limit of {limit} members per object", limit = MAX_KEYS);
            return Err(self.json.invalid(message));
        }
        if !self.unknown_members.insert((object, XxHash3_128::oneshot(name.as_bytes()))) {
            return Err(self.json.invalid(duplicate_member()));
        }
        self.json.skip_value()
    }

    /// Reads the next value as the `type` of an object that has these members so far.
    fn object_type(&mut self, members: MemberSet, role: Role) -> ParseResult<ObjectType> {
        if self.json.kind()? != ValueKind::String {
            return Err(self.json.invalid(message!("must be a string")));
        }
        let name = self.json.string(MAX_KEY_BYTES)?;
        let Some(object_type) = ObjectType::from_name(name) else {
            let message = message!("`{name}` is not a GeoJSON type", name = excerpt(name));
            return Err(self.json.invalid(message));
        };
        let error = match (role, object_type) {
            (Role::Root, found) if self.options.is_feature && found != ObjectType::Feature => {
                Some(message!("must be Feature"))
            }
            (Role::Root, _)
            | (Role::Feature, ObjectType::Feature)
            | (Role::Geometry { .. }, ObjectType::GeometryCollection | ObjectType::Geometry(_)) => {
                None
            }
            (Role::Feature, ObjectType::FeatureCollection) => {
                Some(message!("a FeatureCollection cannot contain another FeatureCollection"))
            }
            (Role::Feature, _) => {
                Some(message!("must be Feature; wrap a bare geometry in a Feature"))
            }
            (Role::Geometry { .. }, _) => Some(message!("must be a geometry type")),
        };
        if let Some(message) = error {
            return Err(self.json.invalid(message));
        }
        let mut forbidden = object_type.forbidden_members().iter();
        match forbidden.find(|member| members.contains(**member)) {
            None => Ok(object_type),
            Some(member) => {
                let message = message!(
                    "an object of this type cannot have the member `{name}`",
                    name = member.name()
                );
                Err(self.json.invalid(message))
            }
        }
    }

    pub(super) fn type_of(&self, object: &Object) -> ParseResult<ObjectType> {
        object.object_type.ok_or_else(|| self.missing(Member::Type))
    }

    pub(super) fn missing(&self, member: Member) -> Box<ParseError> {
        let name = member.name();
        self.json.invalid(match member {
            Member::Geometry | Member::Properties => {
                message!("`{name}` is missing; it can be null", name = name)
            }
            _ => message!("`{name}` is missing", name = name),
        })
    }

    fn properties(&mut self) -> ParseResult<Option<Map<String, Value>>> {
        match self.json.kind()? {
            ValueKind::Null => self.json.null().map(|()| None),
            ValueKind::Object => read_properties(&mut self.json).map(Some),
            _ => Err(self.json.invalid(message!("must be an object or null"))),
        }
    }

    /// Checks the form of a `bbox` and drops it. Bounding boxes are always computed.
    fn bbox(&mut self) -> ParseResult<()> {
        if self.json.kind()? == ValueKind::Null {
            return self.json.null();
        }
        self.json.require_array()?;
        let mut count = 0;
        while self.json.next_item()? {
            self.json.double().at_index(count)?;
            count += 1;
        }
        match count {
            4 | 6 => Ok(()),
            _ => Err(self.json.invalid(message!("must have four or six numbers"))),
        }
    }

    /// Reads the next value as a `crs` (GeoJSON 2008). Only that of a FeatureCollection must come
    /// before the `features`, because these are passed on as soon as they are read.
    fn crs(&mut self, object: &mut Object, role: Role) -> ParseResult<()> {
        let Some(crs) = self.crs_value()? else { return Ok(()) };
        if self.options.is_crs_fixed && crs != self.options.crs {
            let message = message!(
                "must name {crs}, the system of the request",
                crs = self.options.crs.to_string()
            );
            return Err(self.json.invalid(message));
        }
        match role {
            Role::Geometry { collection_depth: 1.. } => {
                return Err(self
                    .json
                    .invalid(message!("must be a member of the outermost object")));
            }
            Role::Root if object.members.contains(Member::Features) && crs != self.crs => {
                let message = message!(
                    "names {crs} after `features` were read as {other}; put `crs` before `features`",
                    crs = crs.to_string(),
                    other = self.crs.to_string()
                );
                return Err(self.json.invalid(message).suggesting_other_crs());
            }
            Role::Root => self.crs = crs,
            Role::Feature | Role::Geometry { .. } => object.crs = Some(crs),
        }
        Ok(())
    }

    pub(super) fn crs_value(&mut self) -> ParseResult<Option<Crs>> {
        let crs = read_value(&mut self.json)?;
        if crs.is_null() {
            return Ok(None);
        }
        if crs.get("type").and_then(Value::as_str) != Some("name") {
            return Err(self
                .json
                .invalid(message!("must be `name`; no other type of `crs` is supported")))
            .at_member("type");
        }
        let name = crs.pointer("/properties/name").and_then(Value::as_str);
        let crs = self.crs_by_name(name.unwrap_or_default());
        crs.at_member("name").at_member("properties").map(Some)
    }

    fn crs_by_name(&mut self, name: &str) -> ParseResult<Crs> {
        if let Some((last_name, crs)) = &self.last_crs
            && last_name == name
        {
            return Ok(crs.clone());
        }
        let crs = Crs::parse(name).map_err(|unknown| self.json.invalid(unknown.message()))?;
        self.last_crs = Some((name.to_owned(), crs.clone()));
        Ok(crs)
    }
}

impl Reader<'_> {
    pub(super) fn geometry_or_null(&mut self) -> ParseResult<Option<ReadGeometry>> {
        match self.json.kind()? {
            ValueKind::Null => self.json.null().map(|()| None),
            ValueKind::Object => {
                let object = self.object(Role::Geometry { collection_depth: 0 })?;
                self.geometry_of(object).map(Some)
            }
            _ => Err(self.json.invalid(message!("must be a geometry object or null"))),
        }
    }

    /// Reads the next value as the `geometries` of a collection that is nested in
    /// `collection_depth` others.
    pub(super) fn geometries(&mut self, collection_depth: usize) -> ParseResult<Vec<Geometry>> {
        if collection_depth == MAX_COLLECTION_DEPTH {
            return Err(self.json.invalid(limits::too_deep()));
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
            return Err(self.json.invalid(limits::too_many_parts()));
        }
        if self.json.kind()? != ValueKind::Object {
            return Err(self.json.invalid(message!("must be a geometry object")));
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
                let geometry = coordinates.into_geometry(geometry_type, self.json.place());
                let geometry = geometry.at_member(Member::Coordinates.name())?;
                let counted = self.coordinates.count_rings(&geometry, self.json.place());
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
    ) -> ParseResult<FinishedGeometry> {
        let ReadGeometry { mut geometry, crs } = read;
        let crs = crs.or(feature_crs).unwrap_or_else(|| self.crs.clone());
        if self.options.is_northing_first {
            geometry.each_position_mut(&mut |at| (at.x, at.y) = (at.y, at.x));
        }
        FinishedGeometry::new(geometry, &crs, self.options.is_northing_first, self.json.place())
    }
}
