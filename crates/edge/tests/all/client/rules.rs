//! Rules whose lack shows in few schedules, or none.

use super::{NONE, opened};
use crate::support::script::{base, string};
use tidemark_core::rule::without;
use tidemark_edge::client::Event;
use tidemark_edge::frames::{OperationKind, ToClient, Value};
use tidemark_edge::rule::{CHAINS_ARE_COMPARED, TICKS_SAY_K, VALUES_WAIT_THEIR_TURN};

/// In how many regions an own transaction is known to be: that comes in a base of two, of which the client hears when it wants three.
fn regions_of_an_own_transaction() -> u64 {
    let mut script = opened();
    script.commit(&[("a", OperationKind::Add(1))]);
    script.write();
    script.event(Event::SetRegions { regions: 3 });
    let check = script.check(1);
    script.tick(base(&[40; 3]), (1, check), &[]);
    script.write();
    assert_eq!(script.client.pending(), 0);
    script.client.base_regions()
}

/// Else the user would be told that three regions have it, and two of them may be lost.
#[test]
fn as_many_regions_have_a_base_as_its_tick_says() {
    assert_eq!(regions_of_an_own_transaction(), 2);
    assert_eq!(without(&[TICKS_SAY_K], regions_of_an_own_transaction), 3, "this is what it is for");
}

/// What is shown of two keys that were written together, when one of them is read at a base that is not on the disk yet.
fn shown_of_two() -> (Option<String>, Option<String>) {
    let mut script = opened();
    script.watch("c");
    script.tick(base(&[40; 3]), NONE, &[(0, string(35, "new"))]);
    script.down(ToClient::Value { reference: 2, value: string(35, "new") });
    let mut text = |key| match script.read(key) {
        Some(Value::String(written)) => Some(String::from_utf8_lossy(&written.bytes).into_owned()),
        _ => None,
    };
    (text("a"), text("c"))
}

#[test]
fn rule_9_a_value_does_not_show_before_its_base() {
    assert_eq!(shown_of_two(), (Some("old".into()), None));
    let torn = without(&[VALUES_WAIT_THEIR_TURN], shown_of_two);
    assert_eq!(torn, (Some("old".into()), Some("new".into())), "this is what it is for");
}

/// How many transactions the client still has that it has not sent, when the first one of another copy of its disk is in its base.
fn kept_beside_another_branch() -> usize {
    let mut script = opened();
    script.down(ToClient::Later { wait_ms: 60_000 });
    script.commit(&[("a", OperationKind::Add(1))]);
    script.write();
    assert!(script.transfers().is_empty(), "it waits");
    script.tick(base(&[40; 3]), (1, [7; 8]), &[]);
    script.write();
    script.secret();
    script.write();
    script.disk.log.len()
}

#[test]
fn rule_8_a_number_in_a_base_may_be_that_of_another_branch() {
    assert_eq!(kept_beside_another_branch(), 1);
    assert_eq!(without(&[CHAINS_ARE_COMPARED], kept_beside_another_branch), 0, "it is in no base, and lost");
}
