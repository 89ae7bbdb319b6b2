//! What papers claim, as experiments: a file declares what is measured, drawn and stated; [`run`] does it.
//!
//! An [`Experiment`] is data. What measures a point is a [`Runner`], which whoever uses this crate registers under the
//! name that files give. Every row is in a [`Store`] as soon as it is measured; statements, figures and tables are made from
//! what is stored, so that they can be made again.

mod claims;
mod compare;
mod conclude;
mod describe;
mod engine;
mod figure;
mod file;
mod lines;
mod load;
mod machine;
mod points;
mod progress;
mod publish;
mod query;
mod scope;
mod statistics;
mod store;
mod table;
mod validate;
mod verdict;

/// Files that are part of the program.
mod embedded {
    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}

pub use claims::{document, published, results_of_the_library};
pub use compare::{Compared, Comparison, Finding, compare};
pub use conclude::{Outcome, Part, Picture, conclude, latest};
pub use describe::{describe, setup};
pub use engine::{Options, ready, run, run_repeatable};
pub use file::{Experiment, Figure, Kind, PaperPoint, Run, Scale, Statement};
pub use lines::Lines;
pub use load::{library, load, parse};
pub use machine::{machine, version};
pub use points::points;
pub use publish::{Published, PublishedPart, publish};
pub use query::{Reader, View};
pub use store::{NewRun, Store, default_path};
pub use table::Table;
pub use verdict::{Judged, Verdict};

use serde_json::Value;
use std::collections::BTreeMap;

/// Numbers, words and truth values by name: a point that is to be measured, or what was measured there.
pub type Row = BTreeMap<String, Value>;

/// A point that is to be measured. As a row it is its values.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// Numbers, words and truth values by name.
    pub values: &'a Row,
    /// Names of which the file says by a table what they mean: their values need not mean anything to the runner.
    pub labels: &'a [String],
}

impl std::ops::Deref for Point<'_> {
    type Target = Row;

    fn deref(&self) -> &Row {
        self.values
    }
}

/// What measures one point of a run.
pub trait Runner: Sync {
    /// Measures `point` and returns rows of scalars, which are stored together with the point's own values; `say` tells
    /// the user in a few words what it is at.
    ///
    /// # Errors
    /// The point cannot be measured: it is stored with the error, and other points go on.
    fn run(&self, point: &Point<'_>, say: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>>;

    /// Whether points can be measured beside each other without disturbing what is measured.
    fn parallel(&self) -> bool;

    /// Whether a point gives the same rows on every machine, at any time, so that what was published can be compared with it.
    fn repeatable(&self) -> bool {
        false
    }

    /// The columns of the rows that it returns, if it knows; then files that use others are refused when they are loaded,
    /// not when they have run.
    fn columns(&self) -> Option<Vec<String>> {
        None
    }
}

/// Runners by the names that experiment files give.
pub type Runners<'a> = BTreeMap<&'a str, &'a dyn Runner>;
