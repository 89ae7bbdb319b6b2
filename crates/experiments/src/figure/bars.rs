//! Groups of bars, and what stands below them.

use super::legend::width;
use super::marks::{colour, ring};
use super::{Plot, Series};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The size of the groups' names, in pixels.
const SIZE: f64 = 13.0;
/// From one line of a name to the next, in pixels.
pub(super) const LINE: i32 = 16;

/// The names of groups, divided so that each fits its share of `length` pixels.
pub(super) fn names(groups: &[String], length: i32) -> Vec<Vec<String>> {
    let room = f64::from(length) / groups.len().max(1) as f64 - 4.0;
    groups.iter().map(|name| divided(name, room, SIZE)).collect()
}

/// How wide a group must be for the longest word below it, in pixels.
pub(super) fn needed(groups: &[String]) -> i32 {
    let words = groups.iter().flat_map(|name| divided(name, 0.0, SIZE));
    words.map(|word| width(&word, SIZE).ceil() as i32 + 8).max().unwrap_or(0)
}

/// A text in lines that fit, broken after spaces and hyphens.
pub(super) fn divided(text: &str, room: f64, size: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_inclusive([' ', '-']) {
        match lines.last_mut() {
            Some(line) if width(&format!("{line}{word}"), size) <= room => line.push_str(word),
            _ => lines.push(word.to_string()),
        }
    }
    lines.iter().map(|line| line.trim_end().to_string()).collect()
}

/// Where a bar stands, in pixels from left to right: the group's middle, and the share of one series.
fn span(plot: &Plot, series: usize, place: &impl Fn(f64, f64) -> (i32, i32), group: f64) -> (i32, i32) {
    let count = plot.series.len() as f64;
    // A fifth of each group is left free; a lone bar is not wider than half its group.
    let wide = if count > 1.0 { 0.8 } else { 0.5 };
    let left = group - wide / 2.0 + wide * series as f64 / count;
    (place(left, plot.y.low).0, place(left + wide / count, plot.y.low).0 - 1)
}

/// Draws the bars of one series.
pub(super) fn draw<DB: DrawingBackend>(
    plot: &Plot,
    (index, series): (usize, &Series),
    area: &DrawingArea<DB, Shift>,
    place: &impl Fn(f64, f64) -> (i32, i32),
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let foot = if plot.y.log { plot.y.low } else { 0.0 };
    for (group, value) in &series.points {
        let (left, right) = span(plot, index, place, *group);
        let (top, bottom) = (place(*group, value.max(foot)).1, place(*group, value.min(foot)).1);
        area.draw(&Rectangle::new([(left, top), (right.max(left + 1), bottom)], colour(index).filled()))?;
    }
    Ok(())
}

/// Draws what the paper has above the groups, in the middle of the series' bars.
pub(super) fn paper<DB: DrawingBackend>(
    plot: &Plot,
    (index, series): (usize, &Series),
    area: &DrawingArea<DB, Shift>,
    place: &impl Fn(f64, f64) -> (i32, i32),
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    for (group, value) in &series.paper {
        let (left, right) = span(plot, index, place, *group);
        ring(area, ((left + right) / 2, place(*group, *value).1))?;
    }
    Ok(())
}

/// Writes the names of groups below the axis, whose pixels are `bottom`.
pub(super) fn label<DB: DrawingBackend>(
    names: &[Vec<String>],
    area: &DrawingArea<DB, Shift>,
    place: &impl Fn(f64) -> i32,
    bottom: i32,
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let style =
        ("sans-serif", SIZE).into_text_style(area).color(&BLACK).pos(Pos::new(HPos::Center, VPos::Top));
    for (group, lines) in names.iter().enumerate() {
        for (number, line) in lines.iter().enumerate() {
            let at = (place(group as f64), bottom + 8 + number as i32 * LINE);
            area.draw(&Text::new(line.clone(), at, style.clone()))?;
        }
    }
    Ok(())
}
