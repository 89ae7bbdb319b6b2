//! The legend: beside the drawing, where no data is.

use super::marks::{Look, colour, mark, ring};
use super::{Kind, Plot};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The size of its letters, in pixels.
const SIZE: f64 = 14.0;
/// From one line to the next, in pixels.
const LINE: i32 = 22;
/// Where names begin, in pixels from the legend's left.
const NAMES: i32 = 34;

/// How wide a text is, in pixels, if it is set in a usual sans-serif.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let em = |letter: char| match letter {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '\'' | ' ' | 't' | 'f' | '(' | ')' => 0.34,
        'm' | 'w' | 'M' | 'W' | '%' | '—' => 0.9,
        'A'..='Z' | '=' | '+' | '<' | '>' | '≥' | '≤' | '−' | 'θ' => 0.7,
        _ => 0.58,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// How much room the legend takes at the right, in pixels: none if there is nothing to tell apart.
pub(super) fn room(plot: &Plot) -> i32 {
    let names = entries(plot).into_iter().map(|(_, name)| width(&name, SIZE));
    names
        .fold(None, |most: Option<f64>, width| Some(most.map_or(width, |most| most.max(width))))
        .map_or(0, |most| most.ceil() as i32 + NAMES + 26)
}

/// The lines of the legend: the number of the series, or none for the paper's mark.
fn entries(plot: &Plot) -> Vec<(Option<usize>, String)> {
    let paper = plot.has_paper();
    if plot.series.len() < 2 && !paper {
        return Vec::new();
    }
    let name = |name: &str| if name.is_empty() { "measured".to_string() } else { name.to_string() };
    let series = plot.series.iter().enumerate().map(|(index, series)| (Some(index), name(&series.name)));
    series.chain(paper.then(|| (None, "paper".to_string()))).collect()
}

/// Draws the legend with its upper left corner at `left` and `top`.
pub(super) fn draw<DB: DrawingBackend>(
    plot: &Plot,
    area: &DrawingArea<DB, plotters::coord::Shift>,
    (left, top): (i32, i32),
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let style =
        ("sans-serif", SIZE).into_text_style(area).color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
    for (line, (series, name)) in entries(plot).into_iter().enumerate() {
        let y = top + line as i32 * LINE + LINE / 2;
        let middle = (left + 14, y);
        match series {
            None => ring(area, middle)?,
            Some(series) if plot.kind == Kind::Bars => {
                let corners = [(left + 6, y - 7), (left + 22, y + 7)];
                area.draw(&Rectangle::new(corners, colour(series).filled()))?;
            }
            Some(series) => {
                let ends = vec![(left, y), (left + 28, y)];
                area.draw(&PathElement::new(ends, colour(series).stroke_width(2)))?;
                mark(area, series, middle, Look::Filled)?;
            }
        }
        area.draw(&Text::new(name, (left + NAMES + 4, y), style.clone()))?;
    }
    Ok(())
}
