use super::*;
use tidemark_protocols::{CcLo, NAMES, cc_lo};
use tidemark_registry::{by_name, factory_of};

fn of(name: &str, what: &Bound) -> Bounded {
    bound(by_name(name).expect("a protocol"), what)
}

fn readers(readers: usize) -> Bound {
    Bound { readers, ..Bound::default() }
}

/// Lemma 1: all sets differ. Lemma 2: so one communication has a bit for each reader; here it has the same number of
/// bytes for each.
#[test]
fn writes_of_cc_lo_tell_all_sets_of_readers_apart() {
    let one = of("cc-lo", &readers(1));
    let a_reader = one.bytes_most - one.bytes_least;
    assert!(a_reader > 0);
    for n in 1..=6 {
        let found = of("cc-lo", &readers(n));
        assert_eq!((found.distinct, found.distinct_answered, found.reader_sets), (1 << n, 1 << n, 1 << n));
        assert_eq!((found.bits, found.side, found.gives_up.as_slice()), (n as f64, Side::Pays, &[][..]));
        assert_eq!(found.bytes_most - found.bytes_least, n * a_reader);
        assert!(found.bytes_most * 8 >= n && found.kept && found.failed == 0);
        assert_eq!((found.old_readers, Vec::from_iter(found.old_reads)), (n, vec!["x0 y0".to_string()]));
    }
}

/// The other direction: whoever does not pay, and gives up nothing that shows in messages, tears the snapshot. Each of these
/// rules has a part in telling the server of y who the old readers are.
#[test]
fn cc_lo_without_a_part_of_its_readers_check_tears_the_snapshot() {
    for rule in [cc_lo::PUT_CHECKS_READERS, cc_lo::READERS_GROW_OLD, cc_lo::HIDDEN_IS_HANDED_ON] {
        for n in 1..=4 {
            let found = bound(factory_of::<CcLo>(), &Bound { without: vec![rule], ..readers(n) });
            assert_eq!((found.distinct, found.bits), (1, 0.0), "{rule}");
            assert_eq!((found.gives_up.as_slice(), found.side), (&[GivesUp::Snapshot][..], Side::GivesUp));
            assert!(!found.snapshot && !found.kept && found.torn.is_some(), "{rule}");
            assert_eq!((found.old_readers, Vec::from_iter(found.old_reads)), (n, vec!["x0 y1".to_string()]));
        }
    }
}

/// The theorem is true of every protocol that we have: nobody has everything for nothing. Nobody but CC-LO pays.
#[test]
fn every_other_protocol_gives_something_up_and_tells_no_sets_apart() {
    for name in NAMES.iter().filter(|name| **name != "cc-lo") {
        for n in 1..=4 {
            let found = of(name, &readers(n));
            assert_eq!((found.distinct, found.bytes_least), (1, found.bytes_most), "{name}");
            assert_eq!(found.side, Side::GivesUp, "{name}");
            assert!(found.visible && found.kept && found.failed == 0, "{name}");
            assert_eq!(found.old_readers, n, "{name}: the executions of the proof must be those that ran");
            assert_ne!(found.snapshot, found.old_reads.contains("x0 y1"), "{name}");
        }
    }
}

#[test]
fn protocols_give_up_different_things() {
    use GivesUp::*;
    let is = |name: &str, gives_up: &[GivesUp], rounds_hops_versions: (u32, u32, u32), shown: &str| {
        let found = of(name, &readers(2));
        assert_eq!(found.gives_up, gives_up, "{name}");
        assert_eq!((found.rounds, found.hops, found.versions), rounds_hops_versions, "{name}");
        assert_eq!(Vec::from_iter(found.old_reads), [shown], "{name}");
    };
    is("contrarian", &[OneRound], (2, 0, 1), "x0 y0");
    is("tidemark", &[OneRound], (1, 2, 1), "x0 y0");
    is("causal-spartan-x", &[OneRound], (1, 2, 1), "x0 y0");
    is("cure", &[OneRound, Nonblocking], (1, 2, 1), "x0 y0");
    is("orbe", &[OneRound, Nonblocking], (1, 2, 1), "x0 y0");
    is("cops-gt", &[OneRound, OneVersion], (2, 0, 2), "x1 y1");
    is("eiger", &[OneRound, OneVersion], (2, 0, 2), "x1 y1");
    is("occult", &[OneRound, OneVersion], (2, 0, 2), "x1 y1");
    is("cops", &[Snapshot], (1, 0, 1), "x0 y1");
    is("eventual", &[Snapshot], (1, 0, 1), "x0 y1");
    is("nukv", &[Snapshot], (1, 0, 1), "x0 y1");
}

#[test]
fn contrarian_of_one_and_a_half_rounds_asks_by_way_of_a_server() {
    let params = BTreeMap::from([("rounds".to_string(), "one-and-a-half".into())]);
    let found = of("contrarian", &Bound { params, ..readers(3) });
    assert_eq!((found.rounds, found.hops, found.distinct), (1, 1, 1));
    assert_eq!(found.gives_up, [GivesUp::OneRound]);
}

/// A clock that is behind moves up when somebody reads. Others learn of that: whether anybody read, and never who. However many
/// clients there are, this is one bit.
#[test]
fn a_read_may_move_a_clock_which_tells_one_bit() {
    for name in ["contrarian", "okapi", "pocc"] {
        for n in 1..=4 {
            let found = of(name, &Bound { skew_us: -1_000, ..readers(n) });
            assert_eq!((found.distinct, found.side), (2, Side::GivesUp), "{name}");
            assert_eq!(found.bytes_least, found.bytes_most, "{name}");
        }
    }
    let found = of("cc-lo", &Bound { skew_us: -1_000, ..readers(4) });
    assert_eq!((found.distinct, found.side), (16, Side::Pays));
}

/// Clocks decide nothing about who pays.
#[test]
fn the_sides_are_the_same_whatever_clocks_show() {
    for skew_us in [-MOST_SKEW_US, -100, 0, 100, MOST_SKEW_US] {
        for name in NAMES {
            let found = of(name, &Bound { skew_us, ..readers(3) });
            let pays = found.side == Side::Pays;
            assert!(found.side != Side::Contradicts && pays == (*name == "cc-lo"), "{name} {found:?}");
            assert!(pays || found.distinct <= 2, "{name} {found:?}");
            assert!(found.kept && found.failed == 0 && found.old_readers == 3, "{name} {found:?}");
        }
    }
}

#[test]
fn whoever_had_everything_for_nothing_would_contradict() {
    let sum = |distinct, snapshot| {
        let what = readers(2);
        Sum { distinct, snapshot, ..Sum::new("-", &what) }.concluded().side
    };
    assert_eq!(sum(4, true), Side::Pays);
    assert_eq!(sum(3, true), Side::Contradicts);
    assert_eq!(sum(4, false), Side::GivesUp, "one may pay in vain");
    assert_eq!(sum(1, false), Side::GivesUp);
}

#[test]
fn numbers_that_cannot_be_are_explained() {
    assert_eq!(readers(MOST_READERS).validate(), Ok(()));
    assert!(readers(0).validate().unwrap_err().contains("--readers is 1 to 10"));
    assert!(readers(MOST_READERS + 1).validate().is_err());
    assert!(Bound { skew_us: -5_001, ..readers(1) }.validate().unwrap_err().contains("--skew-us is 5000"));
}
