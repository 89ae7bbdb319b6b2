use super::*;
use crate::AskId;
use bytes::Bytes;
use tidemark_core::{DcId, Key, Write};

/// One server of the data centre: what it is in memory, and what a crash leaves of it.
struct Server {
    now: TwoPhase<u64, ()>,
    durable: Undone<u64>,
    life: u64,
    clock: u64,
    applied: Vec<(Hlc, Key)>,
}

/// Three partitions, and what is in flight between them.
struct Cluster {
    servers: Vec<Server>,
    flying: Vec<(ServerId, ServerId, Commit<u64>)>,
    decided: Vec<Result<Stamp, Failure>>,
    topology: Topology,
    now: Micros,
    /// Transactions watch what they write.
    watches: bool,
}

fn id(partition: u16) -> ServerId {
    ServerId::new(DcId(0), PartitionId(partition))
}

fn ticket(session: u64) -> Ticket {
    Ticket { node: 0, session, ask: AskId(0) }
}

impl Cluster {
    fn new() -> Self {
        let server = |n: u16| Server {
            now: TwoPhase::new(id(n), 1, Undone::default()),
            durable: Undone::default(),
            life: 1,
            clock: 10 * u64::from(n),
            applied: Vec::new(),
        };
        let topology = Topology::new(1, 3);
        Self {
            servers: (0..3).map(server).collect(),
            flying: Vec::new(),
            decided: Vec::new(),
            topology,
            now: 0,
            watches: false,
        }
    }

    /// A key of each partition.
    fn writes(&self) -> Writes {
        let key = |n: u16| {
            let mut names = (0..).map(|i| Key::from(format!("k{i}").as_str()));
            let key = names.find(|key| self.topology.partition_of(key) == PartitionId(n));
            (key.expect("some name hashes there"), Write::Remove)
        };
        (0..3).map(key).collect()
    }

    /// An event at a server: what it changed is durable before what it said leaves.
    fn at(&mut self, n: u16, event: impl FnOnce(&mut Server) -> Option<Turn<u64>>) {
        let now = self.now;
        let server = &mut self.servers[n as usize];
        match event(server) {
            Some(Turn::Prepare(tx, snap, writes, _)) => {
                server.clock += 1;
                server.now.propose(tx, (Hlc(server.clock), ()), snap, writes, now);
            }
            Some(Turn::Decided(_, _, decision)) => self.decided.push(decision.map(|decided| decided.stamp)),
            Some(Turn::Again(tx, _)) => server.now.applied(tx),
            Some(Turn::Look(tx, ct)) => {
                let there = server.now.prepared(tx).map(|_| ());
                server.now.looked(tx, ct, there.ok_or(Failure::Refused(String::new())));
            }
            Some(Turn::Learnt | Turn::Applied(_) | Turn::Seen(..)) | None => {}
        }
        while let Some(transaction) = server.now.next(Hlc(u64::MAX)) {
            let at = transaction.time;
            server.applied.extend(transaction.writes.into_iter().map(|(key, _)| (at, key)));
        }
        if std::mem::take(&mut server.now.unsaved) {
            server.durable = server.now.undone();
        }
        let said = std::mem::take(&mut server.now.said);
        self.flying
            .extend(said.into_iter().map(|(to, message)| (id(n), ServerId::new(DcId(0), to), message)));
    }

    fn begin(&mut self, at: u16) {
        let (writes, topology) = (self.writes(), self.topology.clone());
        let mark = |(key, _): &(Key, Write)| (key.clone(), Bytes::new());
        let watched = writes.iter().filter(|_| self.watches).map(mark).collect();
        self.at(at, |server| {
            let times = Times { from: Hlc::ZERO, until: NEVER, deadline: u64::MAX };
            let part = Part { writes, watched, ..Part::default() };
            server.now.begin_watching(ticket(0), part, 7, times, &topology);
            None
        });
    }

    fn deliver(&mut self, place: usize) {
        let (from, to, message) = self.flying.remove(place);
        let now = self.now;
        self.at(to.partition.0, |server| server.now.on_message(from, message, now));
    }

    fn deliver_all(&mut self) {
        while !self.flying.is_empty() {
            self.deliver(0);
        }
    }

    /// The server starts again from what is durable; the others notice.
    fn crash(&mut self, n: u16) {
        let server = &mut self.servers[n as usize];
        server.life += 1;
        server.now = TwoPhase::new(id(n), server.life, server.durable.clone());
        let now = self.now;
        for other in (0..3).filter(|other| *other != n) {
            self.at(other, |server| {
                server.now.reset(id(n), now);
                None
            });
        }
    }

    /// Later, the server looks after what it does not know.
    fn tend(&mut self, n: u16) {
        self.now += DOUBT_US;
        let now = self.now;
        self.at(n, |server| {
            server.now.tend(now);
            None
        });
    }
}

#[test]
fn the_latest_proposal_is_the_commit_time_of_all() {
    let mut cluster = Cluster::new();
    cluster.begin(1);
    cluster.deliver_all();
    let stamp = Stamp { ts: Hlc(21), origin: DcId(0), seq: 2 };
    assert_eq!(cluster.decided, [Ok(stamp)]);
    for (server, (key, _)) in cluster.servers.iter().zip(cluster.writes()) {
        assert_eq!(server.applied, [(Hlc(21), key)]);
        assert_eq!((server.now.unfinished(), &server.durable.prepared), (0, &Vec::new()));
    }
}

#[test]
fn commit_times_of_one_coordinator_strictly_increase_across_its_lives() {
    let mut cluster = Cluster::new();
    for _ in 0..3 {
        cluster.begin(0);
        cluster.deliver_all();
        cluster.servers[2].clock -= 1; // it proposes the same time again
        cluster.crash(0);
    }
    let times: Vec<_> = cluster.decided.iter().map(|decision| decision.as_ref().unwrap().ts.0).collect();
    assert_eq!(times, [21, 22, 23]);
}

#[test]
fn who_refuses_aborts_it_for_all() {
    let mut cluster = Cluster::new();
    cluster.begin(0);
    let place = cluster.flying.iter().position(|(_, to, _)| *to == id(2)).unwrap();
    let (_, _, Commit::Prepare(number, ..)) = cluster.flying.remove(place) else {
        panic!("it is to prepare")
    };
    cluster.at(2, |server| {
        server.now.refuse(Tx(PartitionId(0), number), given_up());
        None
    });
    cluster.deliver_all();
    assert_eq!(cluster.decided, [Err(given_up())]);
    assert!(cluster.servers.iter().all(|server| server.applied.is_empty() && server.now.unfinished() == 0));
}

#[test]
fn nothing_is_applied_while_something_may_still_commit_before_it() {
    let mut server = TwoPhase::<u64, char>::new(id(0), 1, Undone::default());
    let mut other = TwoPhase::<u64, char>::new(id(1), 1, Undone::default());
    let tx = Tx(PartitionId(1), other.gathering.open(vec![id(0)], 100, gathered()));
    server.propose(tx, (Hlc(5), ()), 0, Part::default(), 50);
    server.here(Hlc(7), 0, Vec::new(), 'h');
    assert_eq!((server.next(Hlc(9)), server.earliest()), (None, Some(Hlc(5))));
    assert!(matches!(
        server.on_message(id(1), Commit::Decision(tx.1, Some((Hlc(8), ()))), 0),
        Some(Turn::Learnt)
    ));
    assert_eq!(server.next(Hlc(6)), None, "the clock has not reached it");
    let mut next = |clock| server.next(Hlc(clock)).map(|t| (t.time.0, t.stamp(DcId(3)).seq, t.state));
    assert_eq!(next(8), Some((7, 0, State::Here('h'))));
    assert_eq!(next(7), None);
    assert_eq!(next(8), Some((8, 2, State::Commits(tx, ()))));
}

fn gathered() -> Gathered<u64, (), Ticket> {
    Gathered {
        asker: ticket(0),
        snap: 0,
        participants: vec![PartitionId(0)],
        at: Ok(Default::default()),
        looks: false,
        writes: true,
        sure: true,
        one_time: true,
        from: Hlc::ZERO,
        until: NEVER,
        deadline: 100,
    }
}

#[test]
fn a_participant_in_doubt_asks_and_has_to_wait_while_nobody_knows() {
    let mut cluster = Cluster::new();
    cluster.begin(0);
    let to_two = cluster.flying.iter().position(|(_, to, _)| *to == id(2)).unwrap();
    cluster.flying.remove(to_two); // lost
    cluster.deliver_all();
    cluster.tend(1);
    assert!(matches!(cluster.flying[..], [(_, _, Commit::Doubt(_))]));
    cluster.deliver_all();
    assert_eq!(cluster.servers[1].now.unfinished(), 1, "the coordinator still gathers");
    let told = cluster.servers[0].now.reset(id(2), 0);
    assert_eq!(told, [ticket(0)]);
    cluster.tend(1);
    cluster.deliver_all();
    assert_eq!(cluster.servers[1].now.unfinished(), 0, "aborted");
    assert_eq!(cluster.servers[1].durable.prepared, []);
}

/// Messages in any order, or lost; servers that crash at any moment: what one applies, all do, at the same time; and
/// what a client was told happened.
#[test]
fn whatever_is_lost_and_whoever_crashes_all_apply_it_or_none() {
    let (mut committed, mut aborted) = (0, 0);
    let mut random = 1_u64;
    let mut draw = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    for _ in 0..5_000 {
        let mut cluster = Cluster::new();
        cluster.watches = draw(2) == 0;
        cluster.begin(0);
        for _ in 0..draw(30) {
            match draw(10) {
                0 => cluster.crash(draw(3) as u16),
                1 => cluster.tend(draw(3) as u16),
                2 if !cluster.flying.is_empty() => drop(cluster.flying.remove(draw(cluster.flying.len()))),
                _ if !cluster.flying.is_empty() => cluster.deliver(draw(cluster.flying.len())),
                _ => {}
            }
        }
        // Whoever still gathers gives up, and everybody asks until nobody is in doubt.
        (0..3).for_each(|n| drop(cluster.servers[n as usize].now.gathering.expire(u64::MAX)));
        for _ in 0..4 {
            cluster.deliver_all();
            (0..3).for_each(|n| cluster.tend(n));
        }
        let applied: Vec<Vec<Hlc>> =
            cluster.servers.iter().map(|server| server.applied.iter().map(|(at, _)| *at).collect()).collect();
        assert!(applied.iter().all(|at| *at == applied[0] && at.len() <= 1), "{applied:?}");
        assert!(cluster.servers.iter().all(|server| server.now.unfinished() == 0));
        if let Some(Ok(stamp)) = cluster.decided.first() {
            assert_eq!(applied[0], [stamp.ts], "a client was told");
        }
        *(if applied[0].is_empty() { &mut aborted } else { &mut committed }) += 1;
    }
    assert!(committed > 500 && aborted > 500, "{committed} committed, {aborted} aborted");
}

#[test]
fn of_several_writes_of_one_key_the_last_one_counts() {
    let (topology, key) = (Topology::new(1, 1), Key::from("k"));
    let writes = vec![(key.clone(), Write::Assign((*b"v").into())), (key.clone(), Write::Remove)];
    let watched = vec![(key.clone(), Bytes::new())];
    let parts = by_partition(Part { writes, watched: watched.clone(), ..Part::default() }, &topology);
    let part = Part { writes: vec![(key, Write::Remove)], watched, ..Part::default() };
    assert_eq!(parts, BTreeMap::from([(PartitionId(0), part)]));
}

#[test]
fn who_hears_that_it_shows_commits_what_was_proposed_for_that_time_or_before() {
    let mut server = TwoPhase::<u64, ()>::new(id(0), 1, Undone::default());
    let mut other = TwoPhase::<u64, ()>::new(id(1), 1, Undone::default());
    let [one, two] = [1, 2].map(|_| Tx(PartitionId(1), other.gathering.open(vec![id(0)], 100, gathered())));
    server.propose_if_sure(one, (Hlc(5), ()), 0, Part::default(), true, 0);
    server.propose_if_sure(two, (Hlc(7), ()), 0, Part::default(), false, 0);
    assert!(!server.shows(Hlc(4)) && server.take().is_none());
    assert!(server.shows(Hlc(6)) && !server.shows(Hlc(6)));
    let applied = server.take().map(|t| (t.time, t.state));
    assert_eq!(applied, Some((Hlc(5), State::Commits(one, ()))));
    assert!(server.take().is_none(), "the other one is in doubt still");
    let again = server.on_message(id(1), Commit::Decision(one.1, Some((Hlc(5), ()))), 0);
    assert!(matches!(again, Some(Turn::Again(tx, Hlc(5))) if tx == one));
}

/// All proposals of one time, each sure: only then is the transaction decided so.
#[test]
fn a_transaction_is_sure_if_all_are_sure_of_one_time() {
    let decided = |proposals: [(u64, bool); 2]| {
        let mut server = TwoPhase::<u64, ()>::new(id(0), 1, Undone::default());
        let number = server.gathering.open(vec![id(1), id(2)], 100, gathered());
        let turns = [1, 2].map(|n| {
            let (time, sure) = proposals[usize::from(n) - 1];
            server.on_message(id(n), Commit::Prepared(number, Ok((Hlc(time), ())), sure), 0)
        });
        match turns {
            [None, Some(Turn::Decided(_, _, Ok(decided)))] => (decided.stamp.ts.0, decided.sure),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(decided([(5, true), (5, true)]), (5, true));
    assert_eq!(decided([(5, true), (5, false)]), (5, false));
    assert_eq!(decided([(5, true), (6, true)]), (6, false));
    assert_eq!(decided([(6, true), (5, true)]), (6, false));
}

#[test]
fn a_transaction_does_not_commit_after_it_may() {
    for (until, commits) in [(Hlc(5), true), (Hlc(4), false)] {
        let mut server = TwoPhase::<u64, ()>::new(id(0), 1, Undone::default());
        let number = server.gathering.open(vec![id(1)], 100, Gathered { until, ..gathered() });
        let turn = server.on_message(id(1), Commit::Prepared(number, Ok((Hlc(5), ())), true), 0);
        match turn {
            Some(Turn::Decided(_, _, Ok(decided))) => assert!(commits && decided.stamp.ts == Hlc(5)),
            Some(Turn::Decided(_, _, Err(why))) => assert!(!commits && why == too_late()),
            other => panic!("{other:?}"),
        }
    }
}
