//! Processes: a host or a member of a group, its disk, its clock.

use crate::clocks::Clocks;
use crate::plan::{Layout, Plan};
use tidemark_contract::Protocol;
use tidemark_core::{DcId, Micros, PartitionId, ServerId};
use tidemark_group::Member;
use tidemark_replica::Host;
use tidemark_store::disk::SimDisk;
use tidemark_store::log::Position;

/// What runs in a process.
pub(super) enum Process<P: Protocol> {
    /// A node of its own.
    Alone(Box<Host<P>>),
    /// One of the several that are a node.
    Member(Box<Member<P>>),
}

/// One process of one data centre.
pub(super) struct Node<P: Protocol> {
    /// None while it is down.
    pub(super) process: Option<Process<P>>,
    pub(super) disk: SimDisk,
    pub(super) dc: DcId,
    pub(super) partitions: Vec<PartitionId>,
    pub(super) clocks: Clocks,
    /// The number of its last start; of a member, of the last time that it began to lead.
    pub(super) life: u64,
    /// How often it was started.
    pub(super) boots: u64,
    /// Its name in its group.
    pub(super) member: u64,
    /// In which life it leads its group, if it does.
    pub(super) leads: Option<u64>,
    /// Other members do not hear it.
    pub(super) mute: u32,
    /// It does not hear other members.
    pub(super) deaf: u32,
    /// In which life it believes each node to be; 0 if it has not heard of it. (There is one for each two.)
    pub(super) noticed: Vec<u32>,
    /// It must not start now: a fault keeps it down.
    pub(super) kept_down: u32,
    /// What each message to and from it takes longer.
    pub(super) slow_us: Micros,
    /// What it sends leaves this much later.
    pub(super) lag_us: Micros,
    /// Its disk is full on purpose.
    pub(super) full: bool,
    /// It gathers what it hears for a turn.
    pub(super) gathers: bool,
    /// A failure of its disk was injected in this life, or before it.
    pub(super) injected: bool,
    pub(super) timer_at: Option<Micros>,
    /// For which timer of its own clock that is.
    pub(super) timer_due: Micros,
    pub(super) polled: Position,
    pub(super) synced_at: Micros,
}

impl<P: Protocol> Node<P> {
    pub(super) fn all(plan: &Plan, layout: &Layout) -> Vec<Self> {
        let nodes = plan.nodes(&layout.topology);
        let mut all: Vec<Self> = (0..nodes * plan.replicas)
            .map(|process| Self {
                process: None,
                disk: SimDisk::new(),
                dc: DcId(0),
                partitions: Vec::new(),
                clocks: Clocks::new(plan.clock_of(process)),
                life: 0,
                boots: 0,
                member: (process % plan.replicas) as u64 + 1,
                leads: None,
                mute: 0,
                deaf: 0,
                noticed: vec![0; nodes],
                kept_down: 0,
                slow_us: 0,
                lag_us: 0,
                full: false,
                gathers: false,
                injected: false,
                timer_at: None,
                timer_due: 0,
                polled: Position::START,
                synced_at: 0,
            })
            .collect();
        for dc in layout.topology.all_dcs() {
            for partition in layout.topology.all_partitions() {
                let first = plan.node_of(&layout.topology, ServerId::new(dc, partition)) * plan.replicas;
                for node in &mut all[first..first + plan.replicas] {
                    node.dc = dc;
                    node.partitions.push(partition);
                }
            }
        }
        all
    }

    /// Whether the timer that is planned, if one is, is planned for `now`: not one that an earlier one has replaced.
    pub(super) fn timer_is_due(&self, now: Micros) -> bool {
        self.timer_at == Some(now)
    }

    /// The host, if this process is up and leads its node, or thinks so.
    pub(super) fn host(&self) -> Option<&Host<P>> {
        match self.process.as_ref()? {
            Process::Alone(host) => Some(host),
            Process::Member(member) => member.host(),
        }
    }

    pub(super) fn host_mut(&mut self) -> Option<&mut Host<P>> {
        match self.process.as_mut()? {
            Process::Alone(host) => Some(host),
            Process::Member(member) => member.host_mut(),
        }
    }

    pub(super) fn servers(&self) -> impl Iterator<Item = ServerId> + use<'_, P> {
        self.partitions.iter().map(|partition| ServerId::new(self.dc, *partition))
    }
}
