//! The part of the earth that a box in a reference system covers.

use super::Crs;
use crate::Bbox;

/// The box is sampled at this many points in each direction.
const SAMPLES: u32 = 33;

impl Crs {
    /// A box in WGS 84 that contains all of `bbox`, which is in this system; `None` if that is not certain,
    /// for example because it contains a pole or reaches beyond the area in which this system can be used.
    #[must_use]
    pub fn wgs84_bounds(&self, bbox: Bbox) -> Option<Bbox> {
        let Bbox([min_x, min_y, max_x, max_y]) = bbox;
        let (width, height) = (max_x - min_x, max_y - min_y);
        let at = |index: u32| f64::from(index) / f64::from(SAMPLES - 1);
        let mut bounds: Option<Bbox> = None;
        for (column, row) in
            (0..SAMPLES).flat_map(|column| (0..SAMPLES).map(move |row| (column, row)))
        {
            let (x, y) = (min_x + width * at(column), min_y + height * at(row));
            let (longitude, latitude) = self.to_wgs84(x, y)?;
            // Far outside the area of use, formulas can have results that make no sense.
            let (back_x, back_y) = self.from_wgs84(longitude, latitude)?;
            if (back_x - x).abs() > 1.0 || (back_y - y).abs() > 1.0 {
                return None;
            }
            let point = Bbox([longitude, latitude, longitude, latitude]);
            bounds = Some(bounds.map_or(point, |bounds| bounds.union(point)));
        }
        let Bbox([west, south, east, north]) = bounds?;
        // Between the samples, the sides can be curved.
        let margin = |span: f64| span / 8.0 + 1e-6;
        let (wide, high) = (margin(east - west), margin(north - south));
        let bounds = [west - wide, south - high, east + wide, north + high];
        let is_certain =
            bounds[0] >= -180.0 && bounds[2] <= 180.0 && bounds[1] >= -89.0 && bounds[3] <= 89.0;
        is_certain.then_some(Bbox(bounds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_contain_the_whole_box() {
        let lambert = Crs::parse("EPSG:2154").unwrap();
        let Bbox([west, south, east, north]) =
            lambert.wgs84_bounds(Bbox([600_000.0, 6_700_000.0, 700_000.0, 6_800_000.0])).unwrap();
        for step in 0..=100 {
            let along = f64::from(step) * 1_000.0;
            for (x, y) in [(600_000.0 + along, 6_700_000.0), (600_000.0 + along, 6_800_000.0)] {
                let (longitude, latitude) = lambert.to_wgs84(x, y).unwrap();
                assert!(west < longitude && longitude < east, "{longitude}");
                assert!(south < latitude && latitude < north, "{latitude}");
            }
        }
        assert!(east - west < 2.5 && north - south < 1.5);
    }

    #[test]
    fn boxes_beyond_the_area_of_use_have_no_bounds() {
        let lambert = Crs::parse("EPSG:2154").unwrap();
        assert_eq!(lambert.wgs84_bounds(Bbox([-1e9, -1e9, 1e9, 1e9])), None);
        let mercator = Crs::parse("EPSG:3857").unwrap();
        assert_eq!(mercator.wgs84_bounds(Bbox([-2.1e7, -1e6, 2.1e7, 1e6])), None);
        assert!(mercator.wgs84_bounds(Bbox([0.0, 0.0, 1.0, 1.0])).is_some());
    }
}
