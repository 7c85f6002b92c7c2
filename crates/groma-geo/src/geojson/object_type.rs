//! The types of GeoJSON objects and the members that RFC 7946 defines for them.

use super::coordinates::GeometryType;

/// The type of a GeoJSON object.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ObjectType {
    FeatureCollection,
    Feature,
    GeometryCollection,
    Geometry(GeometryType),
}

impl ObjectType {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "FeatureCollection" => Self::FeatureCollection,
            "Feature" => Self::Feature,
            "GeometryCollection" => Self::GeometryCollection,
            "Point" => Self::Geometry(GeometryType::Point),
            "MultiPoint" => Self::Geometry(GeometryType::MultiPoint),
            "LineString" => Self::Geometry(GeometryType::LineString),
            "MultiLineString" => Self::Geometry(GeometryType::MultiLineString),
            "Polygon" => Self::Geometry(GeometryType::Polygon),
            "MultiPolygon" => Self::Geometry(GeometryType::MultiPolygon),
            _ => return None,
        })
    }

    /// The members that define another type and are therefore not allowed (RFC 7946, section 7.1).
    /// A FeatureCollection can have `properties`, because ArcGIS writes them.
    pub(super) fn forbidden_members(self) -> &'static [Member] {
        match self {
            Self::FeatureCollection => &[Member::Coordinates, Member::Geometries, Member::Geometry],
            Self::Feature => &[Member::Coordinates, Member::Geometries, Member::Features],
            Self::GeometryCollection => {
                &[Member::Coordinates, Member::Geometry, Member::Properties, Member::Features]
            }
            Self::Geometry(_) => {
                &[Member::Geometries, Member::Geometry, Member::Properties, Member::Features]
            }
        }
    }
}

/// The members that GeoJSON defines, with the `crs` of its 2008 version.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Member {
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
    pub(super) fn from_name(name: &str) -> Option<Self> {
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

    pub(super) fn name(self) -> &'static str {
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
}

/// A set of members.
#[derive(Clone, Copy, Default)]
pub(super) struct MemberSet(u16);

impl MemberSet {
    /// Adds a member. Returns false if the set contains it already.
    pub(super) fn insert(&mut self, member: Member) -> bool {
        let is_new = !self.contains(member);
        self.0 |= 1 << member as u16;
        is_new
    }

    pub(super) fn contains(self, member: Member) -> bool {
        self.0 & 1 << member as u16 != 0
    }
}
