//! What most protocols use: `use tidemark_contract::prelude::*`.

pub use crate::cx::Read;
pub use crate::protocol::Received;
pub use crate::request::{Brings, Request};
pub use crate::slices::SnapshotRead;
pub use crate::{
    Answer, AskId, Cx, Draft, Hard, Info, OneRound, OneRoundSession, Protocol, Reach, Recovered, Session,
    SessionCx, SliceReq, Status, Ticket, Token, Variant, Version, Waiters, Walk, found_of, not_covered,
    unanswered,
};
pub use serde::{Deserialize, Serialize};
pub use tidemark_core::promise::Promise;
pub use tidemark_core::{
    DcId, Failure, Found, Hlc, Key, Micros, Op, Outcome, PartitionId, ServerId, Stamp, Update, Vector,
};
