//! Edge clients over whole nodes: their disks, connections and processes fail, too, and regions are cut off, crash and lose power meanwhile.

mod playing;

use playing::cleared;
use tidemark_sim::Options;

fn few() -> Options {
    Options { partitions: 2, sessions: 6, ops: 80, edge: 3, ..Options::default() }
}

/// All that clients see is causal with what sessions see, each transaction is there as a whole and once, and in the end clients show what regions
/// say.
#[test]
fn edge_clients_see_causes_and_whole_transactions_and_lose_nothing() {
    cleared("tidemark", few(), 0..150);
}

/// The last client of a K had left while its gateway read for it, and another had come: it was shown values of an older base, and the gateway
/// counted answers below zero.
#[test]
fn a_client_is_shown_no_answer_to_what_was_read_for_those_before() {
    cleared("tidemark", few(), 734..735);
}

/// A transaction had got a later time, and so won over a write that its client had seen over it.
#[test]
fn what_was_seen_overwritten_stays_overwritten() {
    cleared("tidemark", few(), 118..119);
}
