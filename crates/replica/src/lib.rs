//! The half of a server that both drivers share: partitions, their log, recovery, and streams to peers.
//!
//! A [`Host`] is one server thread's worth of a data centre: some partitions, one data directory, one log. It keeps
//! the driver's obligations of [`tidemark_contract::Protocol`] that concern events, durability and order, and
//! performs no input or output but through a [`tidemark_store::disk::Disk`]. What is left to a driver is to move
//! messages, to tell the time, and to hold back what the host says is not durable yet.
//!
//! **Invariants**
//! - I1 Nothing that [`Host::take_outputs`] or [`Host::poll_stream`] returns for other nodes depends on a record that is not
//!   durable as the policy says (obligation 2); what is returned on behalf of a client, on one that is not written.
//! - I2 Records that a partition writes are numbered 1, 2, 3, … in one incarnation of its log; a receiver takes
//!   them in that order without gaps, each once (obligation 3).
//! - I3 A record is confirmed to its sender only when it is durable here.
//!
//! A host can be one of a group, several that hold the same. Then what it writes in a turn is an entry that the group
//! agrees on, and durable means agreed on; one of the group leads, which is a host as any other, and the others apply
//! its entries. Who leads is not decided here.

mod ahead;
mod applied;
mod arrivals;
mod changes;
mod config;
mod copy;
mod entry;
mod group;
mod host;
mod leaving;
mod lineage;
mod order;
mod output;
mod place;
mod record;
mod recover;
mod refusal;
mod replay;
pub mod rule;
mod snapshot;
mod staged;
mod status;
mod stream;
mod tell;
mod timers;

pub use changes::Change;
pub use config::{HostConfig, Now};
pub use copy::{CopyReader, CopySource};
pub use entry::{Entries, Entry, EntryKind};
pub use group::GroupState;
pub use host::{Fatal, Host};
pub use leaving::Waits;
pub use output::Output;
pub use recover::OpenError;
pub use refusal::{StreamRefusal, WriteRefusal};
pub use snapshot::{UpkeepDone, UpkeepJob};
pub use staged::{CopyRefused, SealDone, SealJob};
pub use status::{HostStatus, PartitionStatus, PeerStatus};
pub use stream::{Resume, StreamError, StreamItem};
