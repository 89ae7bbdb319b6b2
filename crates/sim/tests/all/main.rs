//! The simulator: schedules over whole nodes, and what it measures of load, crowds and migrating clients.

mod crowd;
mod document;
mod groups;
mod load;
mod load_pairs;
mod nodes;
mod placement;
mod resolvers;
mod roaming;
