//! A region that is cut off is excluded from another terminal, and taken back.

use crate::harness::{Up, eventually, has, said};
use std::process::Command;
use tidemark_patience::{Sought, until, wait_for};

/// Waits until `tidemark` refuses with all of these words: a node that is too busy to answer is a reason of its own.
#[track_caller]
fn refused(up: &Up, args: &[&str], words: &[&str]) {
    let sought = Sought::new(&format!("{args:?} is refused with {words:?}"));
    until(&sought, || {
        let output = up.tidemark(args);
        assert!(!output.status.success(), "{args:?} was done: {}", said(&output));
        sought.found(said(&output));
        words.iter().all(|words| said(&output).contains(words))
    });
}

/// Excludes C, however busy the nodes are.
#[track_caller]
fn exclude(up: &Up, options: &[&str]) -> String {
    at_last(up, &[&["exclude", "c"], options].concat(), "excluded already")
}

/// Readmits C, however busy the nodes are.
#[track_caller]
fn readmit(up: &Up) -> String {
    at_last(up, &["readmit", "c"], "is not excluded")
}

/// Repeats an order that nodes were too busy to carry out in time; returns what was said last. One that was repeated may turn out to
/// have been carried out: that it is so `already` is said then.
#[track_caller]
fn at_last(up: &Up, order: &[&str], already: &str) -> String {
    let sought = Sought::new(&order.join(" "));
    let mut tries = 0;
    wait_for(&sought, || {
        tries += 1;
        let output = up.tidemark(order);
        let told = said(&output);
        sought.found(told.clone());
        (output.status.success() || tries > 1 && told.contains(already)).then_some(told)
    })
}

fn away(up: &Up) -> bool {
    let status = up.order(&["status"]);
    status.contains("excluded") || status.contains("is being readmitted")
}

/// Reference: 001 §5.5.
#[test]
fn the_other_regions_go_on_without_one_and_take_it_back() {
    if !has("redis-cli") {
        return;
    }
    let up = Up::start(&["--protocol", "gentlerain"]);
    up.redis("c", &["SET", "x", "before"]);
    eventually("before".into(), || up.redis("a", &["GET", "x"]));
    eventually("before".into(), || up.redis("b", &["GET", "x"]));
    up.order(&["cut", "a", "c"]);
    up.order(&["cut", "b", "c"]);
    assert_eq!(up.redis("c", &["SET", "x", "meanwhile"]), "OK");
    assert_eq!(up.redis("a", &["SET", "y", "1"]), "OK");
    // Writes of A arrive in B meanwhile, and it may look as often as it likes.
    for n in 0..20 {
        assert_eq!(up.redis("a", &["SET", "other", &n.to_string()]), "OK");
        assert_eq!(up.redis("b", &["GET", "y"]), "", "B waits for C");
    }
    let told = exclude(&up, &[]);
    assert!(told.contains("is excluded"), "{told}");
    eventually("1".into(), || up.redis("b", &["GET", "y"]));
    assert!(up.order(&["status"]).contains("C is excluded"));

    // C goes on for its own clients, and nodes that start again know who is away.
    assert_eq!(up.redis("c", &["SET", "z", "1"]), "OK");
    assert_eq!(up.redis("c", &["GET", "x"]), "meanwhile");
    up.order(&["kill", "a"]);
    up.order(&["restart", "a"]);
    up.order(&["restart", "b"]);
    assert_eq!(up.redis("a", &["SET", "y", "2"]), "OK");
    eventually("2".into(), || up.redis("b", &["GET", "y"]));
    refused(&up, &["readmit", "c"], &["is cut off", "tidemark heal"]);

    up.order(&["heal"]);
    eventually("2".into(), || up.redis("c", &["GET", "y"]));
    for region in ["a", "b"] {
        assert_eq!(up.redis(region, &["GET", "x"]), "before", "what C wrote is hidden in {region}");
        assert_eq!(up.redis(region, &["GET", "z"]), "");
    }
    readmit(&up);
    for region in ["a", "b", "c"] {
        eventually("meanwhile".into(), || up.redis(region, &["GET", "x"]));
        eventually("1".into(), || up.redis(region, &["GET", "z"]));
        eventually("2".into(), || up.redis(region, &["GET", "y"]));
    }
    eventually(false, || away(&up));

    // And once more, all the way.
    exclude(&up, &[]);
    readmit(&up);
    assert_eq!(up.redis("c", &["SET", "x", "again"]), "OK");
    eventually("again".into(), || up.redis("b", &["GET", "x"]));
    eventually(false, || away(&up));
    up.stop();
}

#[test]
fn an_exclusion_outlives_the_cluster() {
    if !has("redis-cli") {
        return;
    }
    let dir = tempfile::TempDir::new().unwrap();
    let up = Up::start_in(dir.path(), &["--protocol", "gentlerain"]);
    up.redis("c", &["SET", "x", "before"]);
    eventually("before".into(), || up.redis("a", &["GET", "x"]));
    exclude(&up, &[]);
    assert_eq!(up.redis("c", &["SET", "x", "hidden"]), "OK");
    up.stop();
    let up = Up::start_in(dir.path(), &[]);
    assert!(up.order(&["status"]).contains("C is excluded"));
    up.redis("a", &["SET", "y", "1"]);
    eventually("1".into(), || up.redis("b", &["GET", "y"]));
    assert_eq!(up.redis("a", &["GET", "x"]), "before");
    readmit(&up);
    eventually("hidden".into(), || up.redis("a", &["GET", "x"]));
    eventually("hidden".into(), || up.redis("b", &["GET", "x"]));
    eventually(false, || away(&up));
    up.stop();
}

#[test]
fn what_cannot_be_excluded_or_readmitted_is_told() {
    let up = Up::start(&["--protocol", "gentlerain"]);
    refused(&up, &["exclude", "atlantis"], &["no region \"atlantis\"", "the regions are"]);
    refused(&up, &["readmit", "c"], &["is not excluded"]);
    up.order(&["kill", "b"]);
    refused(&up, &["exclude", "c"], &["node b must run"]);
    up.order(&["restart", "b"]);
    exclude(&up, &[]); // once B has heard from C again
    refused(&up, &["exclude", "c"], &["excluded already"]);
    refused(&up, &["exclude", "b"], &["only one region can be"]);
    up.stop();

    let up = Up::start(&["--regions", "1", "--protocol", "gentlerain"]);
    refused(&up, &["exclude", "a"], &["is the only region"]);
    up.stop();

    let up = Up::start(&["--regions", "2", "--protocol", "cops"]);
    refused(&up, &["exclude", "b"], &["cannot do without a region"]);
    up.stop();
}

/// D21: under the default protocol a region is excluded once it is lost, and for good.
#[test]
fn a_region_that_is_lost_is_excluded_for_good() {
    if !has("redis-cli") {
        return;
    }
    let up = Up::start(&[]);
    assert_eq!(up.redis("c", &["SET", "x", "1"]), "OK");
    eventually("1".into(), || up.redis("a", &["GET", "x"]));
    eventually("1".into(), || up.redis("b", &["GET", "x"]));
    refused(&up, &["exclude", "c"], &["--for-good"]);
    refused(&up, &["exclude", "c", "--for-good"], &["its node c runs"]);
    // One that does not answer is not lost.
    let pid = up.node("c")["pid"].to_string();
    let signal =
        |signal: &str| assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    signal("-STOP");
    refused(&up, &["exclude", "c", "--for-good"], &["its node c runs"]);
    signal("-CONT");
    up.order(&["kill", "c"]);
    up.order(&["kill", "b"]);
    refused(&up, &["exclude", "c", "--for-good"], &["node b must run"]);
    up.order(&["restart", "b"]);
    exclude(&up, &["--for-good"]);
    assert!(up.order(&["status"]).contains("C is excluded for good"));
    refused(&up, &["exclude", "c", "--for-good"], &["excluded already"]);
    refused(&up, &["readmit", "c"], &["excluded for good"]);
    assert_eq!(up.redis("a", &["SET", "x", "2"]), "OK");
    eventually("2".into(), || up.redis("b", &["GET", "x"]));
    up.stop();
}
