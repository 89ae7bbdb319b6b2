//! Between our types and those of the Raft library.

use crate::config::GroupConfig;
use crate::entries::Entries;
use protobuf::Message as _;
use raft::eraftpb::{ConfChangeV2, Entry, EntryType, Message};
use raft::{Config, RawNode};
use slog::{Discard, Logger, o};
use tidemark_replica::{EntryKind, GroupState};

/// The library's node of a member that keeps `state` and holds `entries`.
pub(crate) fn start(
    config: &GroupConfig,
    state: &GroupState,
    entries: tidemark_replica::Entries,
) -> RawNode<Entries> {
    let mut store = kept(entries);
    store.members.voters = state.voters.clone();
    store.members.learners = state.learners.clone();
    (store.hard.term, store.hard.vote, store.hard.commit) = (state.term, state.vote, state.applied);
    // The library draws election timeouts from a range; a range of one value for each member leaves no chance.
    let patience = config.election_ticks + 1 + 2 * (config.id as usize % 16);
    let numbers = Config {
        id: config.id,
        election_tick: config.election_ticks,
        heartbeat_tick: config.heartbeat_ticks,
        min_election_tick: patience,
        max_election_tick: patience + 1,
        applied: state.applied,
        max_size_per_msg: 1 << 20,
        max_inflight_msgs: 256,
        check_quorum: true,
        pre_vote: true,
        ..Config::default()
    };
    RawNode::new(&numbers, store, &Logger::root(Discard, o!())).expect("its numbers are in order")
}

/// Entries in the library's words.
pub(crate) fn kept(entries: tidemark_replica::Entries) -> Entries {
    let mut store = Entries::after((entries.after.applied, entries.after.applied_term));
    for entry in entries.list {
        let mut theirs = Entry { index: entry.index, term: entry.term, data: entry.data, ..Entry::default() };
        theirs.set_entry_type(match entry.kind {
            EntryKind::Records => EntryType::EntryNormal,
            EntryKind::Members => EntryType::EntryConfChangeV2,
        });
        store.push(theirs);
    }
    store
}

/// An entry of the library in our words.
pub(crate) fn ours(entry: &Entry) -> tidemark_replica::Entry {
    let kind = match entry.get_entry_type() {
        EntryType::EntryNormal => EntryKind::Records,
        EntryType::EntryConfChange | EntryType::EntryConfChangeV2 => EntryKind::Members,
    };
    tidemark_replica::Entry { index: entry.index, term: entry.term, kind, data: entry.data.clone() }
}

/// The change of members that an entry makes.
pub(crate) fn change_of(entry: &Entry) -> Result<ConfChangeV2, String> {
    ConfChangeV2::parse_from_bytes(&entry.data).map_err(|error| format!("a change of members: {error}"))
}

/// A message as bytes.
pub fn encode(message: &Message) -> Vec<u8> {
    message.write_to_bytes().expect("what the library says can be encoded")
}

/// A message that [`encode`] made; none if these bytes are no such thing.
pub fn decode(bytes: &[u8]) -> Option<Message> {
    Message::parse_from_bytes(bytes).ok()
}
