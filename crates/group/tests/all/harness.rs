//! A group of three in one place.

use std::sync::Arc;
use tidemark_contract::core::{DcId, Key, PartitionId, Update, Write};
use tidemark_contract::{AskId, Protocol, Ticket, Topology};
use tidemark_group::{CopyOut, GroupConfig, Member, Message};
use tidemark_protocols::eventual::{Eventual, Reply, Request};
use tidemark_replica::{HostConfig, Now, Output, Resume, StreamItem};
use tidemark_store::disk::SimDisk;
use tidemark_store::log::Fsync;

pub(crate) const P0: PartitionId = PartitionId(0);
pub(crate) const TICK: u64 = 1_000;
pub(crate) const ELECTION: u64 = 10 * TICK;

/// A group whose messages arrive at once, unless somebody is apart.
pub(crate) type Group = Cluster<Eventual>;

/// The same, of any protocol.
pub(crate) struct Cluster<P: Protocol> {
    pub(crate) ids: Vec<u64>,
    pub(crate) disks: Vec<SimDisk>,
    pub(crate) members: Vec<Option<Member<P>>>,
    pub(crate) apart: Vec<bool>,
    pub(crate) now: u64,
    /// Copies are not brought, but kept here.
    pub(crate) keeps_copies: bool,
    pub(crate) kept: Vec<CopyOut>,
}

impl<P: Protocol<Params: Default>> Cluster<P> {
    pub(crate) fn new() -> Self {
        let mut group = Self {
            ids: vec![1, 2, 3],
            disks: (0..3).map(|_| SimDisk::new()).collect(),
            members: vec![None, None, None],
            apart: vec![false; 3],
            now: 1_000_000,
            keeps_copies: false,
            kept: Vec::new(),
        };
        (0..3).for_each(|member| group.boot(member));
        group.pass(3 * ELECTION);
        group
    }

    pub(crate) fn time(&self) -> Now {
        Now { wall: self.now, mono: self.now }
    }

    pub(crate) fn boot(&mut self, member: usize) {
        let config = GroupConfig {
            id: self.ids[member],
            founders: if self.ids[member] <= 3 { vec![1, 2, 3] } else { Vec::new() },
            tick_us: TICK,
            election_ticks: 10,
            heartbeat_ticks: 2,
            entries_bytes: 600,
            pinned_bytes: 1 << 20,
        };
        let host = HostConfig {
            dc: DcId(0),
            partitions: vec![P0],
            topology: Topology::new(2, 1),
            params: Default::default(),
            fsync: Fsync::Always,
            boot: "boot".to_string(),
            ceiling_us: 3_000_000,
            several: false,
            max_skew_us: 1_000_000,
            limit: tidemark_core::SharedLimit::default(),
            log_segment_bytes: 4 << 10,
            log_retain_bytes: 1 << 20,
            relays: false,
            snapshot_every_bytes: 2 << 10,
            new_incarnation: 70 + member as u64,
        };
        let disk = Arc::new(self.disks[member].process());
        self.members[member] = Some(Member::open(config, host, disk, self.time()).unwrap());
    }

    pub(crate) fn kill(&mut self, member: usize) {
        self.members[member] = None;
        self.disks[member].kill();
    }

    pub(crate) fn member(&mut self, member: usize) -> &mut Member<P> {
        self.members[member].as_mut().expect("it is up")
    }

    /// Ends a member's turn; what it says.
    pub(crate) fn end_turn(&mut self, member: usize) -> Vec<Message> {
        let now = self.time();
        let member = self.member(member);
        member.commit(now).unwrap();
        while let Some(task) = member.sync_job() {
            member.synced(now, task.run()).unwrap();
            member.commit(now).unwrap();
        }
        member.take_messages()
    }

    /// Brings a copy to whom it is for, in pieces of some bytes each; whether it arrives.
    fn bring(&mut self, from: usize, copy: &mut CopyOut) -> bool {
        let Some(to) = self.ids.iter().position(|id| *id == copy.to) else { return false };
        if self.apart[from] || self.apart[to] || self.members[to].is_none() {
            return false;
        }
        let Ok(number) = self.member(to).begin_copy(copy.message.clone()) else { return false };
        while let Some(piece) = copy.next_piece(200).unwrap() {
            self.member(to).copy_piece(number, &piece).unwrap();
            let said = self.end_turn(to);
            assert!(said.is_empty(), "{said:?}");
        }
        let sealed = self.member(to).seal_copy(number).unwrap().run();
        let now = self.time();
        self.member(to).copy_sealed(now, number, sealed).unwrap().is_ok()
    }

    /// Ends the turns of all, until nobody has anything to say.
    pub(crate) fn settle(&mut self) {
        loop {
            let up: Vec<usize> = (0..3).filter(|member| self.members[*member].is_some()).collect();
            for from in &up {
                for mut copy in self.member(*from).take_copies() {
                    if self.keeps_copies {
                        self.kept.push(copy);
                        continue;
                    }
                    let arrived = self.bring(*from, &mut copy);
                    self.member(*from).copy_ended(copy.to, copy.opened, arrived);
                }
            }
            let said: Vec<(usize, Message)> = up
                .iter()
                .flat_map(|from| self.end_turn(*from).into_iter().map(|said| (*from, said)))
                .collect();
            if said.is_empty() {
                return;
            }
            for (from, message) in said {
                let Some(to) = self.ids.iter().position(|id| *id == message.to) else { continue };
                if !self.apart[from] && !self.apart[to] && self.members[to].is_some() {
                    let now = self.time();
                    self.member(to).step(now, message);
                }
            }
        }
    }

    pub(crate) fn pass(&mut self, us: u64) {
        for _ in 0..us / TICK {
            self.now += TICK;
            let now = self.time();
            for member in self.members.iter_mut().flatten() {
                member.fire_timers(now);
                if let Some(job) = member.upkeep(now) {
                    member.upkept(job.run());
                }
                if let Some(job) = member.recall_job() {
                    member.recalled(now, job.run()).unwrap();
                }
            }
            self.settle();
        }
    }

    /// Those that lead, or think so.
    pub(crate) fn leaders(&self) -> Vec<usize> {
        let leads =
            |member: &usize| self.members[*member].as_ref().is_some_and(|member| member.host().is_some());
        (0..3).filter(leads).collect()
    }
}

impl Group {
    pub(crate) fn ask(&mut self, member: usize, number: u64, request: Request) {
        let now = self.time();
        let writes = matches!(request, Request::Put(..)).then_some(50);
        let ticket = Ticket { node: 0, session: 0, ask: AskId(number) };
        self.member(member).host_mut().expect("it leads").request(now, P0, ticket, request, writes);
    }

    pub(crate) fn put(&mut self, member: usize, number: u64) {
        self.put_to(member, number, &format!("k{number}"));
    }

    pub(crate) fn put_to(&mut self, member: usize, number: u64, key: &str) {
        let value = format!("v{number}");
        let update = Update::put(Write::Assign(value.as_bytes().into()));
        self.ask(member, number, Request::Put(Key::from(key), update));
    }

    /// What leaves a member now: questions answered, and what was found.
    pub(crate) fn answers(&mut self, member: usize) -> Vec<(u64, Option<String>)> {
        let now = self.time();
        let outputs = self.member(member).take_outputs(now);
        let answers = outputs.into_iter().map(|output| match output {
            Output::Reply { ticket, reply: Ok(Reply::Got(found)), .. } => {
                (ticket.ask.0, found.value.map(|value| String::from_utf8_lossy(&value).into_owned()))
            }
            Output::Reply { ticket, reply: Ok(_), .. } => (ticket.ask.0, None),
            other => panic!("{other:?}"),
        });
        answers.collect()
    }

    pub(crate) fn read(&mut self, member: usize, number: u64) -> Vec<(u64, Option<String>)> {
        self.ask(member, number, Request::Get(Key::from(format!("k{number}").as_str())));
        self.settle();
        self.answers(member)
    }

    /// The numbers of the records that a member's host streams to the other data centre after `received`.
    pub(crate) fn stream_after(&mut self, member: usize, received: u64) -> Vec<u64> {
        self.fed(member, received).into_iter().map(|(seq, _)| seq).collect()
    }

    /// The records that a member's host streams to the other data centre after `received`, and of which keys they are.
    pub(crate) fn fed(&mut self, member: usize, received: u64) -> Vec<(u64, Key)> {
        let host = self.member(member).host_mut().expect("it leads");
        let incarnation = host.incarnation();
        host.open_stream(P0, DcId(1), Resume { incarnation, received }).unwrap();
        let mut items = Vec::new();
        host.poll_stream(P0, DcId(1), usize::MAX, &mut items).unwrap();
        let records = items.into_iter().filter_map(|item| match item {
            StreamItem::Record { seq, key, .. } => Some((seq, key)),
            _ => None,
        });
        records.collect()
    }
}
