//! A node looks at itself: which conditions hold.

use super::{Code, Condition, Grade};
use crate::hold::Hold;
use crate::layout::{GroupId, NodeId};
use crate::link::hello::LinkKind;
use crate::node::Output;
use crate::of::NodeOf;
use tidemark_contract::Protocol;
use tidemark_core::{DcId, ServerId};

impl<P: Protocol> NodeOf<P> {
    /// Looks, if it is time; what has come and gone is told to the log.
    pub(crate) fn look(&mut self) {
        let (now, pace) = (self.core.now, self.core.config.pace);
        if !self.core.findings.is_due(now.mono, &pace) {
            return;
        }
        // Room may come at any time.
        self.core.outputs.extend(self.hold.ballast_job().map(Output::Job));
        let mut found = self.core.findings.driver.clone();
        // A mute node has connections to nobody, as it should.
        if !found.iter().any(|condition| condition.code == Code::Mute) {
            self.find_refused_writes(&mut found);
            found.extend(self.slow_disk());
            found.extend(self.lost_quorum());
            self.find_links(&mut found);
            self.find_refused_reads(&mut found);
            self.find_streams(&mut found);
        }
        for change in self.core.findings.take(now, &pace, found) {
            self.core.notice(change.level(), change.to_string());
        }
    }

    fn here(&self) -> String {
        self.core.name_of(self.core.me).to_string()
    }

    /// Why no operation is served now, by this node or another of its region.
    pub(crate) fn unready(&self) -> Option<String> {
        match &self.hold {
            Hold::Founding(_) => Some("it waits for the other nodes of its Raft group".into()),
            Hold::Member(member) if member.leader() == 0 => Some("its Raft group has no leader".into()),
            Hold::Member(_) | Hold::Alone(_) => None,
        }
    }

    fn find_refused_writes(&mut self, found: &mut Vec<Condition>) {
        let place = self.here();
        let Some(refusal) = self.hold.host_mut().and_then(|host| host.refuses_writes()) else { return };
        let condition = |code, what, waits_for: &str, remedy: &str| Condition {
            code,
            place: place.clone(),
            grade: Grade::Stuck,
            since: None,
            what,
            waits_for: waits_for.into(),
            remedy: remedy.into(),
        };
        let full = refusal.is_full_disk();
        let (waits_for, remedy) = match full {
            true => ("room for a segment of the log", "Free space; writes then go on by themselves."),
            false => ("an operator", "Do what the reason says. Reads go on."),
        };
        if full {
            found.push(condition(
                Code::DiskFull,
                "no segment of the log fits on the disk".into(),
                waits_for,
                remedy,
            ));
        }
        found.push(condition(
            Code::WritesRefused,
            format!("writes are refused: {refusal}"),
            waits_for,
            remedy,
        ));
    }

    fn slow_disk(&mut self) -> Option<Condition> {
        let (since, running) = self.core.findings.syncs.slow(self.core.now.mono)?;
        Some(Condition {
            code: Code::DiskSlow,
            place: self.here(),
            grade: Grade::Degraded,
            since: Some(since),
            what: match running {
                Some(us) => format!("a sync of the log has been running for {} s", us / 1_000_000),
                None => "the last sync of the log took longer than a second".into(),
            },
            waits_for: "the disk".into(),
            remedy: "Find out what else uses the disk, or whether it fails; or give the log a faster one."
                .into(),
        })
    }

    /// Whether this node's own Raft group has a leader.
    fn lost_quorum(&self) -> Option<Condition> {
        let (what, missing) = match &self.hold {
            Hold::Alone(_) => return None,
            Hold::Member(member) if member.leader() != 0 => return None,
            Hold::Member(_) => {
                let place = self.core.place.as_ref()?;
                let others = place.nodes.iter().filter(|node| **node != self.core.me);
                let missing: Vec<NodeId> =
                    others.copied().filter(|node| self.core.links.raft_to(*node).is_none()).collect();
                ("its Raft group has no leader: reads and writes are answered UNAVAILABLE", missing)
            }
            Hold::Founding(founding) => {
                ("its Raft group is not founded yet, or does not know it yet", founding.missing().collect())
            }
        };
        let names: Vec<&str> = missing.iter().map(|node| self.core.name_of(*node)).collect();
        let (waits_for, remedy) = match names.is_empty() {
            true => ("an election".into(), "Look at the clocks and the load of the group's nodes.".into()),
            false => {
                let names = names.join(", ");
                let remedy = format!("Start {names}, or mend the network to them: a quorum has to run.");
                (format!("nodes that are not reached: {names}"), remedy)
            }
        };
        let (code, place, grade) = (Code::QuorumLost, self.here(), Grade::Stuck);
        Some(Condition { code, place, grade, since: None, what: what.into(), waits_for, remedy })
    }

    /// Other nodes that are not reached. Only who serves has links to other regions that matter.
    fn find_links(&self, found: &mut Vec<Condition>) {
        let (core, serves) = (&self.core, self.hold.host().is_some());
        for node in (0..core.peers.len()).map(|at| NodeId(at as u16)) {
            let dc = core.dc_of(node);
            let lacks = self.lacks(node);
            if lacks.is_empty() || dc != core.dc && (!serves || self.is_gone(dc)) {
                continue;
            }
            let name = core.name_of(node);
            let cut = core.cuts.is_region_cut(core.dc, dc) || core.cuts.is_region_cut(dc, core.dc);
            let (waits_for, remedy) = if cut { cut_by_operator() } else { self.unreached(node) };
            found.push(Condition {
                code: Code::NoLink,
                place: name.to_string(),
                grade: Grade::Degraded,
                since: None,
                what: format!("no connection to node {name} stands for {}", lacks.join(", ")),
                waits_for,
                remedy,
            });
        }
    }

    /// Partitions of this region that are not served here.
    fn find_refused_reads(&self, found: &mut Vec<Condition>) {
        let core = &self.core;
        let mut unserved: Vec<GroupId> = Vec::new();
        for partition in core.topology.all_partitions() {
            let server = ServerId::new(core.dc, partition);
            let group = core.groups.of_server(server);
            let served = core.home(server).is_some_and(|node| node == core.me || core.reaches(node));
            if !served && !unserved.contains(&group) {
                unserved.push(group);
            }
        }
        for group in unserved {
            let own = group == core.groups.of_node(core.me);
            let names: Vec<&str> =
                core.groups.members(group).iter().map(|node| core.name_of(*node)).collect();
            let leader = if names.len() > 1 { "a leader of " } else { "" };
            let names = names.join(", ");
            found.push(Condition {
                code: Code::ReadsRefused,
                place: names.clone(),
                grade: if own { Grade::Stuck } else { Grade::Degraded },
                since: None,
                what: format!("operations on keys of {names} are answered UNAVAILABLE here"),
                waits_for: format!("{leader}{names}"),
                remedy: format!("Start {names}, or mend the network between them and this node."),
            });
        }
    }

    /// A node that is not reached: what is waited for, and what an operator can do.
    pub(super) fn unreached(&self, node: NodeId) -> (String, String) {
        let name = self.core.name_of(node);
        let trouble = self.core.peers[node.index()].trouble.as_ref();
        let why = trouble.map(|why| format!(" ({why})")).unwrap_or_default();
        let remedy = format!("Start node {name}, or mend the network between it and this node.");
        (format!("node {name}{why}"), remedy)
    }

    /// What is lacking between this node and another one.
    fn lacks(&self, node: NodeId) -> Vec<&'static str> {
        let core = &self.core;
        let dialled =
            |kind: LinkKind| core.dialers.iter().any(|dialer| dialer.node == node && dialer.kind == kind);
        let outgoing = &core.outgoing[node.index()];
        let messages = dialled(LinkKind::Messages);
        let raft = dialled(LinkKind::Raft);
        let lacks = [
            (messages && outgoing.link.is_none(), "messages to it"),
            (messages && outgoing.heard_on == 0, "messages from it"),
            (raft && core.links.raft_to(node).is_none(), "the Raft group"),
        ];
        lacks.into_iter().filter(|(lacks, _)| *lacks).map(|(_, what)| what).collect()
    }

    /// Whether a region is excluded for good.
    fn is_gone(&self, dc: DcId) -> bool {
        let Some(host) = self.hold.host() else { return false };
        let held = self.core.topology.all_partitions().find(|partition| host.holds(*partition));
        held.is_some_and(|partition| host.has_all_of(ServerId::new(dc, partition), partition))
    }
}

/// A link that an operator has cut: what is waited for, and what an operator can do.
pub(super) fn cut_by_operator() -> (String, String) {
    (
        "a link that an operator has cut".into(),
        "Run `tidemark heal`, or post to /admin/heal of both nodes.".into(),
    )
}
