//! Links between nodes: messages at most once, feeds in order and resumed from the log, emulated distances, faults.
//!
//! Between two nodes stand up to two connections a direction. The *message* connection carries what the sender says
//! and is read only. The *feed* connection is opened by the receiver of records, which asks for each partition from
//! where it stands, and confirms what is durable. A broken connection is opened again; the feeds then go on from the
//! log, messages that were under way are lost. Members of a group have a third, on which they come to agree.
//!
//! A node of a group that begins to lead, or ceases to, drops all its connections but those of the group, and opens them
//! again: so whatever was under way to an earlier leader is lost as in a restart, and everybody hears who leads.

pub(crate) mod accept;
pub(crate) mod copies;
pub(crate) mod dial;
pub(crate) mod feed_in;
pub(crate) mod feed_out;
pub(crate) mod group;
pub(crate) mod links;
pub(crate) mod messages;
pub(crate) mod outbox;
pub(crate) mod reader;
