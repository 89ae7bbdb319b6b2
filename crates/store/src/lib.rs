//! What a server keeps: version chains in memory, owned by one thread, and the segmented log on a disk.

pub mod chains;
pub mod disk;
pub mod log;

pub use tidemark_crdt::{Event, events};

pub use chains::{
    Absorb, Added, Collected, Copies, Dropped, Dump, Expired, Folded, Mark, Misunderstood, Object, Part,
    Sought, Store, Totals, Version, Versions,
};
