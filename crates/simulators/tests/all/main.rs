//! Schedules over whole nodes, by the names of protocols: campaigns that must violate nothing, and mutants that must violate something.
//!
//! [`playing`] says how many schedules a run of these tests plays.

mod campaigns;
mod edge;
mod groups;
mod layouts;
mod mutants;
mod nodes;
mod placement;
mod playing;
mod power;
mod resolvers;
mod sequential;
mod typed;
