//! The motif of protocols with write transactions: one that is only half done, or only half known.

use super::motifs::Stage;
use crate::rng::Draw;

/// A session writes two keys, of two partitions or of one, in one transaction, again and again · what the two servers say
/// to each other is held, or one of them crashes on the way, or the feed of one is held · others, here and elsewhere,
/// read the keys, one after the other or at once, and write what depends on what they read.
pub(super) fn half_committed(s: &mut Stage<'_, '_>) {
    let (here, (p, q)) = (s.c.dc(), s.c.two_partitions());
    let there = s.c.other_dc(here);
    let q = if s.c.rng.chance(30) { p } else { q };
    let (first, second) = (s.key(p), s.key(q));
    let writer = s.session(here, None);
    let rival = s.session(here, Some(writer));
    for _ in 0..s.c.rng.u32(1..4) {
        let long = s.while_held();
        match s.c.rng.u32(0..6) {
            0 => s.hold_siblings(here, p, long),
            1 => s.hold_siblings(here, q, long),
            2 => s.hold_stream(q, here, there, long),
            3 => s.hold_stream(p, here, there, long),
            _ => {}
        }
        s.put_both(writer, &first, &second);
        if s.c.rng.chance(40) {
            // Two transactions, or a transaction and a write, of the same keys at once.
            if s.c.rng.bool() { s.put_both(rival, &second, &first) } else { s.update(rival, &second) }
        }
        s.soon();
        if s.c.rng.chance(35) {
            let at = if s.c.rng.bool() { p } else { q };
            s.crash(here, at);
            s.soon();
        }
        let dc = if s.c.rng.chance(60) { here } else { there };
        let reader = s.session(dc, Some(writer));
        if dc == there {
            s.far();
        }
        for _ in 0..s.c.rng.u32(1..4) {
            if s.c.rng.bool() {
                s.compare(reader, &first, &second)
            } else {
                s.compare(reader, &second, &first)
            }
            s.soon();
        }
        if s.c.rng.chance(30) {
            let op = s.c.put(second.clone());
            s.c.play(reader, s.now, op);
            s.gap();
        }
    }
}
