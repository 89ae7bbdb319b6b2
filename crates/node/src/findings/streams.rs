//! Replication streams that stand still, as the node at either end sees it.

use super::look::cut_by_operator;
use super::{Code, Condition, Grade};
use crate::layout::NodeId;
use crate::link::stream::{Cause, Reason};
use crate::link::table::{Role, Stage, StreamIn, StreamOut, Up};
use crate::of::NodeOf;
use std::collections::BTreeMap;
use tidemark_contract::Protocol;
use tidemark_core::{DcId, Hlc, Micros, PartitionId, ServerId};
use tidemark_replica::{PeerStatus, StreamRefusal};

/// Floors may stand for so long before that is a condition: transactions and edge clients hold them for a while.
const FLOOR_US: Micros = 60_000_000;

/// What should go on, and since when it has not.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// How far each peer has confirmed what is written here, as long as there is more.
    confirmed: BTreeMap<ServerId, (u64, Micros)>,
    /// Up to where every operation that may still arrive has seen everything; and whether that has ever risen.
    settled: BTreeMap<PartitionId, (Hlc, Micros, bool)>,
}

impl Progress {
    /// Notes how a peer stands. Since when it has not come farther; none if nothing waits for it.
    fn note(&mut self, peer: ServerId, now: Micros, status: &PeerStatus) -> Option<Micros> {
        if status.behind == 0 {
            self.confirmed.remove(&peer);
            return None;
        }
        let known = self.confirmed.entry(peer).or_insert((status.confirmed, now));
        if known.0 != status.confirmed {
            *known = (status.confirmed, now);
        }
        Some(known.1)
    }

    /// Notes a floor. Since when it stands; none if it never rose: not every protocol tells floors.
    fn note_floor(&mut self, partition: PartitionId, now: Micros, settled: Hlc) -> Option<Micros> {
        let (known, since, rises) = self.settled.entry(partition).or_insert((settled, now, false));
        if *known != settled {
            (*known, *since, *rises) = (settled, now, true);
        }
        rises.then_some(*since)
    }

    /// The streams of a node that serves no more are those of another.
    fn forget(&mut self) {
        *self = Self::default();
    }
}

/// As every surface names a replication stream.
fn stream(from: ServerId, to: ServerId) -> String {
    format!("{from}->{to}")
}

/// What records wait for, and what an operator can do about it.
type Way = (String, String);

impl<P: Protocol> NodeOf<P> {
    /// The conditions of all streams from and to this node.
    pub(super) fn find_streams(&mut self, found: &mut Vec<Condition>) {
        let Some(host) = self.hold.host() else { return self.core.findings.progress.forget() };
        let here = self.core.dc;
        let others: Vec<DcId> = self.core.topology.all_dcs().filter(|dc| *dc != here).collect();
        let held = self.core.topology.all_partitions().filter(|partition| host.holds(*partition));
        let held: Vec<PartitionId> = held.collect();
        for partition in &held {
            found.extend(self.standing_floor(*partition));
        }
        for (partition, dc) in held.iter().flat_map(|partition| others.iter().map(|dc| (*partition, *dc))) {
            let (mine, theirs) = (ServerId::new(here, partition), ServerId::new(dc, partition));
            // A region that is excluded for good sends and takes nothing.
            if self.hold.host().is_some_and(|host| host.has_all_of(theirs, partition)) {
                continue;
            }
            found.extend(self.outgoing(mine, theirs));
            found.extend(self.fills(mine, theirs));
            found.extend(self.incoming(theirs, mine));
        }
    }

    /// What is written here, and does not arrive at a peer.
    fn outgoing(&mut self, from: ServerId, to: ServerId) -> Option<Condition> {
        let now = self.core.now.mono;
        let status = self.hold.host()?.peer(from.partition, to.dc);
        let since = self.core.findings.progress.note(to, now, &status)?;
        let place = stream(from, to);
        let refusal = self.stream_to(to, |out| out.refused.iter().find(|(of, ..)| *of == from).cloned());
        match refusal {
            Some((_, since, refusal @ StreamRefusal::Unreadable(_))) => {
                let remedy = "Check the disk of this node, then restart it.";
                let way = ("this node's log".into(), remedy.into());
                return Some(feed(place, since, Grade::Stuck, refusal.to_string(), way));
            }
            Some((_, since, refusal @ StreamRefusal::TooLarge { .. })) => {
                return Some(too_large(place, since, &refusal, &self.node_of(to)));
            }
            Some((_, since, refusal)) => return Some(needs_seeding(place, Some(since), refusal.to_string())),
            None if status.needs_seeding => {
                let what = format!("the log that {to} needs was dropped: it was away for too long");
                return Some(needs_seeding(place, None, what));
            }
            None => {}
        }
        if now.saturating_sub(since) < self.core.config.pace.hold_us {
            return None;
        }
        let waiting = format!("{} records of {from} wait for {to}, which confirms none", status.behind);
        let open = self.stream_to(to, |out| {
            // What follows a record that is not taken waits with it, also if it is of another partition.
            let why = out.held.iter().find(|(of, _)| *of == from).or(out.held.first());
            out.open.contains(&from).then(|| why.map(|(_, why)| why.clone()))
        });
        if open.is_none() || self.core.cuts.is_cut(from, to) {
            let (waits_for, remedy) = self.link_between(from, to, to);
            let code = Code::NoLink;
            let what = format!("{waiting}: no stream is open");
            let grade = Grade::Degraded;
            return Some(Condition { code, place, grade, since: Some(since), what, waits_for, remedy });
        }
        let name = self.node_of(to);
        Some(match open.flatten() {
            Some(why) => held(place, since, &format!("{waiting}. {name} says"), &name, &why),
            None => {
                let remedy =
                    format!("Look at node {name}: it may be suspended, overloaded, or waiting for its disk.");
                feed(
                    place,
                    since,
                    Grade::Degraded,
                    waiting,
                    (format!("node {name}, which does not say why"), remedy),
                )
            }
        })
    }

    /// Whether what deletions and changes of elements leave behind is kept, because it is not known to be seen everywhere.
    fn standing_floor(&mut self, partition: PartitionId) -> Option<Condition> {
        let now = self.core.now.mono;
        let store = self.hold.host()?.store(partition);
        let since = self.core.findings.progress.note_floor(partition, now, store.settled())?;
        if !store.needs_floors() || now.saturating_sub(since) < FLOOR_US {
            return None;
        }
        let here = ServerId::new(self.core.dc, partition);
        let back = ServerId::new(store.holds_settled_back().unwrap_or(self.core.dc), partition);
        Some(Condition {
            code: Code::FloorStands,
            place: here.to_string(),
            grade: Grade::Note,
            since: Some(since),
            what: "what deletions leave behind is kept in memory: the floor does not rise".into(),
            waits_for: match back == here {
                true => format!("all regions, or a transaction at {here}"),
                false => format!("{back}, whose floor is the lowest"),
            },
            remedy: "Mend the links to the other regions, or exclude one that is lost.".into(),
        })
    }

    /// How much of the log is kept for a peer.
    fn fills(&self, from: ServerId, to: ServerId) -> Option<Condition> {
        let (kept, most) =
            (self.hold.host()?.peer(from.partition, to.dc).log_kept, self.core.config.log_retain_bytes);
        (kept > most / 2).then(|| Condition {
            code: Code::LogFills,
            place: stream(from, to),
            grade: Grade::Degraded,
            since: None,
            what: format!(
                "the log keeps {} MiB of at most {} MiB (log_retain) for {to}; beyond that they are dropped, and {to} never gets them",
                kept >> 20,
                most >> 20
            ),
            waits_for: format!("confirmations of {to}"),
            remedy: "Mend the link, or restart this node with a larger log_retain.".into(),
        })
    }

    /// What a peer sends, and does not arrive here.
    fn incoming(&self, from: ServerId, to: ServerId) -> Option<Condition> {
        let place = stream(from, to);
        let (mut direct, mut relay, mut refused) = (false, None, None);
        for (node, streams) in self.streams_from() {
            let open = streams.open.iter().any(|(server, _)| *server == from);
            if let Some((_, since, why)) = streams.held.iter().find(|(server, ..)| *server == from && open) {
                let what = format!("a record of {from} is not taken here");
                return Some(held(place, *since, &what, self.core.name_of(self.core.me), why));
            }
            let is_direct = self.core.dc_of(node) == from.dc;
            direct |= open && is_direct;
            relay = relay.or((open && !is_direct).then_some(node));
            refused = refused.or(streams.refused.iter().find(|(server, ..)| *server == from));
        }
        if direct {
            return None;
        }
        if let Some((_, since, refusal @ StreamRefusal::TooLarge { .. })) = refused {
            return Some(too_large(place, *since, refusal, self.core.name_of(self.core.me)));
        }
        if let Some((_, since, refusal)) = refused {
            let what = format!("no records of {from} come: {refusal}");
            return Some(needs_seeding(place, Some(*since), what));
        }
        let (waits_for, remedy) = self.link_between(from, to, from);
        Some(match relay {
            Some(node) => Condition {
                code: Code::Relayed,
                place,
                grade: Grade::Note,
                since: None,
                what: format!("records of {from} come over node {}", self.core.name_of(node)),
                waits_for,
                remedy,
            },
            None => Condition {
                code: Code::NoLink,
                place,
                grade: Grade::Degraded,
                since: None,
                what: format!("no records of {from} come: no stream is open"),
                waits_for,
                remedy,
            },
        })
    }

    /// The links on which records come, and from whom.
    fn streams_from(&self) -> impl Iterator<Item = (NodeId, &StreamIn)> {
        self.core.links.iter().filter_map(|link| match &link.stage {
            Stage::Up(Up { role: Role::StreamIn(streams), node, .. }) => Some((*node, streams)),
            _ => None,
        })
    }

    /// What `which` finds on a link to the region of `to`.
    fn stream_to<T>(&self, to: ServerId, which: impl Fn(&StreamOut) -> Option<T>) -> Option<T> {
        self.core.links.iter().find_map(|link| match &link.stage {
            Stage::Up(Up { role: Role::StreamOut(out), .. }) if out.dc == to.dc => which(out),
            _ => None,
        })
    }

    /// The name of the node that serves a server, or those that may.
    fn node_of(&self, server: ServerId) -> String {
        match self.core.home(server) {
            Some(node) => self.core.name_of(node).to_string(),
            None => {
                let members = self.core.groups.members(self.core.groups.of_server(server));
                let names: Vec<&str> = members.iter().map(|node| self.core.name_of(*node)).collect();
                names.join(", ")
            }
        }
    }

    /// Why no stream from `from` to `to` is open, `other` of which is not here.
    fn link_between(&self, from: ServerId, to: ServerId, other: ServerId) -> Way {
        match self.core.home(other) {
            _ if self.core.cuts.is_cut(from, to) => cut_by_operator(),
            Some(node) => self.unreached(node),
            None => {
                let name = self.node_of(other);
                let remedy = format!("Start nodes of {name}, until a quorum of them runs.");
                (format!("a leader of {name}"), remedy)
            }
        }
    }
}

fn feed(place: String, since: Micros, grade: Grade, what: String, (waits_for, remedy): Way) -> Condition {
    Condition { code: Code::FeedHeld, place, grade, since: Some(since), what, waits_for, remedy }
}

/// A record that `node`, its receiver, does not take.
fn held(place: String, since: Micros, what: &str, node: &str, why: &Reason) -> Condition {
    let (grade, waits_for, remedy) = match why.cause {
        Cause::Clock => (
            Grade::Degraded,
            format!("the clock of node {node}, which has to reach the record's time"),
            "Set the clocks of both nodes right.".to_string(),
        ),
        Cause::Room => {
            let remedy = format!("Free space on the disk of node {node}.");
            (Grade::Degraded, format!("room on the disk of node {node}"), remedy)
        }
        Cause::Meaning => {
            let remedy = format!("Run the same version of Tidemark on node {node} as on the sender.");
            (Grade::Stuck, format!("another version of Tidemark on node {node}"), remedy)
        }
    };
    feed(place, since, grade, format!("{what}: {}", why.what), (waits_for, remedy))
}

/// A record is larger than what `node`, its receiver, takes.
fn too_large(place: String, since: Micros, refusal: &StreamRefusal, node: &str) -> Condition {
    let remedy = "Set proto-max-bulk-len (CONFIG SET) to what it is at the sender, at every node of the receiver's region.";
    let way = (format!("a larger proto-max-bulk-len at node {node}"), remedy.into());
    feed(place, since, Grade::Stuck, refusal.to_string(), way)
}

fn needs_seeding(place: String, since: Option<Micros>, what: String) -> Condition {
    Condition {
        code: Code::FeedNeedsSeeding,
        place,
        grade: Grade::Stuck,
        since,
        what,
        waits_for: "the records that are missing, or the log that its receiver knows".into(),
        remedy: "Restore the sender's own data directory if it was replaced; what was dropped cannot be sent again.".into(),
    }
}
