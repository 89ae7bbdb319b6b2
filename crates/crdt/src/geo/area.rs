//! Areas that searches look at: which cells cover them, and which places lie within.
//!
//! **Source.** Redis's `geohash_helper.c`; it computes with the same doubles, so results agree to the last digit.

use super::cell::{Cell, Point};

/// The earth's radius, in metres.
const EARTH: f64 = 6_372_797.560_856;
/// Half of the equator in the Mercator projection, in metres.
const MERCATOR: f64 = 20_037_726.37;

fn radians(degrees: f64) -> f64 {
    degrees * (std::f64::consts::PI / 180.0)
}

fn degrees(radians: f64) -> f64 {
    radians / (std::f64::consts::PI / 180.0)
}

fn latitude_distance(a: f64, b: f64) -> f64 {
    EARTH * (radians(b) - radians(a)).abs()
}

/// The distance of two places in metres, on a sphere (haversine).
pub(super) fn distance(a: Point, b: Point) -> f64 {
    let v = ((radians(b.longitude) - radians(a.longitude)) / 2.0).sin();
    if v == 0.0 {
        return latitude_distance(a.latitude, b.latitude);
    }
    let (a, b) = (radians(a.latitude), radians(b.latitude));
    let u = ((b - a) / 2.0).sin();
    2.0 * EARTH * (u * u + a.cos() * b.cos() * v * v).sqrt().asin()
}

/// The form of an area, in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape {
    Circle { radius: f64 },
    Box { width: f64, height: f64 },
}

/// An area around a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) centre: Point,
    pub(super) shape: Shape,
}

/// The outermost coordinates of an area.
struct Bounds {
    west: f64,
    south: f64,
    east: f64,
    north: f64,
}

impl Area {
    /// The distance of a place from the centre, in metres; none if it lies outside.
    pub(super) fn distance(&self, point: Point) -> Option<f64> {
        match self.shape {
            Shape::Circle { radius } => Some(distance(self.centre, point)).filter(|far| *far <= radius),
            Shape::Box { width, height } => {
                let beside = Point { longitude: self.centre.longitude, ..point };
                let within = latitude_distance(point.latitude, self.centre.latitude) <= height / 2.0
                    && distance(point, beside) <= width / 2.0;
                within.then(|| distance(self.centre, point))
            }
        }
    }

    fn bounds(&self) -> Bounds {
        let Point { longitude, latitude } = self.centre;
        let (width, height) = match self.shape {
            Shape::Circle { radius } => (radius, radius),
            Shape::Box { width, height } => (width / 2.0, height / 2.0),
        };
        let tall = degrees(height / EARTH);
        // The box is widest at the side that is nearer to a pole.
        let widest = if latitude < 0.0 { latitude - tall } else { latitude + tall };
        let wide = degrees(width / EARTH / radians(widest).cos());
        Bounds {
            west: longitude - wide,
            south: latitude - tall,
            east: longitude + wide,
            north: latitude + tall,
        }
    }

    /// How small cells may be so that nine of them cover the area, by its size alone.
    fn step(&self) -> u32 {
        let mut range = match self.shape {
            Shape::Circle { radius } => radius,
            Shape::Box { width, height } => {
                (width / 2.0 * (width / 2.0) + height / 2.0 * (height / 2.0)).sqrt()
            }
        };
        if range == 0.0 {
            return 26;
        }
        let mut step = 1_i32;
        while range < MERCATOR {
            range *= 2.0;
            step += 1;
        }
        // Cells get narrower towards the poles.
        let latitude = self.centre.latitude.abs();
        let polar = i32::from(latitude > 66.0) + i32::from(latitude > 80.0);
        (step - 2 - polar).clamp(1, 26) as u32
    }

    /// Cells that cover the area: the one of the centre first, and its neighbours, each once.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let bounds = self.bounds();
        let mut step = self.step();
        let mut own = Cell::of(self.centre, step);
        let short = own.moved(0, 1).area().1.max < bounds.north
            || own.moved(0, -1).area().1.min > bounds.south
            || own.moved(1, 0).area().0.max < bounds.east
            || own.moved(-1, 0).area().0.min > bounds.west;
        if step > 1 && short {
            step -= 1;
            own = Cell::of(self.centre, step);
        }
        let (longitudes, latitudes) = own.area();
        let mut cells = vec![own];
        // In this order Redis looks at them, and results that are not sorted are in it.
        for (east, north) in [(0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1)] {
            let useless = step >= 2
                && (enough_below(north, latitudes.min, bounds.south)
                    || enough_above(north, latitudes.max, bounds.north)
                    || enough_below(east, longitudes.min, bounds.west)
                    || enough_above(east, longitudes.max, bounds.east));
            let cell = own.moved(east, north);
            // Of a large area several neighbours can be the same cell.
            if !useless && !cells.contains(&cell) {
                cells.push(cell);
            }
        }
        cells
    }
}

/// Whether a neighbour on the lower side is not needed: the own cell reaches further than the area.
fn enough_below(side: i32, reaches: f64, needed: f64) -> bool {
    side < 0 && reaches < needed
}

/// Whether a neighbour on the upper side is not needed.
fn enough_above(side: i32, reaches: f64, needed: f64) -> bool {
    side > 0 && reaches > needed
}
