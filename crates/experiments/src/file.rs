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
    #[serde(default, rename = "check")]
    pub checks: Vec<Check>,
}

/// A sweep that one runner measures.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its name within the experiment, which is also that of its view in checks.
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
    /// What differs unless the run is a full one.
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

/// A number that is computed of the rows, and what it must be.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The claim, as a sentence.
    pub says: String,
    /// A query for one number, over the views `rows` and those named as the runs are.
    pub sql: String,
    /// The number must be this or more.
    pub at_least: Option<f64>,
    /// The number must be this or less.
    pub at_most: Option<f64>,
    /// The number must be within these, both included.
    pub within: Option<[f64; 2]>,
    /// The number is only told.
    #[serde(default)]
    pub report: bool,
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

impl Check {
    /// What the number must be, in words; nothing if it is only told.
    pub fn bound(&self) -> Option<String> {
        if let Some([low, high]) = self.within {
            return Some(format!("{low} to {high}"));
        }
        match (self.at_least, self.at_most) {
            (Some(least), _) => Some(format!("≥ {least}")),
            (_, Some(most)) => Some(format!("≤ {most}")),
            _ => None,
        }
    }

    /// Whether a number is what it must be.
    pub fn holds(&self, value: f64) -> bool {
        let [low, high] = self.within.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
        let low = self.at_least.unwrap_or(low);
        let high = self.at_most.unwrap_or(high);
        (low..=high).contains(&value)
    }
}
