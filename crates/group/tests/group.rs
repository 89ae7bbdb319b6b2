//! Three members on simulated disks: who leads, what leaves, what survives.

use std::sync::Arc;
use tidemark_contract::core::{DcId, Key, PartitionId, Update, Write};
use tidemark_contract::{AskId, Ticket, Topology};
use tidemark_group::{GroupConfig, Member, Message, Rule};
use tidemark_protocols::eventual::{Eventual, Reply, Request};
use tidemark_replica::{FeedItem, HostConfig, Now, Output, Resume};
use tidemark_store::disk::SimDisk;
use tidemark_store::log::Fsync;

const P0: PartitionId = PartitionId(0);
const TICK: u64 = 1_000;
const ELECTION: u64 = 10 * TICK;

/// A group whose messages arrive at once, unless somebody is apart.
struct Group {
    disks: Vec<SimDisk>,
    members: Vec<Option<Member<Eventual>>>,
    apart: Vec<bool>,
    broken: Option<Rule>,
    now: u64,
}

impl Group {
    fn new(broken: Option<Rule>) -> Self {
        let mut group = Self {
            disks: (0..3).map(|_| SimDisk::new()).collect(),
            members: vec![None, None, None],
            apart: vec![false; 3],
            broken,
            now: 1_000_000,
        };
        (0..3).for_each(|member| group.boot(member));
        group.pass(3 * ELECTION);
        group
    }

    fn time(&self) -> Now {
        Now { wall: self.now, mono: self.now }
    }

    fn boot(&mut self, member: usize) {
        let config = GroupConfig {
            id: member as u64 + 1,
            founders: vec![1, 2, 3],
            tick_us: TICK,
            election_ticks: 10,
            heartbeat_ticks: 2,
            entries_bytes: 600,
            broken: self.broken,
        };
        let host = HostConfig {
            dc: DcId(0),
            partitions: vec![P0],
            topology: Topology::new(2, 1),
            params: Default::default(),
            fsync: Fsync::Always,
            max_skew_us: 1_000_000,
            log_segment_bytes: 4 << 10,
            log_retain_bytes: 1 << 20,
            snapshot_every_bytes: 2 << 10,
            new_incarnation: 70 + member as u64,
        };
        let disk = Arc::new(self.disks[member].process());
        self.members[member] = Some(Member::open(config, host, disk, self.time()).unwrap());
    }

    fn kill(&mut self, member: usize) {
        self.members[member] = None;
        self.disks[member].kill();
    }

    fn member(&mut self, member: usize) -> &mut Member<Eventual> {
        self.members[member].as_mut().expect("it is up")
    }

    /// Ends a member's turn; what it says.
    fn end_turn(&mut self, member: usize) -> Vec<Message> {
        let now = self.time();
        let member = self.member(member);
        member.commit(now).unwrap();
        while let Some(task) = member.sync_job() {
            member.synced(task.run()).unwrap();
            member.commit(now).unwrap();
        }
        member.take_messages()
    }

    /// Ends the turns of all, until nobody has anything to say.
    fn settle(&mut self) {
        loop {
            let up: Vec<usize> = (0..3).filter(|member| self.members[*member].is_some()).collect();
            let said: Vec<(usize, Message)> = up
                .iter()
                .flat_map(|from| self.end_turn(*from).into_iter().map(|said| (*from, said)))
                .collect();
            if said.is_empty() {
                return;
            }
            for (from, message) in said {
                let to = message.to as usize - 1;
                if !self.apart[from] && !self.apart[to] && self.members[to].is_some() {
                    let now = self.time();
                    self.member(to).step(now, message);
                }
            }
        }
    }

    fn pass(&mut self, us: u64) {
        for _ in 0..us / TICK {
            self.now += TICK;
            let now = self.time();
            for member in self.members.iter_mut().flatten() {
                member.fire_timers(now);
                if let Some(job) = member.upkeep(now).unwrap() {
                    member.upkept(job.run());
                }
            }
            self.settle();
        }
    }

    /// Those that lead, or think so.
    fn leaders(&self) -> Vec<usize> {
        let leads =
            |member: &usize| self.members[*member].as_ref().is_some_and(|member| member.host().is_some());
        (0..3).filter(leads).collect()
    }

    fn ask(&mut self, member: usize, number: u64, request: Request) {
        let now = self.time();
        let writes = matches!(request, Request::Put(..)).then_some(50);
        let ticket = Ticket { node: 0, session: 0, ask: AskId(number) };
        self.member(member).host_mut().expect("it leads").request(now, P0, ticket, request, writes);
    }

    fn put(&mut self, member: usize, number: u64) {
        let value = format!("v{number}");
        let update = Update::put(Write::Assign(value.as_bytes().into()));
        self.ask(member, number, Request::Put(Key::from(format!("k{number}").as_str()), update));
    }

    /// What leaves a member now: questions answered, and what was found.
    fn answers(&mut self, member: usize) -> Vec<(u64, Option<String>)> {
        let now = self.time();
        let outputs = self.member(member).take_outputs(now);
        let answers = outputs.into_iter().map(|output| match output {
            Output::Reply { ticket, reply: Reply::Got(found), .. } => {
                (ticket.ask.0, found.value.map(|value| String::from_utf8_lossy(&value).into_owned()))
            }
            Output::Reply { ticket, .. } => (ticket.ask.0, None),
            other => panic!("{other:?}"),
        });
        answers.collect()
    }

    fn read(&mut self, member: usize, number: u64) -> Vec<(u64, Option<String>)> {
        self.ask(member, number, Request::Get(Key::from(format!("k{number}").as_str())));
        self.settle();
        self.answers(member)
    }

    /// The numbers of the records that a member's host feeds to the other data centre after `received`.
    fn feed_after(&mut self, member: usize, received: u64) -> Vec<u64> {
        let host = self.member(member).host_mut().expect("it leads");
        let incarnation = host.incarnation();
        host.open_feed(P0, DcId(1), Resume { incarnation, received }).unwrap();
        let mut items = Vec::new();
        host.poll_feed(P0, DcId(1), usize::MAX, &mut items).unwrap();
        let records = items.iter().filter_map(|item| match item {
            FeedItem::Record { seq, .. } => Some(*seq),
            _ => None,
        });
        records.collect()
    }
}

#[test]
fn one_leads_and_answers_once_most_have_what_was_written() {
    let mut group = Group::new(None);
    assert_eq!(group.leaders(), [0], "who waits least is elected");
    group.put(0, 1);
    let now = group.time();
    group.member(0).commit(now).unwrap();
    assert_eq!(group.answers(0), [], "nobody else has it");
    group.settle();
    assert_eq!(group.answers(0), [(1, None)]);
}

#[test]
fn a_new_leader_has_what_was_acknowledged_and_goes_on_with_the_numbers() {
    let mut group = Group::new(None);
    (1..=5).for_each(|number| group.put(0, number));
    group.settle();
    assert_eq!(group.answers(0).len(), 5);
    let (life, name) = group.member(0).host().map(|host| (host.life(), host.incarnation())).unwrap();
    group.kill(0);
    group.pass(4 * ELECTION);
    let leader = group.leaders()[0];
    let host = group.member(leader).host().unwrap();
    assert!(host.life() > life);
    assert_eq!((host.incarnation(), host.written(P0)), (name, 5));
    assert_eq!(group.read(leader, 3), [(3, Some("v3".into()))]);
    group.put(leader, 6);
    group.settle();
    assert_eq!(group.feed_after(leader, 2), [3, 4, 5, 6]);
}

#[test]
fn without_most_of_the_group_nothing_is_acknowledged_and_later_all_of_it_is() {
    let mut group = Group::new(None);
    group.kill(1);
    group.kill(2);
    group.put(0, 1);
    group.settle();
    assert_eq!(group.answers(0), []);
    group.boot(1);
    group.pass(2 * TICK);
    assert_eq!(group.answers(0), [(1, None)], "the leader has not changed meanwhile");
}

/// Who leads no more answers nothing, and what nobody else had is gone when it comes back: from its memory, and from what
/// it would feed if it led again.
#[test]
fn a_leader_that_is_replaced_forgets_what_was_not_agreed_on() {
    let mut group = Group::new(None);
    group.put(0, 1);
    group.settle();
    group.answers(0);
    group.apart[0] = true;
    group.put(0, 2);
    group.settle();
    group.pass(6 * ELECTION);
    assert_eq!(group.answers(0), []);
    let leader = group.leaders()[0];
    assert_ne!(leader, 0);
    group.put(leader, 3);
    group.settle();
    assert_eq!(group.answers(leader), [(3, None)]);
    group.apart[0] = false;
    group.pass(4 * ELECTION);
    // Now the first one leads again.
    group.apart = vec![false, leader == 1, leader == 2];
    let other = 3 - leader;
    group.kill(other);
    group.boot(other);
    group.apart[leader] = true;
    group.pass(8 * ELECTION);
    group.apart[leader] = false;
    group.pass(4 * ELECTION);
    let leader = group.leaders()[0];
    assert_eq!(leader, 0, "who waits least");
    assert_eq!(group.read(0, 2), [(2, None)]);
    assert_eq!(group.read(0, 3), [(3, Some("v3".into()))]);
    assert_eq!(group.feed_after(0, 0), [1, 2], "two records were agreed on");
    let first = group.member(0).store(P0).chain(b"k3").next().map(|version| version.stamp);
    assert!(first.is_some());
}

/// What a leader reads when it cannot know whether it still leads. Returns what leaves.
fn read_apart(broken: Option<Rule>) -> Vec<(u64, Option<String>)> {
    let mut group = Group::new(broken);
    group.apart[0] = true;
    group.pass(ELECTION - TICK);
    assert_eq!(group.leaders(), [0], "nobody else leads yet, and it thinks it does");
    group.read(0, 1)
}

#[test]
fn a_leader_that_is_apart_lets_nothing_out_when_its_lease_has_ended() {
    assert_eq!(read_apart(None), []);
    assert_eq!(read_apart(Some(Rule::Lease)), [(1, None)], "it is the lease that keeps it back");
}

/// A member that has just answered its leader is killed and starts again, while another that has not heard the leader for
/// `ticks` stands for election sooner or later. Whether that one leads while the first still answers.
fn two_lead(broken: Option<Rule>, ticks: u64) -> bool {
    let mut group = Group::new(broken);
    group.apart[2] = true;
    group.pass(ticks * TICK);
    group.kill(1);
    group.boot(1);
    group.apart = vec![true, false, false];
    for number in 0..10 {
        group.pass(TICK);
        if group.leaders() == [0, 2] && !group.read(0, number).is_empty() {
            return true;
        }
    }
    false
}

#[test]
fn a_member_that_starts_keeps_what_it_may_have_promised_before() {
    assert!(!(10..20).any(|ticks| two_lead(None, ticks)));
    assert!((10..20).any(|ticks| two_lead(Some(Rule::Silence), ticks)), "it is the silence that prevents it");
}

/// How often member 1 votes in one term, if it is killed between two candidates.
fn votes(broken: Option<Rule>) -> usize {
    let mut group = Group::new(broken);
    group.pass(2 * ELECTION);
    (0..3).for_each(|member| group.kill(member));
    let mut given = 0;
    for candidate in [2, 3] {
        group.boot(0);
        group.now += 3 * ELECTION; // its silence ends
        let mut ask = Message::default();
        ask.set_msg_type(tidemark_group::MessageType::MsgRequestVote);
        (ask.from, ask.to, ask.term, ask.index, ask.log_term) = (candidate, 1, 50, 1_000, 49);
        let now = group.time();
        group.member(0).step(now, ask);
        let said = group.end_turn(0);
        given += said.iter().filter(|said| said.to == candidate && !said.reject && said.term == 50).count();
        group.kill(0);
    }
    given
}

#[test]
fn a_vote_outlives_the_member() {
    assert_eq!(votes(None), 1);
    assert_eq!(votes(Some(Rule::Votes)), 2);
}

/// Who was away for longer than its leader remembers gets a copy, and could lead with it: even what another data centre has
/// not received yet is in its log.
#[test]
fn who_was_away_for_long_gets_a_copy_and_can_feed_from_it() {
    let mut group = Group::new(None);
    group.kill(2);
    for number in 1..=60 {
        group.put(0, number);
        group.settle();
    }
    assert_eq!(group.answers(0).len(), 60);
    group.pass(2 * ELECTION); // a snapshot is taken
    group.boot(2);
    group.pass(8 * ELECTION);
    let applied = group.member(0).state().applied;
    assert_eq!(group.member(2).state().applied, applied);
    assert_eq!(group.member(2).store(P0).chain(b"k17").count(), 1);
    // The two others go; the third leads with the one that was killed, which has everything too.
    group.put(0, 61);
    group.settle();
    group.kill(0);
    group.pass(6 * ELECTION);
    if group.leaders() != [2] {
        // The second was elected: it makes room.
        group.boot(0);
        group.pass(3 * ELECTION);
        group.apart = vec![false, true, false];
        group.kill(0);
        group.boot(0);
        group.pass(8 * ELECTION);
        group.apart[1] = false;
    }
    let leader = group.leaders()[0];
    let fed = group.feed_after(leader, 20);
    assert_eq!(fed, (21..=61).collect::<Vec<u64>>(), "led by {leader}");
}

/// A copy is all that a member has of what was agreed on before it; it survives a restart with it.
#[test]
fn a_copy_survives_a_restart() {
    let mut group = Group::new(None);
    group.kill(2);
    for number in 1..=60 {
        group.put(0, number);
        group.settle();
    }
    group.pass(2 * ELECTION);
    group.boot(2);
    group.pass(8 * ELECTION);
    let before = group.member(2).state().clone();
    group.kill(2);
    group.boot(2);
    let after = group.member(2).state().clone();
    assert!(after.applied > 40 && after.applied <= before.applied, "{after:?} after {before:?}");
    assert_eq!(group.member(2).store(P0).chain(b"k17").count(), 1);
    group.pass(2 * ELECTION);
    let applied = group.member(0).state().applied;
    assert_eq!(group.member(2).state().applied, applied);
}
