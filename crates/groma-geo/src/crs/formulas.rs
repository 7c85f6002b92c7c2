//! Projections that proj4rs lacks.

use super::operation::Parameters;

/// The projection of Colombian cities: a plane at the height of the city.
pub(super) struct ColombiaUrban {
    latitude_of_origin: f64,
    longitude_of_origin: f64,
    false_easting: f64,
    false_northing: f64,
    /// Semi-major axis of the ellipsoid in metres.
    a: f64,
    /// Squared eccentricity.
    es: f64,
    /// Height of the plane. This and the radii are in units of `a`.
    height: f64,
    meridian_radius: f64,
    normal_radius: f64,
}

impl ColombiaUrban {
    pub(super) fn parse(parameters: Parameters<'_>) -> Option<Self> {
        let a = parameters.number("a")?;
        let flattening = parameters.number("rf")?.recip();
        let es = flattening * (2.0 - flattening);
        let latitude_of_origin = parameters.number("lat_0")?.to_radians();
        Some(Self {
            latitude_of_origin,
            longitude_of_origin: parameters.number("lon_0")?.to_radians(),
            false_easting: parameters.number("x_0")?,
            false_northing: parameters.number("y_0")?,
            a,
            es,
            height: parameters.number("h_0")? / a,
            meridian_radius: meridian_radius(es, latitude_of_origin),
            normal_radius: normal_radius(es, latitude_of_origin),
        })
    }

    pub(super) fn project(&self, longitude: f64, latitude: f64) -> (f64, f64) {
        let east = (longitude - self.longitude_of_origin)
            * normal_radius(self.es, latitude)
            * latitude.cos();
        let middle = (latitude + self.latitude_of_origin) / 2.0;
        let scale = 1.0 + self.height / meridian_radius(self.es, middle);
        let x = (1.0 + self.height / self.normal_radius) * east;
        let y = scale
            * self.meridian_radius
            * (latitude - self.latitude_of_origin + self.curvature() * east * east);
        (self.a * x + self.false_easting, self.a * y + self.false_northing)
    }

    pub(super) fn unproject(&self, x: f64, y: f64) -> (f64, f64) {
        let x = (x - self.false_easting) / self.a;
        let y = (y - self.false_northing) / self.a;
        let east = x / (1.0 + self.height);
        let north = self.meridian_radius * (1.0 + self.height / (1.0 - self.es));
        let latitude = self.latitude_of_origin + y / north - self.curvature() * east * east;
        let longitude = east / (normal_radius(self.es, latitude) * latitude.cos());
        (longitude + self.longitude_of_origin, latitude)
    }

    fn curvature(&self) -> f64 {
        self.latitude_of_origin.tan() / (2.0 * self.meridian_radius * self.normal_radius)
    }
}

fn normal_radius(es: f64, latitude: f64) -> f64 {
    (1.0 - es * latitude.sin().powi(2)).sqrt().recip()
}

fn meridian_radius(es: f64, latitude: f64) -> f64 {
    (1.0 - es) / (1.0 - es * latitude.sin().powi(2)).powf(1.5)
}

/// What Modified Krovak (S-JTSK/05) adds to Krovak: a polynomial of southing and westing.
pub(super) struct ModifiedKrovak {
    pub(super) false_easting: f64,
    pub(super) false_northing: f64,
}

impl ModifiedKrovak {
    /// From Krovak to Modified Krovak, both as easting and northing in metres.
    pub(super) fn forward(&self, east: f64, north: f64) -> (f64, f64) {
        let (south, west) = (-north, -east);
        let [ds, dw] = Self::correction(south, west);
        (-(west - dw) - self.false_easting, -(south - ds) - self.false_northing)
    }

    /// The reverse of [`Self::forward`].
    pub(super) fn inverse(&self, east: f64, north: f64) -> (f64, f64) {
        let (south, west) = (-north - self.false_northing, -east - self.false_easting);
        // The correction changes so slowly that the point after it serves as well as the one before.
        let [ds, dw] = Self::correction(south, west);
        (-(west + dw), -(south + ds))
    }

    fn correction(south: f64, west: f64) -> [f64; 2] {
        const C: [f64; 10] = [
            2.946529277e-02,
            2.515965696e-02,
            1.193845912e-07,
            -4.668270147e-07,
            9.233980362e-12,
            1.523735715e-12,
            1.696780024e-18,
            4.408314235e-18,
            -8.331083518e-24,
            -3.689471323e-24,
        ];
        let (x, y) = (south - 1_089_000.0, west - 654_000.0);
        // The powers of the complex number x + iy.
        let square = (x * x - y * y, 2.0 * x * y);
        let cube = (x * (x * x - 3.0 * y * y), y * (3.0 * x * x - y * y));
        let fourth = (square.0.powi(2) - square.1.powi(2), 2.0 * square.0 * square.1);
        [
            C[0] + C[2] * x - C[3] * y + C[4] * square.0 - C[5] * square.1 + C[6] * cube.0
                - C[7] * cube.1
                + C[8] * fourth.1
                + C[9] * fourth.0,
            C[1] + C[2] * y
                + C[3] * x
                + C[4] * square.1
                + C[5] * square.0
                + C[6] * cube.1
                + C[7] * cube.0
                - C[9] * fourth.1
                + C[8] * fourth.0,
        ]
    }
}
