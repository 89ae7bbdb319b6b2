//! Figures: what is drawn of rows, apart from how.

mod axis;
mod bars;
mod draw;
mod legend;
mod marks;

pub(crate) use axis::readable;

use crate::Row;
use crate::file::{Experiment, Figure, Kind, Scale};
use crate::table::plain;
use anyhow::{Context, Result, bail};
use axis::Axis;
use serde_json::Value;

/// A figure that is ready to be drawn.
pub(crate) struct Plot {
    title: String,
    /// A remark below the title, if one is needed.
    remark: Option<String>,
    kind: Kind,
    labels: [String; 2],
    x: Axis,
    y: Axis,
    /// The groups of bars, at 0, 1, 2, …
    groups: Vec<String>,
    series: Vec<Series>,
}

/// Points of one colour and mark, in the units of the axes.
struct Series {
    name: String,
    points: Vec<(f64, f64)>,
    paper: Vec<(f64, f64)>,
}

/// The picture of an experiment's rows.
pub(crate) fn svg(experiment: &Experiment, figure: &Figure, rows: &[Row]) -> Result<String> {
    draw::draw(&plot(experiment, figure, rows)?)
}

fn plot(experiment: &Experiment, figure: &Figure, rows: &[Row]) -> Result<Plot> {
    let mut data = Data::default();
    for row in rows {
        data.add(figure, row)?;
    }
    data.series.iter_mut().for_each(|one| settle(figure, &mut one.points));
    if let Some(base) = &figure.relative_to {
        in_proportion(&mut data.series, base)?;
    }
    for point in experiment.paper_points_of(figure) {
        let x = if figure.kind == Kind::Bars { data.group(&point.x) } else { number(&point.x, "x")? };
        data.of(&point.series).paper.push((x, point.y));
    }
    let Data { groups, mut series } = data;
    if series.iter().all(|series| series.points.is_empty()) {
        bail!("there are no rows to draw");
    }
    for one in &mut series {
        one.paper.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let hidden = hide_what_has_no_logarithm(figure, &mut series);
    let plural = if hidden == 1 { "point that is" } else { "points that are" };
    let remark =
        (hidden > 0).then(|| format!("without {hidden} {plural} not above 0: the axis is logarithmic"));
    let all = || series.iter().flat_map(|series| series.points.iter().chain(&series.paper)).copied();
    if all().next().is_none() {
        bail!("no row is above 0, and the axis is logarithmic");
    }
    let x = if figure.kind == Kind::Bars {
        Axis::groups(groups.len())
    } else {
        Axis::horizontal(figure.x_scale, all().map(|point| point.0))
    };
    let y = match (figure.kind, &figure.y) {
        (Kind::Cdf, None) => Axis::shares(),
        _ => Axis::vertical(figure.y_scale, figure.kind == Kind::Bars, all().map(|point| point.1)),
    };
    let title = figure.title.as_ref().unwrap_or(&experiment.title).clone();
    let labels = [figure.x_label.clone(), figure.y_label.clone()];
    Ok(Plot { title, remark, kind: figure.kind, labels, x, y, groups, series })
}

/// What rows come to: series and groups in the order in which they first appear.
#[derive(Default)]
struct Data {
    groups: Vec<String>,
    series: Vec<Series>,
}

impl Data {
    fn add(&mut self, figure: &Figure, row: &Row) -> Result<()> {
        let get = |column: &str| {
            let columns = || row.keys().cloned().collect::<Vec<_>>().join(", ");
            row.get(column).with_context(|| format!("rows have no column {column:?}, but {}", columns()))
        };
        let x = get(&figure.x)?;
        let y = figure.y.as_deref().map(get).transpose()?;
        let names = figure.series.names().iter().map(|name| Ok(plain(get(name)?)));
        let name = names.collect::<Result<Vec<_>>>()?.join(", ");
        // What was not measured is not drawn.
        if x.is_null() || y.is_some_and(Value::is_null) {
            return Ok(());
        }
        let x =
            if figure.kind == Kind::Bars { self.group(x) } else { number(x, &figure.x)? * figure.x_factor };
        let y = y.map(|y| number(y, figure.y.as_deref().unwrap_or_default())).transpose()?;
        self.of(&name).points.push((x, y.unwrap_or(0.0) * figure.y_factor));
        Ok(())
    }

    fn of(&mut self, name: &str) -> &mut Series {
        let at = self.series.iter().position(|series| series.name == name).unwrap_or_else(|| {
            self.series.push(Series { name: name.to_string(), points: Vec::new(), paper: Vec::new() });
            self.series.len() - 1
        });
        &mut self.series[at]
    }

    /// The place of a group of bars.
    fn group(&mut self, name: &Value) -> f64 {
        let name = match name {
            Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), readable),
            other => plain(other),
        };
        let at = self.groups.iter().position(|group| *group == name).unwrap_or_else(|| {
            self.groups.push(name);
            self.groups.len() - 1
        });
        at as f64
    }
}

fn number(value: &Value, column: &str) -> Result<f64> {
    let number = value.as_f64().filter(|number| number.is_finite());
    number.with_context(|| format!("{column} is {value}, which is no number that can be drawn"))
}

/// Sorts points, unless their order is what counts; of several at one place their mean is drawn, and a distribution of mere values is counted.
fn settle(figure: &Figure, points: &mut Vec<(f64, f64)>) {
    if figure.kind == Kind::Curves {
        return;
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    if figure.kind == Kind::Cdf {
        let count = points.len() as f64;
        if figure.y.is_none() {
            points.iter_mut().enumerate().for_each(|(index, point)| point.1 = (index + 1) as f64 / count);
        }
        return;
    }
    let at_one_place = points.chunk_by(|a, b| a.0 == b.0);
    let mean = |chunk: &[(f64, f64)]| chunk.iter().map(|point| point.1).sum::<f64>() / chunk.len() as f64;
    *points = at_one_place.map(|chunk| (chunk[0].0, mean(chunk))).collect();
}

/// Divides all points by those of one series with the same `x`, and takes that series out.
fn in_proportion(series: &mut Vec<Series>, base: &str) -> Result<()> {
    let place = series.iter().position(|one| one.name == base);
    let whole = series.remove(place.with_context(|| format!("no series is called {base:?}"))?);
    for (one, (x, y)) in
        series.iter_mut().flat_map(|one| one.points.iter_mut().map(|point| (&one.name, point)))
    {
        let of = whole.points.iter().find(|point| point.0 == *x && point.1 != 0.0);
        *y /= of.with_context(|| format!("{base:?} has nothing to compare {one:?} with at {x}"))?.1;
    }
    Ok(())
}

/// Takes out what a logarithmic axis cannot show, and returns how many points that were.
fn hide_what_has_no_logarithm(figure: &Figure, series: &mut [Series]) -> usize {
    let x_log = figure.x_scale == Scale::Log && figure.kind != Kind::Bars;
    let y_log = figure.y_scale == Scale::Log;
    let mut hidden = 0;
    for points in series.iter_mut().flat_map(|series| [&mut series.points, &mut series.paper]) {
        let before = points.len();
        points.retain(|(x, y)| (!x_log || *x > 0.0) && (!y_log || *y > 0.0));
        hidden += before - points.len();
    }
    hidden
}

impl Plot {
    /// Whether something is drawn of the paper's.
    fn has_paper(&self) -> bool {
        self.series.iter().any(|series| !series.paper.is_empty())
    }
}
