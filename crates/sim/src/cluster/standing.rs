//! What stands still has to be told: a record that has not arrived for long has a finding, at the node that wrote it, which names its
//! stream. What is told while everything is exchanged is looked at when everything has [settled](super::settle).

use super::{Cluster, Stage};
use crate::outcome::ProblemKind;
use std::collections::BTreeMap;
use tidemark_core::{Micros, ServerId};

/// How streams stood when they were looked at last.
#[derive(Default)]
pub(super) struct Standing {
    streams: BTreeMap<(ServerId, ServerId), Stream>,
    next: Micros,
}

/// A stream: since when nothing of it has changed.
#[derive(Clone, Copy)]
struct Stream {
    state: State,
    since: Micros,
}

/// What the sender's node says, and whether the receiver lacks something.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    process: usize,
    epoch: u64,
    confirmed: u64,
    received: u64,
    lacks: bool,
}

impl Cluster<'_> {
    /// Looks how all streams stand, now and then.
    pub(super) fn look_at_streams(&mut self) {
        if self.now < self.standing.next || self.stage != Stage::Work || self.plan.scripts.is_empty() {
            return;
        }
        self.standing.next = self.now + self.hold_us();
        let mut streams = BTreeMap::new();
        for at in 0..self.servers {
            let Some(epoch) = self.processes[at].node.as_ref().and_then(|node| node.serves()) else {
                continue;
            };
            let Some(status) = self.input(at, |node, now| node.status(now)) else { continue };
            let dc = self.processes[at].dc;
            for partition in &status.host.partitions {
                for peer in &partition.peers {
                    let (from, to) =
                        (ServerId::new(dc, partition.partition), ServerId::new(peer.dc, partition.partition));
                    let received = self.serving(to).and_then(|node| node.received(from, partition.partition));
                    let Some(received) = received else { continue };
                    let lacks = received < partition.written;
                    let state = State { process: at, epoch, confirmed: peer.confirmed, received, lacks };
                    let known = self.standing.streams.get(&(from, to)).filter(|known| known.state == state);
                    let since = known.map_or(self.now, |known| known.since);
                    // Of several that think that they serve, it is the one of the latest epoch.
                    let later = |other: &Stream| other.state.epoch > epoch;
                    if !streams.get(&(from, to)).is_some_and(later) {
                        streams.insert((from, to), Stream { state, since });
                    }
                }
            }
        }
        self.standing.streams = streams;
        self.judge_standing();
    }

    /// Nodes have told what has stood still for long.
    fn judge_standing(&mut self) {
        if self.operator.lost().is_some() {
            return;
        }
        let long = self.hold_us() + self.hold_us() / 50 + 3 * self.plan.config.upkeep_us;
        let stands = |stream: &Stream| stream.state.lacks && self.now - stream.since > long;
        let streams = self.standing.streams.iter().filter(|(_, stream)| stands(stream));
        let streams: Vec<(ServerId, ServerId, usize)> =
            streams.map(|((from, to), stream)| (*from, *to, stream.state.process)).collect();
        for (from, to, at) in streams {
            let place = format!("{from}->{to}");
            let findings = self.input(at, |node, now| node.status(now).findings).unwrap_or_default();
            self.stats.standing += 1;
            if !findings.iter().any(|finding| finding.place == place) {
                let what = format!("{} does not tell that {place} stands still", self.name_of(at));
                self.problem(ProblemKind::Stream, what);
            }
        }
    }

    /// So long a condition holds before nodes tell of it.
    fn hold_us(&self) -> Micros {
        super::found::pace(self.plan).hold_us
    }
}
