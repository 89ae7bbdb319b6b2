//! How many elements a histogram of registers stands for.

use super::sketch::REGISTERS;

/// The longest run of zeros.
const LONGEST: usize = 64 - REGISTERS.trailing_zeros() as usize;

fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            return z;
        }
    }
}

fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if z == before {
            return z / 3.0;
        }
    }
}

/// The estimate; `histogram` says how many registers hold each number.
pub(super) fn estimate(histogram: &[u32; 64]) -> u64 {
    let m = REGISTERS as f64;
    let mut z = m * tau((m - f64::from(histogram[LONGEST + 1])) / m);
    for run in (1..=LONGEST).rev() {
        z = (z + f64::from(histogram[run])) * 0.5;
    }
    z += m * sigma(f64::from(histogram[0]) / m);
    (std::f64::consts::LOG2_E / 2.0 * m * m / z).round() as u64
}
