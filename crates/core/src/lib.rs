//! What every other crate speaks of: who (ids), when (clocks and stamps), what (keys, operations and
//! outcomes) and what happened (histories).
//!
//! This crate depends on nothing of ours and performs no input or output.

pub mod clock;
mod command;
mod each;
pub mod glob;
pub mod guarantee;
pub mod history;
pub mod ids;
pub mod limit;
pub mod op;
pub mod promise;
pub mod rule;
pub mod slot;
pub mod sort;
mod strings;
pub mod text;
pub mod vector;

pub use clock::{Hlc, Micros, Stamp};
pub use command::{Command, Reply, Verb};
pub use each::take_each;
pub use guarantee::Guarantees;
pub use ids::{DcId, PartitionId, Regions, ServerId};
pub use limit::{Limit, SharedLimit};
pub use op::{Acceptance, ClientId, Digest, EdgeTransaction, GUARD_PREFIX, Guard, Shown, guard_of};
pub use op::{Condition, Failure, Found, Key, Op, OpKind, Outcome, Snapshot, Transact, Update, Value, Write};
pub use promise::Promise;
pub use rule::{Rule, Variant, without};
pub use slot::{SLOTS, Slot};
pub use strings::Strings;
pub use vector::Vector;
