use super::*;
use tidemark_core::{PartitionId, ServerId};

/// Two survivors, of which the first is asked, and the data centre that is away.
const A: DcId = DcId(0);
const B: DcId = DcId(1);
const X: DcId = DcId(2);

/// What X has announced, and what A and B have.
type At = (u64, u64);

fn vv((announced, others): At) -> Vector {
    Vector::from_entries([others, others, announced].map(Hlc))
}

/// What the server tells: what was announced, and its clock.
fn obey(it: &mut Removal, round: u64, step: Step, at: At) -> Option<(u64, u64)> {
    let told = it.obey(&Exclusion { dc: X, round, step }, A, &vv(at));
    told.ok().map(|told| (told.announced.0, told.clock.0))
}

fn cut(a: u64, b: u64) -> Step {
    Step::Cut { least: Vector::from_entries([a, b].map(Hlc)), end: End::default() }
}

fn readmit(from: u64) -> Step {
    Step::Readmit { from: Hlc(from) }
}

fn shares<const N: usize>(it: &Removal, at: [At; N]) -> [u64; N] {
    at.map(|at| it.share(&vv(at)).0)
}

/// Excluded above 20, having received everything up to 10; B was the donor.
fn excluded() -> Removal {
    let mut it = Removal::default();
    assert_eq!(obey(&mut it, 1, Step::Hold, (10, 8)), Some((10, 8)));
    assert!(obey(&mut it, 1, cut(10, 20), (10, 8)).is_some());
    assert!(obey(&mut it, 1, Step::Exclude, (20, 8)).is_some());
    it
}

#[test]
fn away_and_back_step_by_step_and_repeats_change_nothing() {
    let mut it = Removal::default();
    assert_eq!(obey(&mut it, 1, Step::Hold, (10, 8)), Some((10, 8)));
    assert_eq!(obey(&mut it, 1, Step::Hold, (15, 12)), Some((10, 8)), "what it told before");
    assert_eq!((shares(&it, [(15, 9), (15, 99)]), it.hides(Hlc(99))), ([9, 10], None));
    for _ in 0..2 {
        assert!(obey(&mut it, 1, cut(10, 20), (15, 9)).is_some());
    }
    assert_eq!(
        (shares(&it, [(20, 99)]), it.hides(Hlc(99))),
        ([10], Some((X, Hlc(20)))),
        "hidden, not yet left out"
    );
    assert!(obey(&mut it, 1, Step::Exclude, (19, 9)).is_none(), "something is missing");
    for _ in 0..2 {
        assert!(obey(&mut it, 1, Step::Exclude, (20, 9)).is_some());
    }
    assert!(obey(&mut it, 1, cut(10, 20), (20, 9)).is_some(), "late, and done");
    assert_eq!(shares(&it, [(20, 99), (0, 50)]), [99, 50]);
    for others in [40, 45] {
        assert_eq!(obey(&mut it, 2, Step::Hold, (25, others)), Some((25, 40)));
    }
    assert_eq!((shares(&it, [(99, 39), (99, 99)]), it.returns()), ([39, 40], true));
    for _ in 0..2 {
        assert!(obey(&mut it, 2, readmit(50), (25, 40)).is_some());
    }
    assert_eq!(shares(&it, [(49, 99), (50, 99), (99, 60)]), [49, 50, 60]);
    assert_eq!([49, 50].map(|stable| it.hides(Hlc(stable))), [Some((X, Hlc(20))), None]);
    it.end(Hlc(49));
    assert!(it.away().is_some() && it.changed());
    it.end(Hlc(50));
    assert!(it.away().is_none() && it.changed() && !it.changed());
    assert!(obey(&mut it, 2, readmit(50), (60, 60)).is_some(), "what is over may be ordered again");
    assert!(obey(&mut it, 2, Step::Hold, (60, 60)).is_none() && it.away().is_none(), "but not begun again");
}

#[test]
fn a_stable_time_goes_to_the_cut_at_once() {
    let mut it = excluded();
    let skipped = |it: &Removal| [10, 11, 19, 20].map(|stable| it.skips(Hlc(stable)));
    assert_eq!(skipped(&it), [false, true, true, false]);
    obey(&mut it, 2, Step::Hold, (20, 30));
    obey(&mut it, 2, readmit(40), (20, 30));
    assert_eq!(skipped(&it), [false, true, true, false]);
    it.end(Hlc(40));
    assert_eq!(skipped(&it), [false; 4]);
}

#[test]
fn nobody_returns_before_the_cut() {
    let mut it = excluded();
    assert_eq!(obey(&mut it, 2, Step::Hold, (10, 15)), Some((10, 20)), "a clock that lags behind X");
    assert_eq!(obey(&mut it, 2, readmit(20), (10, 15)), None);
    assert!(obey(&mut it, 2, readmit(21), (10, 15)).is_some());
}

#[test]
fn what_is_missing_is_asked_of_the_donor() {
    let mut it = Removal::default();
    obey(&mut it, 1, Step::Hold, (10, 8));
    assert_eq!(it.lacks(&vv((10, 8))), None);
    obey(&mut it, 1, cut(10, 20), (10, 8));
    let lacks = |above| Some((B, Lacks { dc: X, above: Hlc(above), upto: Hlc(20) }));
    assert_eq!([9, 10, 15, 20].map(|at| it.lacks(&vv((at, 8)))), [lacks(10), lacks(10), lacks(15), None]);
    obey(&mut it, 1, Step::Exclude, (20, 8));
    assert_eq!(it.lacks(&vv((10, 8))), None, "not again, after a crash");
}

#[test]
fn what_was_only_prepared_is_released() {
    for steps in [vec![Step::Hold], vec![Step::Hold, cut(10, 20)]] {
        let mut it = Removal::default();
        for step in steps {
            assert!(obey(&mut it, 1, step, (10, 8)).is_some());
        }
        assert!(obey(&mut it, 1, Step::Release, (10, 8)).is_some() && it.away().is_none());
        assert!(obey(&mut it, 1, Step::Hold, (10, 8)).is_none(), "it comes late");
        assert!(obey(&mut it, 2, Step::Hold, (10, 8)).is_some());
    }
    let mut it = Removal::default();
    obey(&mut it, 1, Step::Release, (10, 8));
    assert!(obey(&mut it, 1, Step::Hold, (10, 8)).is_none(), "it was overtaken");
    let mut it = excluded();
    obey(&mut it, 2, Step::Hold, (10, 30));
    obey(&mut it, 2, readmit(50), (10, 30));
    assert!(
        obey(&mut it, 3, Step::Hold, (60, 60)).is_none()
            && obey(&mut it, 3, Step::Release, (60, 60)).is_some()
    );
    it.end(Hlc(50));
    assert!(obey(&mut it, 3, Step::Hold, (60, 60)).is_none(), "it was overtaken, too");
    let mut it = excluded();
    obey(&mut it, 2, Step::Hold, (10, 30));
    assert!(obey(&mut it, 2, Step::Release, (10, 30)).is_some());
    assert!(obey(&mut it, 2, Step::Hold, (10, 30)).is_some(), "the same round, and done");
    assert_eq!((it.hides(Hlc(99)), shares(&it, [(10, 99)])), (Some((X, Hlc(20))), [99]));
}

#[test]
fn orders_of_another_round_or_out_of_turn_are_refused() {
    let mut it = Removal::default();
    let early = [cut(9, 9), Step::Exclude, readmit(9)];
    assert!(early.into_iter().all(|step| obey(&mut it, 1, step, (10, 8)).is_none()));
    obey(&mut it, 5, Step::Hold, (10, 8));
    let others = [(4, Step::Hold), (6, Step::Hold), (4, cut(9, 9)), (5, readmit(9)), (5, Step::Exclude)];
    for (round, step) in others {
        assert_eq!(obey(&mut it, round, step.clone(), (10, 8)), None, "{round} {step:?}");
    }
    let mut refusal =
        |dc| it.obey(&Exclusion { dc, round: 6, step: Step::Hold }, A, &vv((9, 9))).unwrap_err();
    assert!(refusal(A).contains("itself") && refusal(B).contains("only one can be"));
    let mut it = excluded();
    assert_eq!(obey(&mut it, 1, Step::Release, (20, 30)), None, "others may be past the cut");
}

#[test]
fn the_cut_is_the_greatest_of_the_least_and_whoever_lacks_a_deletion_forbids_it() {
    let least = |forgotten: u64| {
        let all = [(0, 0, 10, 0), (0, 1, 12, 0), (1, 0, 14, forgotten), (1, 1, 11, 0)];
        let standing = |(dc, partition, announced, forgotten): (u8, u16, u64, u64)| {
            let (announced, forgotten) = (Hlc(announced), Hlc(forgotten));
            let told = Standing { announced, clock: Hlc(announced.0 + 90), forgotten, ..Standing::default() };
            (ServerId::new(DcId(dc), PartitionId(partition)), told)
        };
        let all = all.into_iter().map(standing).collect();
        (Standing::least(&all).map(|least| (least[A].0, super::cut(&least))), Standing::from(&all))
    };
    assert_eq!([10, 11].map(|forgotten| least(forgotten).0), [Some((10, (Hlc(11), B))), None]);
    assert_eq!(least(0).1, Hlc(105));
}

/// A server that starts again knows what was written before the crash, and not what was only announced.
fn again(it: &Removal, life: u64, recovered: At) -> (Removal, Vector) {
    let mut vv = vv(recovered);
    (it.clone().recovered(life, &mut vv), vv)
}

#[test]
fn who_starts_again_does_not_hold_before_it_has_heard_again() {
    let holds = |mut it: Removal, at: At| obey(&mut it, 1, Step::Hold, at).is_some();
    let fresh = |life| again(&Removal::default(), life, (10, 8)).0;
    assert!(holds(fresh(1), (10, 8)), "at its first start it has told nothing");
    assert!(!holds(fresh(2), (10, 99)) && holds(fresh(2), (11, 8)));
    let mut it = Removal::default();
    let us = |announced, clock| vv((Hlc::at(announced).0, Hlc::at(clock).0));
    it.listen(A, &us(500, 500 + SILENT));
    assert!(!it.changed(), "not for long");
    it.listen(A, &us(500, 501 + SILENT));
    assert!(it.changed());
    it.listen(A, &us(500, 900 + SILENT));
    assert!(!it.changed(), "it is known already");
    let (silent, vv) = again(&it, 2, (10, 8));
    assert_eq!(vv[X], Hlc::at(500));
    assert!(holds(silent, (Hlc::at(500).0, 8)));
    it.listen(A, &us(900 + SILENT, 900 + SILENT));
    assert!(it.changed() && !holds(again(&it, 2, (10, 8)).0, (10, 8)), "it has been heard since");
}

#[test]
fn a_server_that_holds_remembers_what_it_told() {
    let mut it = Removal::default();
    obey(&mut it, 1, Step::Hold, (10, 8));
    let (mut it, _) = again(&it, 2, (3, 4));
    assert_eq!(obey(&mut it, 1, Step::Hold, (3, 4)), Some((10, 8)));
    assert_eq!(obey(&mut it, 1, cut(10, 9), (3, 4)), Some((10, 8)));
    assert!(
        obey(&mut it, 1, Step::Exclude, (3, 4)).is_some(),
        "nothing is missing: its log has all up to 10"
    );
}

#[test]
fn deletions_are_remembered_while_something_older_can_come() {
    let d = |ts, dc, write| Version { stamp: Stamp::new(Hlc(ts), dc), meta: (), write };
    let forgets = |it: &mut Removal| [5, 10, 11].map(|ts| it.forgets(&d(ts, X, Write::Remove)));
    let mut it = Removal::default();
    assert!(it.forgets(&d(7, X, Write::Remove)) && it.changed());
    assert!(it.forgets(&d(6, X, Write::Remove)) && it.forgets(&d(99, X, Write::Assign((*b"v").into()))));
    assert!(!it.changed(), "it told of 7");
    let told = it.obey(&Exclusion { dc: X, round: 1, step: Step::Hold }, A, &vv((10, 8))).unwrap();
    assert_eq!(told.forgotten, Hlc(7));
    assert_eq!(forgets(&mut it), [false; 3], "what a donor has not told of, it keeps");
    obey(&mut it, 1, cut(10, 20), (10, 8));
    assert_eq!(forgets(&mut it), [false; 3]);
    obey(&mut it, 1, Step::Exclude, (20, 8));
    assert_eq!(forgets(&mut it), [true, true, false]);
}

#[test]
fn a_donor_sends_what_is_missing_piece_by_piece() {
    let mut store = Store::new(0);
    for ts in 1..=2 * PIECE as u64 + 1 {
        for dc in [A, X] {
            let stamp = Stamp::new(Hlc(ts), dc);
            store.insert(format!("{}", ts % 7).as_bytes(), Version { stamp, meta: (), write: Write::Remove });
        }
    }
    let (mut above, mut pieces) = (Hlc(3), Vec::new());
    while above < Hlc(5_000) {
        let found = Removal::find(&store, Lacks { dc: X, above, upto: Hlc(5_000) });
        assert!(found.versions.iter().all(|(_, stamp, ..)| stamp.origin == X && stamp.ts > above));
        pieces.push((found.versions.len(), found.upto.0));
        above = found.upto;
    }
    assert_eq!(pieces, [(PIECE, 1_003), (PIECE - 2, 5_000)]);
}

/// Where a data centre ends: of each partition the most that anybody has, and the least of what these have announced; but no less than
/// somebody knows to be stable, who may have forgotten what had been announced.
#[test]
fn a_data_centre_ends_where_nobody_has_more() {
    let told = |announced, stable, records| Standing {
        announced: Hlc(announced),
        clock: Hlc(50),
        stable: Hlc(stable),
        records,
        ..Standing::default()
    };
    let at = |dc, p| ServerId::new(DcId(dc), PartitionId(p));
    let mut all = BTreeMap::from([
        (at(0, 0), told(7, 5, 3)),
        (at(0, 1), told(9, 5, 1)),
        (at(1, 0), told(6, 4, 2)),
        (at(1, 1), told(60, 4, 8)),
    ]);
    assert_eq!(Standing::end(&all), End { stable: Hlc(7), over: Hlc(60).next(), records: vec![3, 8] });
    all.insert(at(1, 0), told(6, 8, 2));
    assert_eq!(Standing::end(&all).stable, Hlc(8));
    let nothing = all.keys().map(|server| (*server, Standing::default())).collect();
    assert!(Standing::cut(&nothing).is_some(), "nobody has heard anything");
}
