//! Rules of gateways: what clients would be told without each.

use super::*;
use tidemark_core::rule::without;
use tidemark_edge::rule::{
    LOSSES_ARE_CERTAIN, READINGS_END_WITH_CHANNELS, TIES_ARE_TOLD, VALUES_ARE_OF_THE_BASE,
};

/// The last client of a K leaves while the gateway reads for it, and another comes, for which it asks the same, or what has changed. What the
/// other one is told of a new base: before the answer that it waits for, and with it.
fn told_when_an_answer_is_of_the_channel_before(then: fn(&Ask) -> bool) -> [Option<Vec<u64>>; 2] {
    let mut region = Region::new();
    region.open(1, "a");
    region.write("a", "old");
    region.holds = |ask| matches!(ask, Ask::Read(..));
    region.pass(200_000);
    let (id, answer) = region.held.pop().expect("it reads what has changed");
    region.gateway.closed(1);
    region.holds = |_| false;
    region.open(2, "a");
    region.holds = then;
    region.write("a", "new");
    region.pass(200_000);
    region.gateway.answered(id, answer, region.now_us);
    region.settle();
    let before = region.ticked(2);
    let (id, answer) = region.held.pop().expect("it asks");
    region.gateway.answered(id, answer, region.now_us);
    region.settle();
    [before, region.ticked(2)]
}

/// The answer is of another reading. Taken for this one it would say that nothing has changed at the new base.
#[test]
fn a_channel_takes_no_answer_to_what_was_read_for_the_one_before() {
    let reads: fn(&Ask) -> bool = |ask| matches!(ask, Ask::Read(..));
    let told = told_when_an_answer_is_of_the_channel_before;
    for then in [reads, |ask| matches!(ask, Ask::Changed(..))] {
        assert_eq!(told(then), [None, Some(vec![0])]);
    }
    let mixed = without(&[READINGS_END_WITH_CHANNELS], || told(reads));
    assert_eq!(mixed[1], None, "this is what it is for");
}

/// Whether a client that is sent a value at a newer base than it has is told of the base first.
fn is_told_of_the_base() -> bool {
    let mut region = Region::new();
    region.open(1, "a");
    region.write("b", "1");
    region.pass(200_000);
    assert!(region.told(1).is_empty(), "it does not watch it");
    region.watch(1, 1, "b");
    let newer = region.base();
    match &region.told(1)[..] {
        [ToClient::Tick(tick), ToClient::Value { reference: 1, .. }] => tick.to == newer,
        [ToClient::Value { reference: 1, .. }] => false,
        other => panic!("{other:?}"),
    }
}

/// Else what the client makes of the value depends on less than the value: others could see the one and not the other.
#[test]
fn who_is_sent_a_value_is_told_of_its_base_first() {
    assert!(is_told_of_the_base());
    assert!(!without(&[VALUES_ARE_OF_THE_BASE], is_told_of_the_base), "this is what it is for");
}

/// What a client, which has two transactions in its base, is told as soon as it sends the third one to a region that lacks them yet.
fn said_where_a_base_is_not_yet() -> Vec<ToClient> {
    let mut region = Region::new();
    region.accepts = true;
    region.holds = |ask| matches!(ask, Ask::Changed(..) | Ask::Read(..));
    region.clients.insert(1, ClientLink::default());
    region.gateway.opened(1);
    let base = Base(vec![Hlc::at(NOON_US - 9)]);
    let (secret, token, check) = (Secret([1; 32]), Bytes::new(), [5; 8]);
    let hello = Hello { secret, regions: 1, base: base.clone(), in_base: 2, first: 3, check, token };
    region.send(1, &ToGateway::Hello(hello));
    let operations = vec![Operation { key: "k".into(), kind: OperationKind::Add(1) }];
    let body = Body { k: 3, h_us: NOON_US, dep: base, operations };
    region.told(1);
    region.send(1, &ToGateway::Transfer { body, sent_before: false });
    region.told(1)
}

/// The two are on their way. If the region took the third one before them, it would take them for another branch.
#[test]
fn what_a_region_lacks_of_a_base_is_not_lost_before_it_has_that_base() {
    assert!(matches!(said_where_a_base_is_not_yet()[..], [ToClient::Behind { .. }]));
    let said = without(&[LOSSES_ARE_CERTAIN], said_where_a_base_is_not_yet);
    assert_eq!(said, [ToClient::Ack { k: 3 }], "this is what it is for");
}

/// What a client is told of the time of a session's write that has won over its own of the same microsecond.
fn told_of_a_tie() -> u64 {
    let mut region = Region::new();
    region.open(1, "k");
    region.now_us += 200_000;
    region.write_by("k", "v", Stamp::new(Hlc::at(NOON_US + 7).next(), DcId(0)));
    region.pass(200_000);
    match region.told(1).pop() {
        Some(ToClient::Tick(Tick { updates, .. })) => match &updates[..] {
            [Update { change: Change::Whole(Value::String(written)), .. }] => written.at_us - NOON_US,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// It shows its own write unless what it is told is later.
#[test]
fn of_a_tie_a_client_is_told_that_it_has_lost() {
    assert_eq!(told_of_a_tie(), 8);
    assert_eq!(without(&[TIES_ARE_TOLD], told_of_a_tie), 7, "this is what it is for");
}
