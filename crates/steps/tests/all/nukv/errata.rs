//! The traces of erratum E-6.

use super::*;
use tidemark_protocols::nukv::{READS_ANSWER_IDX, SV_RISES, TIES_ARE_BROKEN};

/// E-6a: as printed, the answer leaves before the commit and carries `sv[d]`, which does not count the write.
#[test]
fn e_6a_as_printed_a_session_does_not_read_its_write() {
    fn reads() -> Option<String> {
        let mut lab = nukv(2, 1);
        let (a, x) = (lab.client(0), lab.key("x", 0));
        lab.put(a, &x, "1");
        let away = moved(&mut lab, a, 1);
        lab.asks(away, RYW);
        try_get(&mut lab, away, &x)
    }
    assert_eq!(as_published("nukv-published", reads), Some("-".into()));
    assert_eq!(reads(), None);
}

/// E-6b: "the highest timestamp" is no total order: of two versions with one time each data centre keeps its own, and the
/// writer of one of them does not find it.
#[test]
fn e_6b_with_ties_left_open_replicas_disagree_and_writes_are_not_read() {
    fn reads() -> [String; 3] {
        let mut lab = nukv(2, 1);
        let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
        assert_eq!(lab.put(a, &x, "v0"), lab.put(b, &x, "v1"));
        lab.deliver_all();
        let roams = moved(&mut lab, b, 0);
        [lab.get(roams, &x), lab.get(a, &x), lab.get(b, &x)]
    }
    assert_eq!(without(&[TIES_ARE_BROKEN], reads), ["v0", "v0", "v1"]);
    assert_eq!(reads(), ["v1", "v1", "v1"]);
}

/// Reference: Alg. 2 lines 22-24 as corrected; E-6c: a forwarder sends twice, `sv` falls, and a reader is told of an index
/// below that of what it was given. Drivers rule the resending out (D1); the rule holds without that.
#[test]
fn commit_raises_sv_and_e_6c_without_that_a_reader_goes_back() {
    fn roams() -> (Indexes, Option<String>) {
        let mut lab = nukv(3, 1);
        let (b, x, y) = (lab.client(1), lab.key("x", 0), lab.key("y", 0));
        let [to, other] = [server(0, 0), server(2, 0)];
        lab.put(b, &x, "v1");
        lab.put(b, &y, "anything");
        lab.set_clocks(2_000);
        lab.put(b, &x, "v2");
        lab.resend(server(1, 0), to); // v1
        while lab.deliver(server(1, 0), to) {}
        lab.deliver(server(1, 0), other); // v1, and no more
        let reader = lab.client(0);
        assert_eq!(lab.get(reader, &x), "v2");
        let away = moved(&mut lab, reader, 2);
        (lab.protocol(to).sv().clone(), try_get(&mut lab, away, &x))
    }
    assert_eq!(roams(), (Indexes(vec![0, 3, 0]), None));
    assert_eq!(
        without(&[SV_RISES, READS_ANSWER_IDX], roams),
        (Indexes(vec![0, 1, 0]), Some("v1".into())),
        "it had read v2"
    );
    assert_eq!(without(&[READS_ANSWER_IDX], roams).1, None, "either of the two corrections does");
    assert_eq!(without(&[SV_RISES], roams).1, None);
}

/// E-6e: a session's later write wins although the clock that stamps it is far behind, because `dt` is in the request; one
/// that asks for nothing may lose.
#[test]
fn e_6e_monotonic_writes_hold_where_the_clock_is_behind_as_long_as_dt_is_sent() {
    for (level, wins) in [(MW, "second"), (Guarantees::NONE, "first")] {
        let mut lab = nukv(2, 1);
        let (a, x) = (lab.client(0), lab.key("x", 0));
        lab.set_clock(server(0, 0), 9_000);
        lab.put(a, &x, "first");
        let away = moved(&mut lab, a, 1);
        lab.asks(away, level);
        lab.put(away, &x, "second");
        lab.deliver_all();
        let s = lab.client(0);
        assert_eq!(lab.get(s, &x), wins, "{level}");
    }
}
