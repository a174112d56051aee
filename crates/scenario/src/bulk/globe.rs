//! Places on the globe, projected on a plane around their middle.

/// WGS 84 (NGA.STND.0036): the equator's radius \[m\] and the square of the eccentricity.
const EQUATOR_M: f64 = 6_378_137.0;
const ECCENTRICITY_SQUARED: f64 = 6.694_379_990_14e-3;
/// Within so many degrees of the middle a plane is off by less than a thousandth of the distance.
const EXTENT_DEG_MAX: f64 = 1.0;

/// A plane that touches the globe; its origin is the middle of the places.
pub(super) struct Plane {
    longitude: f64,
    latitude: f64,
    /// Lengths of a degree to the east and to the north \[m\].
    east_m: f64,
    north_m: f64,
}

impl Plane {
    /// The plane around places, each longitude and latitude \[degrees\].
    ///
    /// # Errors
    /// The number of a place that is none on the globe, or too far from the others, and why.
    pub(super) fn around(places: &[[f64; 2]]) -> Result<Self, (usize, String)> {
        let is_on_globe =
            |[longitude, latitude]: &[f64; 2]| longitude.abs() <= 180.0 && latitude.abs() < 89.0;
        if let Some(place) = places.iter().position(|place| !is_on_globe(place)) {
            return Err((place, "latitudes are from -89 to 89 degrees, longitudes from -180 to 180".into()));
        }
        let middle = |of: usize| places.iter().map(|place| place[of]).sum::<f64>() / places.len() as f64;
        let (longitude, latitude) = (middle(0), middle(1));
        let is_far = |[x, y]: &[f64; 2]| (x - longitude).abs().max((y - latitude).abs()) > EXTENT_DEG_MAX;
        if let Some(place) = places.iter().position(is_far) {
            return Err((place, "it lies more than a degree from the middle of all nodes".into()));
        }
        // The radii of curvature of the ellipsoid, across and along the meridian.
        let (sine, cosine) = (latitude.to_radians().sin(), latitude.to_radians().cos());
        let bulge = 1.0 - ECCENTRICITY_SQUARED * sine * sine;
        let across_m = EQUATOR_M / bulge.sqrt();
        let along_m = across_m * (1.0 - ECCENTRICITY_SQUARED) / bulge;
        let degree = 1f64.to_radians();
        Ok(Self { longitude, latitude, east_m: across_m * cosine * degree, north_m: along_m * degree })
    }

    /// East and north of the middle, to the millimetre \[m\].
    pub(super) fn project(&self, [longitude, latitude]: [f64; 2]) -> [f64; 2] {
        let to_mm = |m: f64| (m * 1e3).round() / 1e3;
        [to_mm((longitude - self.longitude) * self.east_m), to_mm((latitude - self.latitude) * self.north_m)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths of a degree on WGS 84, as geodesists' tables have them: at 45° 111 131.7 m along the meridian and 78 846.8 m across; at
    /// the equator 110 574.3 m and 111 319.5 m.
    #[test]
    fn degrees_have_the_lengths_of_the_ellipsoid() {
        for (latitude, north_m, east_m) in [(45.0, 111_131.7, 78_846.8), (0.0, 110_574.3, 111_319.5)] {
            let plane = Plane::around(&[[10.0, latitude]]).unwrap();
            assert!((plane.north_m - north_m).abs() < 0.1, "{}", plane.north_m);
            assert!((plane.east_m - east_m).abs() < 0.1, "{}", plane.east_m);
        }
        assert_eq!(Plane::around(&[[0.0, 0.0], [0.0, 95.0]]).err().unwrap().0, 1);
        assert!(Plane::around(&[[0.0, 0.0], [9.0, 0.0]]).is_err());
    }
}
