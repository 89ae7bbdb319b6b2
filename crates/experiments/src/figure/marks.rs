//! Colours that people tell apart who see colours differently, and marks that tell series apart without any.

use plotters::prelude::*;

/// Okabe and Ito's palette, without its yellow, which is too light for lines.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(60, 60, 60),
];

/// How the series of that number looks.
pub(super) fn colour(series: usize) -> RGBColor {
    COLOURS[series % COLOURS.len()]
}

/// The corners of a mark around a place; none for a disc.
fn corners(series: usize, (x, y): (i32, i32), wide: bool) -> Vec<(i32, i32)> {
    let shape: &[(i32, i32)] = match series % 8 {
        0 => &[],
        1 => &[(-4, -4), (4, -4), (4, 4), (-4, 4)],
        2 => &[(0, -6), (5, 4), (-5, 4)],
        3 => &[(0, -6), (6, 0), (0, 6), (-6, 0)],
        4 => &[(0, 6), (5, -4), (-5, -4)],
        5 => &[
            (-2, -6),
            (2, -6),
            (2, -2),
            (6, -2),
            (6, 2),
            (2, 2),
            (2, 6),
            (-2, 6),
            (-2, 2),
            (-6, 2),
            (-6, -2),
            (-2, -2),
        ],
        6 => &[(0, -6), (6, -1), (4, 5), (-4, 5), (-6, -1)],
        _ => &[(-6, -5), (6, -5), (-6, 5), (6, 5)],
    };
    let size = if wide { 3 } else { 2 };
    shape.iter().map(|(dx, dy)| (x + dx * size / 2, y + dy * size / 2)).collect()
}

/// How a mark is drawn.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Look {
    Filled,
    /// Filled, and large enough to be seen below another one.
    Wide,
    /// What the paper has.
    Hollow,
}

/// Draws the mark of a series at a place in pixels.
pub(super) fn mark<DB: DrawingBackend>(
    area: &DrawingArea<DB, plotters::coord::Shift>,
    series: usize,
    at: (i32, i32),
    look: Look,
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let wide = look == Look::Wide;
    let (colour, corners) = (colour(series), corners(series, at, wide));
    let (fill, line) =
        if look == Look::Hollow { (WHITE, colour.stroke_width(2)) } else { (colour, WHITE.stroke_width(1)) };
    if corners.is_empty() {
        let radius = if wide { 8 } else { 5 };
        area.draw(&Circle::new(at, radius, fill.filled()))?;
        return area.draw(&Circle::new(at, radius, line));
    }
    let closed: Vec<(i32, i32)> = corners.iter().chain(&corners[..1]).copied().collect();
    area.draw(&Polygon::new(corners, fill.filled()))?;
    area.draw(&PathElement::new(closed, line))
}

/// Draws the mark that means the paper, whatever the series.
pub(super) fn ring<DB: DrawingBackend>(
    area: &DrawingArea<DB, plotters::coord::Shift>,
    at: (i32, i32),
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    area.draw(&Circle::new(at, 5, WHITE.filled()))?;
    area.draw(&Circle::new(at, 5, RGBColor(60, 60, 60).stroke_width(2)))
}
