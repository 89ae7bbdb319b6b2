//! The experiment file: what docs/experiments.md describes, field by field.

use crate::Row;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// One claim of a paper, and how it is put to the test.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its name: small letters, digits, `-` and `.`.
    pub id: String,
    /// A line for people.
    pub title: String,
    /// Where the claim stands, such as `001, figure 3`.
    pub source: String,
    /// What the paper says, in a sentence or two.
    pub paper: String,
    /// What was found if it differs, and why.
    pub note: Option<String>,
    /// What is measured: parts such as `simulated` and `live`.
    #[serde(default, rename = "run")]
    pub runs: Vec<Run>,
    /// What is drawn.
    #[serde(default, rename = "figure")]
    pub figures: Vec<Figure>,
    /// Numbers of the paper, drawn with hollow marks.
    #[serde(default, rename = "paper-point")]
    pub paper_points: Vec<PaperPoint>,
    /// What must hold of the rows.
    #[serde(default, rename = "statement")]
    pub statements: Vec<Statement>,
}

/// A sweep that one runner measures.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its name within the experiment, which is also that of its view in statements.
    pub name: String,
    /// What measures it.
    pub runner: String,
    /// What all points have in common.
    #[serde(default)]
    pub point: Row,
    /// What is varied: every combination is a point. A value may be a table that sets several numbers at once and has a
    /// `name`.
    #[serde(default)]
    pub vary: BTreeMap<String, Vec<Value>>,
    /// By what even the full sweep is smaller than the paper's, if it is: then nothing that is stated about it holds, it only would.
    pub smaller: Option<String>,
    /// The smaller sweep for development.
    #[serde(default)]
    pub quick: Quick,
}

/// The smaller sweep.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// Replaces values of [`Run::point`].
    #[serde(default)]
    pub point: Row,
    /// Replaces lists of [`Run::vary`].
    #[serde(default)]
    pub vary: BTreeMap<String, Vec<Value>>,
}

/// A picture of the rows of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The name of its file; that of the experiment if there is none.
    pub name: Option<String>,
    /// What stands above it; the experiment's title if there is none.
    pub title: Option<String>,
    /// Whose rows are drawn.
    pub run: String,
    /// How they are drawn.
    #[serde(default)]
    pub kind: Kind,
    /// The column of the horizontal axis; for a distribution, of the values.
    pub x: String,
    /// The column of the vertical axis; a distribution without one counts its values.
    pub y: Option<String>,
    /// The columns whose values tell series apart; one series if there are none.
    #[serde(default)]
    pub series: Columns,
    /// The series that the others are drawn in proportion to, point by point, and which is not drawn itself.
    pub relative_to: Option<String>,
    /// Which rows are drawn: a condition in SQL; all if there is none.
    #[serde(rename = "where")]
    pub condition: Option<String>,
    /// What the axis says, with the unit.
    pub x_label: String,
    /// What the axis says, with the unit.
    pub y_label: String,
    /// Linear or logarithmic.
    #[serde(default)]
    pub x_scale: Scale,
    /// Linear or logarithmic.
    #[serde(default)]
    pub y_scale: Scale,
    /// What values are multiplied with, such as 0.001 from µs to ms.
    #[serde(default = "one")]
    pub x_factor: f64,
    /// What values are multiplied with.
    #[serde(default = "one")]
    pub y_factor: f64,
}

fn one() -> f64 {
    1.0
}

/// One column, or a list of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "a column or a list of columns")]
pub enum Columns {
    /// One.
    One(String),
    /// Several, or none.
    Several(Vec<String>),
}

impl Default for Columns {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl Columns {
    /// The columns' names.
    pub fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }
}

/// How a figure shows its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A line a series, with a mark at every point.
    #[default]
    Lines,
    /// As lines, but through the points in the order in which the file has them: for what load does to throughput and
    /// latency.
    Curves,
    /// Groups of bars.
    Bars,
    /// A cumulative distribution a series.
    Cdf,
}

/// How an axis maps numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// In proportion.
    #[default]
    Linear,
    /// By their logarithm.
    Log,
}

/// A number of the paper, in the units of the figure.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperPoint {
    /// The figure it belongs to; the first if it does not say.
    pub figure: Option<String>,
    /// The series it belongs to, by the name in the legend.
    #[serde(default)]
    pub series: String,
    /// Where: a number, or for bars the name of the group.
    pub x: Value,
    /// What the paper has there.
    pub y: f64,
}

/// One statement of a paper, as a number that is computed of the rows, and a bound for it. It has one of `paper`, `within`, `at_least`,
/// `at_most` and `told`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The statement, as a sentence.
    pub says: String,
    /// A query for one number, over the views `rows` and those named as the runs are.
    pub sql: String,
    /// The paper's number: the measured one must be near it, see [`Self::tolerance`].
    pub paper: Option<f64>,
    /// By which share of the paper's number the measured one may be above or below.
    pub tolerance: Option<f64>,
    /// The number must be within these, both included.
    pub within: Option<[f64; 2]>,
    /// An ordering, or a bound that the paper states: the number must be this or more.
    pub at_least: Option<f64>,
    /// An ordering, or a bound that the paper states: the number must be this or less.
    pub at_most: Option<f64>,
    /// Why the bound is that: where a tolerance comes from, or where the paper states a one-sided bound.
    pub why: Option<String>,
    /// No paper states anything about the number. It is only told.
    #[serde(default)]
    pub told: bool,
    /// The statement is ours: it shows the cause of something, and the paper's claim does not depend on it.
    #[serde(default)]
    pub ours: bool,
}

impl Experiment {
    /// The run of that name.
    pub fn part(&self, name: &str) -> Option<&Run> {
        self.runs.iter().find(|run| run.name == name)
    }

    /// The name of a figure's file, without its ending.
    pub fn figure_name<'a>(&'a self, figure: &'a Figure) -> &'a str {
        figure.name.as_deref().unwrap_or(&self.id)
    }

    /// What the paper has in a figure.
    pub fn paper_points_of(&self, figure: &Figure) -> Vec<&PaperPoint> {
        let name = self.figure_name(figure);
        let first = self.figures.first().map(|first| self.figure_name(first));
        let of = |point: &&PaperPoint| point.figure.as_deref().or(first) == Some(name);
        self.paper_points.iter().filter(of).collect()
    }
}

impl Statement {
    /// The least and the greatest that the number may be; nothing if it is only told.
    fn limits(&self) -> Option<[f64; 2]> {
        let around = |paper: f64| {
            let by = (paper * self.tolerance.unwrap_or_default()).abs();
            [paper - by, paper + by]
        };
        let above = |least| [least, f64::INFINITY];
        let below = |most| [f64::NEG_INFINITY, most];
        let any = self.paper.map(around).or(self.within);
        any.or(self.at_least.map(above)).or(self.at_most.map(below))
    }

    /// What the number must be, in words; nothing if it is only told.
    pub fn bound(&self) -> Option<String> {
        if let (Some(paper), Some(tolerance)) = (self.paper, self.tolerance) {
            return Some(format!("{paper} ± {}%", (tolerance * 100.0).round()));
        }
        let [low, high] = self.limits()?;
        Some(match (low.is_finite(), high.is_finite()) {
            (true, true) => format!("{low} to {high}"),
            (true, false) => format!("≥ {low}"),
            (false, _) => format!("≤ {high}"),
        })
    }

    /// Whether a number is what it must be; nothing if it is only told.
    pub fn holds(&self, value: f64) -> Option<bool> {
        self.limits().map(|[low, high]| (low..=high).contains(&value))
    }
}
