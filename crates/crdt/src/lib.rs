//! Data types that merge, and Redis's commands on them.
//!
//! An update of a data type is a version like any other, whose write is an [`effect::Effect`]. The value of a key is a function of
//! the *set* of versions that a reader can see, whatever the order in which they came. Nothing here knows a protocol, a view, or
//! where a key lives.

pub mod account;
pub mod args;
mod bcounter;
pub mod bitmap;
pub mod cell;
mod content;
pub mod deadline;
mod doc;
pub mod draft;
pub mod effect;
mod encoding;
pub mod evaluate;
mod events;
mod generic;
pub mod geo;
mod hash;
pub mod hll;
mod lcs;
mod list;
pub mod modifier;
mod multi;
mod near;
pub mod number;
pub mod plain;
pub mod position;
mod rdb;
pub mod rule;
mod scan;
pub mod series;
mod set;
pub mod shape;
pub mod state;
mod stream;
mod string;
mod together;
pub mod zset;

pub use content::evaluate_contents;
pub use draft::Moment;
pub use effect::{Effect, Kind};
pub use evaluate::{Prepared, evaluate, evaluate_many, overwrite, string_of};
pub use events::{Event, creates, events};
pub use near::Near;
pub use series::Series;
pub use state::{State, deadline_time};
