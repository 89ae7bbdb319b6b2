//! The simulator: schedules over whole nodes, and what it measures of load, crowds and migrating clients.

mod crowd;
mod document;
mod load;
mod load_pairs;
mod roaming;
