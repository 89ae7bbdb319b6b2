//! Drawing a figure as SVG.

use super::axis::{Axis, readable};
use super::legend::width;
use super::marks::{Look, colour, mark};
use super::{Kind, Plot, Series, bars, legend};
use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const HEIGHT: i32 = 440;
/// The inner width that most figures have, in pixels.
const WIDTH: i32 = 580;
const TITLE: f64 = 17.0;
const LABEL: f64 = 14.0;
const TICK: f64 = 13.0;
const DARK: RGBColor = RGBColor(70, 70, 70);
const GRID: RGBColor = RGBColor(228, 228, 228);

type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Where everything stands, in pixels.
struct Layout {
    size: (i32, i32),
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
    title: Vec<String>,
    names: Vec<Vec<String>>,
    x_ticks: Vec<f64>,
    y_ticks: Vec<f64>,
}

pub(super) fn draw(plot: &Plot) -> Result<String> {
    let layout = layout(plot);
    let mut text = String::new();
    {
        let size = (layout.size.0 as u32, layout.size.1 as u32);
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE).and_then(|()| all(plot, &layout, &area)).map_err(|error| anyhow!("{error}"))?;
        area.present().map_err(|error| anyhow!("{error}"))?;
    }
    Ok(text)
}

fn layout(plot: &Plot) -> Layout {
    let y_ticks = plot.y.ticks(f64::from(HEIGHT) - 120.0, |_| TICK);
    let widest = y_ticks.iter().map(|tick| width(&readable(*tick), TICK)).fold(0.0, f64::max);
    let left = widest.ceil() as i32 + 48;
    let inner = WIDTH
        .max(plot.groups.len() as i32 * bars::needed(&plot.groups).max(16 * plot.series.len() as i32 / 2));
    let right = left + inner;
    let size_x = right + legend::room(plot).max(24);
    let title = bars::divided(&plot.title, f64::from(size_x - 32), TITLE * 1.06);
    let lines = title.len() as i32 + i32::from(plot.remark.is_some());
    let top = 22 + lines * 22;
    let names = if plot.kind == Kind::Bars { bars::names(&plot.groups, inner) } else { Vec::new() };
    let below = names.iter().map(Vec::len).max().unwrap_or(1).max(1) as i32;
    let bottom = top + HEIGHT - 120;
    let size = (size_x, bottom + 12 + below * bars::LINE + 28);
    let x_ticks = plot.x.ticks(f64::from(inner), |label| width(label, TICK));
    Layout { size, left, right, top, bottom, title, names, x_ticks, y_ticks }
}

impl Layout {
    /// The pixels of a point.
    fn place(&self, plot: &Plot, x: f64, y: f64) -> (i32, i32) {
        let along = |axis: &Axis, value: f64, from: i32, to: i32| {
            from + (axis.share(value).clamp(-0.05, 1.05) * f64::from(to - from)).round() as i32
        };
        (along(&plot.x, x, self.left, self.right), along(&plot.y, y, self.bottom, self.top))
    }
}

fn all<DB: DrawingBackend>(plot: &Plot, layout: &Layout, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
    grid(plot, layout, area)?;
    let place = |x: f64, y: f64| layout.place(plot, x, y);
    if plot.kind != Kind::Bars {
        axes(plot, layout, area)?;
    }
    for (index, series) in plot.series.iter().enumerate() {
        match plot.kind {
            Kind::Bars => bars::draw(plot, (index, series), area, &place)?,
            Kind::Lines | Kind::Curves | Kind::Cdf => line(plot, (index, series), area, &place)?,
        }
    }
    // Above all lines: there are few of them, and they are what one looks for.
    for (index, series) in plot.series.iter().enumerate() {
        match plot.kind {
            Kind::Bars => bars::paper(plot, (index, series), area, &place)?,
            Kind::Lines | Kind::Curves | Kind::Cdf => {
                for (x, y) in &series.paper {
                    mark(area, index, place(*x, *y), Look::Hollow)?;
                }
            }
        }
    }
    // Bars stand on the axis, marks lie over it.
    if plot.kind == Kind::Bars {
        axes(plot, layout, area)?;
    }
    words(plot, layout, area)?;
    legend::draw(plot, area, (layout.right + 16, layout.top))
}

fn grid<DB: DrawingBackend>(plot: &Plot, layout: &Layout, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
    for tick in &layout.y_ticks {
        let y = layout.place(plot, plot.x.low, *tick).1;
        area.draw(&PathElement::new(vec![(layout.left, y), (layout.right, y)], GRID))?;
    }
    for tick in &layout.x_ticks {
        let x = layout.place(plot, *tick, plot.y.low).0;
        area.draw(&PathElement::new(vec![(x, layout.top), (x, layout.bottom)], GRID))?;
    }
    Ok(())
}

/// A line through the points with marks on it.
fn line<DB: DrawingBackend>(
    plot: &Plot,
    (index, series): (usize, &Series),
    area: &DrawingArea<DB, Shift>,
    place: &impl Fn(f64, f64) -> (i32, i32),
) -> Drawn<DB> {
    let mut path: Vec<(i32, i32)> = Vec::new();
    for (x, y) in &series.points {
        let at = place(*x, *y);
        // A distribution stays where it is until the next value.
        match path.last() {
            Some((_, before)) if plot.kind == Kind::Cdf => path.extend([(at.0, *before), at]),
            None if plot.kind == Kind::Cdf => path.extend([(at.0, place(*x, plot.y.low).1), at]),
            _ => path.push(at),
        }
    }
    path.dedup();
    // A line that a later one would hide is seen as its border.
    let (look, wide) = if hidden(plot, index, place) { (Look::Wide, 6) } else { (Look::Filled, 2) };
    area.draw(&PathElement::new(path, colour(index).stroke_width(wide)))?;
    // So many marks of a distribution are enough to tell it apart.
    let count = series.points.len();
    let every = if plot.kind == Kind::Cdf { (count / 6).max(1) } else { 1 };
    let some = series.points.iter().enumerate().filter(|(number, _)| number % every == every / 2);
    for (_, (x, y)) in some {
        mark(area, index, place(*x, *y), look)?;
    }
    Ok(())
}

/// Whether most points of a series lie below those of one that is drawn later.
fn hidden(plot: &Plot, index: usize, place: &impl Fn(f64, f64) -> (i32, i32)) -> bool {
    // So many are enough to know of a distribution of thousands.
    let some = |series: &Series| -> Vec<(f64, f64)> {
        let every = (series.points.len() / 200).max(1);
        series.points.iter().step_by(every).copied().collect()
    };
    let points = some(&plot.series[index]);
    let near = |a: &(f64, f64), b: &(f64, f64)| {
        let ((ax, ay), (bx, by)) = (place(a.0, a.1), place(b.0, b.1));
        (ax - bx).abs() <= 3 && (ay - by).abs() <= 3
    };
    let below = |later: &Series| {
        let later = some(later);
        let covered = points.iter().filter(|point| later.iter().any(|other| near(point, other)));
        covered.count() * 2 > points.len()
    };
    plot.series[index + 1..].iter().any(below)
}

fn axes<DB: DrawingBackend>(plot: &Plot, layout: &Layout, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
    let foot = if plot.y.log || plot.y.low >= 0.0 { layout.bottom } else { layout.place(plot, 0.0, 0.0).1 };
    area.draw(&PathElement::new(vec![(layout.left, foot), (layout.right, foot)], DARK))?;
    area.draw(&PathElement::new(vec![(layout.left, layout.top), (layout.left, layout.bottom)], DARK))?;
    let style = ("sans-serif", TICK).into_text_style(area).color(&DARK);
    let beside = style.pos(Pos::new(HPos::Right, VPos::Center));
    for tick in &layout.y_ticks {
        let y = layout.place(plot, plot.x.low, *tick).1;
        area.draw(&PathElement::new(vec![(layout.left - 5, y), (layout.left, y)], DARK))?;
        area.draw(&Text::new(readable(*tick), (layout.left - 8, y), beside.clone()))?;
    }
    let below = style.pos(Pos::new(HPos::Center, VPos::Top));
    for tick in &layout.x_ticks {
        let x = layout.place(plot, *tick, plot.y.low).0;
        area.draw(&PathElement::new(vec![(x, layout.bottom), (x, layout.bottom + 5)], DARK))?;
        area.draw(&Text::new(readable(*tick), (x, layout.bottom + 8), below.clone()))?;
    }
    bars::label(&layout.names, area, &|group| layout.place(plot, group, plot.y.low).0, layout.bottom)
}

/// The title, the remark, and what the axes are.
fn words<DB: DrawingBackend>(plot: &Plot, layout: &Layout, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
    let bold = ("sans-serif", TITLE, FontStyle::Bold).into_text_style(area).color(&BLACK);
    for (number, line) in layout.title.iter().enumerate() {
        area.draw(&Text::new(line.clone(), (16, 12 + number as i32 * 22), bold.clone()))?;
    }
    let plain = ("sans-serif", LABEL).into_text_style(area).color(&BLACK);
    if let Some(remark) = &plot.remark {
        let y = 12 + layout.title.len() as i32 * 22;
        area.draw(&Text::new(remark.clone(), (16, y), plain.clone().color(&DARK)))?;
    }
    let [x_label, y_label] = &plot.labels;
    let middle = ((layout.left + layout.right) / 2, layout.size.1 - 12);
    let below = plain.clone().pos(Pos::new(HPos::Center, VPos::Bottom));
    area.draw(&Text::new(x_label.clone(), middle, below))?;
    let beside = plain.transform(FontTransform::Rotate270).pos(Pos::new(HPos::Center, VPos::Top));
    area.draw(&Text::new(y_label.clone(), (12, (layout.top + layout.bottom) / 2), beside))
}
