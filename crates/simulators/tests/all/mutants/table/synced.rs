//! What has to be synced before it leaves a node, and what a node has to sync first: rules of nodes, by name, since they belong to the gates
//! of what leaves. Each is searched with losses of power that have something to lose.
//!
//! The model of these rules found a violation without each of them in schedules of this form: so many regions, partitions, and nodes of a
//! region. Where a region is one node, much of it does not leave anything.

use super::few;
use crate::playing::Search;
use tidemark_sim::{Options, Placed, Policies};

/// A rule of nodes, and the schedules in which it is missed.
pub(crate) struct Synced {
    pub(crate) rule: &'static str,
    pub(crate) protocol: &'static str,
    pub(crate) options: Options,
    pub(crate) search: Search,
}

/// Power fails, and takes what was not synced.
fn losing(options: Options) -> Options {
    Options { fsync: Policies::Varied, ..options }
}

/// Each rule, in schedules of `tidemark` if no others show it sooner.
pub(crate) fn synced() -> Vec<Synced> {
    let (two, three) = (losing(few()), losing(Options { dcs: 3, ..few() }));
    let edge = Options { edge: 3, ops: 24, ..two.clone() };
    let placed = Options { placement: Placed::Random, ..three.clone() };
    let of = |rule, options: &Options| Synced {
        rule,
        protocol: "tidemark",
        options: options.clone(),
        search: Search::Within(20_000),
    };
    vec![
        of("RECORDS_ARE_SYNCED", &two),
        of("BEATS_ARE_SYNCED", &two),
        of("REPORTS_ARE_SYNCED", &two),
        // Own reports count when they are synced, where a region is several nodes.
        of("OWN_REPORTS_ARE_SYNCED", &three),
        // What is received is given to the protocol when it is synced, there.
        of("TAKEN_IS_SYNCED", &three),
        Synced { protocol: "cops", ..of("CHECKS_ARE_SYNCED", &three) },
        Synced { protocol: "cops", ..of("MARKS_ARE_SYNCED", &three) },
        of("FORGETS_WHEN_SYNCED", &three),
        Synced {
            protocol: "gentlerain",
            ..of("ENTRIES_ARE_SYNCED", &Options { replicas: 3, ..two.clone() })
        },
        of("VOTES_ARE_SYNCED", &two),
        of("DECISIONS_ARE_SYNCED", &two),
        of("DOUBT_IS_SYNCED", &two),
        of("CONFIRMATIONS_ARE_SYNCED", &two),
        of("EDGE_IS_TOLD_SYNCED", &edge),
        of("TOKENS_ARE_SYNCED", &Options { partitions: 1, ..two.clone() }),
        of("ANSWERS_ABROAD_ARE_SYNCED", &placed),
        of("CEILING_IS_SYNCED", &two),
        of("OPENING_SYNCS", &two),
    ]
}
