//! Rates and latencies in real time, as they are on a machine that does nothing else.

use crate::adapt::{alternated, four, groups, reads, while_alternating};
use crate::bench::{far_apart, reads_of_travellers};
use crate::edge::Regions;
use crate::edge_bench::{hundreds, social};

#[test]
#[ignore = "a latency on an idle machine: nightly"]
fn who_wants_nothing_of_its_own_does_not_wait_elsewhere() {
    let up = far_apart();
    let get = reads_of_travellers(&up, "eventual", 40_000);
    assert!(get["p99_us"].as_u64() < Some(100_000), "{get}");
    up.stop();
}

#[test]
#[ignore = "rates on an idle machine: nightly"]
fn clients_wait_less_where_groups_follow_them() {
    let long = ["--warm-up", "1s", "--duration", "4s"];
    let alone = four(&[]);
    let waiting = reads(&alternated(&alone, &long));
    alone.stop();
    let up = four(&["--adapt", "--adapt-set", "every=500ms"]);
    // The first load brings the group, of which the second profits.
    alternated(&up, &long);
    let faster = reads(&alternated(&up, &long));
    assert!(faster > 1.5 * waiting, "{faster} reads, and {waiting} in groups that do not follow");
    up.stop();
}

/// A group that pays stays, and goes when nobody has used it for a while.
#[test]
#[ignore = "what groups save on an idle machine: nightly"]
fn a_group_is_there_for_as_long_as_it_saves_waiting() {
    let up = four(&["--adapt", "--adapt-set", "every=500ms"]);
    while_alternating(&up, || {
        let first = &groups(&up)["adapts"]["groups"][0];
        let saves = first["name"] == "auto-1" && first["saves_us"].as_f64() > Some(5_000.0);
        let saves = saves && up.order(&["groups"]).contains(" a read; predicted: ");
        saves.then_some(()).ok_or_else(|| first.to_string())
    });
    up.wait_for("auto-1 goes: nobody has read at A/0 and B/1 alone for a while");
    up.stop();
}

#[test]
#[ignore = "a rate on an idle machine: nightly"]
fn few_updates_are_replaced_before_others_see_them() {
    let load = hundreds(&Regions::start());
    assert!(load["to_visible"]["count"].as_u64() > load["unseen"].as_u64(), "{load}");
}

#[test]
#[ignore = "rates and latencies on an idle machine: nightly"]
fn a_social_network_is_served_as_fast_as_its_users_ask() {
    let report = social(&Regions::start());
    let number = |name: &str, field: &str| report[name][field].as_f64().unwrap();
    assert!(number("hit", "p50_us") < number("miss", "p50_us"), "{report}");
    let (transactions, hits) =
        (report["transactions"].as_f64().unwrap(), report["hit_share"].as_f64().unwrap());
    assert!(transactions > 800.0 && (0.4..0.99).contains(&hits), "{report}");
    // Twelve percent are updates.
    assert!(number("to_ack", "count") > 0.05 * transactions, "{report}");
}
