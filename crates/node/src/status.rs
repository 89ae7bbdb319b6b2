//! How a node stands, for status pages, metrics and tests: plain values, copied out.

use crate::cuts::Place;
use crate::findings::Finding;
use crate::follow::Uses;
use serde::Serialize;
use tidemark_replica::HostStatus;

/// How a node stands.
#[derive(Clone, Debug)]
pub struct Status {
    /// Its partitions and their log.
    pub host: HostStatus,
    /// What an operator should know, what needs one first.
    pub findings: Vec<Finding>,
    /// Why writes are refused, if they are.
    pub writes_refused: Option<String>,
    /// Why clients are not served, if that is so though the node runs.
    pub unready: Option<String>,
    /// How it stands in its Raft group, if it is in one.
    pub group: Option<GroupStatus>,
    /// Its links, by node; its own entry says nothing.
    pub peers: Vec<PeerStatus>,
    /// Links that an operator has cut.
    pub cuts: Vec<(Place, Place)>,
    /// Where sessions read together, if checking groups follow that.
    pub uses: Option<Uses>,
    /// Open sessions.
    pub sessions: usize,
}

/// How a node stands in its Raft group.
#[derive(Clone, Debug, Serialize)]
pub struct GroupStatus {
    /// Its name in the group; 0 while it does not know it.
    pub member: u64,
    /// `leader`, `follower`, `candidate`, `learner`, `elected` (it is to lead, and not all is applied yet), `founding` (it
    /// waits for the others).
    pub role: &'static str,
    /// The node that leads, as far as this one knows.
    pub leader: Option<String>,
    /// The term.
    pub term: u64,
    /// The last entry that is applied here.
    pub applied: u64,
    /// The nodes that vote, as of that entry.
    pub voters: Vec<String>,
    /// Those that only listen.
    pub learners: Vec<String>,
    /// Nodes that have to be heard before this one knows its name.
    pub waits_for: Vec<String>,
}

/// The links to one other node.
#[derive(Clone, Debug, Default)]
pub struct PeerStatus {
    /// Messages leave.
    pub messages_out: bool,
    /// Messages arrive.
    pub messages_in: bool,
    /// Records leave.
    pub stream_out: bool,
    /// Records arrive.
    pub stream_in: bool,
    /// Every link that is expected stands.
    pub up: bool,
    /// Bytes that wait to be transmitted.
    pub queued_bytes: usize,
    /// Why it cannot be reached.
    pub trouble: Option<String>,
}

/// What a node has counted since it started.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Operations that had to wait for a reply.
    pub suspended: u64,
    /// Batches: commits of the log.
    pub batches: u64,
    /// Messages from other nodes.
    pub messages_in: u64,
    /// Items of replication streams received.
    pub stream_items_in: u64,
    /// Items of replication streams sent.
    pub stream_items_out: u64,
    /// Times a stream had to wait because a record came from too far in the future.
    pub streams_ahead: u64,
    /// Times a stream was refused, by this node or to it.
    pub streams_refused: u64,
    /// Times records were missing on a stream, or came twice.
    pub stream_gaps: u64,
    /// Requests that this node answered as a follower.
    pub follower_reads: u64,
    /// Broadcasts that were not sent to a node, because it could not be reached or takes too little.
    pub broadcasts_dropped: u64,
    /// Bytes of messages dropped because the other side takes too little.
    pub message_bytes_dropped: u64,
}
