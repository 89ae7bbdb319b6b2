//! What nodes see of sessions, and which group they give them.

use tidemark_adapt::{Choices, Footprint, UseReport, VisitReport, Watch};
use tidemark_contract::Topology;
use tidemark_contract::grouping::{CheckingGroup, Members};
use tidemark_contract::placement::Keys;
use tidemark_core::{DcId, Key, Op, PartitionId, Regions, ServerId};

const SECOND: u64 = 1_000_000;

fn at(n: u16) -> ServerId {
    ServerId::new(DcId(0), PartitionId(n))
}

fn choices(groups: &[&[u16]]) -> Choices {
    let group = |(id, servers): (u64, &&[u16])| {
        let servers = servers.iter().map(|n| at(*n)).collect();
        (CheckingGroup(id), Members { name: id.to_string(), servers })
    };
    let mut choices = Choices::default();
    choices.update((0..).zip(groups).map(group).collect());
    choices
}

fn given(footprint: &mut Footprint, choices: &Choices) -> Option<u64> {
    let given = footprint.fitting(choices);
    assert!(given.len() <= 1);
    given.first().map(|group| group.0)
}

#[test]
fn a_session_is_given_the_smallest_group_that_holds_all_it_reads_at() {
    let (mut watch, mut session) = (Watch::default(), Footprint::default());
    let groups = choices(&[&[0, 1, 2], &[0], &[1], &[0, 1], &[1, 0]]);
    assert_eq!(given(&mut session, &groups), None, "it has not read yet");
    session.asks(at(0), 0, &mut watch);
    assert_eq!(given(&mut session, &groups), Some(1));
    session.asks(at(1), 1, &mut watch);
    assert_eq!(given(&mut session, &groups), Some(3), "the first of two");
    session.asks(at(3), 2, &mut watch);
    assert_eq!(given(&mut session, &groups), None, "there is none for these");
}

#[test]
fn where_it_has_not_been_for_two_seconds_counts_no_more() {
    let (mut watch, mut session) = (Watch::default(), Footprint::default());
    let groups = choices(&[&[0], &[1], &[0, 1]]);
    session.asks(at(0), 0, &mut watch);
    session.asks(at(1), SECOND / 2, &mut watch);
    session.asks(at(1), 3 * SECOND / 2, &mut watch);
    assert_eq!(given(&mut session, &groups), Some(2));
    session.asks(at(1), 5 * SECOND / 2, &mut watch);
    assert_eq!(given(&mut session, &groups), Some(1));
    session.asks(at(0), 60 * SECOND, &mut watch);
    assert_eq!(given(&mut session, &groups), Some(0), "it was away for long");
}

#[test]
fn it_is_given_another_group_once_there_is_one() {
    let (mut watch, mut session) = (Watch::default(), Footprint::default());
    let mut groups = choices(&[&[0, 1]]);
    session.asks(at(0), 0, &mut watch);
    assert_eq!(given(&mut session, &groups), Some(0));
    let mut more = groups.groups().to_vec();
    more.push((CheckingGroup(9), Members { name: "9".into(), servers: vec![at(0)] }));
    groups.update(more);
    assert_eq!(given(&mut session, &groups), Some(9));
    groups.update(groups.groups()[..1].to_vec());
    assert_eq!(given(&mut session, &groups), Some(0));
}

#[test]
fn reads_are_counted_by_where_sessions_come_from() {
    let (mut watch, mut one, mut other) = (Watch::default(), Footprint::default(), Footprint::default());
    for time in 0..10 {
        one.asks(at(0), time, &mut watch);
        one.asks(at(1), time, &mut watch);
        one.waited(30, &mut watch);
        other.asks(at(0), time, &mut watch);
    }
    let visit = |from, to, reads, waited_us| VisitReport { from: at(from), to: at(to), reads, waited_us };
    let alone = UseReport { id: 1, servers: [at(0)].into_iter().collect(), visits: vec![visit(0, 0, 11, 0)] };
    let both = UseReport {
        id: 2,
        servers: [at(0), at(1)].into_iter().collect(),
        visits: vec![visit(0, 1, 10, 300), visit(1, 0, 9, 0)],
    };
    assert_eq!(watch.report(), [alone, both], "the first read was at one server");
    let json = serde_json::to_string(&watch.report()).unwrap();
    assert_eq!(serde_json::from_str::<Vec<UseReport>>(&json).unwrap(), watch.report());
}

#[test]
fn several_keys_at_once_are_read_at_all_of_their_servers() {
    let (mut watch, mut session) = (Watch::default(), Footprint::default());
    let groups = choices(&[&[0, 1, 2, 3], &[0, 1]]);
    let mut topology = Topology::new(2, 4);
    let key = |partition: u16| {
        let keys = (0..).map(|n: u32| Key::from(format!("k{n}").as_str()));
        keys.into_iter().find(|key| Topology::new(2, 4).partition_of(key).0 == partition).unwrap()
    };
    let several = Op::Rotx { keys: vec![key(1), key(0), key(1)] };
    let home = DcId(0);
    session.begins(&several, (home, &topology), 0, &mut watch);
    assert_eq!(given(&mut session, &groups), Some(1), "before anybody is asked");
    session.asks(at(1), 0, &mut watch);
    let reads = |watch: &Watch| {
        watch.report().iter().flat_map(|of| of.visits.clone()).map(|way| way.reads).sum::<u64>()
    };
    assert_eq!(reads(&watch), 2, "who answers for all of them does not count twice");
    session.begins(&Op::Get { key: key(0) }, (home, &topology), 1, &mut watch);
    session.asks(at(0), 1, &mut watch);
    assert_eq!(reads(&watch), 3);
    // Who knows which region reads them?
    topology.placement.rules.push((Keys::Prefix(b"eu:".to_vec()), Regions::NONE.with(DcId(1))));
    session.begins(&several, (home, &topology), 2, &mut watch);
    assert_eq!((given(&mut session, &groups), reads(&watch)), (None, 3));
    session.begins(&Op::Get { key: key(0) }, (home, &topology), 3, &mut watch);
    assert_eq!(given(&mut session, &groups), Some(1));
}

#[test]
fn who_reads_everywhere_is_left_to_the_servers_and_sets_are_forgotten() {
    let mut watch = Watch::default();
    let mut restless = Footprint::default();
    (0..40).for_each(|n| restless.asks(at(n), u64::from(n), &mut watch));
    let all: Vec<u16> = (0..40).collect();
    assert_eq!(given(&mut restless, &choices(&[&all])), None);
    assert_eq!(watch.report().len(), 8, "sets of one to eight");
    // Others keep their counts however many come.
    let mut steady = Footprint::default();
    for n in 0..1_000 {
        steady.asks(at(0), u64::from(n), &mut watch);
        Footprint::default().asks(at(100 + n), u64::from(n), &mut watch);
    }
    let report = watch.report();
    assert_eq!(report.len(), 128);
    let of_steady = report.iter().find(|of| of.servers[..] == [at(0)]).unwrap();
    assert_eq!(of_steady.visits[0].reads, 1_001, "and one of the restless");
}
