//! Rules 16 and 17: which region a client is at.

use super::{NONE, opened};
use crate::support::script::{Script, base};
use tidemark_edge::client::Status;
use tidemark_edge::frames::*;

/// A client that is at the second endpoint, since the first one has failed.
fn elsewhere() -> Script {
    let mut script = opened();
    script.disconnect();
    script.pass(1_000_000);
    assert_eq!(script.connect(), 1);
    script.welcome(0, [0; 8], true);
    script.tick(base(&[40, 40, 40]), NONE, &[]);
    script.write();
    script
}

/// Time passes, and the region is heard of: no tick is late.
fn stay(script: &mut Script, us: u64) {
    script.pass(us);
    let now = script.now_us;
    script.tick(base(&[now; 3]), NONE, &[]);
    script.write();
}

/// The next connection, and to which endpoint.
fn next(script: &mut Script) -> usize {
    script.pass(10_000_000);
    let endpoint = script.connect();
    script.welcome(0, [0; 8], true);
    endpoint
}

fn asked_for(script: &mut Script) -> Vec<u64> {
    let all = std::mem::take(&mut script.sent).into_iter();
    all.filter_map(|frame| if let ToGateway::SetK { regions } = frame { Some(regions) } else { None })
        .collect()
}

/// A client of two regions that has tried all three endpoints, is at the first again, and was told that it shares nothing.
fn alone(lowers: bool) -> Script {
    let mut script = Script::lowering("", lowers);
    script.open(base(&[10, 20, 30]), NONE, &[]);
    script.down(ToClient::Shared { regions: 1 });
    assert_eq!(script.client.status(), Status::Offline, "there may be a better one");
    for endpoint in [1, 2] {
        script.pass(10_000_000);
        assert_eq!(script.connect(), endpoint);
        script.disconnect();
    }
    assert_eq!(next(&mut script), 0);
    script.sent.clear();
    script.down(ToClient::Shared { regions: 1 });
    script
}

#[test]
fn rule_16_in_an_isolated_region_each_of_the_others_is_tried_once() {
    let mut script = Script::lowering("", false);
    script.open(base(&[10, 20, 30]), NONE, &[]);
    for endpoint in [1, 2] {
        script.down(ToClient::Shared { regions: 1 });
        assert_eq!(next(&mut script), endpoint);
    }
    script.down(ToClient::Shared { regions: 1 });
    script.tick(base(&[11, 21, 31]), NONE, &[]);
    script.write();
    assert_ne!(script.client.status(), Status::Offline, "none is better");
    assert!(asked_for(&mut script).is_empty());
    script.down(ToClient::Shared { regions: 2 });
    script.tick(base(&[12, 22, 32]), NONE, &[]);
    script.write();
    script.down(ToClient::Shared { regions: 1 });
    assert_eq!(script.client.status(), Status::Offline, "once in a while without one");
}

#[test]
fn rule_16_a_client_that_wants_no_more_than_there_is_stays() {
    let mut script = opened();
    script.down(ToClient::Shared { regions: 1 });
    assert_eq!(script.client.status(), Status::Live, "its K is 1");
    script.event(tidemark_edge::client::Event::SetRegions { regions: 2 });
    script.write();
    script.down(ToClient::Shared { regions: 1 });
    assert_eq!(script.client.status(), Status::Offline);
}

#[test]
fn rule_16_k_is_lowered_for_as_long_as_no_region_is_better() {
    let mut script = alone(true);
    assert_eq!(asked_for(&mut script), [1]);
    let one =
        Tick { to: base(&[99, 20, 30]), regions: 1, in_base: 0, check: [0; 8], have: 1, updates: Vec::new() };
    script.down(ToClient::Tick(one));
    script.write();
    assert_eq!((script.client.base_regions(), script.client.regions()), (1, 2));
    script.event(tidemark_edge::client::Event::SetRegions { regions: 3 });
    assert!(asked_for(&mut script).is_empty(), "there is one still");
    script.down(ToClient::Shared { regions: 2 });
    script.down(ToClient::Shared { regions: 3 });
    assert_eq!(asked_for(&mut script), [2, 3]);
}

#[test]
fn rule_16_k_is_not_lowered_by_itself() {
    assert!(asked_for(&mut alone(false)).is_empty());
}

#[test]
fn rule_17_a_client_goes_back_to_the_first_endpoint() {
    let mut script = elsewhere();
    (0..60).for_each(|_| stay(&mut script, 1_000_000));
    assert_eq!(script.client.status(), Status::Live);
    script.pass(1_000_000);
    assert_eq!(script.connect(), 0, "at once");
    script.welcome(0, [0; 8], true);
    (0..200).for_each(|_| stay(&mut script, 1_000_000));
    assert_eq!(script.client.status(), Status::Live, "it stays");
}

#[test]
fn rule_17_it_stays_there_only_if_that_has_its_base_and_looks_more_and_more_seldom() {
    let mut script = elsewhere();
    for minutes in [1, 2, 4] {
        (0..minutes * 60).for_each(|_| stay(&mut script, 1_000_000));
        assert_eq!(script.client.status(), Status::Live);
        script.pass(1_000_000);
        assert_eq!(script.connect(), 0);
        script.welcome(0, [0; 8], false);
        assert_eq!(script.client.status(), Status::Offline, "it has not caught up");
        assert_eq!(next(&mut script), 1);
    }
}

#[test]
fn rule_17_it_looks_for_another_region_than_an_isolated_one_unless_it_has_lowered_k() {
    let mut script = alone(false);
    script.pass(61_000_000);
    assert_eq!(script.connect(), 1);
    let mut script = alone(true);
    script.pass(61_000_000);
    assert_eq!(script.asked, None, "others may not have what it has seen");
}
