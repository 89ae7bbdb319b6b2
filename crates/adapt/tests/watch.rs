//! What nodes see of sessions, and which group they give them.

use tidemark_adapt::{Choices, Footprint, UseReport, VisitReport, Watch};
use tidemark_contract::Members;
use tidemark_core::{CheckingGroup, DcId, PartitionId, ServerId};

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
    session.reads_at(at(0), 0, &mut watch);
    assert_eq!(given(&mut session, &groups), Some(1));
    session.reads_at(at(1), 1, &mut watch);
    assert_eq!(given(&mut session, &groups), Some(3), "the first of two");
    session.reads_at(at(3), 2, &mut watch);
    assert_eq!(given(&mut session, &groups), None, "there is none for these");
}

#[test]
fn where_it_has_not_been_for_two_seconds_counts_no_more() {
    let (mut watch, mut session) = (Watch::default(), Footprint::default());
    let groups = choices(&[&[0], &[1], &[0, 1]]);
    session.reads_at(at(0), 0, &mut watch);
    session.reads_at(at(1), SECOND / 2, &mut watch);
    session.reads_at(at(1), 3 * SECOND / 2, &mut watch);
    assert_eq!(given(&mut session, &groups), Some(2));
    session.reads_at(at(1), 5 * SECOND / 2, &mut watch);
    assert_eq!(given(&mut session, &groups), Some(1));
    session.reads_at(at(0), 60 * SECOND, &mut watch);
    assert_eq!(given(&mut session, &groups), Some(0), "it was away for long");
}

#[test]
fn it_is_given_another_group_once_there_is_one() {
    let (mut watch, mut session) = (Watch::default(), Footprint::default());
    let mut groups = choices(&[&[0, 1]]);
    session.reads_at(at(0), 0, &mut watch);
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
        one.reads_at(at(0), time, &mut watch);
        one.reads_at(at(1), time, &mut watch);
        one.waited(30, &mut watch);
        other.reads_at(at(0), time, &mut watch);
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
fn who_reads_everywhere_is_left_to_the_servers_and_sets_are_forgotten() {
    let mut watch = Watch::default();
    let mut restless = Footprint::default();
    (0..40).for_each(|n| restless.reads_at(at(n), u64::from(n), &mut watch));
    let all: Vec<u16> = (0..40).collect();
    assert_eq!(given(&mut restless, &choices(&[&all])), None);
    assert_eq!(watch.report().len(), 8, "sets of one to eight");
    // Others keep their counts however many come.
    let mut steady = Footprint::default();
    for n in 0..1_000 {
        steady.reads_at(at(0), u64::from(n), &mut watch);
        Footprint::default().reads_at(at(100 + n), u64::from(n), &mut watch);
    }
    let report = watch.report();
    assert_eq!(report.len(), 128);
    let of_steady = report.iter().find(|of| of.servers[..] == [at(0)]).unwrap();
    assert_eq!(of_steady.visits[0].reads, 1_001, "and one of the restless");
}
