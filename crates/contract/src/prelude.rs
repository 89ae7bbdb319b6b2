//! What most protocols use: `use tidemark_contract::prelude::*`.

pub use crate::cx::{Read, found_of};
pub use crate::extensions::Types;
pub use crate::protocol::Received;
pub use crate::request::{Brings, Request};
pub use crate::session::not_covered;
pub use crate::several::Several;
pub use crate::slices::{SnapshotRead, unanswered};
pub use crate::{
    Answer, AskId, Cx, Draft, Extensions, Hard, Info, OneRound, OneRoundSession, Protocol, Reach, Recovered,
    Session, SessionCx, SliceReq, Status, Ticket, Token, Variant, Version, Waiters, Walk,
};
pub use serde::{Deserialize, Serialize};
pub use tidemark_core::promise::Promise;
pub use tidemark_core::{
    DcId, Failure, Found, Hlc, Key, Micros, Op, Outcome, PartitionId, ServerId, Stamp, Update, Vector,
};
