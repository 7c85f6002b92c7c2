//! Coordinate reference systems by EPSG code, and the transformation from them to WGS 84.
//!
//! Only systems that need no grid file are supported. Heights are not transformed.

use proj4rs::{Proj, transform::transform};
use std::{
    fmt,
    sync::{Arc, LazyLock},
};
use thiserror::Error;

/// A coordinate reference system. Coordinates are always in the order x, y (east before north,
/// longitude before latitude), as is usual in GeoJSON, even where the EPSG register says otherwise.
#[derive(Clone)]
pub struct Crs(Option<Arc<System>>);

/// A name that is not the name of a supported reference system.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a supported reference system; use an EPSG code, for example EPSG:2154")]
pub struct UnknownCrs(String);

/// A reference system other than WGS 84.
struct System {
    code: u16,
    /// The projection; `None` if coordinates are degrees already.
    projection: Option<Proj>,
    /// Longitude and latitude in the system's own datum.
    geographic: Proj,
}

/// Never `None`: the definition is a constant, and the tests parse it.
static WGS84: LazyLock<Option<Proj>> =
    LazyLock::new(|| Proj::from_proj_string(crs_definitions::EPSG_4326.proj4).ok());

/// Transformed degrees are rounded to a thousandth of a millimetre. Further digits are rounding noise
/// and would make every stored number two digits longer.
const STEPS_PER_DEGREE: f64 = 1e11;

/// How far a point may be from itself, in projected units, after the transformation and back.
const MAX_ROUND_TRIP_ERROR: f64 = 0.1;

impl Crs {
    /// Longitude and latitude in WGS 84.
    pub const WGS84: Self = Self(None);

    /// Parses a name such as `EPSG:2154`, or one of its longer forms (URN, URL) as used in legacy
    /// GeoJSON.
    pub fn parse(name: &str) -> Result<Self, UnknownCrs> {
        const MAX_QUOTED_CHARACTERS: usize = 100;
        Self::by_name(name.trim()).ok_or_else(|| {
            UnknownCrs(
                name.chars().filter(|c| !c.is_control()).take(MAX_QUOTED_CHARACTERS).collect(),
            )
        })
    }

    fn by_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let steps: Vec<&str> = name.split([':', '/']).collect();
        let steps = match steps.as_slice() {
            ["urn", "ogc" | "x-ogc", "def", "crs", authority, _version, code]
            | [
                "http" | "https",
                "",
                "",
                "www.opengis.net",
                "def",
                "crs",
                authority,
                _version,
                code,
            ] => [*authority, *code],
            [authority, code] => [*authority, *code],
            ["crs84"] => ["ogc", "crs84"],
            _ => return None,
        };
        match steps {
            ["ogc", "crs84" | "crs84h"] => Some(Self::WGS84),
            ["epsg", code] if code.bytes().all(|byte| byte.is_ascii_digit()) => {
                Self::by_code(code.parse().ok()?)
            }
            _ => None,
        }
    }

    fn by_code(code: u16) -> Option<Self> {
        if matches!(code, 4326 | 4979) {
            return Some(Self::WGS84);
        }
        let definition = crs_definitions::from_code(code)?.proj4;
        let parameters = || definition.split_ascii_whitespace();
        // Grid files are not available, and geocentric coordinates cannot be shown on a map.
        let needs_grid_file =
            parameters().any(|one| one.starts_with("+nadgrids=") && one != "+nadgrids=@null");
        if needs_grid_file || parameters().any(|one| one == "+proj=geocent") {
            return None;
        }
        const DATUM_PARAMETERS: [&str; 9] =
            ["+datum=", "+ellps=", "+a=", "+b=", "+rf=", "+R=", "+towgs84=", "+nadgrids=", "+pm="];
        let geographic = parameters()
            .filter(|one| DATUM_PARAMETERS.iter().any(|name| one.starts_with(name)))
            .fold("+proj=longlat +no_defs".to_owned(), |all, one| format!("{all} {one}"));
        // `+over` keeps longitudes beyond 180, so that a shape across the antimeridian stays in one
        // piece until it is split.
        let projection = match parameters().any(|one| one == "+proj=longlat") {
            true => None,
            false => Some(Proj::from_proj_string(&format!("{definition} +over")).ok()?),
        };
        let geographic = Proj::from_proj_string(&geographic).ok()?;
        Some(Self(Some(Arc::new(System { code, projection, geographic }))))
    }

    /// Whether coordinates need no transformation.
    #[must_use]
    pub fn is_wgs84(&self) -> bool {
        self.0.is_none()
    }

    /// Longitude and latitude of a point in WGS 84; `None` if it lies outside the area in which this
    /// system can be used.
    #[must_use]
    pub fn to_wgs84(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let Some(system) = &self.0 else { return Some((x, y)) };
        let mut point = (x, y, 0.0);
        match &system.projection {
            Some(projection) => {
                transform(projection, &system.geographic, &mut point).ok()?;
                // Far outside its area of use, a projection cannot be inverted.
                let mut back = point;
                transform(&system.geographic, projection, &mut back).ok()?;
                let error = (back.0 - x).hypot(back.1 - y);
                if error.is_nan() || error > MAX_ROUND_TRIP_ERROR {
                    return None;
                }
            }
            None => point = (x.to_radians(), y.to_radians(), 0.0),
        }
        let longitude_before = point.0;
        transform(&system.geographic, WGS84.as_ref()?, &mut point).ok()?;
        let round = |degrees: f64| (degrees * STEPS_PER_DEGREE).round() / STEPS_PER_DEGREE;
        // A datum shift moves a point by metres, but can wrap it to the other side of ±180.
        let turns = ((longitude_before - point.0) / std::f64::consts::TAU).round();
        let longitude = round(point.0.to_degrees() + turns * 360.0);
        let latitude = round(point.1.to_degrees());
        (longitude.is_finite() && latitude.is_finite()).then_some((longitude, latitude))
    }
}

impl PartialEq for Crs {
    fn eq(&self, other: &Self) -> bool {
        let code = |crs: &Self| crs.0.as_ref().map(|system| system.code);
        code(self) == code(other)
    }
}

impl Eq for Crs {}

impl fmt::Display for Crs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("WGS 84"),
            Some(system) => write!(f, "EPSG:{}", system.code),
        }
    }
}

impl fmt::Debug for Crs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points, their coordinates according to PROJ 9.1 (`cs2cs`), and how many metres the result may
    /// differ: PROJ shifts some datums by another formula.
    const KNOWN: [(&str, [f64; 2], [f64; 2], f64); 15] = [
        ("EPSG:2154", [652469.02, 6862035.26], [2.3521999630, 48.8566000050], 0.001),
        ("EPSG:2154", [700000.0, 6600000.0], [3.0, 46.5], 0.001),
        ("EPSG:3857", [261845.7, 6250564.3], [2.3521999439, 48.8565997072], 0.001),
        ("EPSG:25832", [691608.0, 5334760.0], [11.5755576987, 48.1372184701], 0.001),
        ("EPSG:27700", [530000.0, 180000.0], [-0.1283539405, 51.5039908276], 0.01),
        ("EPSG:4258", [2.35, 48.85], [2.35, 48.85], 0.001),
        ("EPSG:2056", [2600000.0, 1200000.0], [7.4386324209, 46.9510827719], 0.001),
        ("EPSG:28992", [155000.0, 463000.0], [5.3872035084, 52.1551723012], 0.01),
        ("EPSG:5514", [-743000.0, -1043000.0], [14.4185938905, 50.0873466147], 10.0),
        ("EPSG:2193", [1570600.0, 5180000.0], [172.6361438434, -43.5323642540], 0.001),
        ("EPSG:3460", [2000000.0, 4000000.0], [178.7501538889, -16.9999621274], 0.001),
        ("EPSG:27572", [600000.0, 2428000.0], [2.3365056626, 48.8503465927], 0.001),
        ("EPSG:31370", [150000.0, 170000.0], [4.3687521409, 50.8404112831], 0.001),
        ("EPSG:3035", [4321000.0, 3210000.0], [10.0, 52.0], 0.001),
        ("EPSG:32760", [700000.0, 8000000.0], [178.8898106670, -18.0794547490], 0.001),
    ];

    #[test]
    fn known_points_agree_with_proj() {
        for (name, [x, y], [longitude, latitude], metres) in KNOWN {
            let (east, north) = Crs::parse(name).unwrap().to_wgs84(x, y).unwrap();
            let away = 111_320.0
                * ((east - longitude) * latitude.to_radians().cos()).hypot(north - latitude);
            assert!(away < metres, "{name}: {east} {north} is {away} m away");
        }
    }

    #[test]
    fn all_forms_of_a_name_are_parsed() {
        let lambert = Crs::parse("EPSG:2154").unwrap();
        assert_eq!(lambert.to_string(), "EPSG:2154");
        for name in [
            "epsg:2154",
            " EPSG:2154 ",
            "urn:ogc:def:crs:EPSG::2154",
            "urn:ogc:def:crs:EPSG:9.8.15:2154",
            "urn:x-ogc:def:crs:EPSG::2154",
            "http://www.opengis.net/def/crs/EPSG/0/2154",
        ] {
            assert_eq!(Crs::parse(name).unwrap(), lambert, "{name}");
        }
        for name in [
            "EPSG:4326",
            "EPSG:4979",
            "urn:ogc:def:crs:EPSG::4326",
            "urn:ogc:def:crs:OGC:1.3:CRS84",
            "urn:ogc:def:crs:OGC::CRS84",
            "OGC:CRS84",
            "CRS84",
            "http://www.opengis.net/def/crs/OGC/1.3/CRS84",
        ] {
            assert!(Crs::parse(name).unwrap().is_wgs84(), "{name}");
        }
    }

    #[test]
    fn unknown_and_unsupported_systems_are_rejected() {
        for name in [
            "",
            "EPSG",
            "EPSG:",
            "EPSG:+2154",
            "EPSG:999999999999",
            "EPSG:65535",
            "ESRI:102100",
            "2154",
            "Lambert-93",
            "EPSG:4978",
            "EPSG:27200",
            "urn:ogc:def:crs:EPSG::2154:1",
        ] {
            assert!(Crs::parse(name).is_err(), "{name}");
        }
    }

    #[test]
    fn longitudes_beyond_the_antimeridian_are_not_wrapped() {
        let longitude = |name, x, y| Crs::parse(name).unwrap().to_wgs84(x, y).unwrap().0;
        assert!((longitude("EPSG:3857", 21_000_000.0, 0.0) - 188.646).abs() < 0.001);
        assert!((longitude("EPSG:32760", 900_000.0, 8_000_000.0) - 180.78).abs() < 0.01);
        // The datum shift of Fiji 1986 to WGS 84 wraps longitudes beyond 180.
        assert!((longitude("EPSG:3460", 2_200_000.0, 4_000_000.0) - 180.6).abs() < 0.1);
    }

    #[test]
    fn point_far_outside_the_area_of_use_is_rejected() {
        let lambert = Crs::parse("EPSG:2154").unwrap();
        assert_eq!(lambert.to_wgs84(1e12, 1e12), None);
        assert_eq!(lambert.to_wgs84(f64::NAN, 0.0), None);
    }

    #[test]
    fn every_system_gives_finite_degrees_or_none() {
        let ordinates = [0.0, 2.0, 90.0, -181.0, 5e5, -5e6, 2.1e7, 1e9, -1e12];
        let systems: Vec<Crs> = (0..=u16::MAX).filter_map(Crs::by_code).collect();
        assert!(systems.len() > 5_000);
        for crs in systems {
            for (x, y) in ordinates.iter().flat_map(|x| ordinates.map(|y| (*x, y))) {
                if let Some((longitude, latitude)) = crs.to_wgs84(x, y) {
                    assert!(longitude.is_finite() && latitude.is_finite(), "{crs} {x} {y}");
                }
            }
        }
    }
}
