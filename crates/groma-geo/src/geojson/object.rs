//! The objects of GeoJSON and their members, which may come in any order.

use super::{
    Feature, MAX_COLLECTIONS, MAX_KEYS, MAX_PARTS, Options, Spot,
    coordinates::{Coordinates, Shape, Tally},
    fault::{At, Fault, Read, excerpt},
    id::id,
    number::number,
    properties::{TWICE, properties, value},
    scan::{Kind, MAX_NAME, Scanner},
};
use crate::{Crs, Geometry, Line, Position, repair};
use rustc_hash::FxHashSet;
use serde_json::{Map, Value};
use std::io;
use twox_hash::XxHash3_128;

/// Reads GeoJSON objects and hands their features on.
pub(super) struct Reader<'a> {
    json: Scanner<'a>,
    options: &'a Options,
    take: &'a mut dyn FnMut(Feature) -> bool,
    /// The reference system of what names no other.
    crs: Crs,
    /// The one that was named last, with its name: files repeat theirs in every geometry.
    named: Option<(String, Crs)>,
    tally: Tally,
    /// How many geometries the collections of this feature hold.
    parts: usize,
    /// The foreign members of this feature: the number of their object, and their name, hashed.
    foreign: FxHashSet<(usize, u128)>,
    /// How many objects of GeoJSON were begun.
    objects: usize,
    /// The ids that were met, hashed.
    ids: FxHashSet<u128>,
    count: u64,
    spots: Vec<Spot>,
}

/// What a GeoJSON object is.
#[derive(Clone, Copy, PartialEq)]
enum Type {
    FeatureCollection,
    Feature,
    Collection,
    Shape(Shape),
}

impl Type {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "FeatureCollection" => Self::FeatureCollection,
            "Feature" => Self::Feature,
            "GeometryCollection" => Self::Collection,
            "Point" => Self::Shape(Shape::Point),
            "MultiPoint" => Self::Shape(Shape::MultiPoint),
            "LineString" => Self::Shape(Shape::LineString),
            "MultiLineString" => Self::Shape(Shape::MultiLineString),
            "Polygon" => Self::Shape(Shape::Polygon),
            "MultiPolygon" => Self::Shape(Shape::MultiPolygon),
            _ => return None,
        })
    }

    /// The members that would make it something else (RFC 7946 § 7.1). The `properties` of a
    /// FeatureCollection are let pass: ArcGIS writes some.
    fn forbidden(self) -> &'static [Member] {
        match self {
            Self::FeatureCollection => &[Member::Coordinates, Member::Geometries, Member::Geometry],
            Self::Feature => &[Member::Coordinates, Member::Geometries, Member::Features],
            Self::Collection => {
                &[Member::Coordinates, Member::Geometry, Member::Properties, Member::Features]
            }
            Self::Shape(_) => {
                &[Member::Geometries, Member::Geometry, Member::Properties, Member::Features]
            }
        }
    }
}

/// The members that GeoJSON gives a meaning.
#[derive(Clone, Copy, PartialEq)]
enum Member {
    Type,
    Id,
    Geometry,
    Properties,
    Coordinates,
    Geometries,
    Features,
    Bbox,
    Crs,
}

impl Member {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "type" => Self::Type,
            "id" => Self::Id,
            "geometry" => Self::Geometry,
            "properties" => Self::Properties,
            "coordinates" => Self::Coordinates,
            "geometries" => Self::Geometries,
            "features" => Self::Features,
            "bbox" => Self::Bbox,
            "crs" => Self::Crs,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Id => "id",
            Self::Geometry => "geometry",
            Self::Properties => "properties",
            Self::Coordinates => "coordinates",
            Self::Geometries => "geometries",
            Self::Features => "features",
            Self::Bbox => "bbox",
            Self::Crs => "crs",
        }
    }

    fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// What an object may be, by where it stands.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    /// The whole document: anything.
    Root,
    /// One of the `features`.
    Feature,
    /// The `geometry` of a feature, or one within this many collections.
    Geometry { within: usize },
}

/// The members of an object, as far as they are read.
#[derive(Default)]
struct Object {
    /// One bit for each member that was met.
    met: u16,
    r#type: Option<Type>,
    id: Option<String>,
    geometry: Option<Option<Located>>,
    properties: Option<Map<String, Value>>,
    coordinates: Option<Coordinates>,
    geometries: Option<Vec<Geometry>>,
    crs: Option<Crs>,
}

/// A geometry as it was read, and its reference system if it names one.
struct Located {
    geometry: Geometry,
    crs: Option<Crs>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        input: &'a mut dyn io::Read,
        options: &'a Options,
        take: &'a mut dyn FnMut(Feature) -> bool,
    ) -> Self {
        Self {
            json: Scanner::new(input),
            options,
            take,
            crs: options.crs.clone(),
            named: None,
            tally: Tally::default(),
            parts: 0,
            foreign: FxHashSet::default(),
            objects: 0,
            ids: FxHashSet::default(),
            count: 0,
            spots: Vec::new(),
        }
    }

    /// How many features were handed on, and what was wrong with others.
    pub(super) fn into_result(self) -> (u64, Vec<Spot>) {
        (self.count, self.spots)
    }

    /// Reads the one object of a document.
    pub(super) fn document(&mut self) -> Read<()> {
        self.json.skip_mark()?;
        self.root()?;
        self.json.end()
    }

    /// Passes over everything but the `crs` of the one object of a document.
    pub(super) fn root_crs(&mut self) -> Read<Option<Crs>> {
        self.json.skip_mark()?;
        if self.json.kind()? != Kind::Object {
            return Ok(None);
        }
        self.json.open_object()?;
        while let Some(name) = self.json.next_key()? {
            if name == Member::Crs.name() {
                return self.named_crs();
            }
            self.json.skip()?;
        }
        Ok(None)
    }

    /// Reads the objects of a sequence.
    pub(super) fn sequence(&mut self) -> Read<()> {
        self.json.skip_mark()?;
        self.json.expect_sequence()?;
        let mut abandon = false;
        while self.json.next_text(abandon)? {
            self.crs = self.options.crs.clone();
            let outcome = self.root().and_then(|()| self.json.end());
            abandon = outcome.is_err();
            outcome.or_else(|fault| self.note(*fault))?;
        }
        Ok(())
    }

    /// Keeps a fault of a part, so that reading can go on behind it. Everything else ends it.
    fn note(&mut self, fault: Fault) -> Read<()> {
        match fault {
            Fault::Wrong(mark) | Fault::Broken(mark) => self.spots.push(mark.into()),
            other => return Err(Box::new(other)),
        }
        if self.spots.len() >= self.options.max_spots {
            return Err(Box::new(Fault::Enough));
        }
        Ok(())
    }

    fn root(&mut self) -> Read<()> {
        let line = self.begin_feature();
        if self.json.kind()? != Kind::Object {
            return Err(self.json.wrong("must be a GeoJSON object"));
        }
        let object = self.object(Role::Root)?;
        match self.type_of(&object)? {
            Type::FeatureCollection if object.met & Member::Features.bit() == 0 => {
                Err(self.missing(Member::Features))
            }
            Type::FeatureCollection => Ok(()),
            Type::Feature => self.hand_on(object, None, line),
            Type::Collection | Type::Shape(_) => {
                let geometry = self.located(object)?;
                self.deliver(Feature {
                    external_id: None,
                    geometry: Some(self.settled(geometry, None)?),
                    properties: Map::new(),
                    index: None,
                    line,
                })
            }
        }
    }

    /// Reads the `features` that come and hands each on. A fault in one is kept, and the next is
    /// read.
    fn features(&mut self) -> Read<()> {
        self.open_array()?;
        let depth = self.json.depth();
        let mut index = 0;
        while self.json.next_item().at(index)? {
            if let Err(fault) = self.feature(index).at(index) {
                if !matches!(*fault, Fault::Wrong(_)) {
                    return Err(fault);
                }
                self.note(*fault.within(Member::Features.name()))?;
                self.json.leave(depth).at(index)?;
            }
            index += 1;
        }
        Ok(())
    }

    fn feature(&mut self, index: usize) -> Read<()> {
        let line = self.begin_feature();
        if self.json.kind()? != Kind::Object {
            return Err(self.json.wrong("must be a Feature"));
        }
        let object = self.object(Role::Feature)?;
        self.type_of(&object)?;
        self.hand_on(object, Some(index), line)
    }

    fn begin_feature(&mut self) -> u64 {
        self.tally.reset();
        self.parts = 0;
        self.foreign.clear();
        self.json.line()
    }

    fn hand_on(&mut self, object: Object, index: Option<usize>, line: u64) -> Read<()> {
        let Some(geometry) = object.geometry else { return Err(self.missing(Member::Geometry)) };
        if object.met & Member::Properties.bit() == 0 {
            return Err(self.missing(Member::Properties));
        }
        let geometry = geometry
            .map(|geometry| self.settled(geometry, object.crs))
            .transpose()
            .within(Member::Geometry.name())?;
        if let Some(id) = &object.id
            && !self.ids.insert(XxHash3_128::oneshot(id.as_bytes()))
        {
            let message = format!("`{}` is the id of an earlier feature too", excerpt(id));
            return Err(self.json.wrong(message)).within(Member::Id.name());
        }
        self.deliver(Feature {
            external_id: object.id,
            geometry,
            properties: object.properties.unwrap_or_default(),
            index,
            line,
        })
    }

    fn deliver(&mut self, feature: Feature) -> Read<()> {
        self.count += 1;
        match (self.take)(feature) {
            true => Ok(()),
            false => Err(Box::new(Fault::Stopped)),
        }
    }

    // Objects

    fn object(&mut self, role: Role) -> Read<Object> {
        let mut object = Object::default();
        self.objects += 1;
        let (number, mut foreign) = (self.objects, 0);
        self.json.open_object()?;
        while let Some(name) = self.json.next_key()? {
            match Member::named(name) {
                Some(member) => {
                    self.member(member, &mut object, role).within(member.name())?;
                }
                None => {
                    let name = name.to_owned();
                    foreign += 1;
                    self.foreign_member(&name, number, foreign).within(&name)?;
                }
            }
        }
        Ok(object)
    }

    fn member(&mut self, member: Member, object: &mut Object, role: Role) -> Read<()> {
        if object.met & member.bit() != 0 {
            return Err(self.json.wrong(TWICE));
        }
        object.met |= member.bit();
        let forbidden = match (object.r#type, role) {
            (Some(r#type), _) => r#type.forbidden(),
            (None, Role::Feature) => Type::Feature.forbidden(),
            (None, Role::Geometry { .. }) => {
                &[Member::Geometry, Member::Properties, Member::Features]
            }
            (None, Role::Root) => &[],
        };
        if forbidden.contains(&member) {
            return Err(self.out_of_place(member));
        }
        let is_feature = match object.r#type {
            Some(r#type) => r#type == Type::Feature,
            None => !matches!(role, Role::Geometry { .. }),
        };
        let within = match role {
            Role::Geometry { within } => within,
            Role::Root | Role::Feature => 0,
        };
        match member {
            Member::Type => object.r#type = Some(self.r#type(object.met, role)?),
            Member::Id if is_feature => object.id = Some(id(&mut self.json)?),
            Member::Properties if is_feature => object.properties = self.properties()?,
            Member::Id | Member::Properties => self.json.skip()?,
            Member::Geometry => object.geometry = Some(self.geometry_or_null()?),
            Member::Coordinates => {
                let shape = match object.r#type {
                    Some(Type::Shape(shape)) => Some(shape),
                    _ => None,
                };
                object.coordinates = Some(self.tally.read(shape, &mut self.json)?);
            }
            Member::Geometries => object.geometries = Some(self.geometries(within)?),
            Member::Features => self.features()?,
            Member::Bbox => self.bbox()?,
            Member::Crs => self.crs(object, role)?,
        }
        Ok(())
    }

    /// Passes over a member that GeoJSON gives no meaning: the `count`-th such of its object.
    fn foreign_member(&mut self, name: &str, object: usize, count: usize) -> Read<()> {
        if count > MAX_KEYS {
            return Err(self.json.wrong(format!("its object has more than {MAX_KEYS} members")));
        }
        if !self.foreign.insert((object, XxHash3_128::oneshot(name.as_bytes()))) {
            return Err(self.json.wrong(TWICE));
        }
        self.json.skip()
    }

    fn r#type(&mut self, met: u16, role: Role) -> Read<Type> {
        if self.json.kind()? != Kind::String {
            return Err(self.json.wrong("must be a string"));
        }
        let name = self.json.string(MAX_NAME)?;
        let Some(r#type) = Type::named(name) else {
            let message = format!("`{}` is no type of GeoJSON", excerpt(name));
            return Err(self.json.wrong(message));
        };
        let complaint = match (role, r#type) {
            (Role::Root, _)
            | (Role::Feature, Type::Feature)
            | (Role::Geometry { .. }, Type::Collection | Type::Shape(_)) => None,
            (Role::Feature, Type::FeatureCollection) => {
                Some("a FeatureCollection cannot hold another")
            }
            (Role::Feature, _) => Some("must be Feature; a bare geometry is none"),
            (Role::Geometry { .. }, _) => Some("must be the type of a geometry"),
        };
        if let Some(complaint) = complaint {
            return Err(self.json.wrong(complaint));
        }
        match r#type.forbidden().iter().find(|member| met & member.bit() != 0) {
            None => Ok(r#type),
            Some(member) => {
                Err(self.json.wrong(format!("does not go with the member `{}`", member.name())))
            }
        }
    }

    fn type_of(&self, object: &Object) -> Read<Type> {
        object.r#type.ok_or_else(|| self.missing(Member::Type))
    }

    fn properties(&mut self) -> Read<Option<Map<String, Value>>> {
        match self.json.kind()? {
            Kind::Null => self.json.null().map(|()| None),
            Kind::Object => properties(&mut self.json).map(Some),
            _ => Err(self.json.wrong("must be an object or null")),
        }
    }

    /// A `bbox` is checked for its form and then forgotten: the box is computed.
    fn bbox(&mut self) -> Read<()> {
        if self.json.kind()? == Kind::Null {
            return self.json.null();
        }
        self.open_array()?;
        let mut count = 0;
        while self.json.next_item()? {
            number(&mut self.json).at(count)?;
            count += 1;
        }
        match count {
            4 | 6 => Ok(()),
            _ => Err(self.json.wrong("must have four or six numbers")),
        }
    }

    fn open_array(&mut self) -> Read<()> {
        match self.json.kind()? {
            Kind::Array => self.json.open_array(),
            _ => Err(self.json.wrong("must be an array")),
        }
    }

    fn missing(&self, member: Member) -> Box<Fault> {
        let hint = match member {
            Member::Geometry | Member::Properties => " (it may be null)",
            _ => "",
        };
        self.json.wrong(format!("`{}` is missing{hint}", member.name()))
    }

    fn out_of_place(&self, member: Member) -> Box<Fault> {
        self.json.wrong(format!("`{}` does not belong in this object", member.name()))
    }

    // Geometries

    fn geometry_or_null(&mut self) -> Read<Option<Located>> {
        match self.json.kind()? {
            Kind::Null => self.json.null().map(|()| None),
            Kind::Object => {
                let object = self.object(Role::Geometry { within: 0 })?;
                self.located(object).map(Some)
            }
            _ => Err(self.json.wrong("must be a geometry or null")),
        }
    }

    /// Reads the `geometries` that come, of a collection that lies within that many others.
    fn geometries(&mut self, within: usize) -> Read<Vec<Geometry>> {
        if within == MAX_COLLECTIONS {
            return Err(self
                .json
                .wrong(format!("GeometryCollections are nested deeper than {MAX_COLLECTIONS}")));
        }
        self.open_array()?;
        let mut geometries = Vec::new();
        while self.json.next_item().at(geometries.len())? {
            geometries.push(self.part(within + 1).at(geometries.len())?);
        }
        Ok(geometries)
    }

    fn part(&mut self, within: usize) -> Read<Geometry> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(self.json.wrong(format!("is one of more than {MAX_PARTS} geometries")));
        }
        if self.json.kind()? != Kind::Object {
            return Err(self.json.wrong("must be a geometry"));
        }
        let object = self.object(Role::Geometry { within })?;
        self.located(object).map(|located| located.geometry)
    }

    /// The geometry that an object's members make.
    fn located(&mut self, object: Object) -> Read<Located> {
        let geometry = match self.type_of(&object)? {
            Type::Shape(shape) => {
                let Some(coordinates) = object.coordinates else {
                    return Err(self.missing(Member::Coordinates));
                };
                let geometry = coordinates.into_geometry(shape, &self.json);
                let geometry = geometry.within(Member::Coordinates.name())?;
                let counted = self.tally.count_rings(&geometry, &self.json);
                counted.within(Member::Coordinates.name())?;
                geometry
            }
            _ => match object.geometries {
                Some(geometries) => Geometry::Collection(geometries),
                None => return Err(self.missing(Member::Geometries)),
            },
        };
        Ok(Located { geometry, crs: object.crs })
    }

    /// The geometry in WGS 84, put right. It is in its own reference system, or else in that of its
    /// feature, or else in that of the document.
    fn settled(&self, located: Located, feature_crs: Option<Crs>) -> Read<Geometry> {
        let Located { mut geometry, crs } = located;
        let crs = crs.or(feature_crs);
        let settle = Settle { crs: crs.as_ref().unwrap_or(&self.crs), json: &self.json };
        settle.geometry(&mut geometry)?;
        Ok(repair::put_right(geometry))
    }

    // Reference systems

    /// Reads the legacy `crs` that comes (GeoJSON 2008). Only a FeatureCollection's has to come
    /// first: its features are gone by the time that it ends.
    fn crs(&mut self, object: &mut Object, role: Role) -> Read<()> {
        let Some(crs) = self.named_crs()? else { return Ok(()) };
        match role {
            Role::Geometry { within: 1.. } => {
                return Err(self.json.wrong("belongs on the outermost object"));
            }
            Role::Root if object.met & Member::Features.bit() != 0 && crs != self.crs => {
                let message = format!(
                    "names {crs} after `features` were read as {}; it must come before them",
                    self.crs
                );
                return Err(self.json.wrong(message).astray());
            }
            Role::Root => self.crs = crs,
            Role::Feature | Role::Geometry { .. } => object.crs = Some(crs),
        }
        Ok(())
    }

    fn named_crs(&mut self) -> Read<Option<Crs>> {
        let crs = value(&mut self.json)?;
        if crs.is_null() {
            return Ok(None);
        }
        if crs.get("type").and_then(Value::as_str) != Some("name") {
            return Err(self.json.wrong("must name a reference system: its type is `name`"))
                .within("type");
        }
        let name = crs.pointer("/properties/name").and_then(Value::as_str);
        self.crs_by_name(name.unwrap_or_default()).within("name").within("properties").map(Some)
    }

    fn crs_by_name(&mut self, name: &str) -> Read<Crs> {
        if let Some((known, crs)) = &self.named
            && known == name
        {
            return Ok(crs.clone());
        }
        let crs = Crs::parse(name).map_err(|unknown| self.json.wrong(unknown.to_string()))?;
        self.named = Some((name.to_owned(), crs.clone()));
        Ok(crs)
    }
}

/// Brings the positions of a geometry to WGS 84 and checks that they are on the earth.
struct Settle<'a, 'b> {
    crs: &'a Crs,
    json: &'a Scanner<'b>,
}

impl Settle<'_, '_> {
    fn geometry(&self, geometry: &mut Geometry) -> Read<()> {
        let each_line = |lines: &mut [Line]| {
            lines.iter_mut().enumerate().try_for_each(|(index, line)| self.line(line).at(index))
        };
        let outcome = match geometry {
            Geometry::Point(position) => self.position(position),
            Geometry::MultiPoint(positions) | Geometry::LineString(positions) => {
                self.line(positions)
            }
            Geometry::MultiLineString(lines) | Geometry::Polygon(lines) => each_line(lines),
            Geometry::MultiPolygon(polygons) => polygons
                .iter_mut()
                .enumerate()
                .try_for_each(|(index, rings)| each_line(rings).at(index)),
            Geometry::Collection(parts) => {
                let mut parts = parts.iter_mut().enumerate();
                return parts
                    .try_for_each(|(index, part)| self.geometry(part).at(index))
                    .within(Member::Geometries.name());
            }
        };
        outcome.within(Member::Coordinates.name())
    }

    fn line(&self, line: &mut Line) -> Read<()> {
        let mut positions = line.iter_mut().enumerate();
        positions.try_for_each(|(index, position)| self.position(position).at(index))
    }

    fn position(&self, position: &mut Position) -> Read<()> {
        if !self.crs.is_wgs84() {
            (position.x, position.y) =
                self.crs.to_wgs84(position.x, position.y).ok_or_else(|| {
                    self.json.wrong(format!("is outside of where {} can be used", self.crs))
                })?;
        }
        if position.x.abs() > repair::MAX_LONGITUDE {
            return Err(self.off_earth("a longitude", position.x, repair::MAX_LONGITUDE)).at(0);
        }
        if position.y.abs() > 90.0 {
            return Err(self.off_earth("a latitude", position.y, 90.0)).at(1);
        }
        Ok(())
    }

    #[cold]
    fn off_earth(&self, what: &str, found: f64, limit: f64) -> Box<Fault> {
        // Someone who sends metres wants to hear of `crs`, not of degrees.
        let hint = match found.abs() > 1000.0 && self.crs.is_wgs84() {
            true => "; a reference system other than WGS 84 is named by `crs`",
            false => "",
        };
        let message = format!("{what} must be between -{limit} and {limit} degrees{hint}");
        self.json.wrong(message).astray()
    }
}
