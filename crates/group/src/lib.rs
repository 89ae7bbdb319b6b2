//! Groups: several replicas of one server of a data centre, of which one leads.
//!
//! A [`Member`] is one replica: a host's data directory, and TiKV's `raft` around it. What the leader's host writes in a
//! turn is one entry of the group's log, and what leaves the host waits until most members have it. A follower appends the
//! same records to its own log, and applies them once they are agreed on. When it is elected, it starts the protocol
//! from what it has, as a restarted server does; so protocols need to know nothing of groups, and what they owe at a
//! restart is all that they owe here.
//!
//! No sockets, threads or clocks: a driver moves the messages of [`Member::take_messages`] and the copies of
//! [`Member::take_copies`], tells the time, and runs syncs and other jobs where it likes.
//!
//! **Invariants**
//! - I1 Nothing leaves a host before most members have what it depends on, in a term in which nobody else leads.
//! - I2 A member that has voted, or said that it holds an entry, has that in its log as the fsync policy says.
//! - I3 Within an election timeout of its start a member takes part in no election: it may have promised not to.
//! - I4 A leader that is replaced forgets everything, and begins again from its log.
//! - I5 A leader that has told another to stand for election lets nothing out any more.

mod config;
mod copies;
mod entries;
mod handover;
mod incoming;
mod lease;
mod member;
mod members;
mod raft;
pub mod rule;
mod standing;
mod sync;

pub use self::raft::{decode, encode};
pub use ::raft::eraftpb::{Message, MessageType};
pub use config::GroupConfig;
pub use copies::{CopyOut, RecallJob, Recalled};
pub use incoming::CopyIn;
pub use member::Member;
pub use members::{Change, ChangeRefused};
pub use sync::SyncTask;
