use super::*;

const WALL: Micros = 1_700_000_000_000_000;

fn at(seconds: u64) -> Now {
    Now { wall: WALL + seconds * 1_000_000, mono: 7_000_000 + seconds * 1_000_000 }
}

fn condition(code: Code, since: Option<u64>) -> Condition {
    Condition {
        code,
        place: "a-1".into(),
        grade: Grade::Degraded,
        since: since.map(|seconds| at(seconds).mono),
        what: "it is slow".into(),
        waits_for: "the disk".into(),
        remedy: "Replace it.".into(),
    }
}

#[test]
fn a_condition_is_a_finding_once_it_has_held_and_goes_with_its_end() {
    let mut findings = Findings::default();
    for second in 0..5 {
        assert_eq!(findings.take(at(second), &Pace::default(), vec![condition(Code::DiskSlow, None)]), []);
        assert_eq!(findings.all(), []);
    }
    let changes = findings.take(at(5), &Pace::default(), vec![condition(Code::DiskSlow, None)]);
    let [Change::Appears(finding)] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!((finding.code, finding.since_us), (Code::DiskSlow, WALL));
    assert_eq!(
        findings.take(at(9), &Pace::default(), vec![condition(Code::DiskSlow, None)]),
        [],
        "it is told once"
    );
    assert_eq!(findings.all(), std::slice::from_ref(finding), "it began when it was seen first");
    assert_eq!(findings.take(at(10), &Pace::default(), Vec::new()), [Change::Goes(finding.clone())]);
    assert_eq!(findings.all(), []);
    assert_eq!(
        findings.take(at(11), &Pace::default(), vec![condition(Code::DiskSlow, None)]),
        [],
        "it begins anew"
    );
}

#[test]
fn what_is_known_to_have_held_for_long_is_shown_at_once() {
    let mut findings = Findings::default();
    let changes = findings.take(at(20), &Pace::default(), vec![condition(Code::FeedHeld, Some(3))]);
    assert!(
        matches!(&changes[..], [Change::Appears(finding)] if finding.since_us == at(3).wall),
        "{changes:?}"
    );
    // It ended, and began again before the next look.
    let changes = findings.take(at(21), &Pace::default(), vec![condition(Code::FeedHeld, Some(20))]);
    assert!(matches!(&changes[..], [Change::Goes(_)]), "{changes:?}");
    assert_eq!(findings.all(), []);
}

#[test]
fn a_condition_that_ends_before_it_has_held_is_never_told() {
    let mut findings = Findings::default();
    for second in 0..60 {
        let conditions = if second % 5 == 4 { Vec::new() } else { vec![condition(Code::NoLink, None)] };
        assert_eq!(findings.take(at(second), &Pace::default(), conditions), []);
    }
}

#[test]
fn what_needs_an_operator_comes_first() {
    let mut findings = Findings::default();
    let stuck = Condition { grade: Grade::Stuck, ..condition(Code::LogFills, Some(0)) };
    findings.take(at(9), &Pace::default(), vec![condition(Code::DiskSlow, Some(0)), stuck]);
    let codes: Vec<Code> = findings.all().iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::LogFills, Code::DiskSlow]);
}

#[test]
fn every_code_has_one_name() {
    let names: std::collections::BTreeSet<&str> = Code::ALL.iter().map(|(_, name)| *name).collect();
    assert_eq!(names.len(), Code::ALL.len());
    assert!(Code::ALL.iter().all(|(code, name)| code.name() == *name && !name.is_empty()));
}

#[test]
fn a_sync_is_slow_while_it_takes_longer_than_a_second_and_a_little_after() {
    let mut syncs = Syncs::default();
    let second = 1_000_000;
    syncs.began(10 * second);
    assert_eq!(syncs.slow(10 * second + second / 2), None);
    assert_eq!(syncs.slow(12 * second), Some((10 * second, Some(2 * second))));
    syncs.ended(13 * second);
    assert_eq!(syncs.slow(14 * second), Some((10 * second, None)));
    syncs.began(14 * second);
    assert_eq!(syncs.slow(15 * second), Some((10 * second, Some(second))), "the next one is slow, too");
    syncs.ended(16 * second);
    syncs.began(17 * second);
    syncs.ended(17 * second + 300);
    assert_eq!(syncs.slow(17 * second + 400), None, "a quick one ends it");
    syncs.began(20 * second);
    syncs.ended(22 * second);
    assert_eq!(syncs.slow(25 * second), None, "nobody syncs any more");
}
