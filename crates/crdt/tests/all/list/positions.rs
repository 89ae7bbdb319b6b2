//! What clients at the edge do: they give elements their positions themselves.

use super::region::Region;
use bytes::Bytes;
use tidemark_core::Verb;
use tidemark_crdt::position::Hand;

/// What a client puts behind an element, so much later than the region's time.
fn behind(left: Option<&Bytes>, region: &Region, later_us: u64) -> Bytes {
    let hand = Hand { author: 300, time_us: region.clock + later_us, nth: 0 };
    hand.between(left.map(|left| &left[..]), None).into()
}

fn put(region: &mut Region, position: &Bytes, value: &'static str) -> String {
    region.run_bytes(Verb::PutAt, vec![position.clone(), value.into()])
}

fn take(region: &mut Region, position: &Bytes) -> String {
    region.run_bytes(Verb::TakeAt, vec![position.clone()])
}

#[test]
fn what_is_put_somewhere_is_set_and_taken_there() {
    let mut region = Region::new(0);
    let first = behind(None, &region, 0);
    assert_eq!(put(&mut region, &first, "a"), "OK");
    let second = behind(Some(&first), &region, 0);
    assert_eq!(put(&mut region, &second, "c"), "OK");
    assert_eq!(region.run("LINSERT k BEFORE c b"), "3");
    assert_eq!(put(&mut region, &first, "A"), "OK");
    assert_eq!(region.list(), ["'A'", "'b'", "'c'"]);
    assert_eq!([take(&mut region, &second), take(&mut region, &second)], ["1", "0"]);
    assert_eq!(region.list(), ["'A'", "'b'"]);
    region.run("DEL k");
    region.run("HSET k f v");
    assert!(put(&mut region, &first, "x").starts_with("WRONGTYPE"));
    assert!(take(&mut region, &first).starts_with("WRONGTYPE"));
}

/// Else nobody whose clock is right could put anything behind it.
#[test]
fn an_element_is_not_younger_than_what_puts_it_there() {
    let mut region = Region::new(0);
    let young = behind(None, &region, 1);
    assert!(put(&mut region, &young, "x").starts_with("ERR no client can"));
    assert!(region.list().is_empty());
    region.clock += 1;
    assert_eq!(put(&mut region, &young, "x"), "OK");
}
