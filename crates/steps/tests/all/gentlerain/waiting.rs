//! PUTs that wait for the clock: why, and when they are looked at again.

use super::*;

/// Once, each PUT that came to wait put off the one before, by 200 µs: under load nobody's turn came.
#[test]
fn alg_2_line_6_a_put_that_waits_is_not_put_off_by_those_that_come_later() {
    let mut lab = rain(1, 2);
    let (x, y, slow) = (lab.key("x", 0), lab.key("y", 1), server(0, 1));
    let begin = |lab: &mut Lab<GentleRain>, now: u64| {
        let client = lab.client(0);
        lab.set_clock(server(0, 0), now + 500);
        lab.set_clock(slow, now);
        lab.put(client, &x, "1");
        lab.begin(client, put(&y, "2"));
        lab.due(slow, Timer::Own(Clock))
    };
    assert_eq!([3_000, 3_100, 3_450].map(|now| begin(&mut lab, now)), [Some(3_501); 3]);
    lab.set_clock(slow, 3_501);
    lab.fire(slow, Timer::Own(Clock));
    assert_eq!((lab.outcome(0).is_some(), lab.outcome(1)), (true, None));
    assert_eq!(lab.due(slow, Timer::Own(Clock)), Some(3_601), "the next one's turn");
}

/// A clock that stands still is looked at less and less often.
#[test]
fn alg_2_line_6_a_clock_that_stands_still_is_looked_at_less_and_less_often() {
    let mut lab = rain(1, 2);
    let (s, x, y, slow) = (lab.client(0), lab.key("x", 0), lab.key("y", 1), server(0, 1));
    lab.set_clock(server(0, 0), 3_000);
    lab.put(s, &x, "1");
    lab.begin(s, put(&y, "2"));
    lab.set_clock(slow, 3_000);
    let looks = [(); 10].map(|()| {
        lab.fire(slow, Timer::Own(Clock));
        lab.due(slow, Timer::Own(Clock)).map(|due| due - 3_000)
    });
    assert_eq!(looks, [1, 1, 2, 4, 8, 16, 32, 64, 128, 200].map(Some));
}

/// Reference: 001 Algorithm 2 line 6: Proposition 1 rests on it. A PUT that does not wait can lose against
/// what it depends on.
#[test]
fn alg_2_line_6_without_the_wait_a_write_can_lose_against_its_own_cause() {
    fn own_write() -> String {
        let mut lab = rain(1, 2);
        let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
        lab.set_clock(server(0, 0), 3_000);
        let cause = lab.put(s, &x, "1");
        lab.begin(s, put(&y, "2"));
        lab.set_clock(server(0, 1), 3_001);
        lab.fire(server(0, 1), Timer::Own(Clock));
        let Some(Outcome::Written { stamp: Some(effect), .. }) = lab.outcome(s) else {
            panic!("not written")
        };
        if effect.ts > cause { "above".to_string() } else { "below".to_string() }
    }
    assert_eq!((own_write(), without(&[PUT_WAITS], own_write)), ("above".into(), "below".into()));
}
