//! A schedule as data: everything that a seed decides before anything runs.
//!
//! What sessions do and when, what fails and when, which messages are held: all of it is drawn up front and
//! then only played. So a schedule can be shrunk by taking things out of it, and what is left happens as it
//! did before: delays depend on the channel and the time of sending, not on how often chance was asked.

use crate::grouping::GroupsChange;
use crate::options::{FaultKind, Options};
use crate::rng::{Draw, Stream, mix, stream};
use tidemark_contract::Topology;
use tidemark_contract::info::Transactions;
use tidemark_core::{DcId, Guarantees, Micros, Op, PartitionId, ServerId};
use tidemark_node::PartSizes;
use tidemark_node::cuts::Place;

pub(crate) mod asking;
mod config;
pub(crate) mod dated;
pub(crate) mod edge;
mod faults;
pub(crate) mod interactive;
mod layout;
mod motifs;
mod nodes;
mod placing;
mod power;
pub(crate) mod quiet;
mod scenes;
mod torn;
pub(crate) mod typed;
mod workload;

pub(crate) use config::{ClockPlan, Config, Mix};
pub use edge::{EdgeAct, EdgePlan, EdgeStep};
pub use layout::Layout;
pub use nodes::{Damage, Handshake};
pub use power::Moment;

/// One schedule.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it was drawn from.
    pub seed: u64,
    /// How many processes each node is: one, or a group that holds the same.
    pub replicas: usize,
    /// The unit of time of groups; none: as short as delays allow, so that schedules have many elections.
    pub tick_us: Option<Micros>,
    /// The sessions at a node share one past.
    pub pools: bool,
    /// Some operations are commands of data types.
    pub typed: bool,
    /// Records may come through a third region.
    pub relays: bool,
    /// The numbers.
    pub config: Config,
    /// What each session does; session `i` starts in data centre `i % dcs`.
    pub scripts: Vec<Vec<Step>>,
    /// What fails.
    pub faults: Vec<Fault>,
    /// Which messages are held.
    pub holds: Vec<Hold>,
    /// Edge clients.
    pub edge: Vec<EdgePlan>,
    /// When the last step is due.
    pub end_us: Micros,
}

/// One step of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Not before this time, and not before the step before it has ended.
    pub at: Micros,
    /// What is done.
    pub act: Act,
    /// What it asks for.
    pub asks: Guarantees,
}

impl Step {
    /// A step that asks for everything.
    pub fn new(at: Micros, act: Act) -> Self {
        Self { at, act, asks: Guarantees::ALL }
    }
}

/// What a session does.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// An operation.
    Op(Op),
    /// An interactive transaction begins: operations up to the commit are done in it.
    /// At 0 in the newest snapshot of all, else in the newest that so many regions have whole: then it only reads.
    Begin {
        /// How many.
        regions: u8,
    },
    /// It commits; if so, only if nothing has changed that it has read.
    Commit {
        /// If so.
        check: bool,
    },
    /// It takes over the past of another session, by number.
    Adopt(usize),
    /// Its user goes on where another session left off, and the region is not told: nothing waits, nothing is refused.
    Move(usize),
}

/// Something that fails from one time to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// When it begins.
    pub at: Micros,
    /// When it is over. Jumps are over at once.
    pub until: Micros,
    /// What it is.
    pub what: Trouble,
}

/// What can fail.
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    /// Nothing of `partitions` (all if none) passes from one data centre to another.
    Cut {
        /// From here.
        from: DcId,
        /// To there.
        to: DcId,
        /// Only this partition's servers.
        partition: Option<PartitionId>,
        /// Not even in the other direction.
        both_ways: bool,
    },
    /// Nothing passes between two servers of one data centre.
    CutSiblings {
        /// One of them.
        from: ServerId,
        /// The other.
        to: ServerId,
        /// Not even in the other direction.
        both_ways: bool,
    },
    /// What is fed from one data centre to another takes this much longer.
    SlowLink {
        /// From here.
        from: DcId,
        /// To there.
        to: DcId,
        /// The additional delay.
        extra_us: Micros,
    },
    /// Everything to and from the node takes this much longer.
    SlowNode {
        /// Its number.
        node: usize,
        /// The additional delay.
        extra_us: Micros,
    },
    /// The clock of a node jumps.
    Jump {
        /// Its number.
        node: usize,
        /// How far, either way.
        by_us: i64,
    },
    /// The node is down.
    Crash {
        /// Its number.
        node: usize,
        /// Its power fails: what was not synced is at the mercy of the disk.
        power: bool,
    },
    /// A write or sync of the node's disk fails, after some that go well; the node stops, and is started again.
    DiskFails {
        /// Its number.
        node: usize,
        /// A sync; else a write.
        sync: bool,
        /// How many go well before.
        skip: u64,
    },
    /// Power fails of several processes at once, at a moment of the first of them; each is started again a while later.
    LosesPower {
        /// Their numbers.
        processes: Vec<usize>,
        /// The moment.
        moment: Moment,
        /// How many such moments pass before.
        skip: u32,
        /// Decides how long each is down.
        chance: u64,
    },
    /// No sync of a process ends.
    SyncStalls {
        /// Its number.
        process: usize,
    },
    /// The operator does without a data centre, and takes it back in the end.
    Away {
        /// Which.
        dc: DcId,
    },
    /// A data centre is lost for good, with all its processes and disks; when this ends, the operator excludes it.
    Lost {
        /// Which.
        dc: DcId,
    },
    /// A process loses its disk for good, and another one takes its place in the group.
    LosesDisk {
        /// Its number.
        process: usize,
    },
    /// A process does not speak to the others of its group, or does not hear them; everybody else reaches it.
    Apart {
        /// Its number.
        process: usize,
        /// It is not heard.
        mute: bool,
        /// It does not hear.
        deaf: bool,
    },
    /// The node's disk is full.
    DiskFull {
        /// Its number.
        node: usize,
    },
    /// An operator orders a change of groups.
    Regroups(GroupsChange),
    /// An operator cuts what passes from one place to another, and heals it in the end.
    OperatorCuts {
        /// From here.
        from: Place,
        /// To there.
        to: Place,
        /// Decides which nodes hear of it, and when.
        chance: u64,
    },
    /// Connections to and from a process have trouble while they are made.
    Handshakes {
        /// Its number.
        process: usize,
        /// Which trouble.
        how: Handshake,
    },
    /// Bytes to and from a process are damaged.
    Damage {
        /// Its number.
        process: usize,
        /// How.
        how: Damage,
        /// One of so many pieces of what is sent.
        one_in: u64,
    },
    /// A client exports its token when this begins, or once its operation has ended. When it ends, its connection breaks, and it
    /// comes back with the last token that it got.
    HangsUp {
        /// Its number.
        client: usize,
        /// Where it comes back.
        dc: DcId,
        /// To which node there, counted from the one that was its own.
        node: usize,
    },
}

/// Messages sent in a span of time that are delivered only after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Hold {
    /// Which.
    pub what: Held,
    /// Sent at or after this.
    pub at: Micros,
    /// Sent before this, and delivered after it.
    pub until: Micros,
}

/// Which messages are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// What a server feeds to its peer in another data centre.
    Stream(ServerId, DcId),
    /// What a server says to a sibling.
    Siblings(ServerId, ServerId),
    /// What a server says to a sibling because a session asked it something. Where sessions themselves ask several
    /// servers, at once or one after the other: what they ask the second.
    Asked(ServerId, ServerId),
}

impl Plan {
    /// Draws the schedule of a seed.
    pub fn draw(seed: u64, options: &Options, layout: &Layout) -> Self {
        let mut rng = stream(seed, Stream::Config);
        // Each schedule has its own selection of troubles: those with many hide what those with few show.
        let on = |rng: &mut crate::rng::Rng, kind: FaultKind| {
            let drawn = rng.chance(40);
            drawn && options.faults.has(kind)
        };
        let selected: Vec<bool> = FaultKind::first().map(|kind| on(&mut rng, kind)).collect();
        let selected = |kind: FaultKind| selected[kind as usize];
        let config = Config::draw(&mut rng, options, selected);
        let mut plan = Self {
            seed,
            replicas: options.replicas,
            tick_us: None,
            pools: options.pools,
            typed: options.commands() > 0,
            relays: options.relays || options.exclusions && layout.excludes_for_good,
            scripts: vec![Vec::new(); options.sessions],
            faults: Vec::new(),
            holds: Vec::new(),
            edge: Vec::new(),
            end_us: 0,
            config,
        };
        // Half of those with write transactions, whose versions have one time.
        plan.config.pieces = layout.transactions >= Transactions::Writes && mix(seed, 23).is_multiple_of(2);
        if options.large {
            plan.config.segment_bytes = 512 << (mix(seed, 29) % 3);
            plan.config.parts = PartSizes { above: 48, bytes: 40 };
        }
        workload::compose(&mut plan, options, layout, selected);
        if layout.guarantees {
            asking::draw(&mut plan);
        }
        faults::draw(&mut plan, layout, selected);
        match layout.excludes_for_good {
            _ if !options.exclusions => {}
            true => faults::draw_loss(&mut plan, layout),
            false => faults::draw_exclusion(&mut plan, layout),
        }
        if options.replicas > 1 {
            faults::draw_in_groups(&mut plan, layout, selected);
        }
        // Nodes have found each other before anything happens.
        plan.begin_later(3 * plan.config.farthest_us());
        nodes::draw(&mut plan, options, layout);
        if options.reads_at_a_time {
            dated::draw(&mut plan);
        }
        typed::draw(&mut plan, options.commands(), layout);
        interactive::draw(&mut plan, options);
        edge::draw(&mut plan, options, layout);
        power::draw(&mut plan, layout, options);
        plan
    }

    /// Which data centre is to be lost, if one is.
    pub(crate) fn loses(&self) -> Option<DcId> {
        self.faults.iter().find_map(|fault| match fault.what {
            Trouble::Lost { dc } => Some(dc),
            _ => None,
        })
    }

    /// How many steps sessions take.
    pub fn steps(&self) -> usize {
        self.scripts.iter().map(Vec::len).sum()
    }

    /// The number of the node that hosts a server.
    #[inline]
    pub fn node_of(&self, topology: &Topology, server: ServerId) -> usize {
        let a_dc = topology.partitions.div_ceil(self.config.partitions_a_node);
        server.dc.index() * a_dc + server.partition.index() / self.config.partitions_a_node
    }

    /// The clock of a process: the first of each node has the node's, the others those of other nodes.
    pub fn clock_of(&self, process: usize) -> ClockPlan {
        let (node, replica) = (process / self.replicas, process % self.replicas);
        self.config.clocks[(node + replica) % self.config.clocks.len()]
    }

    /// The unit of time of a group whose members elect a leader.
    pub(crate) fn tick_us(&self) -> Micros {
        if let Some(tick_us) = self.tick_us {
            return tick_us;
        }
        let Config { lan_us, lan_jitter_us, sync_us, .. } = self.config;
        (2 * (lan_us + lan_jitter_us) + sync_us).max(self.config.farthest_us() / 20)
    }

    /// What a process is called: `n2`, or as one of a group `n2r1`.
    pub(crate) fn name_of(&self, process: usize) -> String {
        match self.replicas {
            1 => format!("n{process}"),
            replicas => format!("n{}r{}", process / replicas, process % replicas),
        }
    }

    /// How many nodes there are.
    pub fn nodes(&self, topology: &Topology) -> usize {
        topology.dcs * topology.partitions.div_ceil(self.config.partitions_a_node)
    }
}
