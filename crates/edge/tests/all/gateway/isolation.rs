//! Whether others share what is new in the gateway's region.

use super::{NOON_US, Region};
use tidemark_core::Hlc;
use tidemark_edge::frames::{Base, ToClient, ToGateway};
use tidemark_edge::gateway::ConnectionId;

/// A client of two regions and one of all three; another region hears of this one at once, the third did a second ago.
fn shared() -> Region {
    let mut region = Region::new();
    region.others_us = vec![NOON_US, NOON_US];
    for (id, regions) in [(2, 2), (3, 3)] {
        region.regions = regions;
        region.open(id, "a");
    }
    hear(&mut region, 10_000_000, [0, 1_000_000]);
    assert_eq!([said(&mut region, 2), said(&mut region, 3)], [[0; 0]; 2]);
    region
}

/// Time passes; two others have what was new so many microseconds ago.
fn hear(region: &mut Region, us: u64, ages_us: [u64; 2]) {
    let now_us = region.now_us + us;
    region.others_us = ages_us.map(|age_us| now_us - age_us).into();
    region.pass(us);
}

/// What a client was told of how many regions there are.
fn said(region: &mut Region, id: ConnectionId) -> Vec<u64> {
    let shared = |frame| if let ToClient::Shared { regions } = frame { Some(regions) } else { None };
    region.told(id).into_iter().filter_map(shared).collect()
}

#[test]
fn a_client_is_told_when_fewer_regions_than_it_wants_share_what_is_new_and_when_as_many_do_again() {
    let mut region = shared();
    hear(&mut region, 200_000, [0, 5_000_001]);
    assert_eq!((said(&mut region, 2), said(&mut region, 3)), (vec![], vec![2]));
    hear(&mut region, 200_000, [5_000_001, 6_000_000]);
    assert_eq!((said(&mut region, 2), said(&mut region, 3)), (vec![1], vec![1]));
    hear(&mut region, 200_000, [4_000_000, 6_000_000]);
    assert_eq!((said(&mut region, 2), said(&mut region, 3)), (vec![], vec![]), "it is still far behind");
    hear(&mut region, 200_000, [0, 2_000_000]);
    assert_eq!((said(&mut region, 2), said(&mut region, 3)), (vec![2], vec![3]));
}

#[test]
fn who_comes_is_told_before_the_first_tick_and_who_has_lowered_k_goes_on_hearing_of_more() {
    let mut region = shared();
    hear(&mut region, 200_000, [6_000_000, 6_000_000]);
    region.regions = 2;
    region.greet(4, Base(Vec::new()));
    region.send(4, &ToGateway::Sync);
    hear(&mut region, 200_000, [6_000_000, 6_000_000]);
    let kinds: Vec<bool> =
        region.told(4).iter().map(|frame| matches!(frame, ToClient::Shared { regions: 1 })).collect();
    assert_eq!(kinds[..3], [false, true, false], "Welcome comes first, and a tick after it");
    region.send(4, &ToGateway::SetK { regions: 1 });
    hear(&mut region, 200_000, [0, 6_000_000]);
    assert_eq!(said(&mut region, 4), [2]);
}

/// Without clients nobody asks for bases: what the gateway knew was of long ago, and sent the next client away.
#[test]
fn who_comes_when_nobody_was_there_hears_of_isolation_only_if_it_is_not_over() {
    for (age_us, told) in [(0, vec![]), (6_000_000, vec![1])] {
        let mut region = shared();
        hear(&mut region, 200_000, [6_000_000; 2]);
        [2, 3].into_iter().for_each(|id| region.gateway.closed(id));
        hear(&mut region, 60_000_000, [age_us; 2]);
        region.regions = 2;
        region.greet(4, Base(Vec::new()));
        region.send(4, &ToGateway::Sync);
        hear(&mut region, 200_000, [age_us; 2]);
        assert_eq!(said(&mut region, 4), told);
    }
}

/// Its base comes from others, and this region lacks it: there is no tick.
#[test]
fn who_waits_for_the_first_tick_is_told_too() {
    let mut region = shared();
    hear(&mut region, 200_000, [6_000_000, 6_000_000]);
    let ahead = Base(vec![Hlc::at(region.now_us + 60_000_000)]);
    region.regions = 2;
    region.greet(4, ahead);
    region.send(4, &ToGateway::Sync);
    hear(&mut region, 200_000, [6_200_000, 6_200_000]);
    assert_eq!(said(&mut region, 4), [1]);
}

#[test]
fn a_client_that_wants_more_is_told_then() {
    let mut region = shared();
    hear(&mut region, 200_000, [0, 6_000_000]);
    assert!(said(&mut region, 2).is_empty());
    region.send(2, &ToGateway::SetK { regions: 9 });
    assert_eq!(said(&mut region, 2), [2]);
    hear(&mut region, 200_000, [0, 0]);
    assert_eq!(said(&mut region, 2), [9], "there are no more");
}

#[test]
fn a_node_that_has_just_begun_and_has_told_nobody_yet_says_nothing() {
    let mut region = Region::new();
    region.others_us = vec![NOON_US - 60_000_000; 2];
    region.regions = 2;
    region.open(1, "a");
    hear(&mut region, 4_000_000, [64_000_000; 2]);
    assert!(said(&mut region, 1).is_empty());
    hear(&mut region, 1_000_000, [65_000_000; 2]);
    assert_eq!(said(&mut region, 1), [1]);
}
