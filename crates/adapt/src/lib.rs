//! Checking groups that follow what sessions do.
//!
//! Which servers belong in a group is a matter of who reads at them, and that is not known when a cluster is founded (000 §9.6).
//! Nodes [`Watch`] which servers sessions read at together, and give each session the smallest group that holds them all
//! ([`Footprint`]). Somebody who hears of all nodes has a [`Controller`]: now and then it is told what was seen, and says which
//! groups are to come or go. It has no clock and draws nothing: what it does follows from what it is told.
//!
//! Any grouping is safe; a wrong one costs time, and the controller takes back what does not pay.

mod account;
mod controller;
mod delays;
mod model;
mod observation;
mod search;
mod settings;
mod watch;
mod words;

pub use account::{Account, Change, GroupAccount, UserAccount};
pub use controller::Controller;
pub use observation::{Observation, SeenGroup};
pub use settings::Settings;
pub use watch::{Choices, Footprint, Touched, UseReport, VisitReport, Watch};
pub use words::{list, ms};
