//! The reference systems in which the coordinates of a file make sense, for a file that names none.

use super::preview::CrsCandidate;
use groma_geo::{Bbox, Crs};

/// How many systems are offered.
const MAX_CANDIDATES: usize = 8;
/// The EPSG code of longitude and latitude.
const WGS84: u32 = 4326;
/// How far from the features of the workspace those of a file may be, in degrees.
const MAX_DISTANCE: f64 = 1.0;

/// The candidates for coordinates in this box: first the systems that the workspace uses, then those of the EPSG
/// register that put the box near its features.
pub(super) fn candidates(extent: Bbox, used: &[Crs], near: Option<Bbox>) -> Vec<CrsCandidate> {
    let mut found: Vec<CrsCandidate> = Vec::new();
    let mut offer = |crs: &Crs, bounds: [f64; 4]| {
        let code = format!("EPSG:{}", crs.code().unwrap_or(WGS84));
        if found.len() < MAX_CANDIDATES && found.iter().all(|other| other.code != code) {
            found.push(CrsCandidate { code, name: crs.info().name.to_owned(), bounds });
        }
    };
    for crs in used {
        if let Some(bounds) = bounds_in(crs, extent) {
            offer(crs, bounds);
        }
    }
    let Some(near) = near else { return found };
    let mut others: Vec<_> = Crs::all()
        .filter_map(|crs| {
            let bounds = bounds_in(&crs, extent)?;
            let distance = distance(middle(Bbox(bounds)), near);
            (distance <= MAX_DISTANCE).then_some((distance, crs, bounds))
        })
        .collect();
    others.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (_, crs, bounds) in &others {
        offer(crs, *bounds);
    }
    found
}

/// Where a box in the coordinates of a file lies if it is in this system; `None` if that is outside its area.
fn bounds_in(crs: &Crs, Bbox([min_x, min_y, max_x, max_y]): Bbox) -> Option<[f64; 4]> {
    let corners = [(min_x, min_y), (max_x, min_y), (max_x, max_y), (min_x, max_y)];
    let mut bounds: Option<Bbox> = None;
    for (x, y) in corners {
        let (longitude, latitude) = crs.to_wgs84(x, y)?;
        let is_on_earth = longitude.abs() <= 180.0 && latitude.abs() <= 90.0;
        if !is_on_earth || !crs.is_in_area_of_use(longitude, latitude) {
            return None;
        }
        let corner = Bbox([longitude, latitude, longitude, latitude]);
        bounds = Some(bounds.map_or(corner, |all| all.union(corner)));
    }
    bounds.map(|Bbox(bounds)| bounds)
}

fn middle(Bbox([west, south, east, north]): Bbox) -> (f64, f64) {
    (f64::midpoint(west, east), f64::midpoint(south, north))
}

/// The distance of a point from a box, in degrees.
fn distance((x, y): (f64, f64), Bbox([west, south, east, north]): Bbox) -> f64 {
    let dx = (west - x).max(x - east).max(0.0);
    let dy = (south - y).max(y - north).max(0.0);
    dx.hypot(dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_near_the_features_of_the_workspace_are_offered() {
        // Around Lyon in Lambert-93.
        let extent = Bbox([842_000.0, 6_519_000.0, 843_000.0, 6_520_000.0]);
        let near = Bbox([4.7, 45.6, 5.0, 45.9]);
        let codes = |used: &[Crs], near| -> Vec<String> {
            candidates(extent, used, near).into_iter().map(|one| one.code).collect()
        };
        assert!(codes(&[], Some(near)).contains(&"EPSG:2154".to_owned()));
        let lambert = Crs::parse("EPSG:2154").unwrap();
        assert_eq!(codes(&[Crs::WGS84, lambert], None), ["EPSG:2154"]);
        assert!(codes(&[], None).is_empty());
        let degrees = candidates(near, &[Crs::WGS84], None);
        assert_eq!(degrees[0].code, "EPSG:4326");
        assert!(Crs::parse(&degrees[0].code).is_ok_and(|crs| crs.is_wgs84()));
    }
}
