//! A region that is cut off is excluded from another terminal, and taken back.

use crate::harness::{Up, eventually, has, said};

/// What `tidemark` says when it refuses.
fn refused(up: &Up, args: &[&str]) -> String {
    let output = up.tidemark(args);
    assert!(!output.status.success(), "{args:?} was done: {}", said(&output));
    said(&output)
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
    let told = up.order(&["exclude", "c"]);
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
    let cut = refused(&up, &["readmit", "c"]);
    assert!(cut.contains("is cut off") && cut.contains("tidemark heal"), "{cut}");

    up.order(&["heal"]);
    eventually("2".into(), || up.redis("c", &["GET", "y"]));
    for region in ["a", "b"] {
        assert_eq!(up.redis(region, &["GET", "x"]), "before", "what C wrote is hidden in {region}");
        assert_eq!(up.redis(region, &["GET", "z"]), "");
    }
    up.order(&["readmit", "c"]);
    for region in ["a", "b", "c"] {
        eventually("meanwhile".into(), || up.redis(region, &["GET", "x"]));
        eventually("1".into(), || up.redis(region, &["GET", "z"]));
        eventually("2".into(), || up.redis(region, &["GET", "y"]));
    }
    eventually(false, || away(&up));

    // And once more, all the way.
    up.order(&["exclude", "c"]);
    up.order(&["readmit", "c"]);
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
    up.order(&["exclude", "c"]);
    assert_eq!(up.redis("c", &["SET", "x", "hidden"]), "OK");
    up.stop();
    let up = Up::start_in(dir.path(), &[]);
    assert!(up.order(&["status"]).contains("C is excluded"));
    up.redis("a", &["SET", "y", "1"]);
    eventually("1".into(), || up.redis("b", &["GET", "y"]));
    assert_eq!(up.redis("a", &["GET", "x"]), "before");
    up.order(&["readmit", "c"]);
    eventually("hidden".into(), || up.redis("a", &["GET", "x"]));
    eventually("hidden".into(), || up.redis("b", &["GET", "x"]));
    eventually(false, || away(&up));
    up.stop();
}

#[test]
fn what_cannot_be_excluded_or_readmitted_is_told() {
    let up = Up::start(&["--protocol", "gentlerain"]);
    let unknown = refused(&up, &["exclude", "atlantis"]);
    assert!(unknown.contains("no region \"atlantis\"") && unknown.contains("the regions are"), "{unknown}");
    let whole = refused(&up, &["readmit", "c"]);
    assert!(whole.contains("is not excluded"), "{whole}");
    up.order(&["kill", "b"]);
    let down = refused(&up, &["exclude", "c"]);
    assert!(down.contains("node b must run"), "{down}");
    up.order(&["restart", "b"]);
    eventually(true, || up.tidemark(&["exclude", "c"]).status.success()); // once B has heard from C again
    let twice = refused(&up, &["exclude", "c"]);
    assert!(twice.contains("excluded already"), "{twice}");
    let other = refused(&up, &["exclude", "b"]);
    assert!(other.contains("only one region can be"), "{other}");
    up.stop();

    let up = Up::start(&["--regions", "1", "--protocol", "gentlerain"]);
    let alone = refused(&up, &["exclude", "a"]);
    assert!(alone.contains("is the only region"), "{alone}");
    up.stop();

    let up = Up::start(&["--regions", "2", "--protocol", "cops"]);
    let other = refused(&up, &["exclude", "b"]);
    assert!(other.contains("cannot do without a region"), "{other}");
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
    let careless = refused(&up, &["exclude", "c"]);
    assert!(careless.contains("--for-good"), "{careless}");
    let alive = refused(&up, &["exclude", "c", "--for-good"]);
    assert!(alive.contains("its node c runs"), "{alive}");
    up.order(&["kill", "c"]);
    up.order(&["kill", "b"]);
    let down = refused(&up, &["exclude", "c", "--for-good"]);
    assert!(down.contains("node b must run"), "{down}");
    up.order(&["restart", "b"]);
    eventually(true, || up.tidemark(&["exclude", "c", "--for-good"]).status.success());
    assert!(up.order(&["status"]).contains("C is excluded for good"));
    let twice = refused(&up, &["exclude", "c", "--for-good"]);
    assert!(twice.contains("excluded already"), "{twice}");
    let back = refused(&up, &["readmit", "c"]);
    assert!(back.contains("excluded for good"), "{back}");
    assert_eq!(up.redis("a", &["SET", "x", "2"]), "OK");
    eventually("2".into(), || up.redis("b", &["GET", "x"]));
    up.stop();
}
