//! Wren: the client's cache beside deletions of which nothing is left. In a model of such a protocol, in which the newer of the two
//! was read, what was found or what the cache held, sessions read their own, older writes again.

use super::*;
use tidemark_protocols::wren::SNAPSHOTS_OVERRULE_OWN;

/// Heartbeats and collection until nothing is left of x in A: what is stable has to be durable first.
fn until_it_is_gone(lab: &mut Lab<Wren>, x: &Key) {
    [500_000, 1_000_000, 1_500_000].iter().for_each(|us| stabilise(lab, *us));
    assert_eq!(newest(lab, server(0, 0), x), None, "the tombstone has gone");
}

/// A session of A writes x, which is in its cache, and is idle. A session of this data centre deletes x later.
fn written_and_deleted(deleter: u8) -> (Lab<Wren>, usize, usize, Key) {
    let mut lab = lab(2, 2);
    let (s, t, x) = (lab.client(0), lab.client(deleter), lab.key("x", 0));
    lab.put(s, &x, "mine");
    lab.set_clocks(2_000);
    let deletion = stamp(&lab.run(t, Op::Put { key: x.clone(), update: Update::put(Write::Remove) }));
    assert!(deletion.ts >= at(2_000));
    (lab, s, t, x)
}

/// That `read` finds nothing, and finds the session's own write if the newer of the two is read.
fn finds_nothing(read: impl Fn() -> String) {
    assert_eq!(read(), "-");
    assert_eq!(without(&[SNAPSHOTS_OVERRULE_OWN], read), "mine");
}

/// The snapshot covers what the cache holds, and so the cache has no say.
#[test]
fn a_deletion_that_was_collected_overrules_the_cache_of_an_idle_session() {
    for deleter in [0, 1] {
        finds_nothing(|| {
            let (mut lab, s, _, x) = written_and_deleted(deleter);
            until_it_is_gone(&mut lab, &x);
            lab.get(s, &x)
        });
    }
}

/// Its server restarts, with the stable times that it had persisted, which lie above all that it has collected.
#[test]
fn a_deletion_that_was_collected_overrules_the_cache_after_a_restart() {
    for deleter in [0, 1] {
        finds_nothing(|| {
            let (mut lab, s, _, x) = written_and_deleted(deleter);
            until_it_is_gone(&mut lab, &x);
            [1, 0].iter().for_each(|partition| lab.restart(server(0, *partition)));
            lab.get(s, &x)
        });
    }
}

/// The session takes over what the one that deleted x knows, of its own region or of another one.
#[test]
fn a_deletion_that_was_taken_over_overrules_the_cache() {
    for deleter in [0, 1] {
        finds_nothing(|| {
            let (mut lab, s, t, x) = written_and_deleted(deleter);
            until_it_is_gone(&mut lab, &x);
            let token = lab.token(t);
            lab.adopt(s, token);
            assert_eq!(lab.outcome(s), Some(Outcome::Adopted), "all of it is stable");
            lab.get(s, &x)
        });
    }
}

/// While the session of A is away in B, where it deletes x, its connection in A stays open, with its cache.
#[test]
fn a_deletion_of_ones_own_in_another_region_overrules_the_cache_that_was_left_behind() {
    finds_nothing(|| {
        let mut lab = lab(2, 2);
        let (s, away, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
        lab.put(s, &x, "mine");
        let token = lab.token(s);
        lab.adopt(away, token);
        [5_000, 6_000].iter().for_each(|us| stabilise(&mut lab, *us));
        assert_eq!(lab.outcome(away), Some(Outcome::Adopted));
        lab.run(away, Op::Put { key: x.clone(), update: Update::put(Write::Remove) });
        until_it_is_gone(&mut lab, &x);
        let token = lab.token(away);
        lab.adopt(s, token);
        assert_eq!(lab.outcome(s), Some(Outcome::Adopted));
        lab.get(s, &x)
    });
}

/// I2: were the remote time not held below the local one, a snapshot could have what depends on a later deletion of another region, and
/// not cover the session's own write.
#[test]
fn i2_a_snapshot_without_a_sessions_write_has_no_later_deletion_either() {
    fn reads() -> String {
        let mut lab = lab(2, 2);
        let (s, b, x, y) = (lab.client(0), lab.client(1), lab.key("x", 0), lab.key("y", 0));
        lab.put(s, &x, "mine"); // A/1 has announced nothing yet
        [(0, 9_000), (1, 10_000)]
            .iter()
            .for_each(|(partition, us)| lab.set_clock(server(1, *partition), *us));
        lab.run(b, Op::Put { key: x.clone(), update: Update::put(Write::Remove) });
        lab.put(b, &y, "after");
        [0, 1].iter().for_each(|partition| lab.fire(server(1, *partition), Timer::Delta));
        lab.deliver_between(1, 0);
        [1, 0].iter().for_each(|partition| {
            lab.fire(server(0, *partition), Timer::Theta);
            lab.deliver_within(A);
        });
        lab.rotx(s, &[&x, &y])
    }
    assert_eq!(reads(), "mine -");
    assert_eq!(without(&[REMOTE_BELOW_LOCAL], reads), "mine after");
}
