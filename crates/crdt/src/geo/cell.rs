//! Cells of the earth: the square that a score stands for, and larger ones that hold many scores.
//!
//! **Idea.** Longitude and latitude are cut in halves 26 times each, and the bits that say which half are interleaved, those of
//! longitude first. The 52 bits are exact in a double, so a place is a score, and a larger cell is a range of scores.
//!
//! **Source.** Redis's `geohash.c`: cells agree with it bit by bit.

use std::ops::Range;

/// A place on the earth, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// East is positive.
    pub longitude: f64,
    /// North is positive.
    pub latitude: f64,
}

/// From here to there, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Extent {
    /// The part of it, in `1 << step`, that a coordinate lies in.
    fn index(self, coordinate: f64, step: u32) -> u32 {
        ((coordinate - self.min) / (self.max - self.min) * (1_u64 << step) as f64) as u32
    }

    /// The part with this index.
    fn part(self, index: u32, step: u32) -> Self {
        let (scale, parts) = (self.max - self.min, (1_u64 << step) as f64);
        let at = |index: f64| self.min + index / parts * scale;
        Self { min: at(f64::from(index)), max: at(f64::from(index.wrapping_add(1))) }
    }

    fn middle(self) -> f64 {
        (self.min + self.max) / 2.0
    }

    fn clamp(self, coordinate: f64) -> f64 {
        coordinate.clamp(self.min, self.max)
    }

    /// Whether a coordinate lies in it.
    pub(super) fn contains(self, coordinate: f64) -> bool {
        (self.min..=self.max).contains(&coordinate)
    }
}

/// All longitudes.
pub(super) const LONGITUDES: Extent = Extent { min: -180.0, max: 180.0 };
/// The latitudes that have scores: the poles have none.
pub(super) const LATITUDES: Extent = Extent { min: -85.051_128_78, max: 85.051_128_78 };
/// The latitudes of geohashes as others write them.
const ALL_LATITUDES: Extent = Extent { min: -90.0, max: 90.0 };
/// How often a score halves each coordinate.
pub(super) const FINEST: u32 = 26;

/// A square of the earth: `step` halvings of each coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// Counted from the west.
    longitude: u32,
    /// Counted from the south.
    latitude: u32,
    pub(super) step: u32,
}

/// The even bits of a number.
fn gather(bits: u64) -> u32 {
    let mut x = bits & 0x5555_5555_5555_5555;
    x = (x | (x >> 1)) & 0x3333_3333_3333_3333;
    x = (x | (x >> 2)) & 0x0F0F_0F0F_0F0F_0F0F;
    x = (x | (x >> 4)) & 0x00FF_00FF_00FF_00FF;
    x = (x | (x >> 8)) & 0x0000_FFFF_0000_FFFF;
    (x | (x >> 16)) as u32
}

/// The number with these even bits.
fn scatter(bits: u32) -> u64 {
    let mut x = u64::from(bits);
    x = (x | (x << 16)) & 0x0000_FFFF_0000_FFFF;
    x = (x | (x << 8)) & 0x00FF_00FF_00FF_00FF;
    x = (x | (x << 4)) & 0x0F0F_0F0F_0F0F_0F0F;
    x = (x | (x << 2)) & 0x3333_3333_3333_3333;
    (x | (x << 1)) & 0x5555_5555_5555_5555
}

impl Cell {
    /// The cell of a place.
    pub(super) fn of(point: Point, step: u32) -> Self {
        Self::within(LATITUDES, point, step)
    }

    fn within(latitudes: Extent, point: Point, step: u32) -> Self {
        Self {
            longitude: LONGITUDES.index(point.longitude, step),
            latitude: latitudes.index(point.latitude, step),
            step,
        }
    }

    fn bits(self) -> u64 {
        scatter(self.latitude) | (scatter(self.longitude) << 1)
    }

    /// The longitudes and the latitudes of it.
    pub(super) fn area(self) -> (Extent, Extent) {
        (LONGITUDES.part(self.longitude, self.step), LATITUDES.part(self.latitude, self.step))
    }

    /// The scores of places in it.
    pub(super) fn scores(self) -> Range<f64> {
        let align = |bits: u64| (bits << (2 * (FINEST - self.step))) as f64;
        align(self.bits())..align(self.bits() + 1)
    }

    /// The cell so many to the east and to the north, around the earth if need be.
    pub(super) fn moved(self, east: i32, north: i32) -> Self {
        let mask = (1_u32 << self.step) - 1;
        let by = |index: u32, by: i32| if by == 0 { index } else { index.wrapping_add_signed(by) & mask };
        Self { longitude: by(self.longitude, east), latitude: by(self.latitude, north), step: self.step }
    }
}

/// The score of a place. REQUIRES: it has one.
pub(super) fn score_of(point: Point) -> f64 {
    Cell::of(point, FINEST).bits() as f64
}

/// The place in the middle of the cell that a score stands for.
pub fn point_of(score: f64) -> Point {
    // A score that no place has is read as C reads it on x86: a negative one wraps, and one that is too large is 0.
    let bits = match score {
        ..0.0 => (score as i64) as u64,
        _ if score < 2f64.powi(64) => score as u64,
        _ => 0,
    };
    let cell = Cell { longitude: gather(bits >> 1), latitude: gather(bits), step: FINEST };
    let (longitudes, latitudes) = cell.area();
    Point { longitude: LONGITUDES.clamp(longitudes.middle()), latitude: LATITUDES.clamp(latitudes.middle()) }
}

/// The place as a geohash of eleven letters, the last of which is always 0: there are only 52 bits.
pub(super) fn geohash(point: Point) -> String {
    const LETTERS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
    let bits = Cell::within(ALL_LATITUDES, point, FINEST).bits();
    let letter = |at: u32| if at == 10 { 0 } else { (bits >> (52 - (at + 1) * 5)) & 31 };
    (0..11).map(|at| char::from(LETTERS[letter(at) as usize])).collect()
}
